"""Conflicts between banks of shared memory, counted but not an error.

Shared memory has 32 banks of 4-byte words, which lie in them in turn (CUDA C++ programming guide,
"Shared memory" of compute capability 5.x and later). Threads of a warp that ask a bank for one word
get it at once; each further word of that bank is another trip. Accesses of 8 and 16 bytes a thread
are made by half and by quarter warps, as NVIDIA's profilers count them.
"""

from __future__ import annotations

import numpy as np

from .access import Reach
from .machine import WARP, Lanes, Machine

_BANKS = 32
_WORD = 4


def conflicts(machine: Machine, part: Reach, size: int, together: Lanes | None = None) -> int:
    """Trips beyond the first that an access of `size` bytes by each thread takes.

    Args:
        together: a number for each thread, the same for those that go together; None for the parts
            of warps above. Rows of a matrix go together.
    """
    words = max(1, size // _WORD)
    lanes = part.lanes
    own = part.offsets - machine.block_of[lanes] * machine.spaces.shared_stride
    group = machine.slot[lanes] * words // WARP if together is None else together
    asked = (own // _WORD)[:, None] + np.arange(words)
    most = machine.spaces.shared_size // _WORD + 1
    pairs = np.unique(group[:, None] * most + asked)
    groups, word = np.divmod(pairs, most)
    banks = groups * _BANKS + word % _BANKS
    keys, counts = np.unique(banks, return_counts=True)
    trips = np.zeros(int(groups.max()) + 1, np.int64)
    np.maximum.at(trips, keys // _BANKS, counts)
    return int((trips[trips > 0] - 1).sum())

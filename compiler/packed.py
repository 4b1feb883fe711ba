"""Packing of weights at compile time: the nests that `lowering/schedules/prepack.py` takes out of
kernels run here, as machine code of this machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tensorscript.backends.cpu.calls import Functions
from tensorscript.backends.cpu.runtime import runtime_symbols
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.lowering.schedules.prepack import hoist_packing, pack_constants

from .cache import DiskCache
from .collecting import collect_recent
from .memory import aligned_empty
from .native import object_of, runtime_object

MANY_ELEMENTS = 1 << 22
"""Packing so much takes longer than to look for the garbage that holds a copy of it."""


def prepack(module: ModuleOp, cache: DiskCache | None = None) -> None:
    """Replace what kernels pack from constants by constants, in place.

    Args:
        cache: keeps the objects of the packing functions.

    Raises:
        InternalError: a packing fails.
    """
    if not (packings := hoist_packing(module)):
        return
    support = runtime_symbols(lambda part: runtime_object(part, cache))
    functions = Functions(
        [p.function for p in packings],
        support,
        lambda text, target: object_of(text, target, cache),
    )
    targets = {p.function.sym_name.data: p.target for p in packings}

    def pack(name: str, sources: Sequence[np.ndarray]) -> np.ndarray:
        out = aligned_empty(_shape(targets[name]), targets[name].dtype.numpy)
        out[...] = 0  # padding that nothing writes is no part of what this process held
        functions.call(name, [*(np.ascontiguousarray(a) for a in sources), out])
        return out

    if sum(math.prod(_shape(t)) for t in targets.values()) >= MANY_ELEMENTS:
        collect_recent()
    pack_constants(module, packings, pack)


def _shape(target: Buffer) -> tuple[int, ...]:
    """The sizes of a packed constant, which are known."""
    return tuple(int(str(n)) for n in target.shape)

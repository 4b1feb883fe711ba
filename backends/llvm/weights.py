"""Large constants of a module as one block of bytes, each at an offset of its own.

The block is one symbol, whose bytes the emitted text leaves out (as LLVM text they would take three
times their size); `backends/cpu/weights.py` puts them into the object or into a file beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.ops import ConstantOp

from .emit_types import ALIGN, STAGE


@dataclass(frozen=True)
class Block:
    """The layout of a block.

    Attributes:
        symbol: of its first byte.
        offsets: (name of the constant, offset), in order.
        size: bytes.
    """

    symbol: str
    offsets: tuple[tuple[str, int], ...]
    size: int

    @classmethod
    def of(cls, constants: Iterable[ConstantOp], symbol: str, least: int) -> Block:
        """The block of those of a module's constants that have `least` bytes."""
        offsets, end = [], 0
        for op in constants:
            if (size := data_of(op).nbytes) >= least:
                offsets.append((op.buffer.name, end))
                end += -(-size // ALIGN) * ALIGN
        return cls(symbol, tuple(offsets), end)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Constant name to the definition of its symbol."""
        return {
            name: f"@{name} = private alias i8, "
            f"getelementptr inbounds (i8, ptr @{self.symbol}, i64 {offset})"
            for name, offset in self.offsets
        }

    def arrays(self, constants: Sequence[ConstantOp]) -> list[tuple[int, np.ndarray]]:
        """(offset, data) of what lies in the block."""
        found = {op.buffer.name: op for op in constants}
        return [(offset, data_of(found[name])) for name, offset in self.offsets]


def data_of(op: ConstantOp) -> np.ndarray:
    """The elements of a constant.

    Raises:
        InternalError: they are not at hand.
    """
    if (array := op.data.data.array) is None:
        raise InternalError(f"the data of te.constant {op.buffer.name} is not at hand", STAGE)
    return array

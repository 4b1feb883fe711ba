"""Large constants of a module as one block of bytes, each at an offset of its own.

The block is one symbol, whose bytes the emitted text leaves out (as LLVM text they would take three
times their size); `backends/cpu/weights.py` puts them into the object or into a file beside it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.ops import ConstantOp

from .emit_types import ALIGN, STAGE


@dataclass(frozen=True)
class Block:
    """The layout of a block.

    Attributes:
        symbol: of its first byte.
        offsets: (name of the constant, offset), in order.
        size: bytes.
        places: the offsets of all modules that share the block.
        shared: there are several, of which the first defines the block.
    """

    symbol: str
    offsets: tuple[tuple[str, int], ...]
    size: int
    places: tuple[int, ...]
    shared: bool

    @classmethod
    def of(cls, modules: Sequence[Sequence[ConstantOp]], symbol: str, least: int) -> list[Block]:
        """The layout for each of several modules of the one block that holds those of their
        constants that have `least` bytes; equal ones lie there once."""
        found = [[(op.buffer.name, data_of(op)) for op in constants] for constants in modules]
        large = [[(name, data) for name, data in part if data.nbytes >= least] for part in found]
        sizes = Counter(data.nbytes for part in large for _, data in part)
        places: dict[tuple[int, bytes], int] = {}
        layouts: list[tuple[tuple[str, int], ...]] = []
        end = 0
        for part in large:
            offsets = []
            for name, data in part:
                # What has its size for itself equals nothing else.
                digest = _digest(data) if sizes[data.nbytes] > 1 else b""
                offsets.append((name, places.setdefault((data.nbytes, digest), end)))
                if offsets[-1][1] == end:
                    end += -(-data.nbytes // ALIGN) * ALIGN
            layouts.append(tuple(offsets))
        known = tuple(sorted(places.values()))
        return [cls(symbol, offsets, end, known, len(modules) > 1) for offsets in layouts]

    @cached_property
    def symbols(self) -> dict[str, str]:
        """Constant name to the symbol of its first byte."""
        return {name: self._symbol(offset) for name, offset in self.offsets}

    def _symbol(self, offset: int) -> str:
        return f"@{self.symbol}.{offset}"

    @property
    def aliases(self) -> str:
        """LLVM text that defines the symbols, beside the block itself."""
        kind = "hidden" if self.shared else "private"
        return "".join(
            f"{self._symbol(offset)} = {kind} alias i8, "
            f"getelementptr inbounds (i8, ptr @{self.symbol}, i64 {offset})\n"
            for offset in self.places
        )

    @property
    def declarations(self) -> str:
        """LLVM text that declares, in a further module, the symbols that it uses."""
        used = sorted({offset for _, offset in self.offsets})
        kind = f"external hidden global i8, align {ALIGN}"
        return "".join(f"{self._symbol(offset)} = {kind}\n" for offset in used)

    def arrays(self, constants: Sequence[ConstantOp]) -> list[tuple[int, np.ndarray]]:
        """(offset, data) of what lies in the block."""
        found = {op.buffer.name: op for op in constants}
        return [(offset, data_of(found[name])) for name, offset in self.offsets]


def _digest(array: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).digest()


def data_of(op: ConstantOp) -> np.ndarray:
    """The elements of a constant.

    Raises:
        InternalError: they are not at hand.
    """
    if (array := op.data.data.array) is None:
        raise InternalError(f"the data of te.constant {op.buffer.name} is not at hand", STAGE)
    return array

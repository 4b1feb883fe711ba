"""The windows of adaptive pooling.

Output `o` of a dimension covers [o * size // outputs, ceil((o + 1) * size / outputs)).
"""

from __future__ import annotations

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, const

from .builder import Builder
from .dims import sizes_of
from .sizes import simplify
from .values import Value


@dataclass(frozen=True)
class Bins:
    """The windows of one dimension: `size` elements for `outputs` of them."""

    size: Expr
    outputs: Expr

    @property
    def length(self) -> Expr | None:
        """Elements of every window, if all have the same number of them."""
        if self.size is self.outputs:
            return const(1)
        if not self.outputs.is_const:
            return None
        outputs = int(str(self.outputs.value))
        if outputs == 1:
            return self.size
        if not outputs or not self.size.is_const or int(str(self.size.value)) % outputs:
            return None
        return const(int(str(self.size.value)) // outputs)

    @property
    def longest(self) -> Expr:
        """Elements of the largest window; a bound where the size is not known."""
        if (length := self.length) is not None:
            return length
        if not (self.size.is_const and self.outputs.is_const):
            return simplify((self.size + (self.outputs - 1)) // self.outputs + 1)
        size, outputs = (int(str(e.value)) for e in (self.size, self.outputs))
        spans = ((o * size // outputs, -(-(o + 1) * size // outputs)) for o in range(outputs))
        return const(max((stop - start for start, stop in spans), default=0))

    def bounds(self, o: Expr) -> tuple[Expr, Expr]:
        """First and past-last element of window `o`."""
        if (length := self.length) is not None:
            start = simplify(o * length, {str(o.value): self.outputs})
            return start, start + length
        stop = ((o + 1) * self.size + (self.outputs - 1)) // self.outputs
        return (o * self.size) // self.outputs, stop

    def cell(self, o: Expr, k: Expr) -> tuple[Expr, list[Expr]]:
        """The position of cell `k` of window `o`, and when it belongs to the window."""
        start, stop = self.bounds(o)
        at = start + k
        return (simplify(at), []) if self.length is not None else (at, [binary("lt", at, stop)])


def adaptive_bins(b: Builder, size: Expr, outputs: Value) -> Bins:
    """The windows for a number of outputs, None for one of every element."""
    return Bins(size, size if outputs is None else sizes_of(b, [outputs])[0])

"""What a panel of rows has one number of each, for all of its rows at once: a row in each lane.

```
parts[rows][lanes]                                  partial sums of each row, a vector of them
for u in lanes, v in rows { turned[u, v] = parts[v, u] }                      (in registers)
for r in rows vector { total = turned[0, r] + .. + turned[lanes - 1, r];  .. }
```
To add up a vector takes a chain of shuffles; row by row these chains, and the divisions or powers
behind them, are what a processor waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp

Finish = Callable[[Expr, Expr], list[Operation]]
"""(row, total of its parts) -> statements."""


@dataclass(frozen=True)
class PartsOfRows:
    """The partial results of `rows` rows, `lanes` of each, in a buffer `parts`."""

    rows: int
    lanes: int
    dtype: DType

    @property
    def padded(self) -> int:
        """Rows and those that fill the last vector, whose numbers nothing reads."""
        return -(-self.rows // self.lanes) * self.lanes

    def frame(self) -> list[Operation]:
        """The buffers, with zeros in the rows that nothing writes."""
        shapes = {"parts": (self.padded, self.lanes), "turned": (self.lanes, self.padded)}
        made: list[Operation] = [
            AllocOp(make_buffer(name, self.dtype, shape), "stack") for name, shape in shapes.items()
        ]
        if extra := self.padded - self.rows:
            place = [var("ix") + self.rows, var("jx")]
            clear = ForOp(
                "jx", self.lanes, [StoreOp("parts", place, const(0, self.dtype))], "vector"
            )
            made.append(ForOp("ix", extra, [clear]))
        return made

    def finish(self, suffix: str, combiner: str, body: Finish) -> list[Operation]:
        """`body` for each row and the total of its parts; names of loops end with `suffix`."""
        u, v, block = (var(f"{name}{suffix}") for name in "uvb")
        row = block * self.lanes + v
        turn = StoreOp("turned", [u, row], load("parts", [row, u], self.dtype))
        square = ForOp(
            f"u{suffix}", self.lanes, [ForOp(f"v{suffix}", self.lanes, [turn], "vector")], "vector"
        )
        at = block * self.lanes + var(f"r{suffix}")
        parts = [load("turned", [const(k), at], self.dtype) for k in range(self.lanes)]
        finish = ForOp(f"r{suffix}", self.lanes, body(at, _tree(combiner, parts)), "vector")
        return [ForOp(f"b{suffix}", self.padded // self.lanes, [square, finish])]


def _tree(combiner: str, values: Sequence[Expr]) -> Expr:
    """All values combined, in pairs: no chain is longer than it has to be."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [binary(combiner, a, b) for a, b in pairs]
    return values[0]

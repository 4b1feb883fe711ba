"""What a panel of rows has one number of each, for all of its rows at once: a row in each lane.

```
whole[lanes]; half[j] = whole[j] + whole[j + lanes / 2]; ..  parts[row, 4]    each row by itself
for u in 4, v in 4 { turned[u, v] = parts[v, u] }            squares of rows  (in registers)
for r in rows vector { total = turned[0, r] + .. + turned[3, r];  .. }
```
To add up a vector takes a chain of shuffles; row by row these chains, and the divisions or powers
behind them, are what a processor waits for. The first halves of a chain take no shuffle and are
narrow: to turn all lanes of sixteen rows takes eight times as many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp

from ..te.lanes import vectorize_reduction

Finish = Callable[[Expr, Expr], list[Operation]]
"""(row, total of its parts) -> statements."""


SIDE = 4
"""Partial results of a row that are turned."""


@dataclass(frozen=True)
class PartsOfRows:
    """The partial results of `rows` rows, in vectors of `lanes`."""

    rows: int
    lanes: int
    dtype: DType

    @property
    def side(self) -> int:
        """Partial results of a row in a buffer `parts`."""
        return min(SIDE, self.lanes)

    @property
    def together(self) -> int:
        """Rows in a vector: no more lanes than they fill half of."""
        width = self.lanes
        while width > self.side and width // 2 >= self.rows:
            width //= 2
        return width

    @property
    def padded(self) -> int:
        """Rows and those that fill the last vector, whose numbers nothing reads."""
        return -(-self.rows // self.together) * self.together

    def frame(self) -> list[Operation]:
        """The buffers, with zeros in the rows that nothing writes."""
        shapes = {"parts": (self.padded, self.side), "turned": (self.side, self.padded)}
        made: list[Operation] = [
            AllocOp(make_buffer(name, self.dtype, shape), "stack") for name, shape in shapes.items()
        ]
        if extra := self.padded - self.rows:
            place = [var("ix") + self.rows, var("jx")]
            clear = ForOp(
                "jx", self.side, [StoreOp("parts", place, const(0, self.dtype))], "vector"
            )
            made.append(ForOp("ix", extra, [clear]))
        return made

    def reduced(self, loop: ForOp, row: Expr, lanes: int) -> list[Operation]:
        """A loop over one row with an update of `whole` in accumulators of so many `lanes`, and
        what is left of these in `parts`."""
        combiner = next(op.combiner for op in loop.block.ops if isinstance(op, UpdateOp))
        sizes = [self.lanes]
        while sizes[-1] > self.side:
            sizes.append(sizes[-1] // 2)
        out: list[Operation] = [AllocOp(make_buffer("whole", self.dtype, (self.lanes,)), "reg")]
        out += vectorize_reduction(loop, lanes, self.lanes)
        read = "whole"
        for size in sizes[1:]:
            name, j = f"half{size}", var(f"j{size}{loop.var}")
            both = (load(read, [at], self.dtype) for at in (j, j + size))
            out += [
                AllocOp(make_buffer(name, self.dtype, (size,)), "reg"),
                ForOp(f"{j}", size, [StoreOp(name, [j], binary(combiner, *both))], "vector"),
            ]
            read = name
        j = var(f"jp{loop.var}")
        store = StoreOp("parts", [row, j], load(read, [j], self.dtype))
        return [*out, ForOp(f"{j}", self.side, [store], "vector")]

    def finish(self, suffix: str, combiner: str, body: Finish) -> list[Operation]:
        """`body` for each row and the total of its parts; names of loops end with `suffix`."""
        u, v, square, block = (var(f"{name}{suffix}") for name in "uvwb")
        row = square * self.side + v
        turn = StoreOp("turned", [u, row], load("parts", [row, u], self.dtype))
        turned = ForOp(
            f"u{suffix}", self.side, [ForOp(f"v{suffix}", self.side, [turn], "vector")], "vector"
        )
        at = block * self.together + var(f"r{suffix}")
        parts = [load("turned", [const(k), at], self.dtype) for k in range(self.side)]
        finish = ForOp(f"r{suffix}", self.together, body(at, _tree(combiner, parts)), "vector")
        return [
            ForOp(f"w{suffix}", self.padded // self.side, [turned], "unroll"),
            ForOp(f"b{suffix}", self.padded // self.together, [finish]),
        ]


def _tree(combiner: str, values: Sequence[Expr]) -> Expr:
    """All values combined, in pairs: no chain is longer than it has to be."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [binary(combiner, a, b) for a, b in pairs]
    return values[0]

"""Lines that a kernel sorts: what their order is, what their keys are and where results go."""

from __future__ import annotations

import math
from functools import reduce

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bool_, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, load, select, var
from tensorscript.dialects.te.ops import ForOp, FuncOp, IfOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replaced, substitute, transform, walk
from tensorscript.dialects.tg.ops import identity


@dataclass(frozen=True)
class Line:
    """One line to sort.

    Attributes:
        axis: name of the loop over its elements.
        size: their number.
        kept: how many of the first are wanted.
        before: whether element `j` comes before the element at `axis`, over both and their keys.
        key: the load of the element's key in it.
        stores: where results go, with the rank as `RANK`.
    """

    axis: str
    size: Expr
    kept: Expr
    before: Expr
    key: Expr
    stores: tuple[StoreOp, ...]

    @property
    def dtype(self) -> DType:
        return self.key.dtype

    @property
    def needs_index(self) -> bool:
        """Results hold more of an element than its key."""
        nothing = const(0, self.dtype)
        return any(self.axis in self.result(s.value, nothing, var(self.axis)).free
                   for s in self.stores)  # fmt: skip

    def key_at(self, index: Expr) -> Expr:
        return substitute(self.key, {self.axis: index})

    def result(self, e: Expr, key: Expr, index: Expr) -> Expr:
        """A stored value for an element of the given key and index."""
        keyed = replaced(e, self.key, key)
        return substitute(keyed, {self.axis: index})

    def precedes(self, j: Expr, e: Expr, earlier: Expr) -> Expr:
        """Whether key `j` comes before key `e`; `earlier`: whether j's place in the line is."""

        def visit(n: Expr) -> Expr | None:
            if n.op == "load":
                return e if n is self.key else j
            return earlier if _is_tie_break(n, self.axis) else None

        return transform(self.before, visit)

    @property
    def last(self) -> Expr:
        """A key that no other one comes after."""
        ends = [identity(combiner, self.dtype) for combiner in ("min", "max")]
        if self.dtype.is_floating_point:
            ends.append(const(math.nan, self.dtype))
        never = const(0, bool_)
        return reduce(lambda a, b: select(self.precedes(a, b, never), b, a), ends)


RANK = load("rank", (), int64)


def _is_tie_break(e: Expr, axis: str) -> bool:
    return e.op == "lt" and e.args == (var("j"), var(axis))


@dataclass(frozen=True)
class Ranking:
    """A kernel that ranks the elements of lines: the loops around, and one line."""

    loops: list[ForOp]
    line: Line


def ranking_of(func: FuncOp) -> Ranking | None:
    """The ranking that a kernel computes; None if it has another form."""
    loops: list[ForOp] = []
    body = list(func.block.ops)
    while len(body) == 1 and isinstance(body[0], ForOp):
        loops.append(body[0])
        body = list(body[0].block.ops)
    line = _line(loops, body)
    return None if line is None else Ranking(loops, line)


def _line(loops: list[ForOp], body: list[Operation]) -> Line | None:
    """The line of a kernel in the form that `tg_to_te` gives a sort."""
    ranking = next((op for op in body if isinstance(op, ForOp) and op.is_reduction), None)
    if ranking is None or not isinstance(update := ranking.block.first_op, UpdateOp):
        return None
    before = update.value
    if before.op != "cast" or ranking.var != "j":
        return None
    before = before.args[0]
    axis = next((f for f in loops if any(_is_tie_break(n, f.var) for n in walk(before))), None)
    if axis is None:
        return None
    key = next(n for n in walk(before) if n.op == "load" and axis.var in n.free)
    last, kept = body[-1], axis.extent
    if isinstance(last, IfOp):
        kept, body = last.condition.args[1], list(last.then_body.block.ops)
    stores = tuple(op for op in body if isinstance(op, StoreOp) and op.buffer != "rank")
    return Line(axis.var, axis.extent, kept, before, key, stores)

"""What windows are combined to is found by rows first: for the CPU.

```
%y = tg.reduce %x <"select(0 < i1 * 2 + r0 & 0 < i2 * 2 + r1, a0[i0, i1 * 2 + r0 - 1, i2 * 2 + r1 - 1], -inf)">
     max over 3, 3
-->
%t = tg.reduce %x <"select(0 < i1 * 2 + r0, a0[i0, i1 * 2 + r0 - 1, i2], -inf)"> max over 3
%y = tg.reduce %t <"select(0 < i2 * 2 + r0, a0[i0, i1, i2 * 2 + r0 - 1], -inf)"> max over 3
```
What windows share is compared once, and rows are whole vectors until elements are picked from the
result; the two become one kernel whose row of `%t` stays in registers. Sums are then added in
another order, where that is allowed.
"""  # noqa: E501 (an expression of tg is one line)

from __future__ import annotations

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, all_of, conjuncts, load, select, var
from tensorscript.dialects.te.rewriting import loads, replaced, substitute, walk
from tensorscript.dialects.tg.names import operand_number
from tensorscript.dialects.tg.ops import FuncOp, ReduceOp, identity
from tensorscript.dialects.tg.types import TensorType, tensor

LEAST_ROWS = 3
"""Rows of a window from which on it pays."""
LEAST_COLUMNS = 8
"""Elements of a row from which on it pays."""
MOST_SUMS = 128
"""Elements of a row of sums up to which it pays, as far as they stay in registers: an addition is
one instruction, a comparison that passes NaN on is three."""
COLUMN, ROW = "r1", "r0"


@dataclass(frozen=True)
class _Window:
    """What is reduced: `value` of an element at the index `place` along the row, where all `rows`
    and `columns` hold."""

    value: Expr
    place: Expr
    rows: tuple[Expr, ...]
    columns: tuple[Expr, ...]
    width: Expr


def separate_windows(func: FuncOp, strict: bool = False) -> None:
    """Run on a function and the regions in it; a `strict` one adds in order."""
    combiners = ("max", "min") if strict else ("max", "min", "add")
    for op in list(func.walk()):
        if isinstance(op, ReduceOp) and op.combiner.data in combiners:
            window = _window_of(op)
            if window is not None:
                _separate(op, window)


def _window_of(op: ReduceOp) -> _Window | None:
    extents = op.extents.data
    if len(extents) != 2 or op.type.rank < 2:
        return None
    if not extents[0].is_const or int(extents[0]) < LEAST_ROWS:
        return None
    value, conditions = _guarded(op)
    found = _place(op, value)
    if found is None:
        return None
    place, width = found
    rows = tuple(c for c in conditions if COLUMN not in c.free)
    columns = tuple(c for c in conditions if COLUMN in c.free)
    last = f"i{op.type.rank - 1}"
    alone = not any(c.free & {ROW, f"i{op.type.rank - 2}"} for c in columns)
    apart = not any(last in c.free for c in rows)
    return _Window(value, place, rows, columns, width) if alone and apart else None


def _guarded(op: ReduceOp) -> tuple[Expr, list[Expr]]:
    """What a body gives, and the conditions without which that is the combiner's identity."""
    value, found = op.expr, list[Expr]()
    neutral = identity(op.combiner.data, value.dtype)
    while value.op == "select" and value.args[2] is neutral:
        condition, value, _ = value.args
        found += conjuncts(condition)
    return value, found


def _place(op: ReduceOp, value: Expr) -> tuple[Expr, Expr] | None:
    """The index of all that a value reads along the windows' rows, and the size of the dimension;
    None if there are several, if the column is used otherwise, or where it decides what is read:
    such an index may lie outside of the dimension."""
    if any(COLUMN in e.args[0].free for e in walk(value) if e.op == "select"):
        return None
    found: set[tuple[Expr, Expr]] = set()
    for read in loads(value):
        type_ = op.inputs[operand_number(str(read.value)) or 0].type
        assert isinstance(type_, TensorType)
        found |= {(e, n) for e, n in zip(read.args, type_.shape, strict=True) if COLUMN in e.free}
        if any(COLUMN in e.free for e in read.args[:-1]):
            return None
    if len(found) != 1:
        return None
    ((place, width),) = found
    own = {COLUMN, f"i{op.type.rank - 1}"}
    rest = replaced(value, place, var("column"))
    if place.free != own or rest.free & own:
        return None
    sums = op.combiner.data == "add"
    if not width.is_const:
        return place, width
    fits = int(width) >= LEAST_COLUMNS and not (sums and int(width) > MOST_SUMS)
    return (place, width) if fits else None


def _separate(op: ReduceOp, window: _Window) -> None:
    block = op.parent
    assert block is not None
    type_, combiner = op.type, op.combiner.data
    rank, (rows, columns) = type_.rank, op.extents.data
    neutral = identity(combiner, type_.dtype)
    value = replaced(window.value, window.place, var(f"i{rank - 1}"))
    tall = tensor(type_.dtype, (*type_.shape[:-1], window.width))
    first = ReduceOp(list(op.inputs), _where(window.rows, value, neutral), [rows], combiner, tall)
    inner = {COLUMN: var(ROW)}
    here = [*(var(f"i{d}") for d in range(rank - 1)), substitute(window.place, inner)]
    read = load("a0", here, type_.dtype)
    guards = tuple(substitute(c, inner) for c in window.columns)
    second = ReduceOp([first.result], _where(guards, read, neutral), [columns], combiner, type_)
    block.insert_ops_before([first, second], op)
    op.result.replace_all_uses_with(second.result)
    op.detach()
    op.erase()


def _where(conditions: tuple[Expr, ...], value: Expr, neutral: Expr) -> Expr:
    return select(all_of(conditions), value, neutral) if conditions else value

"""Short branches become selects: lanes that would part stay together.

```
te.var v: i64 = 0                        te.var v: i64 = 0
te.if n < limit {                        te.let c: i64 = a * 2
  te.let c: i64 = a * 2            -->   te.assign v = select(n < limit, c, v)
  te.assign v = c
}
```
Both sides are computed, so they must be few, must not touch memory and must not trap (an integer
division by a variable may). Method: Allen, Kennedy, Porterfield, Warren, "Conversion of Control
Dependence to Data Dependence", POPL 1983.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, select, var
from tensorscript.dialects.te.ops import AssignOp, IfOp, LetOp
from tensorscript.dialects.te.rewriting import loads, substitute, walk

MOST_NODES = 24
"""Expression nodes of both sides together that are worth computing in vain."""

INTEGER_DIVISIONS = frozenset({"floordiv", "mod", "truncdiv", "truncmod"})


def _may_trap(e: Expr) -> bool:
    """An integer division by something that is not a literal."""
    return any(
        n.op in INTEGER_DIVISIONS and not n.dtype.is_floating_point and not n.args[1].is_const
        for n in walk(e)
    )


def if_convert(statements: Iterable[Operation], fresh: Callable[[str], str]) -> list[Operation]:
    """The statements (detached) with their short branches converted, inner ones first.

    Args:
        fresh: makes a name like the one given that is not taken in the function.
    """
    out: list[Operation] = []
    for op in statements:
        for region in op.regions:
            inside = list(region.block.ops)
            for child in inside:
                child.detach()
            region.block.add_ops(if_convert(inside, fresh))
        out += _converted(op, fresh) if isinstance(op, IfOp) and _is_short(op) else [op]
    return out


def _sides(op: IfOp) -> tuple[list[Operation], list[Operation]]:
    return list(op.then_body.block.ops), list(op.else_body.block.ops)


def _is_short(op: IfOp) -> bool:
    then, otherwise = _sides(op)
    nodes = 0
    for statement in (*then, *otherwise):
        if not isinstance(statement, LetOp | AssignOp):
            return False
        if loads(statement.value) or _may_trap(statement.value):
            return False
        nodes += sum(1 for _ in walk(statement.value))
    return nodes <= MOST_NODES


def _converted(op: IfOp, fresh: Callable[[str], str]) -> list[Operation]:
    lets: list[Operation] = []
    sides: list[Mapping[str, Expr]] = []
    for side in _sides(op):
        values: dict[str, Expr] = {}
        for statement in side:
            assert isinstance(statement, LetOp | AssignOp)
            value = substitute(statement.value, values)
            if isinstance(statement, LetOp):
                lets.append(LetOp(statement.var, value))
            else:
                values[statement.var] = value
        sides.append(values)
    then, otherwise = sides
    chosen = {}
    for name in dict.fromkeys((*then, *otherwise)):
        given = then if name in then else otherwise
        old = var(name, given[name].dtype)
        chosen[name] = select(op.condition, then.get(name, old), otherwise.get(name, old))
    if len(chosen) > 1:  # all are chosen from the old values
        for name, value in list(chosen.items()):
            own = fresh(name)
            lets.append(LetOp(own, value))
            chosen[name] = var(own, value.dtype)
    made = [*lets, *(AssignOp(name, value) for name, value in chosen.items())]
    for statement in made:
        statement.location = op.location
    return made

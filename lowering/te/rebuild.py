"""Copies of statements with expressions rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.ir import Operation

from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import (
    AcrossOp,
    AllocOp,
    AssertOp,
    AssignOp,
    CallOp,
    ForOp,
    IfOp,
    LetOp,
    MatricesOp,
    MultiplyOp,
    PrefetchOp,
    ScanOp,
    StoreOp,
    SyncOp,
    UpdateOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.rewriting import rebuild, substitute

from .nest import detach, insert_before

Rewrite = Callable[[Expr], Expr]


def copy_statement(op: Operation, rewrite: Rewrite) -> Operation:
    """A copy of `op` (and what is inside it) with every expression rewritten."""
    made = _copy(op, rewrite)
    made.location = op.location
    return made


def _copy(op: Operation, f: Rewrite) -> Operation:
    match op:
        case StoreOp():
            return StoreOp(op.buffer, [f(i) for i in op.indices], f(op.value))
        case UpdateOp():
            return UpdateOp(op.buffer, [f(i) for i in op.indices], op.combiner, f(op.value))
        case LetOp():
            return LetOp(op.var, f(op.value))
        case VarOp():
            return VarOp(op.var, f(op.value))
        case AssignOp():
            return AssignOp(op.var, f(op.value))
        case ScanOp():
            return ScanOp(op.var, op.carried, op.combiner, f(op.value), f(op.step))
        case AssertOp():
            return AssertOp(f(op.condition), op.message)
        case AllocOp():
            return AllocOp(op.buffer, op.scope.data, op.offset)
        case PrefetchOp():
            return PrefetchOp(f(op.place), op.level)
        case SyncOp():
            return SyncOp(op.scope.data)
        case AcrossOp():
            return AcrossOp(op.buffer, op.combiner, op.lanes)
        case MatricesOp():
            return MatricesOp(f(op.target), f(op.place), op.across)
        case MultiplyOp():
            return MultiplyOp(f(op.sums), f(op.x), f(op.y), op.dtype)
        case CallOp():
            return CallOp(op.callee, [f(a) for a in op.arguments])
        case ForOp():
            inside = copy_all(op.block.ops, f)
            return ForOp(
                op.var, f(op.extent), inside, op.kind.data, f(op.start), op.is_reduction, op.grain,
                op.chunk,
            )  # fmt: skip
        case WhileOp():
            return WhileOp(f(op.condition), copy_all(op.block.ops, f))
        case IfOp():
            then = copy_all(op.then_body.block.ops, f)
            return IfOp(f(op.condition), then, copy_all(op.else_body.block.ops, f))
    raise InternalError(f"cannot copy {op.name}", "te")


def copy_all(statements: Iterable[Operation], rewrite: Rewrite) -> list[Operation]:
    """Copies of a list of statements."""
    return [copy_statement(op, rewrite) for op in statements]


def substituting(values: Mapping[str, Expr]) -> Rewrite:
    """The rewrite that replaces variables."""
    return lambda e: substitute(e, values)


def move_before(loop: ForOp, before: Sequence[Operation], names: Mapping[Expr, Expr]) -> None:
    """Put `before` in front of `loop`, whose expressions read `names` for what it computes. They
    are replaced from the top: one of them may lie in another, and the outer one counts."""
    made = dict(names)

    def rewrite(e: Expr) -> Expr:
        if e not in made:
            made[e] = rebuild(e, tuple(map(rewrite, e.args))) if e.args else e
        return made[e]

    for op in list(loop.block.ops):
        detach(op)
        loop.block.add_op(copy_statement(op, rewrite))
    for op in before:
        op.location = loop.location
    insert_before(loop, before)

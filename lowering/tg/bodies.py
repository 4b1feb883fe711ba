"""Handling the bodies of tg's computing ops: renaming operands, composing index maps, costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from xdsl.ir import Operation, SSAValue

from tensorscript.dialects.te.expr import Expr, node, var
from tensorscript.dialects.te.rewriting import loads, substitute, transform, walk
from tensorscript.dialects.tg.names import operand_number, operand_of
from tensorscript.dialects.tg.ops import ComputeOp, ReductionOp

KEPT_BODIES = 64
"""Bodies that are remembered while their operands are asked about one by one."""
EXPENSIVE_OPS = frozenset({"div", "pow", "floordiv", "mod", "truncmod"})


def rename_operands(body: Expr, names: Sequence[str]) -> Expr:
    """Replace operand aK (a read or a scalar) by names[K]."""
    if _are_own(names):
        return body

    def visit(n: Expr) -> Expr | None:
        if n.op not in ("load", "var"):
            return None
        number = operand_number(str(n.value))
        if number is None or names[number] == n.value:
            return None
        return node(n.op, n.args, names[number], n.dtype)

    return transform(body, visit)


def _are_own(names: Sequence[str]) -> bool:
    """The names are a0, a1, ... as they were."""
    return all(name == f"a{k}" for k, name in enumerate(names))


def at_indices(body: Expr, indices: Sequence[Expr]) -> Expr:
    """`body` with i0, i1, ... replaced by `indices`."""
    if all(index is var(f"i{d}") for d, index in enumerate(indices)):
        return body
    return substitute(body, {f"i{d}": index for d, index in enumerate(indices)})


def reads_of(body: Expr, operand: int) -> list[tuple[Expr, ...]]:
    """The distinct index tuples at which `body` reads operand `operand`."""
    return list(_all_reads(body).get(f"a{operand}", ()))


@lru_cache(maxsize=KEPT_BODIES)
def _all_reads(body: Expr) -> dict[object, list[tuple[Expr, ...]]]:
    """Where each operand is read: all are found at once, for a body may have hundreds."""
    found: dict[object, list[tuple[Expr, ...]]] = {}
    for n in loads(body):
        found.setdefault(n.value, []).append(n.args)
    return found


def expensive_count(body: Expr) -> int:
    """How many float operations of `body` cost many times an addition."""
    return sum(
        (n.is_costly or n.op in EXPENSIVE_OPS) and n.dtype.is_floating_point for n in walk(body)
    )


@lru_cache(maxsize=KEPT_BODIES)
def node_count(body: Expr, limit: int | None = None) -> int:
    """The distinct nodes of `body`; no more are counted than one past `limit`."""
    return sum(1 for _ in islice(walk(body), None if limit is None else limit + 1))


def merged_body(
    op: ComputeOp | ReductionOp, values: list[SSAValue], replaced: dict[int, Expr]
) -> Expr:
    """The body of `op` with reads of some operands replaced by their producers' bodies.

    Args:
        values: the operand list of the result; grows by the operands of `op` that stay.
        replaced: operand number -> producer's body over i0.., its operands named into `values`.
    """
    names = [
        "" if number in replaced else f"a{_position(values, value)}"
        for number, value in enumerate(op.inputs)
    ]

    def visit(n: Expr) -> Expr | None:
        if n.op not in ("load", "var"):
            return None
        number = operand_number(str(n.value))
        if number is None:
            return None
        if number in replaced:
            return at_indices(replaced[number], n.args)
        return node(n.op, n.args, names[number], n.dtype)

    if not replaced and _are_own(names):
        return op.body.data  # a long body grows by one operation after the other
    # `transform` does not revisit what `visit` returns, so a producer's names stay as they are.
    return transform(op.body.data, visit)


def _position(values: list[SSAValue], value: SSAValue) -> int:
    for number, known in enumerate(values):
        if known is value:
            return number
    values.append(value)
    return len(values) - 1


def compact_operands(inputs: Sequence[SSAValue], body: Expr) -> tuple[list[SSAValue], Expr]:
    """Drop operands that `body` does not read and rename the rest a0, a1, ..."""
    used = sorted({number for n in walk(body) if (number := operand_of(n)) is not None})
    names = [""] * len(inputs)
    for new, old in enumerate(used):
        names[old] = f"a{new}"
    return [inputs[k] for k in used], rename_operands(body, names)


def is_computing(op: Operation) -> bool:
    return isinstance(op, ComputeOp | ReductionOp)


def telling(body: Expr) -> list[Expr]:
    """The reads that tell where others read."""
    return [inner for read in loads(body) for at in read.args for inner in loads(at)]

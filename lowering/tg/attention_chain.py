"""Recognise attention: a product, a softmax along its last dimension, a product of that.

| op | result | body, at the point (row.., last) |
|---|---|---|
| scores | `s` | `q * k` over one sum |
| mapped (or none) | `x` | anything of `s`: scale, masks |
| top | `m` | max (or greater) of `x`; of anything of `s` where there is no `mapped` |
| powers | `e` | `exp(x - m)` |
| total | `l` | sum of `e` |
| inverse | `r` | anything of `l`, such as `1 / l` |
| weights | `p` | `e * r` |
| result | `o` | `p * v` over the keys |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from tensorscript.base.dtypes import float32, float64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.rewriting import loads, substitute
from tensorscript.dialects.tg.names import operand_number
from tensorscript.dialects.tg.ops import ComputeOp, ContractOp, ReductionOp

from .bodies import reads_of, rename_operands

_Kind = TypeVar("_Kind", bound=Operation)

LEAST_ROWS = 8
"""Fewer queries do not repay packing the keys."""
LEAST_KEYS = 16
MOST_WIDTH = 256
"""Elements of a head: a few rows of queries and of results stay in the first cache."""


@dataclass(frozen=True)
class AttentionChain:
    """The ops of one attention. `peak` reads m in the body of `powers`; `shifted` is what it is
    taken from there."""

    scores: ContractOp
    mapped: ComputeOp | None
    top: ReductionOp
    powers: ComputeOp
    shifted: Expr
    peak: Expr
    total: ReductionOp
    inverse: ComputeOp
    weights: ComputeOp
    result: ContractOp

    @property
    def inner(self) -> Iterator[ComputeOp | ReductionOp]:
        """All but the result."""
        yield self.scores
        if self.mapped is not None:
            yield self.mapped
        yield from (self.top, self.powers, self.total, self.inverse, self.weights)


def match_attention(result: ContractOp) -> AttentionChain | None:
    """The attention whose second product `result` is, if one kernel may compute it."""
    if not _is_product(result):
        return None
    for weights in _read_at_row(result, var("r0"), ComputeOp):
        last = var(f"i{weights.type.rank - 1}")
        for powers in _read_at_row(weights, last, ComputeOp):
            chain = _softmax(result, weights, powers)
            if chain is not None and _is_private(chain) and _fits(chain):
                return chain
    return None


def _is_product(op: ContractOp) -> bool:
    """A sum over one dimension; one factor follows the rows, the other the columns."""
    if op.expr.op != "mul" or op.type.rank < 2 or len(op.extents.data) != 1:
        return False
    row, column = (f"i{op.type.rank - k}" for k in (2, 1))
    x, y = op.expr.args
    if column in x.free:
        x, y = y, x
    return row in x.free and column in y.free and column not in x.free and row not in y.free


def _read_at_row(op: ComputeOp | ReductionOp, last: Expr, kind: type[_Kind]) -> Iterator[_Kind]:
    """Producers of a kind whose results `op` reads only at (i0, i1, .., last)."""
    for number, value in enumerate(op.inputs):
        spots = reads_of(op.body.data, number)
        if isinstance(value.owner, kind) and spots and all(_is_row(s, last) for s in spots):
            yield value.owner


def _is_row(indices: tuple[Expr, ...], last: Expr) -> bool:
    """(i0, i1, .., last); 0 may stand where a size is 1."""
    if not indices or indices[-1] is not last:
        return False
    return all(i is var(f"i{d}") or i.is_int(0) for d, i in enumerate(indices[:-1]))


def _is_of_row(e: Expr, rank: int) -> bool:
    """A read at the row of a point of `rank` dimensions; the last is left out, or at 0."""
    row, rest = e.args[: rank - 1], e.args[rank - 1 :]
    at_row = all(i is var(f"i{d}") or i.is_int(0) for d, i in enumerate(row))
    return e.op == "load" and at_row and all(i.is_int(0) for i in rest)


def _producer(op: ComputeOp | ReductionOp, e: Expr) -> Operation | None:
    """What made the tensor that `e` reads, where it is a read and nothing more."""
    number = operand_number(str(e.value)) if e.op == "load" else None
    owner = None if number is None else op.inputs[number].owner
    return owner if isinstance(owner, Operation) else None


def _softmax(result: ContractOp, weights: ComputeOp, powers: ComputeOp) -> AttentionChain | None:
    e, rank = powers.expr, weights.type.rank
    if (
        e.op != "call"
        or e.value not in ("exp", "decay")
        or e.args[0].op != "sub"
        or weights.expr.op != "mul"
    ):
        return None
    by = next((a for a in weights.expr.args if _producer(weights, a) is not powers), None)
    if by is None or not _is_of_row(by, rank):
        return None
    inverse = _producer(weights, by)
    if not isinstance(inverse, ComputeOp) or len(inverse.inputs) != 1:
        return None
    shifted, peak = e.args[0].args
    if peak.op == "max" and peak.args[1].is_const:
        peak = peak.args[0]
    if not _is_of_row(peak, rank) or any(not _is_of_row(n, rank) for n in loads(inverse.expr)):
        return None
    total, top = inverse.inputs[0].owner, _producer(powers, peak)
    if not isinstance(total, ReductionOp) or not isinstance(top, ReductionOp):
        return None
    if total.combiner.data != "add" or _producer(total, total.body.data) is not powers:
        return None
    if not _is_row(total.body.data.args, var("r0")):
        return None
    if top.combiner.data not in ("max", "greater") or not _same_values(powers, shifted, top):
        return None
    for source in _read_at_row(top, var("r0"), ComputeOp):
        for scores in _read_at_row(source, var(f"i{source.type.rank - 1}"), ContractOp):
            return AttentionChain(scores, source, top, powers, shifted, peak, total, inverse,
                                  weights, result)  # fmt: skip
    for scores in _read_at_row(top, var("r0"), ContractOp):
        return AttentionChain(scores, None, top, powers, shifted, peak, total, inverse, weights,
                              result)  # fmt: skip
    return None


def _same_values(powers: ComputeOp, shifted: Expr, top: ReductionOp) -> bool:
    """The maximum is taken over what is shifted by it."""
    values: list[SSAValue] = []

    def named(op: ComputeOp | ReductionOp, e: Expr) -> Expr:
        values.extend(v for v in op.inputs if v not in values)
        return rename_operands(e, [f"a{values.index(v)}" for v in op.inputs])

    last = f"i{powers.type.rank - 1}"
    return substitute(named(powers, shifted), {last: var("r0")}) is named(top, top.body.data)


def _is_private(c: AttentionChain) -> bool:
    """All in one block, and nothing else reads what lies between the products."""
    members = {id(op) for op in (*c.inner, c.result)}
    return all(
        op.parent is c.result.parent and all(id(u.operation) in members for u in op.result.uses)
        for op in c.inner
    )


def _fits(c: AttentionChain) -> bool:
    """Along all of the last dimension, in one dtype, of sizes that repay the tiles."""
    shape, dtype = c.scores.type.shape, c.result.type.dtype
    one_row = c.weights.type.shape == shape and c.result.type.shape[:-1] == shape[:-1]
    sums = [c.top.extents.data, c.total.extents.data, c.result.extents.data]
    if not one_row or any(s != shape[-1:] for s in sums):
        return False
    if dtype not in (float32, float64) or any(op.type.dtype is not dtype for op in c.inner):
        return False
    if not _is_product(c.scores):
        return False
    widths = (*c.scores.extents.data, c.result.type.shape[-1])
    if not all(w.is_const and 2 <= int(str(w)) <= MOST_WIDTH for w in widths):
        return False
    return _at_least(shape[-2], LEAST_ROWS) and _at_least(shape[-1], LEAST_KEYS)


def _at_least(size: Expr, least: int) -> bool:
    return not size.is_const or int(str(size)) >= least

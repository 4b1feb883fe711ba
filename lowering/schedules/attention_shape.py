"""Recognise attention in a logical nest, of the form that `lowering/tg/fuse_attention.py` makes.

```
for b.. { for i {                                         batch, row
  for j { s[j] = 0; for r { s[j] += q(i, r) * k(j, r) } } scores
  for j { x[j] = f(s[j]) }                                mapped (not always)
  m = -inf; for j { m max= x[j] }                         top
  for j { e[j] = exp(x[j] - max(m, lowest)) }             powers
  l = 0; for j { l += e[j] }                              total
  r = g(l)                                                inverse
  for d { u[d] = 0; for j { u[d] += e[j] * v(j, d) } }    values
  for d { o[i, d] = u[d] * r } } }                        result
```
"""

from __future__ import annotations

import math

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import substitute

from .contraction_shape import Axis


@dataclass(frozen=True)
class Attention:
    """The parts of the nest, as expressions of the variables of its axes.

    Attributes:
        q, k, v: the factors, at (row, depth), (key, depth), (key, column).
        score: x at (row, key), in which the scores stand as a load of `scores`; None for s itself.
        floor: the lowest number, which stands for a maximum of -inf.
        inverse: r, in which l stands as a load of `total`.
        result: the store of o, in which u and r stand as loads of `values` and `inverse_name`.
    """

    batch: Axis
    row: Axis
    key: Axis
    depth: Axis
    column: Axis
    q: Expr
    k: Expr
    v: Expr
    score: Expr | None
    floor: Expr
    inverse: Expr
    result: StoreOp
    scores: str
    total: str
    values: str
    inverse_name: str


def recognise_attention(func: FuncOp) -> Attention | None:
    """The attention that a kernel computes, None if its loops have another form."""
    loops: list[ForOp] = []
    body = list(func.block.ops)
    while len(body) == 1 and isinstance(body[0], ForOp):
        loops.append(body[0])
        body = list(body[0].block.ops)
    stages = [op for op in body if not isinstance(op, AllocOp)]
    if not loops or len(stages) not in (9, 10):
        return None
    mapped = _map(stages.pop(1)) if len(stages) == 10 else None
    first, _, peak, powers, _, sums, inverse, second, last = stages
    scores, values = _product(first), _product(second)
    top, power, total = _update(peak), _map(powers), _update(sums)
    result = _map(last)
    if scores is None or values is None or top is None or total is None:
        return None
    if power is None or result is None or not isinstance(inverse, StoreOp):
        return None
    batch, row = loops[:-1], loops[-1]
    floor = _floor(
        power.store.value, (mapped.store if mapped else scores.update).buffer, top.buffer
    )
    if floor is None:
        return None
    q, k = _factors(scores.update, row.var, scores.outer.var)
    e, v = _factors(values.update, "", values.outer.var)
    if q is None or k is None or v is None or e is None or e.op != "load":
        return None
    if row.var in k.free | v.free or e.value != power.store.buffer:
        return None
    key, column = scores.outer.var, values.outer.var

    def at_key(e: Expr, name: str) -> Expr:
        return substitute(e, {name: var(key)})

    return Attention(
        Axis([f.var for f in batch], [f.extent for f in batch]),
        _axis(row), _axis(scores.outer), _axis(scores.inner), _axis(values.outer),
        q, k, at_key(v, values.inner.var),
        None if mapped is None else at_key(mapped.store.value, mapped.loop.var),
        floor,
        inverse.value,
        _result_at(result, column),
        scores.update.buffer,
        total.buffer, values.update.buffer, inverse.buffer,
    )  # fmt: skip


def scale_of(a: Attention) -> float | None:
    """The positive number that x is of s, 1 where it is s; None where it is more than that."""
    if a.score is None:
        return 1.0
    if a.score.op != "mul":
        return None
    factors = sorted(a.score.args, key=lambda e: e.is_const)
    if factors[0].op != "load" or factors[0].value != a.scores or not factors[1].is_const:
        return None
    factor = float(str(factors[1].value))
    return factor if 0 < factor < math.inf else None


def _floor(power: Expr, scores: str, top: str) -> Expr | None:
    """The number in `decay(x - max(m, number))`; None if a power has another form."""
    if power.op != "call" or power.value != "decay" or power.args[0].op != "sub":
        return None
    x, shift = power.args[0].args
    if x.op != "load" or x.value != scores or shift.op != "max":
        return None
    m, number = shift.args
    return number if m.op == "load" and m.value == top and number.is_const else None


@dataclass(frozen=True)
class _Map:
    loop: ForOp
    store: StoreOp


@dataclass(frozen=True)
class _Product:
    outer: ForOp
    inner: ForOp
    update: UpdateOp


def _axis(loop: ForOp) -> Axis:
    return Axis([loop.var], [loop.extent])


def _map(op: Operation) -> _Map | None:
    """`for j { t[j] = .. }`"""
    if not isinstance(op, ForOp) or op.is_reduction or len(body := list(op.block.ops)) != 1:
        return None
    return _Map(op, body[0]) if isinstance(body[0], StoreOp) else None


def _update(op: Operation) -> UpdateOp | None:
    """`for j { t combined with .. }`"""
    if not isinstance(op, ForOp) or not op.is_reduction or len(body := list(op.block.ops)) != 1:
        return None
    return body[0] if isinstance(body[0], UpdateOp) else None


def _product(op: Operation) -> _Product | None:
    """`for j { t[j] = 0; for r { t[j] += x * y } }`"""
    if not isinstance(op, ForOp) or len(body := list(op.block.ops)) != 2:
        return None
    update = _update(body[1])
    if not isinstance(inner := body[1], ForOp) or update is None or update.value.op != "mul":
        return None
    return _Product(op, inner, update)


def _factors(update: UpdateOp, row: str, column: str) -> tuple[Expr | None, Expr | None]:
    """The factor that the column does not move, and the one that it does."""
    x, y = update.value.args
    if column in x.free:
        x, y = y, x
    fits = column in y.free and column not in x.free and (not row or row in x.free)
    return (x, y) if fits else (None, None)


def _result_at(result: _Map, column: str) -> StoreOp:
    """The last store with the columns of the second product."""
    values = {result.loop.var: var(column)}
    store = result.store
    return StoreOp(
        store.buffer,
        [substitute(i, values) for i in store.indices],
        substitute(store.value, values),
    )

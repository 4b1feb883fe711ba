"""Rows of the connectionist temporal classification loss: one loop over time, all samples and all
states of their targets (blanks between labels) at once (Graves and others, 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorscript.base.dtypes import float64, int64
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, select

from .builder import Builder, Rows
from .control import loop
from .elements import as_expr
from .emission import Body
from .factors import trips
from .pointwise import logaddexp
from .sizes import simplify
from .values import Tensor, Value

NONE, MEAN, SUM = 0, 1, 2
_LOW = const(-math.inf, float64)


def _lengths(b: Builder, given: Value) -> Tensor:
    if isinstance(given, Tensor):
        return b.cast(b.apply("aten::reshape", given, [-1]), int64)
    return b.apply("aten::tensor", list(given), int64.code)


def _ctc_loss(
    b: Builder,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Value,
    target_lengths: Value,
    blank: Value = 0,
    reduction: Value = MEAN,
    zero_infinity: Value = False,
    *_: Value,
) -> Tensor:
    """log_probs (T, N, C) or (T, C); targets (N, S), or all of them in one row."""
    single = log_probs.rank == 2
    x = b.apply("aten::unsqueeze", log_probs, 1) if single else log_probs
    x = b.cast(x, float64)
    steps, counts = _lengths(b, input_lengths), _lengths(b, target_lengths)
    time, batch, _classes = x.shape
    longest = targets.shape[-1]
    states = simplify(longest * 2 + 1)
    ends = b.apply("aten::cumsum", counts, 0)

    def label(body: Body, n: Expr, s: Expr) -> Expr:
        """The class of state s of sample n: labels between blanks."""
        number = s // 2
        inside = binary("lt", number, body.read(counts, [n], int64))
        if targets.rank == 2:
            at = [n, binary("min", number, longest - 1)]
        else:
            begin = body.read(ends, [n], int64) - body.read(counts, [n], int64)
            at = [binary("min", begin + number, longest - 1)]
        is_label = all_of([(s % 2).equals(1), inside])
        return select(is_label, body.read(targets, at, int64), const(blank))

    classes = b.compute([batch, states], int64, lambda body, i: label(body, i[0], i[1]))

    def said(body: Body, t: Expr, n: Expr, s: Expr) -> Expr:
        return body.read(x, [t, n, body.read(classes, [n, s], int64)], float64)

    def first(body: Body, i: list[Expr]) -> Expr:
        begins = all_of([i[1] < 2, binary("lt", i[1], body.read(counts, [i[0]], int64) * 2 + 1)])
        return select(begins, said(body, const(0), i[0], i[1]), _LOW)

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, score = arguments
        t = simplify(as_expr(number) + 1)

        def advanced(body: Body, i: list[Expr]) -> Expr:
            n, s = i
            old = body.read(score, i, float64)
            before = select(s > 0, body.read(score, [n, binary("max", s - 1, 0)], float64), _LOW)
            own = body.read(classes, i, int64)
            other = body.read(classes, [n, binary("max", s - 2, 0)], int64)
            skips = all_of([s > 1, binary("ne", own, blank), binary("ne", own, other)])
            jump = body.read(score, [n, binary("max", s - 2, 0)], float64)
            stay = logaddexp(old, before)
            at = body.scalar(t, int64)
            new = select(skips, logaddexp(stay, jump), stay) + said(body, at, n, s)
            return select(binary("lt", at, body.read(steps, [n], int64)), new, old)

        return [True, b.compute([batch, states], float64, advanced)]

    start = b.compute([batch, states], float64, first)
    (score,) = loop(b, trips(simplify(binary("max", time - 1, 0))), True, [start], step, 64)

    def loss(body: Body, i: list[Expr]) -> Expr:
        count = body.read(counts, i, int64)
        last = body.read(score, [i[0], count * 2], float64)
        before = body.read(score, [i[0], binary("max", count * 2 - 1, 0)], float64)
        total = -select(count > 0, logaddexp(last, before), last)
        none = select(count > 0, const(math.inf, float64), const(0.0, float64))
        total = select(body.read(steps, i, int64).equals(0), none, total)
        infinite = total.equals(math.inf)
        return select(infinite, const(0.0, float64), total) if zero_infinity else total

    losses = b.compute([batch], float64, loss)
    if reduction == MEAN:
        found = b.pointwise(
            lambda e, n: e / binary("max", n, 1), losses, counts, dtype=float64, compute=float64
        )
        return b.cast(b.apply("aten::mean", found), log_probs.dtype)
    if reduction == SUM:
        return b.cast(b.apply("aten::sum", losses), log_probs.dtype)
    out = b.cast(losses, log_probs.dtype)
    return b.apply("aten::reshape", out, []) if single else out


CTC: Rows = {"aten::ctc_loss": _ctc_loss}

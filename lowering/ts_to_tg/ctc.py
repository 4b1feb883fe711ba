"""Rows of the connectionist temporal classification loss: one loop over time, all samples and all
states of their targets (blanks between labels) at once (Graves and others, 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorscript.base.dtypes import float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, select

from .builder import Builder, Rows
from .elements import as_expr, known
from .emission import Body
from .factors import trips
from .index import check_bounds
from .loops import loop
from .loss import MEAN, SUM
from .pointwise import logaddexp
from .sizes import simplify
from .values import Tensor, Value

_LOW = const(-math.inf, float64)
_NOTHING = const(0.0, float64)


def _lengths(b: Builder, given: Value) -> Tensor:
    if isinstance(given, Tensor):
        return b.cast(b.apply("aten::reshape", given, [-1]), int64)
    return b.apply("aten::tensor", list(given), int64.code)


@dataclass(frozen=True)
class _Lattice:
    """States of all samples: the labels of a target, with a blank before, between and behind.

    Attributes:
        x: log-probabilities in float64, (T, N, C).
        steps: lengths of the inputs, (N).
        counts: lengths of the targets, (N).
        classes: the class of each state, (N, 2 S + 1).
        blank: the class of blanks.
    """

    x: Tensor
    steps: Tensor
    counts: Tensor
    classes: Tensor
    blank: Value

    def said(self, body: Body, time: Expr, n: Expr, s: Expr) -> Expr:
        """The log-probability of state s of sample n at a time."""
        return body.read(self.x, [time, n, body.read(self.classes, [n, s], int64)], float64)

    def first(self, body: Body, i: list[Expr]) -> Expr:
        """Scores at the first time: a blank or the first label."""
        n, s = i
        begins = all_of([s < 2, binary("lt", s, body.read(self.counts, [n], int64) * 2 + 1)])
        return select(begins, self.said(body, const(0), n, s), _LOW)

    def advanced(self, body: Body, i: list[Expr], score: Tensor, time: Expr) -> Expr:
        """Scores at a time from those before it: a state stays, or comes from the last one, or
        from the label before a blank that may be left out."""
        n, s = i
        old = body.read(score, i, float64)
        before = select(s > 0, body.read(score, [n, binary("max", s - 1, 0)], float64), _LOW)
        own = body.read(self.classes, i, int64)
        other = body.read(self.classes, [n, binary("max", s - 2, 0)], int64)
        skips = all_of([s > 1, binary("ne", own, self.blank), binary("ne", own, other)])
        jump = body.read(score, [n, binary("max", s - 2, 0)], float64)
        stay = logaddexp(old, before)
        at = body.scalar(time, int64)
        new = select(skips, logaddexp(stay, jump), stay) + self.said(body, at, n, s)
        return select(binary("lt", at, body.read(self.steps, [n], int64)), new, old)

    def loss(self, body: Body, i: list[Expr], score: Tensor) -> Expr:
        """What a sample's last scores amount to; infinite if its target does not fit."""
        count = body.read(self.counts, i, int64)
        last = body.read(score, [i[0], count * 2], float64)
        before = body.read(score, [i[0], binary("max", count * 2 - 1, 0)], float64)
        total = -select(count > 0, logaddexp(last, before), last)
        none = select(count > 0, const(math.inf, float64), _NOTHING)
        return select(body.read(self.steps, i, int64).equals(0), none, total)

    def losses(self, b: Builder, zero_infinity: bool) -> Tensor:
        """Of all samples, (N)."""
        shape = self.classes.shape

        def step(arguments: Sequence[Value]) -> list[Value]:
            number, score = arguments
            time = simplify(as_expr(number) + 1)
            after = b.compute(shape, float64, lambda body, i: self.advanced(body, i, score, time))
            return [True, after]

        start = b.compute(shape, float64, self.first)
        later = trips(simplify(binary("max", self.x.shape[0] - 1, 0)))
        (score,) = loop(b, later, True, [start], step, 64)

        def kept(body: Body, i: list[Expr]) -> Expr:
            total = self.loss(body, i, score)
            return select(total.equals(math.inf), _NOTHING, total) if zero_infinity else total

        return b.compute(shape[:1], float64, kept)


def _classes(b: Builder, targets: Tensor, counts: Tensor, batch: Expr, blank: Value) -> Tensor:
    """The class of each state of each sample, (N, 2 S + 1)."""
    longest = targets.shape[-1]
    ends = b.apply("aten::cumsum", counts, 0)

    def label(body: Body, i: list[Expr]) -> Expr:
        n, s = i
        number = s // 2
        inside = binary("lt", number, body.read(counts, [n], int64))
        if targets.rank == 2:
            at = [n, binary("min", number, longest - 1)]
        else:
            begin = body.read(ends, [n], int64) - body.read(counts, [n], int64)
            at = [binary("min", begin + number, longest - 1)]
        is_label = all_of([(s % 2).equals(1), inside])
        return select(is_label, body.read(targets, at, int64), const(blank))

    return b.compute([batch, simplify(longest * 2 + 1)], int64, label)


def _check(
    b: Builder, x: Tensor, targets: Tensor, steps: Tensor, counts: Tensor, blank: Value
) -> None:
    """Lengths for each sample, of steps and labels that are there."""
    times, batch, classes = x.shape
    for name, lengths in (("input", steps), ("target", counts)):
        message = f"{name}_lengths must be of size batch_size"
        b.require_same(lengths.shape[0], batch, message)
    words = "Expected input_lengths to have value at most "
    check_bounds(b, steps, simplify(times + 1), f"{words}{times}", low=False)
    longest = targets.shape[-1]
    words = "Expected target_lengths to have value at most "
    check_bounds(b, counts, simplify(longest + 1), f"{words}{longest}", low=False)
    if targets.rank == 2:
        message = f"Expected tensor to have size {batch} at dimension 0 for argument #2 'targets'"
        b.require_same(targets.shape[0], batch, message)
    else:
        labels = as_expr(b.item(b.apply("aten::sum", counts)))
        message = f"Expected target_lengths to name all {longest} targets"
        b.check(binary("eq", labels, longest), message)
    inside = all_of([binary("ge", as_expr(blank), 0), binary("lt", as_expr(blank), classes)])
    b.check(known(inside), "blank must be in label range")


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
    _check(b, x, targets, steps, counts, blank)
    classes = _classes(b, targets, counts, x.shape[1], blank)
    check_bounds(b, classes, x.shape[2], "targets must be in label range", low=False)
    losses = _Lattice(x, steps, counts, classes, blank).losses(b, bool(zero_infinity))
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

"""Connectionist temporal classification: the forward recursion over the blank-extended targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, wrap
from .loss import MEAN, SUM

Kernel = Callable[..., Any]


def _negative_log_likelihood(log_p: Array, target: Array, blank: int) -> float:
    """log_p (T, C), target (S) -> -log of the summed probability of all alignments."""
    states = np.full(2 * target.size + 1, blank, np.int64)
    states[1::2] = target
    skips = np.zeros(states.size, bool)
    skips[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    score = np.full(states.size, -np.inf)
    if not log_p.shape[0]:
        return np.inf if target.size else 0.0
    score[:2] = log_p[0, states[:2]]
    for step in log_p[1:]:
        stay = np.logaddexp(score, np.concatenate([[-np.inf], score[:-1]]))
        jump = np.concatenate([[-np.inf] * 2, score[:-2]])[: states.size]
        score = np.where(skips, np.logaddexp(stay, jump), stay) + step[states]
    return -float(np.logaddexp.reduce(score[-2:]))


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = MEAN, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """log_probs (T, N, C) or (T, C); targets (N, S), or all of them in one row."""
    x, all_targets = compute(log_probs), array(targets)
    if not x.size:
        raise OperatorError("log_probs tensor must not be empty")
    single = x.ndim == 2
    x = x[:, None] if single else x
    steps, counts = _lengths(input_lengths), _lengths(target_lengths)
    starts = np.cumsum([0, *counts])
    losses = np.zeros(x.shape[1], np.float64)
    with np.errstate(invalid="ignore"):
        for n, (length, count) in enumerate(zip(steps, counts, strict=True)):
            start = starts[n]
            own = all_targets[n] if all_targets.ndim == 2 else all_targets[start:]
            log_p = x[:length, n].astype(np.float64)
            losses[n] = _negative_log_likelihood(log_p, own[:count], blank)
    if zero_infinity:
        losses = np.where(np.isinf(losses), 0, losses)
    if reduction == MEAN:
        return wrap(np.mean(losses / np.maximum(counts, 1)), log_probs.dtype)
    if reduction == SUM:
        return wrap(losses.sum(), log_probs.dtype)
    return wrap(losses[0] if single else losses, log_probs.dtype)


def _lengths(given: Any) -> Sequence[int]:
    found = array(given).reshape(-1) if hasattr(given, "dtype") else given
    return [int(n) for n in found]


KERNELS: dict[str, Kernel] = {"aten::ctc_loss.IntList": ctc_loss, "aten::ctc_loss.Tensor": ctc_loss}

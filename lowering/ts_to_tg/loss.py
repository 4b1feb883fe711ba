"""Rows of losses; `reduction` is one of NONE, MEAN and SUM."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder, Rows
from .elements import compute_dtype, known
from .emission import Body
from .index import check_bounds
from .pointwise import absolute
from .sizes import product
from .values import Tensor, Value

NONE, MEAN, SUM = 0, 1, 2


def reduced(b: Builder, x: Tensor, reduction: int) -> Tensor:
    """The losses of all elements, their mean or their sum."""
    if reduction == NONE:
        return x
    if reduction == MEAN and not x.dtype.is_floating_point:
        b.error(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or"
            f" complex dtype. Got: {x.dtype.word}"
        )
    return b.apply("aten::mean" if reduction == MEAN else "aten::sum", x)


def pairwise(fn: Callable[..., Expr], *defaults: Value) -> Callable[..., Tensor]:
    """A loss of (input, target, reduction, parameters...) element by element."""

    def row(b: Builder, x: Tensor, y: Tensor, reduction: int = MEAN, *parameters: Value) -> Tensor:
        given = [*parameters[: len(defaults)], *defaults[len(parameters) :]]
        dtype = b.result_type(x, y)
        wide = compute_dtype(dtype)
        return reduced(b, b.pointwise(fn, x, y, *given, dtype=dtype, compute=wide), reduction)

    return row


def _smooth(p: Expr, q: Expr, beta: Expr) -> Expr:
    gap = absolute(p - q)
    return select(binary("lt", gap, beta), 0.5 * gap * gap / beta, gap - 0.5 * beta)


def _huber(p: Expr, q: Expr, delta: Expr) -> Expr:
    gap = absolute(p - q)
    near = binary("le", gap, delta)
    return select(near, 0.5 * gap * gap, delta * (gap - 0.5 * delta))


def nll(
    b: Builder,
    x: Tensor,
    target: Tensor,
    weight: Value = None,
    reduction: int = MEAN,
    ignore: int = -100,
    *_: Value,
) -> Tensor:
    """Classes in dimension 1 (0 for a vector); `ignore` counts for nothing."""
    axis = 1 if x.rank > 1 else 0
    target = b.call("tg::view", target, []) if x.rank == 1 else target
    for d, (n, m) in enumerate(zip(target.shape, _without(x.shape, axis), strict=True)):
        b.require_same(n, m, f"the target's dimension {d} has {n} elements, the scores have {m}")
    wide = compute_dtype(x.dtype)
    valid = b.pointwise(lambda t: select(t.equals(ignore), const(0), t), target)
    check_bounds(b, valid, x.shape[axis], "Target is out of bounds.", low=False)

    def term(scaled: bool) -> Callable[[Body, list[Expr]], Expr]:
        def make(body: Body, i: list[Expr]) -> Expr:
            kind = body.read(valid, i, int64)
            at = [*i[:axis], kind, *i[axis:]]
            w = const(1, wide) if weight is None else body.read(weight, [kind], wide)
            e = -body.read(x, at, wide) * w if scaled else w
            return select(body.read(target, i, int64).equals(ignore), const(0, wide), e)

        return make

    losses = b.compute(target.shape, x.dtype if reduction == NONE else wide, term(True))
    if reduction == NONE:
        return losses
    total = b.call("aten::sum", losses)
    if reduction == MEAN:
        weights = b.call("aten::sum", b.compute(target.shape, wide, term(False)))
        total = b.pointwise(lambda p, q: p / q, total, weights)
    return b.cast(total, x.dtype)


def _without(shape: Sequence[Expr], axis: int) -> list[Expr]:
    return [n for d, n in enumerate(shape) if d != axis]


def cross_entropy(
    b: Builder,
    x: Tensor,
    target: Tensor,
    weight: Value = None,
    reduction: int = MEAN,
    ignore: int = -100,
    smoothing: float = 0.0,
    *_: Value,
) -> Tensor:
    axis = 1 if x.rank > 1 else 0
    logs = b.apply("aten::log_softmax", x, axis, None)
    if weight is not None:
        weight = b.call("tg::view", weight, [-1, *([1] * (x.rank - 1 - axis))])
    if target.dtype.is_floating_point:
        return _against_probabilities(b, logs, target, weight, reduction, smoothing, axis)
    flat = None if weight is None else b.call("tg::view", weight, [-1])
    plain = nll(b, logs, target, flat, reduction, ignore)
    if smoothing <= 0:
        return plain
    smooth = _smoothed(b, logs, target, weight, flat, reduction, ignore, axis)
    share = smoothing / int(str(x.shape[axis].value)) if x.shape[axis].op == "const" else None
    if share is None:
        b.cannot("label smoothing over a number of classes that is not known")
    return b.pointwise(lambda p, s: p * (1 - smoothing) + s * share, plain, smooth)


def _against_probabilities(
    b: Builder,
    logs: Tensor,
    target: Tensor,
    weight: Value,
    reduction: int,
    smoothing: float,
    axis: int,
) -> Tensor:
    """Cross entropy with a probability for each class; the mean is over samples."""
    if smoothing:
        share = b.call("aten::div", b.full((), smoothing, logs.dtype), logs.shape[axis])
        target = b.apply("aten::add", b.call("aten::mul", target, 1 - smoothing), share)
    products = b.apply("aten::mul", logs, target)
    if weight is not None:
        products = b.apply("aten::mul", products, weight)
    losses = b.apply("aten::neg", b.call("aten::sum.dim_IntList", products, [axis]))
    if reduction != MEAN:
        return reduced(b, losses, reduction)
    total = b.apply("aten::sum", losses)
    # PyTorch divides by the number of elements and multiplies by that of classes: of none, NaN.
    samples = product(tuple(s for d, s in enumerate(logs.shape) if d != axis))
    some = select(product(logs.shape).equals(0), const(0), samples)
    return b.apply("aten::div", total, known(some))


def _smoothed(
    b: Builder,
    logs: Tensor,
    target: Tensor,
    weight: Value,
    flat: Value,
    reduction: int,
    ignore: int,
    axis: int,
) -> Tensor:
    """The part of label smoothing: minus the (weighted) sum of all classes' logarithms, where the
    target counts."""
    weighted = logs if weight is None else b.apply("aten::mul", logs, weight)
    sums = b.apply("aten::neg", b.call("aten::sum.dim_IntList", weighted, [axis]))
    counts = b.apply("aten::ne", target, ignore)
    kept = b.apply("aten::where", counts, sums, b.full((), 0, sums.dtype))
    if reduction != MEAN:
        return reduced(b, kept, reduction)
    if flat is None:
        number = b.apply("aten::sum", counts)
    else:
        valid = b.apply("aten::where", counts, target, b.full((), 0, target.dtype))
        chosen = b.apply("aten::take", flat, valid)
        number = b.apply("aten::sum", b.call("aten::mul", chosen, counts))
    return b.apply("aten::div", b.call("aten::sum", kept), number)


def _bce(b: Builder, x: Tensor, y: Tensor, weight: Value = None, reduction: int = MEAN) -> Tensor:
    def fn(p: Expr, t: Expr, *w: Expr) -> Expr:
        low = const(-100, p.dtype)
        first = binary("max", call("log", p), low)
        second = binary("max", call("log1p", -p), low)
        out = (t - 1) * second - t * first
        return out * w[0] if w else out

    extra = [] if weight is None else [weight]
    return reduced(b, b.pointwise(fn, x, y, *extra), reduction)


def _bce_logits(
    b: Builder,
    x: Tensor,
    y: Tensor,
    weight: Value = None,
    positive: Value = None,
    reduction: int = MEAN,
) -> Tensor:
    def fn(p: Expr, t: Expr, *rest: Expr) -> Expr:
        at = iter(rest)
        sigmoid_log = binary("min", p, const(0, p.dtype)) - call(
            "log1p", call("decay", -call("abs", p))
        )
        factor = (next(at) - 1) * t + 1 if positive is not None else const(1, p.dtype)
        out = (1 - t) * p - factor * sigmoid_log
        return out * next(at) if weight is not None else out

    extra = [t for t in (positive, weight) if t is not None]
    return reduced(b, b.pointwise(fn, x, y, *extra), reduction)


def _kl(
    b: Builder, x: Tensor, y: Tensor, reduction: int = MEAN, log_target: bool = False
) -> Tensor:
    def fn(p: Expr, t: Expr) -> Expr:
        if log_target:
            return call("exp", t) * (t - p)
        positive = select(t.equals(0), const(0, t.dtype), t * call("log", t))
        return positive - t * p

    return reduced(b, b.pointwise(fn, x, y), reduction)


def _soft_margin(b: Builder, x: Tensor, y: Tensor, reduction: int = MEAN) -> Tensor:
    """log(1 + exp(-x y)); the power is rounded to the tensors' dtype, where it may overflow."""
    power = b.pointwise(lambda p, q: call("exp", -p * q), x, y)
    return reduced(b, b.apply("aten::log1p", power), reduction)


LOSS: Rows = {
    "aten::mse_loss": pairwise(lambda p, q: (p - q) * (p - q)),
    "aten::l1_loss": pairwise(lambda p, q: absolute(p - q)),
    "aten::smooth_l1_loss": pairwise(_smooth, 1.0),
    "aten::huber_loss": pairwise(_huber, 1.0),
    "aten::soft_margin_loss": _soft_margin,
    "aten::nll_loss": nll,
    "aten::nll_loss_nd": nll,
    "aten::nll_loss2d": nll,
    "aten::cross_entropy_loss": cross_entropy,
    "aten::binary_cross_entropy": _bce,
    "aten::binary_cross_entropy_with_logits": _bce_logits,
    "aten::kl_div": _kl,
}

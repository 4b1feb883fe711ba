"""Rows of activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder, Rows
from .dims import dimension
from .elements import as_expr, compute_dtype, known
from .sizes import simplify
from .values import Tensor, Value


def activation(fn: Callable[..., Expr], *defaults: Value) -> Callable[..., Tensor]:
    """A row over one tensor and scalar parameters, in the tensor's dtype."""

    def row(b: Builder, x: Tensor, *parameters: Value) -> Tensor:
        given = [*parameters[: len(defaults)], *defaults[len(parameters) :]]
        return b.pointwise(fn, x, *given, dtype=x.dtype, compute=compute_dtype(x.dtype))

    return row


def clipped(x: Expr, low: Expr | float, high: Expr | float) -> Expr:
    return binary("min", binary("max", x, low), high)


def _normal_gate(e: Expr) -> Expr:
    return call("gelu", e)


def _gelu(b: Builder, x: Tensor, approximate: str = "none", *_: Value) -> Tensor:
    def by_tanh(e: Expr) -> Expr:
        inner = math.sqrt(2 / math.pi) * call("muladd", e * e * e, const(0.044715, e.dtype), e)
        return 0.5 * e * (1 + call("tanh", inner))

    return activation(by_tanh if approximate == "tanh" else _normal_gate)(b, x)


def silu(e: Expr) -> Expr:
    return e * call("sigmoid", e)


def _elu(e: Expr, alpha: Expr, scale: Expr, input_scale: Expr) -> Expr:
    return select(e > 0, e * scale, call("expm1", e * input_scale) * (alpha * scale))


def softplus(e: Expr, beta: Expr, threshold: Expr) -> Expr:
    scaled = e * beta
    return select(scaled > threshold, e, call("log1p", call("exp", scaled)) / beta)


def log_sigmoid(e: Expr) -> Expr:
    low = binary("min", const(0, e.dtype), e)
    return low - call("log1p", call("decay", -call("abs", e)))


def _mish(e: Expr) -> Expr:
    return e * call("tanh", softplus(e, const(1, e.dtype), const(20, e.dtype)))


def _selu(e: Expr) -> Expr:
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return select(e > 0, e * scale, call("expm1", e) * (alpha * scale))


def _prelu(b: Builder, x: Tensor, weight: Tensor, *_: Value) -> Tensor:
    b.take_above_one(*weight.shape)
    if weight.rank == 1 and not weight.shape[0].is_int(1):
        shape = [const(1)] * x.rank
        shape[1] = weight.shape[0]
        weight = b.call("tg::view", weight, shape)
    if not x.rank:
        weight = b.call("tg::view", weight, [])
    return b.pointwise(lambda e, w: select(e > 0, e, w * e), x, weight)


def _rrelu(
    b: Builder,
    x: Tensor,
    low: Value = 0.125,
    high: Value = 1 / 3,
    training: Value = False,
    *_: Value,
) -> Tensor:
    """The middle slope; in training one is drawn for each element that is not positive."""
    if not isinstance(training, bool):
        b.cannot("a flag that is not known")
    b.check(
        known(binary("le", as_expr(low), as_expr(high))),
        "Lower bound should be less than or equal to the upper bound",
    )
    if training:
        below = b.apply("aten::le", x, 0)
        held = b.cast(b.apply("aten::masked_select", x, below), float64)
        drawn = b.apply("aten::mul", held, b.apply("aten::uniform", held, low, high))
        return b.apply("aten::masked_scatter", x, below, b.cast(drawn, x.dtype))
    return activation(lambda e, p, q: select(e > 0, e, e * ((p + q) / 2)), low, high)(b, x)


def _relu(e: Expr) -> Expr:
    return binary("max", e, const(0, e.dtype))


def _glu(b: Builder, x: Tensor, dim: int = -1, *_: Value) -> Tensor:
    d = dimension(b, dim, x.rank)
    half = simplify(x.shape[d] // 2)
    first, second = (b.call("aten::narrow", x, d, start, half) for start in (0, half))
    return b.pointwise(lambda p, q: p * call("sigmoid", q), first, second)


def _hard_shrink(b: Builder, x: Tensor, limit: Value = 0.5, *_: Value) -> Tensor:
    def fn(e: Expr, limit: Expr) -> Expr:
        inside = binary("and", binary("ge", e, -limit), binary("le", e, limit))
        return select(inside, const(0, e.dtype), e)

    wide = compute_dtype(x.dtype)
    return b.pointwise(fn, *b.operands(x, limit), dtype=x.dtype, compute=wide)


def _soft_shrink(e: Expr, limit: Expr) -> Expr:
    return select(e > limit, e - limit, select(e < -limit, e + limit, e * 0.0))


ACTIVATION: Rows = {
    "aten::relu": activation(_relu),
    "aten::relu6": activation(lambda e: clipped(e, 0.0, 6.0)),
    "aten::hardtanh": activation(clipped, -1.0, 1.0),
    "aten::leaky_relu": activation(lambda e, s: select(e > 0, e, e * s), 0.01),
    "aten::rrelu": _rrelu,
    "aten::gelu": _gelu,
    "aten::silu": activation(silu),
    "aten::mish": activation(_mish),
    "aten::hardsigmoid": activation(lambda e: clipped(e + 3.0, 0.0, 6.0) / 6.0),
    "aten::hardswish": activation(lambda e: e * clipped(e + 3.0, 0.0, 6.0) / 6.0),
    "aten::elu": activation(_elu, 1.0, 1.0, 1.0),
    "aten::celu": activation(lambda e, a: select(e > 0, e, a * call("expm1", e / a)), 1.0),
    "aten::selu": activation(_selu),
    "aten::softplus": activation(softplus, 1.0, 20.0),
    "aten::softsign": activation(lambda e: e / (1 + call("abs", e))),
    "aten::log_sigmoid": activation(log_sigmoid),
    "aten::hardshrink": _hard_shrink,
    "aten::softshrink": activation(_soft_shrink, 0.5),
    "aten::tanhshrink": activation(lambda e: e - call("tanh", e)),
    "aten::threshold": activation(lambda e, t, v: select(binary("le", e, t), v, e), 0.0, 0.0),
    "aten::prelu": _prelu,
    "aten::glu": _glu,
}

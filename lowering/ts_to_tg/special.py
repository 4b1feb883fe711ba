"""Rows of rarer elementwise functions: torch.special, and what C99 has beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from tensorscript.base.dtypes import DType, bfloat16, bool_, float16, float32, float64, real_dtype
from tensorscript.dialects.te.expr import Expr, all_of, binary, call, const, select

from .branches import branch
from .builder import Builder, Rows
from .complex_tensors import AnyTensor, complex_of, converted
from .dims import dimensions, dtype_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .pointwise import binary_float, math_call, unary_float
from .reduction import combine
from .sizes import same_size
from .values import ComplexTensor, Tensor, Value


def _heaviside(b: Builder, x: Tensor, values: Tensor, *_: Value) -> Tensor:
    if x.dtype is not values.dtype:
        b.error("heaviside is not yet implemented for tensors with different dtypes.")

    def fn(e: Expr, v: Expr) -> Expr:
        zero, one = const(0, e.dtype), const(1, e.dtype)
        # NaN is not above zero, so PyTorch's step of it is 0.
        step = select(binary("gt", e, zero), one, zero)
        return select(e.equals(zero), v, step)

    return b.pointwise(fn, x, values)


def _logaddexp2(p: Expr, q: Expr) -> Expr:
    top = binary("max", p, q)
    same = binary("and", p.equals(q), call("isinf", top))
    rest = call("log1p", call("exp2", -call("abs", p - q))) * (1 / math.log(2))
    return select(same, top, top + rest)


def _sinc(e: Expr) -> Expr:
    angle = e * math.pi
    return select(e.equals(0), const(1, e.dtype), call("sin", angle) / angle)


def _entr(e: Expr) -> Expr:
    inner = select(e.equals(0), const(0, e.dtype), const(-math.inf, e.dtype))
    return select(call("isnan", e), e, select(e > 0, -e * call("log", e), inner))


def _xlog1py(p: Expr, q: Expr) -> Expr:
    plain = select(p.equals(0), const(0, p.dtype), p * call("log1p", q))
    return select(call("isnan", q), q, plain)


def _ndtr(e: Expr) -> Expr:
    return 0.5 * call("erfc", e * -math.sqrt(0.5))


def _signbit(b: Builder, x: Tensor, *_: Value) -> Tensor:
    if x.dtype.is_floating_point:
        wide = compute_dtype(x.dtype)
        return b.pointwise(lambda e: call("signbit", e), x, dtype=bool_, compute=wide)
    if x.dtype is bool_ or not x.dtype.signed:
        return b.full(x.shape, False, bool_)
    return b.pointwise(lambda e: e < 0, x, dtype=bool_, compute=x.dtype)


def check_double(b: Builder, x: Value, dtype: DType) -> None:
    """float_power_ writes into tensors of double precision only."""
    is_in_place = b.operator.partition(".")[0] == "aten::float_power_"
    if is_in_place and isinstance(x, Tensor | ComplexTensor) and x.dtype is not dtype:
        b.error(
            f"the base given to float_power_ has dtype {x.dtype.word} but the operation's result"
            f" requires dtype {dtype.word}"
        )


def _float_power(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    check_double(b, x, float64)
    return b.pointwise(lambda p, q: binary("pow", p, q), x, y, dtype=float64, compute=float64)


def _ldexp(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Value:
    return b.call("aten::mul.Tensor", x, b.call("aten::pow.Scalar", 2.0, y))


def ignoring_nan(op: str) -> Callable[..., Tensor]:
    """fmax and fmin: the other operand where one is NaN."""

    def row(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Tensor:
        dtype = b.result_type(x, y)

        def fn(p: Expr, q: Expr) -> Expr:
            if p.dtype is bool_:
                return binary("or" if op == "max" else "and", p, q)
            best = binary(op, p, q)
            if not p.dtype.is_floating_point:
                return best
            return select(call("isnan", p), q, select(call("isnan", q), p, best))

        return b.pointwise(fn, x, y, dtype=dtype, compute=compute_dtype(dtype))

    return row


_HALVES = {
    bfloat16: (2.0**-8, 2.0**-133, 2.0**127 * (2 - 2.0**-7)),
    float16: (2.0**-11, 2.0**-24, 65504.0),
}
"""Half a place of 1, the least and the largest positive number."""


def _next_half(dtype: DType, p: Expr, q: Expr) -> Expr:
    """In float32: a step of 5/8 to 5/4 of a place, which rounding to `dtype` makes one place."""
    half, least, largest = _HALVES[dtype]
    length = call("abs", p)
    place = binary("max", length * (1.25 * half), const(least, float32))
    moved = p + call("copysign", place, q - p)
    toward = select(moved.equals(0), p * 0, moved)
    inner = call("copysign", const(largest, float32), p)
    found = select(length.equals(math.inf), inner, toward)
    found = select(p.equals(q), q, found)
    return select(binary("or", call("isnan", p), call("isnan", q)), p + q, found)


def _nextafter(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Tensor:
    dtype = b.result_type(x, y)
    if dtype in _HALVES:
        step, given = partial(_next_half, dtype), b.operands(x, y)
        return b.pointwise(step, *given, dtype=dtype, compute=float32)
    if dtype is not compute_dtype(dtype) or not dtype.is_floating_point:
        b.cannot(f"nextafter of {dtype.name}")
    return b.pointwise(lambda p, q: call("nextafter", p, q), x, y, dtype=dtype, compute=dtype)


def _equal(b: Builder, x: AnyTensor, y: AnyTensor, *_: Value) -> Value:
    """Whether shapes and elements are equal, as a bool. Elements are compared where the shapes,
    which may have to be found, are the same."""
    if x.rank != y.rank:
        return False

    def elements(_: Sequence[Value]) -> list[Value]:
        def make(body: Body, i: list[Expr]) -> Expr:
            return all_of(body.read(p, i, dtype).equals(body.read(q, i, dtype)) for p, q in parts)

        return [b.item(b.call("aten::all", b.compute(x.shape, bool_, make)))]

    both = b.result_type(x, y)
    dtype = compute_dtype(real_dtype(both)) if both.is_complex else compute_dtype(both)
    sides = [complex_of(b, t, both).elements if both.is_complex else (t,) for t in (x, y)]
    parts = list(zip(*sides, strict=True))
    pairs = zip(x.shape, y.shape, strict=True)
    alike = known(b.unsized(all_of(p.equals(q) for p, q in pairs if not same_size(p, q))))
    if not isinstance(alike, Expr):
        return elements(())[0] if alike else False
    return branch(b, alike, elements, lambda _: [False])[0]


def _allclose(b: Builder, x: Tensor, y: Tensor, *tolerances: Value) -> Value:
    return b.item(b.call("aten::all", b.call("aten::isclose", x, y, *tolerances)))


def _nanmean(
    b: Builder,
    x: Tensor,
    dims: Value = None,
    keepdim: Value = False,
    dtype: Value = None,
    *_: Value,
) -> Tensor:
    kind = dtype_of(dtype, x.dtype)
    if not kind.is_floating_point:
        b.error(
            "nanmean(): expected input to have floating point or complex dtype but got "
            + x.dtype.word
        )
    wide = compute_dtype(kind)
    found = dimensions(b, dims, x.rank)

    def present(e: Expr) -> Expr:
        return select(call("isnan", e), const(0, wide), e)

    def counted(e: Expr) -> Expr:
        return select(call("isnan", e), const(0, wide), const(1, wide))

    total = combine(b, x, found, keepdim, "add", wide, present)
    count = combine(b, x, found, keepdim, "add", wide, counted)
    return b.pointwise(lambda t, n: t / n, total, count, dtype=kind, compute=wide)


def _renorm(b: Builder, x: Tensor, p: Value, dim: int, limit: Value, *_: Value) -> Value:
    """Each slice along `dim` scaled down to a p-norm of at most `limit`."""
    d = dim % x.rank
    message = f"renorm: expected maxnorm to be >= 0 but got {limit}"
    b.check(known(binary("ge", as_expr(limit), 0)), message)
    b.check(known(binary("gt", as_expr(p), 0)), "renorm: non-positive-norm not supported")
    length = b.call("aten::norm.ScalarOpt_dim", x, p, [k for k in range(x.rank) if k != d], True)
    wide = compute_dtype(length.dtype)

    def fn(n: Expr, m: Expr) -> Expr:
        return select(n > m, m / (n + 1e-7), const(1, wide))

    factor = b.pointwise(fn, length, limit, dtype=wide, compute=wide)
    return converted(b, b.call("aten::mul", x, factor), x.dtype)


def _decimals(b: Builder, x: Tensor, decimals: int = 0, *_: Value) -> Tensor:
    """round to decimals: scale, round half to even, scale back."""
    if not isinstance(decimals, int):
        b.cannot("a number of decimals that is not known")
    if decimals == 0 or not x.dtype.is_floating_point:
        return b.pointwise(lambda e: call("round", e) if e.dtype.is_floating_point else e, x)
    wide = compute_dtype(x.dtype)
    scale = const(10.0 ** abs(decimals), wide)

    def fn(e: Expr) -> Expr:
        if decimals > 0:
            return call("round", e * scale) / scale
        return call("round", e / scale) * scale

    return b.pointwise(fn, x, dtype=x.dtype, compute=wide)


_ALIASES = {
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expm1": "expm1",
    "log1p": "log1p",
    "gammaln": "lgamma",
    "psi": "digamma",
    "digamma": "digamma",
}

SPECIAL: Rows = {
    **{f"aten::special_{name}": math_call(of) for name, of in _ALIASES.items()},
    "aten::special_entr": unary_float(_entr),
    "aten::special_ndtr": unary_float(_ndtr),
    "aten::special_xlog1py": binary_float(_xlog1py),
    "aten::special_xlogy": lambda b, x, y, *_: b.call("aten::xlogy.Tensor", x, y),
    "aten::special_logit": lambda b, x, *a: b.call("aten::logit", x, *a),
    "aten::special_logsumexp": lambda b, x, *a: b.call("aten::logsumexp", x, *a),
    "aten::sinc": unary_float(_sinc),
    "aten::special_sinc": unary_float(_sinc),
    "aten::heaviside": _heaviside,
    "aten::logaddexp2": binary_float(_logaddexp2),
    "aten::signbit": _signbit,
    "aten::float_power": _float_power,
    "aten::ldexp": _ldexp,
    "aten::fmax": ignoring_nan("max"),
    "aten::fmin": ignoring_nan("min"),
    "aten::nextafter": _nextafter,
    "aten::equal": _equal,
    "aten::allclose": _allclose,
    "aten::nanmean": _nanmean,
    "aten::renorm": _renorm,
    "aten::round.decimals": _decimals,
    "aten::special_round": _decimals,
}

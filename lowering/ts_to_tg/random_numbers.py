"""Rows that draw random numbers, each as its eager kernel does: the same numbers for a seed."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.drawn import drawn_below
from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const

from .builder import Builder, Rows
from .dims import dtype_of, sizes_of
from .elements import as_expr, known
from .generator import integers, normal, permutation, seed, uniform
from .sizes import product
from .values import Tensor, Value

Row = Callable[..., Value]
Sampler = Callable[[Builder, Expr, bool], Tensor]


def drawn_in(b: Builder, sampler: Sampler, shape: Value, dtype: DType) -> Tensor:
    """Numbers of the dtype that `dtype` draws in, in a shape."""
    sizes = sizes_of(b, list(shape))
    flat = sampler(b, product(sizes), dtype is float64)
    return b.apply("aten::reshape", flat, list(sizes))


def _float(b: Builder, dtype: DType, name: str) -> DType:
    if not dtype.is_floating_point:
        b.cannot(f"{name} of {dtype.name}")
    return dtype


def _sampled(sampler: Sampler) -> Row:
    def row(b: Builder, size: Value, dtype: Value = None, *_: Value) -> Tensor:
        kind = _float(b, dtype_of(dtype, b.default_dtype), "random numbers")
        return b.cast(drawn_in(b, sampler, size, kind), kind)

    return row


def _sampled_with(sampler: Sampler) -> Row:
    """The overload that takes a generator."""
    run = _sampled(sampler)

    def row(b: Builder, size: Value, generator: Value, *rest: Value) -> Value:
        _default(b, generator)
        return run(b, size, *rest)

    return row


def _default(b: Builder, generator: Value) -> None:
    if generator is not None:
        b.cannot("a generator of the caller's")


def _sampled_like(sampler: Sampler) -> Row:
    def row(b: Builder, x: Tensor, dtype: Value = None, *_: Value) -> Tensor:
        kind = _float(b, dtype_of(dtype, x.dtype), "random numbers")
        return b.cast(drawn_in(b, sampler, x.shape, kind), kind)

    return row


def _randint(
    b: Builder, low: Value, high: Value, size: Value, dtype: Value = None, *_: Value
) -> Tensor:
    b.check(
        known(binary("lt", as_expr(low), as_expr(high))),
        f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
    )
    found = drawn_in(b, lambda b, n, _: integers(b, low, high, n), size, int64)
    return b.cast(found, dtype_of(dtype, int64))


def _randint_with(
    b: Builder, low: Value, high: Value, size: Value, generator: Value, *rest: Value
) -> Tensor:
    """The overload that takes a generator."""
    _default(b, generator)
    return _randint(b, low, high, size, *rest)


def _randint_like(
    b: Builder, x: Tensor, low: Value, high: Value, dtype: Value = None, *_: Value
) -> Tensor:
    ends = [b.item(v) if isinstance(v, Tensor) else v for v in (low, high)]
    return _randint(b, *ends, list(x.shape), dtype_of(dtype, x.dtype).code)


def _randperm(b: Builder, n: Value, dtype: Value = None, *_: Value) -> Tensor:
    (size,) = sizes_of(b, [n])
    return b.cast(permutation(b, size), dtype_of(dtype, int64))


def _with_parameters(
    sampler: Sampler, fn: Callable[..., Expr], count: int, double: bool = True
) -> Row:
    """An in-place sampler: `fn` of each number drawn and `count` parameters.

    Args:
        double: numbers are drawn in double precision whatever the dtype.
    """

    def row(b: Builder, x: Tensor, *given: Value) -> Tensor:
        _default(b, given[count] if len(given) > count else None)
        kind = float64 if double else _float(b, x.dtype, "random numbers")
        drawn = drawn_in(b, sampler, x.shape, kind)
        wide = drawn.dtype
        return b.pointwise(fn, drawn, *given[:count], dtype=x.dtype, compute=wide)

    return row


def _checked(row: Row, message: str, test: Callable[..., Expr]) -> Row:
    """`row` after a test of its parameters; `{0}`, `{1}` of the message stand for them."""

    def run(b: Builder, x: Tensor, *given: Value) -> Value:
        numbers = [as_expr(v) for v in given if not isinstance(v, Tensor) and v is not None]
        b.check(known(test(*numbers)), message.format(*given))
        return row(b, x, *given)

    return run


def _bernoulli(b: Builder, x: Tensor, generator: Value = None, *_: Value) -> Tensor:
    _default(b, generator)
    _check_chances(b, x)
    drawn = drawn_in(b, uniform, x.shape, x.dtype)
    return b.pointwise(lambda u, p: binary("lt", u, p), drawn, x, dtype=x.dtype, compute=float64)


def _check_chances(b: Builder, p: Tensor) -> None:
    fine = b.pointwise(
        lambda e: binary("and", binary("ge", e, 0), binary("le", e, 1)), p, dtype=bool_,
        compute=float64,
    )  # fmt: skip
    message = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."
    b.check(b.item(b.apply("aten::all", fine)), message)


def _bernoulli_p(
    b: Builder, x: Tensor, p: Value = 0.5, generator: Value = None, *_: Value
) -> Tensor:
    _default(b, generator)
    if isinstance(p, Tensor):
        _check_chances(b, p)
    else:
        inside: Value = isinstance(p, Expr) or 0 <= p <= 1
        if isinstance(p, Expr):
            inside = binary("and", binary("ge", p, 0), binary("le", p, 1))
        b.check(inside, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    drawn = drawn_in(b, uniform, x.shape, p.dtype if isinstance(p, Tensor) else float64)
    return b.pointwise(lambda u, q: binary("lt", u, q), drawn, p, dtype=x.dtype, compute=float64)


def _bernoulli_in_place(b: Builder, x: Tensor, p: Value = 0.5, *rest: Value) -> Tensor:
    b.write(x, _bernoulli_p(b, x, p, *rest))
    return x


def _check_deviation(b: Builder, std: Value) -> None:
    if not isinstance(std, Tensor):
        fine = binary("ge", cast(as_expr(std), float64), const(0.0, float64))
        b.check(known(fine), f"normal expects std >= 0.0, but found std {std}")
        return
    each = b.pointwise(lambda e: binary("ge", e, 0), std, dtype=bool_, compute=float64)
    b.check(b.item(b.apply("aten::all", each)), "normal expects all elements of std >= 0.0")


def _normal_numbers(
    b: Builder, mean: Value, std: Value, size: Value, generator: Value = None,
    dtype: Value = None, *_: Value,
) -> Tensor:  # fmt: skip
    _default(b, generator)
    _check_deviation(b, std)
    kind = dtype_of(dtype, b.default_dtype)
    drawn = drawn_in(b, normal, size, kind)
    return b.pointwise(lambda z, m, s: z * s + m, drawn, mean, std, dtype=kind, compute=drawn.dtype)


def _normal_tensors(
    b: Builder, mean: Value, std: Value = 1.0, generator: Value = None, *_: Value
) -> Tensor:
    _default(b, generator)
    _check_deviation(b, std)
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    drawn = drawn_in(b, normal, b.broadcast_shapes(*(t.shape for t in tensors)), tensors[0].dtype)
    return b.pointwise(
        lambda z, m, s: z * s + m, drawn, mean, std, dtype=tensors[0].dtype, compute=drawn.dtype
    )


def _random(b: Builder, x: Tensor, low: Value, high: Value, generator: Value = None) -> Tensor:
    _default(b, generator)
    top = drawn_below(x.dtype) if high is None else high
    found = drawn_in(b, lambda b, n, _: integers(b, low, top, n), x.shape, int64)
    return b.cast(found, x.dtype)


# --- multinomial ----------------------------------------------------------------------------------


def _multinomial(
    b: Builder, x: Tensor, count: Value, replacement: Value = False, generator: Value = None
) -> Tensor:
    """Places drawn with the rows as weights; without replacement by Gumbel's trick."""
    _default(b, generator)
    if x.rank not in (1, 2):
        b.error("prob_dist must be 1 or 2 dim")
    if not x.dtype.is_floating_point:
        b.error(f"multinomial only supports floating-point dtypes for input, got: {x.dtype.word}")
    if not isinstance(count, int) or not isinstance(replacement, bool):
        b.cannot("a number of samples that is not known")
    if count <= 0:
        b.error("cannot sample n_sample <= 0 samples")
    message = "probability tensor contains either `inf`, `nan` or element < 0"
    p = b.cast(x, float64)
    fine = b.pointwise(
        lambda e: binary("and", call("isfinite", e), binary("ge", e, 0)), p, dtype=bool_,
        compute=float64,
    )  # fmt: skip
    b.check(b.item(b.apply("aten::all", fine)), message)
    totals = b.apply("aten::sum.dim_IntList", p, [-1], True)
    b.check(b.item(b.apply("aten::all", b.apply("aten::gt", totals, 0))), message)
    if replacement:
        drawn = drawn_in(b, uniform, [*x.shape[:-1], count], float64)
        edges = b.apply("aten::div", b.apply("aten::cumsum", p, -1), totals)
        at = b.apply("aten::searchsorted", edges, drawn, False, True)
        return b.apply("aten::clamp_max", at, x.shape[-1] - 1)
    b.check(
        known(binary("ge", x.shape[-1], count)),
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    drawn = drawn_in(b, uniform, x.shape, float64)

    def key(e: Expr, u: Expr) -> Expr:
        return call("log", -call("log1p", -u)) - call("log", e)

    keys = b.pointwise(key, p, drawn, dtype=float64, compute=float64)
    order = b.call("aten::sort.stable", keys, True, -1, False)[1]
    return b.apply("aten::narrow", order, -1, 0, count)


def _between(low: float, high: float) -> Callable[..., Expr]:
    def test(e: Expr, *_: Expr) -> Expr:
        wide = cast(e, float64)
        return binary("and", wide > low, wide < high)

    return test


def _positive(at: int) -> Callable[..., Expr]:
    return lambda *e: cast(e[at], float64) > 0


_UNIFORM = _checked(
    _with_parameters(
        uniform, lambda u, low, high: call("fma", u, high - low, low), 2, double=False
    ),
    "uniform_ expects to return a [from, to) range, but found from={0} > to={1}",
    lambda low, high, *_: binary("le", cast(low, float64), cast(high, float64)),
)
_NORMAL = _checked(
    _with_parameters(normal, lambda z, mean, std: z * std + mean, 2, double=False),
    "normal expects std >= 0.0, but found std {1}",
    lambda mean, std, *_: binary("ge", cast(std, float64), const(0.0, float64)),
)

RANDOM: Rows = {
    "aten::rand": _sampled(uniform),
    "aten::randn": _sampled(normal),
    "aten::rand.generator": _sampled_with(uniform),
    "aten::randn.generator": _sampled_with(normal),
    "aten::rand_like": _sampled_like(uniform),
    "aten::randn_like": _sampled_like(normal),
    "aten::randint": lambda b, high, size, dtype=None, *_: _randint(b, 0, high, size, dtype),
    "aten::randint.low": _randint,
    "aten::randint.generator": lambda b, high, *rest: _randint_with(b, 0, high, *rest),
    "aten::randint.low_generator": _randint_with,
    "aten::randint_like": lambda b, x, high, *rest: _randint_like(b, x, 0, high, *rest),
    "aten::randint_like.Tensor": lambda b, x, high, *rest: _randint_like(b, x, 0, high, *rest),
    "aten::randint_like.low_dtype": _randint_like,
    "aten::randperm": _randperm,
    **dict.fromkeys(("aten::uniform", "aten::_no_grad_uniform"), _UNIFORM),
    **dict.fromkeys(("aten::normal", "aten::_no_grad_normal"), _NORMAL),
    "aten::exponential": _checked(
        _with_parameters(uniform, lambda u, rate: -call("log1p", -u) / rate, 1),
        "exponential_ expects lambda > 0.0, but found lambda={0}",
        _positive(0),
    ),
    "aten::log_normal": _checked(
        _with_parameters(normal, lambda z, mean, std: call("exp", z * std + mean), 2),
        "log_normal_ expects std > 0.0, but found std={1}",
        _positive(1),
    ),
    "aten::geometric": _checked(
        _with_parameters(
            uniform,
            lambda u, p: binary(
                "max", call("ceil", call("log", u) / call("log1p", -p)), const(1, u.dtype)
            ),
            1,
        ),
        "geometric_ expects p to be in (0, 1), but got p={0}",
        _between(0, 1),
    ),
    "aten::cauchy": _checked(
        _with_parameters(
            uniform, lambda u, median, sigma: median + sigma * call("tan", (u - 0.5) * math.pi), 2
        ),
        "cauchy_ expects sigma > 0.0, but found sigma={1}",
        _positive(1),
    ),
    "aten::normal.Tensor_float": _normal_tensors,
    "aten::normal.float_Tensor": _normal_tensors,
    "aten::normal.Tensor_Tensor": _normal_tensors,
    "aten::normal.float_float": _normal_numbers,
    "aten::bernoulli": _bernoulli,
    "aten::bernoulli.p": _bernoulli_p,
    "aten::bernoulli.Tensor": _bernoulli_p,
    "aten::bernoulli_": _bernoulli_in_place,
    "aten::random": lambda b, x, generator=None: _random(b, x, 0, None, generator),
    "aten::random.to": lambda b, x, to, generator=None: _random(b, x, 0, to, generator),
    "aten::random.from": _random,
    "aten::multinomial": _multinomial,
    "aten::manual_seed": seed,
}

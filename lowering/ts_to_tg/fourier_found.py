"""Discrete Fourier transforms whose length the program finds.

A length n that is a power of two is transformed by stages that keep their results in order
(Stockham's radix-2 form, in Cochran et al., "What is the fast Fourier transform?", 1967). Any other
becomes a convolution with a chirp of length m, the power of two from 2n - 1 on (Bluestein, 1970):
a transform of m, a product, and a transform back, whose stages a power of two leaves out. Roots are
computed in float64 from exact phases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import DType, float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder
from .complex_numbers import Pair, add, chosen, mul, scale, sub
from .complex_tensors import AnyTensor
from .elements import known
from .emission import Body
from .loops import loop
from .values import ComplexTensor, Tensor, Value

_STAGE_OPS = 64
"""More than a loop may unroll to: how many stages there are is not known."""


@dataclass(frozen=True)
class _Plan:
    """A transform of n numbers by stages of m.

    Attributes:
        whole: n is a power of two, and m = n.
        stages: log2(m), and how many of them the convolution takes: 0 of a power of two.
        sign: of the roots of the transform asked for.
    """

    n: Expr
    m: Expr
    whole: Expr
    stages: Expr
    convolved: Expr
    sign: int


def _scalar(b: Builder, e: Expr) -> Expr:
    """`e` computed once, under a name."""
    return b.scalar_of(b.scalar_operand(e))


def _plan(b: Builder, n: Expr, sign: int) -> _Plan:
    whole = _scalar(b, binary("eq", binary("and", n, n - 1), 0))
    below = _scalar(b, select(whole, n, n * 2 - 1) - 1)  # all bits below m, once they are set
    for shift in (1, 2, 4, 8, 16, 32):
        below = _scalar(b, binary("or", below, binary("shr", below, const(shift))))
    m = b.size(_scalar(b, below + 1))
    stages = _scalar(b, cast(call("round", call("log2", cast(below + 1, float64))), int64))
    convolved = _scalar(b, select(whole, const(0), stages))
    return _Plan(n, m, whole, stages, convolved, sign)


Element = Callable[[Body, list[Expr]], Pair]


def _made(b: Builder, shape: Sequence[Expr], dtype: DType, make: Element) -> ComplexTensor:
    def part(k: int) -> Tensor:
        return b.compute(shape, dtype, lambda body, i: make(body, i)[k])

    return ComplexTensor(part(0), part(1))


def _read(body: Body, x: AnyTensor, at: Sequence[Expr]) -> Pair:
    if isinstance(x, Tensor):
        return Pair(body.read(x, at, x.dtype), const(0, x.dtype))
    return Pair(body.read(x.real, at, x.real.dtype), body.read(x.imag, at, x.real.dtype))


def _root(turns: Expr) -> Pair:
    """exp(2 pi i turns)."""
    angle = turns * (2 * math.pi)
    return Pair(call("cos", angle), call("sin", angle))


def _roots(b: Builder, plan: _Plan, sign: Expr, dtype: DType) -> ComplexTensor:
    """The first half of the m roots of unity, turning the way of `sign`."""
    whole_turn = cast(plan.m, float64)
    half = b.size(_scalar(b, binary("max", plan.m // 2, 1)))
    return _made(b, [half], dtype, lambda body, i: _root(cast(i[0], float64) / whole_turn * sign))


def _chirp(plan: _Plan, j: Expr, sign: int) -> Pair:
    """exp(sign i pi j^2 / n); 1 where there is nothing to convolve."""
    turns = cast(j * j % (plan.n * 2), float64) / cast(plan.n * 2, float64)
    return _root(select(plan.whole, const(0.0, float64), turns * float(sign)))


def _chirps(b: Builder, plan: _Plan, dtype: DType) -> ComplexTensor:
    return _made(b, [plan.n], dtype, lambda body, i: _chirp(plan, i[0], plan.sign))


def _wrapped(b: Builder, plan: _Plan, dtype: DType) -> ComplexTensor:
    """What is convolved with: the chirp the other way, around m; 1 where nothing is convolved."""

    def make(body: Body, i: list[Expr]) -> Pair:
        from_zero = binary("min", i[0], plan.m - i[0])
        inside = binary("or", plan.whole, from_zero < plan.n)
        e = _chirp(plan, from_zero, -plan.sign)
        zero = const(0.0, float64)
        return Pair(select(inside, e.real, zero), select(inside, e.imag, zero))

    return _made(b, [plan.m], dtype, make)


def _staged(
    b: Builder, x: ComplexTensor, plan: _Plan, stages: Expr, roots: ComplexTensor, dtype: DType
) -> ComplexTensor:
    """`x` (.., m) after so many stages. Stage t joins transforms of 2^t numbers that lie m / 2
    apart into transforms of twice as many: place k is frequency bit (k >> t) & 1 of them."""
    half = plan.m // 2

    def stage(arguments: Sequence[Value]) -> list[Value]:
        t, real, imag = arguments

        def make(body: Body, i: list[Expr]) -> Pair:
            low = binary("shl", const(1), t) - 1
            upper = binary("shr", i[-1], t)
            turn = binary("shl", binary("shr", upper, const(1)), t)
            place = binary("and", i[-1], low) + turn
            first = _read(body, ComplexTensor(real, imag), [*i[:-1], place])
            second = _read(body, ComplexTensor(real, imag), [*i[:-1], place + half])
            turned = mul(sub(first, second), _read(body, roots, [turn]))
            return chosen(binary("and", upper, const(1)).equals(0), add(first, second), turned)

        return [True, *_made(b, x.shape, dtype, make).elements]

    return ComplexTensor(*loop(b, known(stages), True, [x.real, x.imag], stage, _STAGE_OPS))


def transform_found(
    b: Builder, x: AnyTensor, n: Expr, sign: int, dtype: DType, count: Expr
) -> ComplexTensor:
    """The first `count` sums of x[.., j] exp(sign 2 pi i j k / n), unscaled, along the last
    dimension of size n >= 1.

    Args:
        sign: -1 forward, 1 backward.
        dtype: real dtype to compute in.
    """
    plan = _plan(b, n, sign)
    lead, one = x.shape[:-1], const(1.0, float64)
    forward = _roots(b, plan, select(plan.whole, const(float(sign), float64), -one), dtype)
    backward = _roots(b, plan, one, dtype)
    chirps = _chirps(b, plan, dtype)

    def padded(body: Body, i: list[Expr]) -> Pair:
        inside = i[-1] < n
        at = select(inside, i[-1], const(0))
        e = mul(_read(body, x, [*i[:-1], at]), _read(body, chirps, [at]))
        return chosen(inside, e, Pair(const(0, dtype), const(0, dtype)))

    spectrum = _staged(
        b, _made(b, [*lead, plan.m], dtype, padded), plan, plan.stages, forward, dtype
    )
    kernel = _staged(b, _wrapped(b, plan, dtype), plan, plan.convolved, forward, dtype)

    def multiplied(body: Body, i: list[Expr]) -> Pair:
        return mul(_read(body, spectrum, i), _read(body, kernel, [i[-1]]))

    product = _made(b, [*lead, plan.m], dtype, multiplied)
    back = _staged(b, product, plan, plan.convolved, backward, dtype)
    factor = _scalar(b, select(plan.whole, one, one / cast(plan.m, float64)))

    def finished(body: Body, i: list[Expr]) -> Pair:
        e = mul(_read(body, back, i), _read(body, chirps, [i[-1]]))
        return scale(e, body.scalar(factor, dtype))

    return _made(b, [*lead, count], dtype, finished)

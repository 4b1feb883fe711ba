"""Elements of matrices, real or complex: algorithms on matrices are written once, with these.

A real number is an expression of float64, a complex one a `Pair` of such; a stack of matrices is
one real tensor, or one for each part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from . import complex_numbers as numbers
from .builder import Builder
from .complex_numbers import Pair
from .complex_tensors import AnyTensor
from .emission import Body
from .values import ComplexTensor, Tensor

Number = Expr | Pair
Element = Callable[[Body, list[Expr]], Number]


# --- tensors --------------------------------------------------------------------------------------


def read(body: Body, x: AnyTensor, i: Sequence[Expr]) -> Number:
    """Element i of a stack."""
    if isinstance(x, ComplexTensor):
        return Pair(body.read(x.real, i, float64), body.read(x.imag, i, float64))
    return body.read(x, i, float64)


def made(b: Builder, like: AnyTensor, shape: Sequence[Expr | int], make: Element) -> AnyTensor:
    """The tensor whose elements `make` says: complex if `like` is."""
    if not isinstance(like, ComplexTensor):
        return real_made(b, shape, lambda body, i: _real(make(body, i)))
    parts = [
        real_made(b, shape, lambda body, i, k=k: _pair(make(body, i))[k])  # type: ignore[misc]
        for k in (0, 1)
    ]
    return ComplexTensor(*parts)


def real_made(
    b: Builder, shape: Sequence[Expr | int], make: Callable[[Body, list[Expr]], Expr]
) -> Tensor:
    return b.compute(shape, float64, make)


def summed(
    b: Builder,
    like: AnyTensor,
    shape: Sequence[Expr],
    extents: Sequence[Expr],
    make: Callable[[Body, list[Expr], list[Expr]], Number],
) -> AnyTensor:
    """The sums over r0 < extents[0], ..."""
    if not isinstance(like, ComplexTensor):
        return b.reduce(shape, extents, float64, "add", lambda body, i, r: _real(make(body, i, r)))
    parts = [
        b.reduce(
            shape,
            extents,
            float64,
            "add",
            lambda body, i, r, k=k: _pair(make(body, i, r))[k],  # type: ignore[misc]
        )
        for k in (0, 1)
    ]
    return ComplexTensor(*parts)


def adjoint(b: Builder, x: AnyTensor) -> AnyTensor:
    """The transposed matrices, of conjugate numbers."""
    turned = b.apply("aten::conj_physical", x) if isinstance(x, ComplexTensor) else x
    return b.apply("aten::transpose", turned, -1, -2)


def _pair(x: Number) -> Pair:
    return x if isinstance(x, Pair) else Pair(x, const(0.0, x.dtype))


def _real(x: Number) -> Expr:
    assert isinstance(x, Expr)
    return x


# --- numbers --------------------------------------------------------------------------------------


def plus(x: Number, y: Number) -> Number:
    if isinstance(x, Expr) and isinstance(y, Expr):
        return x + y
    return numbers.add(_pair(x), _pair(y))


def minus(x: Number, y: Number) -> Number:
    if isinstance(x, Expr) and isinstance(y, Expr):
        return x - y
    return numbers.sub(_pair(x), _pair(y))


def times(x: Number, y: Number) -> Number:
    if isinstance(x, Pair):
        return numbers.mul(x, y) if isinstance(y, Pair) else numbers.scale(x, y)
    return numbers.scale(y, x) if isinstance(y, Pair) else x * y


def over(x: Number, y: Number) -> Number:
    if isinstance(y, Pair):
        return numbers.div(_pair(x), y)
    return Pair(x.real / y, x.imag / y) if isinstance(x, Pair) else x / y


def negative(x: Number) -> Number:
    return numbers.neg(x) if isinstance(x, Pair) else -x


def conjugate(x: Number) -> Number:
    return numbers.conj(x) if isinstance(x, Pair) else x


def real_part(x: Number) -> Expr:
    return x.real if isinstance(x, Pair) else x


def square(x: Number) -> Expr:
    """|x|^2."""
    return x.real * x.real + x.imag * x.imag if isinstance(x, Pair) else x * x


def size(x: Number) -> Expr:
    """|x|, of complex numbers LAPACK's cheap one: the sum of the parts' sizes."""
    if isinstance(x, Pair):
        return call("abs", x.real) + call("abs", x.imag)
    return call("abs", x)


def is_zero(x: Number) -> Expr:
    if isinstance(x, Pair):
        return binary("and", x.real.equals(0), x.imag.equals(0))
    return x.equals(0)


def chosen(condition: Expr, yes: Number, no: Number) -> Number:
    if isinstance(yes, Expr) and isinstance(no, Expr):
        return select(condition, yes, no)
    return numbers.chosen(condition, _pair(yes), _pair(no))


def only(condition: Expr, x: Number) -> Number:
    """`x` where the condition holds, else 0."""
    return chosen(condition, x, const(0.0, float64))


def or_one(x: Number) -> Number:
    """`x`, or 1 where it is 0: what may be divided by."""
    return chosen(is_zero(x), const(1.0, float64), x)


def nonzero(x: Expr) -> Expr:
    """`or_one` of a real number."""
    return select(x.equals(0), const(1.0, float64), x)

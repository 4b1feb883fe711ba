"""Rows of complex elementwise operators: one expression of pairs an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tensorscript.base.dtypes import DType, bool_, complex128, real_dtype
from tensorscript.dialects.te.expr import Expr, binary, call, const, unary

from . import complex_numbers as numbers
from .builder import Builder, Rows
from .complex_numbers import Pair
from .complex_tensors import as_complex, as_real, complex_of, parts_of
from .emission import Body
from .sizes import simplify
from .special import check_double
from .values import ComplexTensor, Tensor, Value
from .view import strides_of

Row = Callable[..., Value]


def _element(
    b: Builder, body: Body, x: Value, i: list[Expr], shape: Sequence[Expr], wide: DType
) -> Pair:
    """An operand's element, real numbers with an imaginary part of 0."""
    if isinstance(x, ComplexTensor):
        return Pair(*(body.broadcast(part, i, wide, shape) for part in x.elements))
    if isinstance(x, Tensor):
        return Pair(body.broadcast(x, i, wide, shape), body.scalar(0, wide))
    real, imag = parts_of(b, x, wide)
    return Pair(body.scalar(real, wide), body.scalar(imag, wide))


def _shape(b: Builder, operands: tuple[Value, ...]) -> tuple[Expr, ...]:
    tensors = [x for x in operands if isinstance(x, Tensor | ComplexTensor)]
    return b.broadcast_shapes(*(x.shape for x in tensors))


def complex_pointwise(b: Builder, fn: numbers.Function, *operands: Value) -> ComplexTensor:
    """`fn` of each element, broadcast and promoted."""
    wide = real_dtype(b.result_type(*operands))
    shape = _shape(b, operands)

    def part(k: int) -> Tensor:
        def make(body: Body, i: list[Expr]) -> Expr:
            return fn(*(_element(b, body, x, i, shape, wide) for x in operands))[k]

        return b.compute(shape, wide, make)

    return ComplexTensor(part(0), part(1))


def real_pointwise(
    b: Builder, fn: Callable[..., Expr], *operands: Value, dtype: DType | None = None
) -> Tensor:
    """`fn` of each element, which is real: of the parts' dtype, or of `dtype`."""
    wide, shape = real_dtype(b.result_type(*operands)), _shape(b, operands)

    def make(body: Body, i: list[Expr]) -> Expr:
        return fn(*(_element(b, body, x, i, shape, wide) for x in operands))

    return b.compute(shape, dtype or wide, make)


def elementwise(fn: numbers.Function, count: int = 1) -> Row:
    """A row whose first `count` arguments are operands."""
    return lambda b, *given: complex_pointwise(b, fn, *given[:count])


def to_real(fn: Callable[..., Expr], count: int = 1, dtype: DType | None = None) -> Row:
    return lambda b, *given: real_pointwise(b, fn, *given[:count], dtype=dtype)


def _sum(fn: numbers.Function, swapped: bool = False) -> Row:
    """add, sub, rsub: with a factor of the second operand; that is a product also with 1, in which
    infinities make NaN."""

    def row(b: Builder, x: Value, y: Value, alpha: Value = 1, *_: Value) -> ComplexTensor:
        x, y = (y, x) if swapped else (x, y)
        return complex_pointwise(b, lambda p, q, a: fn(p, numbers.mul(a, q)), x, y, alpha)

    return row


def _power(b: Builder, x: Value, y: Value, *_: Value) -> ComplexTensor:
    if isinstance(y, int | float) and float(y).is_integer() and 0 < y <= 3:
        return complex_pointwise(b, lambda p: reduce(numbers.mul, [p] * int(y)), x)
    if isinstance(y, int | float) and y == 0.5:
        return complex_pointwise(b, numbers.sqrt, x)
    return complex_pointwise(b, numbers.power, x, y)


def _float_power(b: Builder, x: Value, y: Value, *_: Value) -> ComplexTensor:
    check_double(b, x, complex128)
    is_tensor = [isinstance(v, Tensor | ComplexTensor) for v in (x, y)]
    parts = zip((x, y), is_tensor, strict=True)
    wide = [complex_of(b, v, complex128) if of_tensor else v for v, of_tensor in parts]
    return _power(b, *wide)


def _div_mode(b: Builder, x: Value, y: Value, mode: Value = None, *_: Value) -> ComplexTensor:
    if mode is not None:
        b.unimplemented(f"div_{mode}_cpu", b.result_type(x, y))
    return complex_pointwise(b, numbers.div, x, y)


def _conj(b: Builder, x: ComplexTensor, *_: Value) -> ComplexTensor:
    """A view in PyTorch: what it shares is not written to any more."""
    turned = complex_pointwise(b, numbers.conj, x)
    made = ComplexTensor(x.real, turned.imag)
    for part in (*made.elements, x.imag):
        part.storage.held = True
    return made


def _check_parts(b: Builder, real: Tensor, imag: Tensor) -> None:
    for t in (real, imag):
        if not t.dtype.is_floating_point:
            b.error(
                "Expected both inputs to be Half, Float or Double tensors but got"
                f" {real.dtype.word} and {imag.dtype.word}"
            )
    if real.dtype is not imag.dtype:
        b.error(
            f"Expected object of scalar type {real.dtype.word} but got scalar type"
            f" {imag.dtype.word} for second argument"
        )
    if real.dtype.bits < 32:
        b.cannot("complex numbers of half precision")


def _complex(b: Builder, real: Tensor, imag: Tensor, *_: Value) -> ComplexTensor:
    _check_parts(b, real, imag)
    shape = list(b.broadcast_shapes(real.shape, imag.shape))
    whole = [b.copied(b.apply("aten::expand", t, shape)) for t in (real, imag)]
    return ComplexTensor(*whole)


def _polar(b: Builder, length: Tensor, turn: Tensor, *_: Value) -> ComplexTensor:
    _check_parts(b, length, turn)
    parts = [
        b.pointwise(lambda r, t, f=name: r * call(f, t), length, turn) for name in ("cos", "sin")
    ]
    return ComplexTensor(*parts)


def _view_as_complex(b: Builder, x: Tensor, *_: Value) -> ComplexTensor:
    if not x.dtype.is_floating_point:
        b.error(
            "view_as_complex is only supported for half, float and double tensors, but got a"
            f" tensor of scalar type: {x.dtype.word}"
        )
    if not x.rank:
        b.error("Input tensor must have one or more dimensions")
    b.require_same(x.shape[-1], const(2), "Tensor must have a last dimension of size 2")
    if x.dtype.bits < 32:
        b.cannot("complex numbers of half precision")
    *outer, last = strides_of(x)
    if not last.is_int(1):
        b.error("Tensor must have a last dimension with stride 1")
    if any(not simplify(s % 2).is_int(0) for s in outer):
        b.error("Tensor must have a stride divisible by 2 for all but last dimension")
    return as_complex(x)


def _not_complex(b: Builder, x: Tensor, *_: Value) -> Value:
    return b.error("view_as_real is only supported for complex tensors")


def _imaginary_of_real(b: Builder, x: Tensor, *_: Value) -> Value:
    return b.error("imag is not implemented for tensors with non-complex dtypes.")


def _is_close(
    b: Builder,
    x: Value,
    y: Value,
    rtol: Value = 1e-5,
    atol: Value = 1e-8,
    equal_nan: Value = False,
    *_: Value,
) -> Tensor:
    def fn(p: Pair, q: Pair, r: Pair, a: Pair) -> Expr:
        gap = numbers.absolute(numbers.sub(p, q))
        close = binary("le", gap, a.real + r.real * numbers.absolute(q))
        near = binary("or", numbers.equal(p, q), binary("and", call("isfinite", gap), close))
        if not equal_nan:
            return near
        return binary("or", near, binary("and", _any(p, "isnan"), _any(q, "isnan")))

    return real_pointwise(b, fn, x, y, rtol, atol, dtype=bool_)


def _any(x: Pair, test: str) -> Expr:
    return binary("or", call(test, x.real), call(test, x.imag))


def _true(x: Pair) -> Expr:
    return binary("or", binary("ne", x.real, 0), binary("ne", x.imag, 0))


def _logical(op: str) -> Row:
    return to_real(lambda p, q: binary(op, _true(p), _true(q)), 2, bool_)


def _addcmul(
    b: Builder, x: Value, p: Value, q: Value, value: Value = 1, *_: Value
) -> ComplexTensor:
    def fn(e: Pair, m: Pair, n: Pair, v: Pair) -> Pair:
        return numbers.add(e, numbers.mul(v, numbers.mul(m, n)))

    return complex_pointwise(b, fn, x, p, q, value)


def _addcdiv(
    b: Builder, x: Value, p: Value, q: Value, value: Value = 1, *_: Value
) -> ComplexTensor:
    def fn(e: Pair, m: Pair, n: Pair, v: Pair) -> Pair:
        return numbers.add(e, numbers.mul(v, numbers.div(m, n)))

    return complex_pointwise(b, fn, x, p, q, value)


def _lerp(p: Pair, q: Pair, w: Pair) -> Pair:
    return numbers.add(p, numbers.mul(w, numbers.sub(q, p)))


COMPLEX_POINTWISE: Rows = {
    **{f"aten::{name}": elementwise(fn) for name, fn in numbers.UNARY.items()},
    **{f"aten::{name}": _sum(numbers.add) for name in ("add",)},
    **{f"aten::{name}": _sum(numbers.sub) for name in ("sub", "subtract")},
    "aten::rsub": _sum(numbers.sub, swapped=True),
    **{f"aten::{name}": elementwise(numbers.mul, 2) for name in ("mul", "multiply")},
    **{f"aten::{name}": _div_mode for name in ("div", "divide", "true_divide")},
    "aten::logaddexp": elementwise(numbers.logaddexp, 2),
    "aten::pow": _power,
    "aten::float_power": _float_power,
    "aten::positive": lambda b, x, *_: x,
    **{f"aten::{name}": to_real(numbers.absolute) for name in ("abs", "absolute")},
    "prim::abs": to_real(numbers.absolute),
    "aten::angle": to_real(numbers.angle),
    "aten::real": lambda b, x, *_: x.real,
    "aten::imag": lambda b, x, *_: x.imag,
    "aten::view_as_real": lambda b, x, *_: as_real(b, x),
    "aten::isreal": to_real(lambda p: p.imag.equals(0), 1, bool_),
    **{f"aten::{name}": _conj for name in ("conj", "_conj")},
    "aten::conj_physical": elementwise(numbers.conj),
    "aten::_conj_physical": elementwise(numbers.conj),
    "aten::_neg_view": elementwise(numbers.neg),
    **{f"aten::{name}": lambda b, x, *_: x for name in ("resolve_conj", "resolve_neg")},
    **{f"aten::{name}": to_real(numbers.equal, 2, bool_) for name in ("eq",)},
    **{f"aten::{name}": to_real(numbers.unequal, 2, bool_) for name in ("ne", "not_equal")},
    **{
        f"aten::{name}": to_real(lambda p, n=name: _any(p, n), 1, bool_)
        for name in ("isnan", "isinf")
    },
    "aten::isfinite": to_real(
        lambda p: binary("and", call("isfinite", p.real), call("isfinite", p.imag)), 1, bool_
    ),
    "aten::isclose": _is_close,
    **{f"aten::logical_{name}": _logical(name) for name in ("and", "or", "xor")},
    "aten::logical_not": to_real(lambda p: unary("not", _true(p)), 1, bool_),
    "aten::addcmul": _addcmul,
    "aten::addcdiv": _addcdiv,
    "aten::lerp": elementwise(_lerp, 3),
}
"""Rows of which an operand is complex."""

MAKES_COMPLEX: Rows = {
    "aten::complex": _complex,
    "aten::polar": _polar,
    "aten::view_as_complex": _view_as_complex,
    "aten::view_as_real": _not_complex,
    "aten::imag": _imaginary_of_real,
}
"""Rows of real operands."""

"""`x.view(dtype)`: memory read as another dtype.

Elements of one size are bits read anew. Several narrow ones make a wide one, the first of them its
lowest bits, and a wide one makes several narrow ones, by shifts of unsigned integers.
"""

from __future__ import annotations

from functools import reduce

from tensorscript.base import reinterpretation
from tensorscript.base.dtypes import (
    BY_SHORT,
    DType,
    bool_,
    real_dtype,
    uint8,
)
from tensorscript.dialects.te.expr import Expr, binary, bitcast, cast, const

from .builder import Builder, Rows
from .complex_pointwise import COMPLEX_POINTWISE, MAKES_COMPLEX
from .complex_tensors import AnyTensor
from .dims import dtype_of
from .elements import convert
from .emission import Body
from .reshape import reshaped
from .sizes import product, simplify
from .values import ComplexTensor, Tensor, Value
from .view import strides_of


def _unsigned(dtype: DType) -> DType:
    return BY_SHORT[f"u{dtype.bits}"]


def _bits(e: Expr, dtype: DType) -> Expr:
    """An element in memory as an unsigned integer of its size."""
    return cast(e, uint8) if dtype is bool_ else bitcast(e, _unsigned(dtype))


def _element(bits: Expr, dtype: DType) -> Expr:
    return convert(bits, bool_) if dtype is bool_ else bitcast(bits, dtype)


def _check(b: Builder, x: AnyTensor, source: DType, target: DType) -> None:
    if source.itemsize == target.itemsize:
        return
    if not x.rank:
        b.error(reinterpretation.of_no_dimension(source, target))
    if isinstance(x, Tensor):
        stride = strides_of(x)[-1]
        b.require_same(stride, const(1), reinterpretation.of_stride(source, target, stride))
    if (times := target.itemsize // source.itemsize) > 1:
        message = reinterpretation.of_size(source, target, x.shape[-1])
        b.require_same(simplify(x.shape[-1] % times), const(0), message)


def _read_as(b: Builder, x: Tensor, target: DType) -> Tensor:
    """The elements of `x` (.., n) as `target` (.., n * size // target's size)."""
    source = x.dtype
    wide, narrow = _unsigned(target), _unsigned(source)
    if source.itemsize == target.itemsize:
        return b.compute(
            x.shape,
            target,
            lambda body, i: _element(_bits(body.read(x, i, source), source), target),
        )
    if source.itemsize < target.itemsize:
        count = target.itemsize // source.itemsize

        def joined(body: Body, i: list[Expr]) -> Expr:
            parts = [body.read(x, [*i[:-1], i[-1] * count + k], source) for k in range(count)]
            shifted = [
                binary("shl", cast(_bits(part, source), wide), const(k * source.bits, wide))
                for k, part in enumerate(parts)
            ]
            return _element(reduce(lambda p, q: binary("or", p, q), shifted), target)

        return b.compute([*x.shape[:-1], simplify(x.shape[-1] // count)], target, joined)
    count = source.itemsize // target.itemsize

    def taken(body: Body, i: list[Expr]) -> Expr:
        whole = _bits(body.read(x, [*i[:-1], i[-1] // count], source), source)
        shift = cast(i[-1] % count * target.bits, narrow)
        return _element(cast(binary("shr", whole, shift), wide), target)

    return b.compute([*x.shape[:-1], simplify(x.shape[-1] * count)], target, taken)


def _as_real(b: Builder, x: AnyTensor) -> Tensor:
    """Complex numbers as twice as many real ones."""
    if isinstance(x, Tensor):
        return x
    pairs: Tensor = COMPLEX_POINTWISE["aten::view_as_real"](b, x)
    return reshaped(b, pairs, (*x.shape[:-1], product(pairs.shape[len(x.shape) - 1 :])))


def _reinterpreted(b: Builder, x: AnyTensor, dtype: Value) -> AnyTensor:
    """The memory is shared, so that no later write to either tensor may go unseen."""
    target = dtype_of(dtype, x.dtype)
    if target is x.dtype:
        return x
    _check(b, x, x.dtype, target)
    parts = x.elements if isinstance(x, ComplexTensor) else (x,)
    for part in parts:
        part.storage.held = True
    if not target.is_complex:
        out = _read_as(b, _as_real(b, x) if x.rank else _of_one(b, x), target)
        out = out if x.rank else reshaped(b, out, ())
        out.storage.held = True
        return out
    numbers = _read_as(b, _as_real(b, x), real_dtype(target))
    numbers.storage.held = True
    shape = (*numbers.shape[:-1], simplify(numbers.shape[-1] // 2), const(2))
    found: AnyTensor = MAKES_COMPLEX["aten::view_as_complex"](b, reshaped(b, numbers, shape))
    return found


def _of_one(b: Builder, x: AnyTensor) -> Tensor:
    """A 0-dim tensor as a vector of one element."""
    if isinstance(x, ComplexTensor):
        b.cannot("a complex number read as another dtype")
    return reshaped(b, x, (const(1),))


REINTERPRETED: Rows = {"aten::view.dtype": _reinterpreted}
"""A row of real and of complex operands."""

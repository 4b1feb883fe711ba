"""Complex tensors as two real ones: how they come in, go out, are converted and written.

In memory complex numbers are pairs of real ones, real part first. A complex argument or constant
is a real tensor with one more dimension, of 2; its parts are views of that. What a program computes
has a tensor for each part, so that loops over them are loops over real numbers.
"""

from __future__ import annotations

import numpy as np

from tensorscript.base.dtypes import DType, bool_, real_dtype
from tensorscript.dialects.te.expr import Expr, binary, const, select, var

from .builder import Builder
from .emission import Body
from .sizes import simplify
from .values import ComplexTensor, Tensor, Value
from .view import indices_of, strides_of, view

AnyTensor = Tensor | ComplexTensor


def as_complex(x: Tensor) -> ComplexTensor:
    """The complex tensor whose numbers are the pairs along the last dimension of `x`."""
    here = [var(f"i{d}") for d in range(x.rank - 1)]
    strides = strides_of(x)[:-1]
    parts = [view(x, x.shape[:-1], [*here, const(k)], strides) for k in (0, 1)]
    return ComplexTensor(*parts)


def pairs_of(x: ComplexTensor) -> Tensor | None:
    """The tensor whose last dimension `x` views as complex numbers; None if its parts are apart."""
    real, imag = x.real, x.imag
    if real.storage is not imag.storage:
        return None
    first, second = indices_of(real), indices_of(imag)
    gaps = [simplify(q - p) for p, q in zip(first, second, strict=True)]
    steps = [d for d, gap in enumerate(gaps) if not gap.is_int(0)]
    if len(steps) != 1 or not gaps[steps[0]].is_int(1):
        return None
    whole = Tensor(real.storage, real.storage.shape, None, real.storage.strides)
    at = list(first)
    at[steps[0]] = simplify(at[steps[0]] + var(f"i{x.rank}"))
    strides = [*strides_of(real), strides_of(whole)[steps[0]]]
    return view(whole, [*x.shape, const(2)], at, strides)


def as_real(b: Builder, x: ComplexTensor) -> Tensor:
    """The parts along a new last dimension: a view where they lie so, else a copy that must not be
    written to, nor may `x` be from then on."""
    if (found := pairs_of(x)) is not None:
        return found
    made = paired(b, x)
    for part in (x.real, x.imag, made):
        part.storage.held = True
    return made


def paired(b: Builder, x: ComplexTensor) -> Tensor:
    """The numbers in the order of memory: parts along a new last dimension, in a new tensor."""

    def make(body: Body, i: list[Expr]) -> Expr:
        real, imag = (body.read(part, i[:-1], part.dtype) for part in (x.real, x.imag))
        return select(binary("eq", i[-1], 0), real, imag)

    return b.compute((*x.shape, const(2)), x.real.dtype, make)


def complex_literal(b: Builder, array: np.ndarray, dtype: DType, origin: str) -> ComplexTensor:
    """A constant complex tensor."""
    if (known := b.constants.get(id(array))) is None:
        part = real_dtype(dtype)
        pairs = np.ascontiguousarray(array).view(part.numpy).reshape(*array.shape, 2)
        b.kept.append(pairs)
        known = b.constants[id(array)] = b.literal(pairs, part, origin)
        known.storage.is_complex = True
    return as_complex(known)


def parts_of(b: Builder, x: Value, dtype: DType) -> tuple[Value, Value]:
    """Real and imaginary part of a tensor or number, both of the real dtype `dtype` if tensors."""
    if isinstance(x, ComplexTensor):
        return b.cast(x.real, dtype), b.cast(x.imag, dtype)
    if isinstance(x, Tensor):
        return b.cast(x, dtype), b.full(x.shape, 0, dtype)
    if isinstance(x, complex):
        return x.real, x.imag
    return x, 0.0


def complex_of(b: Builder, x: AnyTensor, dtype: DType) -> ComplexTensor:
    """A tensor as one of the complex dtype `dtype`."""
    if isinstance(x, ComplexTensor) and x.dtype is dtype:
        return x
    return ComplexTensor(*parts_of(b, x, real_dtype(dtype)))


def complex_full(b: Builder, shape: Value, value: Value, dtype: DType) -> ComplexTensor:
    """A tensor of one number, real or complex."""
    number = value if isinstance(value, complex) else None
    parts = (value, 0) if number is None else (number.real, number.imag)
    return ComplexTensor(*(b.full(shape, part, real_dtype(dtype)) for part in parts))


def filled(b: Builder, shape: Value, value: Value, dtype: DType) -> AnyTensor:
    """A tensor of one number in a dtype of either kind."""
    if dtype.is_complex:
        return complex_full(b, shape, value, dtype)
    if isinstance(value, complex):
        b.error("value cannot be converted to type without overflow")
    return b.full(shape, value, dtype)


def converted(b: Builder, x: AnyTensor, dtype: DType) -> AnyTensor:
    """`x` in another dtype; of complex numbers that become real the imaginary part is lost.
    The result is in memory of its own, or `x` itself where nothing changes."""
    if x.dtype is dtype:
        return x
    if dtype.is_complex:
        made = complex_of(b, x, dtype)
        return ComplexTensor(b.copied(made.real), made.imag) if made.real is x else made
    if isinstance(x, Tensor):
        return b.cast(x, dtype)
    if dtype is bool_:
        return b.apply("aten::ne", x, 0)
    return b.copied(x.real) if x.real.dtype is dtype else b.cast(x.real, dtype)


def copied(b: Builder, x: AnyTensor) -> AnyTensor:
    """The elements of `x` now, in memory of their own."""
    if isinstance(x, Tensor):
        return b.copied(x)
    return ComplexTensor(b.copied(x.real), b.copied(x.imag))


def write(b: Builder, x: AnyTensor, new: AnyTensor) -> None:
    """Make the elements of `x` those of `new`, of one shape and dtype."""
    if isinstance(x, Tensor):
        assert isinstance(new, Tensor)
        b.write(x, new)
        return
    assert isinstance(new, ComplexTensor)
    # The new parts may read what the first write changes.
    real, imag = b.copied(new.real), b.copied(new.imag)
    b.write(x.real, real)
    b.write(x.imag, imag)

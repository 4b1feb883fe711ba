"""Rows of Fourier transforms: of one dimension, of several, of real and of Hermitian signals."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import complex_dtype, float64, real_dtype
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor, complex_of
from .dims import dimension, dtype_of, sizes_of
from .elements import as_expr, known
from .emission import Body
from .fourier import Length, conjugated, real_inverse, scale_of, scaled, transform
from .pointwise import float_type
from .sizes import same_size
from .values import ComplexTensor, Tensor, Value

Row = Callable[..., Value]

_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def floating(b: Builder, x: AnyTensor) -> AnyTensor:
    """Integers as the default dtype; half types have no complex numbers."""
    if isinstance(x, ComplexTensor):
        return x
    if x.dtype.is_floating_point and x.dtype.bits < 32:
        b.error(f"Unsupported dtype {x.dtype.word}")
    found: Tensor = float_type(b, x)
    return found


def _real(b: Builder, name: str, x: AnyTensor) -> Tensor:
    if isinstance(x, ComplexTensor):
        b.error(f"{name} expects a real input tensor, but got {x.dtype.word}")
    found = floating(b, x)
    assert isinstance(found, Tensor)
    return found


def _complex(b: Builder, x: AnyTensor) -> ComplexTensor:
    found = floating(b, x)
    return complex_of(b, found, complex_dtype(found.dtype))


def _checked_length(b: Builder, n: Value) -> Length:
    """A transform's length, at least 1; a number, or a size that the program finds."""
    message = f"Invalid number of data points ({n}) specified"
    b.check(known(binary("ge", as_expr(n), 1)), message)
    length: Length = known(b.size(as_expr(n)))
    return length


def _size(x: AnyTensor, d: int) -> Length:
    size: Length = known(x.shape[d])
    return size


def fitted(b: Builder, x: AnyTensor, d: int, n: Length) -> AnyTensor:
    """`x` cut, or filled up with zeros, to n along d."""
    size = _size(x, d)
    if same_size(as_expr(size), as_expr(n)):
        return x
    if isinstance(size, Expr) or isinstance(n, Expr):
        parts = x.elements if isinstance(x, ComplexTensor) else (x,)
        found = [_fitted_found(b, part, d, as_expr(n)) for part in parts]
        return ComplexTensor(*found) if len(found) == 2 else found[0]
    if size > n:
        return b.apply("aten::narrow", x, d, 0, n)
    behind = [0, 0] * (x.rank - 1 - d)
    return b.apply("aten::constant_pad_nd", x, [*behind, 0, n - size], 0)


def _fitted_found(b: Builder, x: Tensor, d: int, n: Expr) -> Tensor:
    """Where it is not known which of the two is longer."""

    def make(body: Body, i: list[Expr]) -> Expr:
        return select(i[d] < x.shape[d], body.read(x, i, x.dtype), const(0, x.dtype))

    return b.compute([*x.shape[:d], n, *x.shape[d + 1 :]], x.dtype, make)


def _forward(
    b: Builder, x: AnyTensor, n: Length, d: int, inverse: bool, half: bool = False
) -> AnyTensor:
    """Unscaled, along d; with `half` the frequencies up to n // 2 only."""
    dtype, count = real_dtype(x.dtype), n // 2 + 1 if half else n
    return transform(b, fitted(b, x, d, n), n, 1 if inverse else -1, dtype, count, d)


def _to_real(b: Builder, x: ComplexTensor, n: Length, d: int) -> AnyTensor:
    """The unscaled real signal of n samples along d, of half of its spectrum."""
    half = fitted(b, x, d, n // 2 + 1)
    assert isinstance(half, ComplexTensor)
    return real_inverse(b, half, n, real_dtype(x.dtype), d)


# --- one dimension --------------------------------------------------------------------------------


def _place(b: Builder, x: AnyTensor, dim: Value) -> int:
    if not x.rank:
        b.error(f"Dimension specified as {dim} but tensor has no dimensions")
    return dimension(b, dim, x.rank)


def _transform(inverse: bool) -> Row:
    def row(
        b: Builder, x: AnyTensor, n: Value = None, dim: Value = -1, norm: Value = None, *_: Value
    ) -> AnyTensor:
        d = _place(b, x, dim)
        length = _checked_length(b, _size(x, d) if n is None else n)
        out = _forward(b, floating(b, x), length, d, inverse)
        return scaled(b, out, scale_of(norm, [length], inverse))

    return row


def _rfft(
    b: Builder, x: AnyTensor, n: Value = None, dim: Value = -1, norm: Value = None, *_: Value
) -> AnyTensor:
    d = _place(b, x, dim)
    length = _checked_length(b, _size(x, d) if n is None else n)
    out = _forward(b, _real(b, "rfft", x), length, d, False, half=True)
    return scaled(b, out, scale_of(norm, [length], False))


def _irfft(
    b: Builder, x: AnyTensor, n: Value = None, dim: Value = -1, norm: Value = None, *_: Value
) -> AnyTensor:
    d = _place(b, x, dim)
    length = _checked_length(b, 2 * (_size(x, d) - 1) if n is None else n)
    out = _to_real(b, _complex(b, x), length, d)
    return scaled(b, out, scale_of(norm, [length], True))


def _hfft(
    b: Builder, x: AnyTensor, n: Value = None, dim: Value = -1, norm: Value = None, *_: Value
) -> AnyTensor:
    """The real spectrum of half of a Hermitian signal: an inverse of its conjugate."""
    return _irfft(b, conjugated(b, _complex(b, x)), n, dim, _SWAPPED[norm])


def _ihfft(
    b: Builder, x: AnyTensor, n: Value = None, dim: Value = -1, norm: Value = None, *_: Value
) -> AnyTensor:
    found = _rfft(b, _real(b, "ihfft", x), n, dim, _SWAPPED[norm])
    assert isinstance(found, ComplexTensor)
    return conjugated(b, found)


# --- several dimensions ---------------------------------------------------------------------------


def _places(
    b: Builder, x: AnyTensor, sizes: Value, dims: Value, real_length: bool
) -> list[tuple[int, Length]]:
    """(dimension, length) of each; the last of half a spectrum has twice its size less 2.

    Args:
        real_length: the last dimension holds half of a spectrum.
    """
    if dims is None:
        count = x.rank if sizes is None else len(sizes)
        if count > x.rank:
            b.error(f"Got shape with {count} values but input tensor only has {x.rank} dimensions.")
        dims = list(range(x.rank - count, x.rank))
    found = [dimension(b, d, x.rank) for d in dims]
    if len(set(found)) != len(found):
        b.error("FFT dims must be unique")
    if sizes is not None and len(sizes) != len(found):
        b.error("When given, dim and shape arguments must have the same length")
    lengths: list[Value] = [-1] * len(found) if sizes is None else list(sizes)
    for k, d in enumerate(found):
        if lengths[k] == -1:
            is_half = real_length and k == len(found) - 1
            lengths[k] = 2 * (_size(x, d) - 1) if is_half else _size(x, d)
    return [(d, _checked_length(b, n)) for d, n in zip(found, lengths, strict=True)]


def _transform_all(inverse: bool) -> Row:
    def row(
        b: Builder, x: AnyTensor, s: Value = None, dim: Value = None, norm: Value = None, *_: Value
    ) -> AnyTensor:
        places = _places(b, x, s, dim, False)
        out: AnyTensor = _complex(b, x) if not places else floating(b, x)
        for d, n in reversed(places):
            out = _forward(b, out, n, d, inverse)
        return scaled(b, out, scale_of(norm, [n for _, n in places], inverse))

    return row


def _rfft_all(
    b: Builder, x: AnyTensor, s: Value = None, dim: Value = None, norm: Value = None, *_: Value
) -> AnyTensor:
    places = _places(b, x, s, dim, False)
    if not places:
        b.error("rfftn must transform at least one axis")
    *others, (last, count) = places
    out = _forward(b, _real(b, "rfftn", x), count, last, False, half=True)
    for d, n in reversed(others):
        out = _forward(b, out, n, d, False)
    return scaled(b, out, scale_of(norm, [n for _, n in places], False))


def _irfft_all(
    b: Builder, x: AnyTensor, s: Value = None, dim: Value = None, norm: Value = None, *_: Value
) -> AnyTensor:
    places = _places(b, x, s, dim, True)
    if not places:
        b.error("irfftn must transform at least one axis")
    *others, (last, count) = places
    out: AnyTensor = _complex(b, x)
    for d, n in others:
        out = _forward(b, out, n, d, True)
    assert isinstance(out, ComplexTensor)
    found = _to_real(b, out, count, last)
    return scaled(b, found, scale_of(norm, [n for _, n in places], True))


def _hfft_all(
    b: Builder, x: AnyTensor, s: Value = None, dim: Value = None, norm: Value = None, *_: Value
) -> AnyTensor:
    return _irfft_all(b, conjugated(b, _complex(b, x)), s, dim, _SWAPPED[norm])


def _ihfft_all(
    b: Builder, x: AnyTensor, s: Value = None, dim: Value = None, norm: Value = None, *_: Value
) -> AnyTensor:
    found = _rfft_all(b, _real(b, "ihfftn", x), s, dim, _SWAPPED[norm])
    assert isinstance(found, ComplexTensor)
    return conjugated(b, found)


def _frequencies(half: bool) -> Row:
    """What the places of a spectrum of n samples, d apart, stand for."""

    def row(b: Builder, n: Value, d: Value = 1.0, dtype: Value = None, *_: Value) -> AnyTensor:
        kind = dtype_of(dtype, b.default_dtype)
        count = _checked_length(b, n)

        def make(body: Body, i: list[Expr]) -> Expr:
            above = i[0] * 2 >= count + count % 2
            at = i[0] if half else select(above, i[0] - count, i[0])
            return cast(at, float64) / (body.scalar(d, float64) * body.scalar(count, float64))

        return b.compute(sizes_of(b, [count // 2 + 1 if half else count]), kind, make)

    return row


SPECTRUM: Rows = {
    "aten::fft_fft": _transform(False),
    "aten::fft_ifft": _transform(True),
    "aten::fft_rfft": _rfft,
    "aten::fft_irfft": _irfft,
    "aten::fft_hfft": _hfft,
    "aten::fft_ihfft": _ihfft,
    **{f"aten::fft_{name}": _transform_all(False) for name in ("fft2", "fftn")},
    **{f"aten::fft_{name}": _transform_all(True) for name in ("ifft2", "ifftn")},
    **{f"aten::fft_{name}": _rfft_all for name in ("rfft2", "rfftn")},
    **{f"aten::fft_{name}": _irfft_all for name in ("irfft2", "irfftn")},
    **{f"aten::fft_{name}": _hfft_all for name in ("hfft2", "hfftn")},
    **{f"aten::fft_{name}": _ihfft_all for name in ("ihfft2", "ihfftn")},
    "aten::fft_fftfreq": _frequencies(False),
    "aten::fft_rfftfreq": _frequencies(True),
}
"""Rows of real and of complex operands."""

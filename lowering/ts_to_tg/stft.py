"""Rows of the short-time Fourier transform and its inverse.

A frame is a window's length of the signal, read where it lies: the window is folded into the roots
of unity, so that the transform of all frames is one product, of a constant window made in advance.
"""

from __future__ import annotations

from tensorscript.base.dtypes import complex_dtype, float64, real_dtype
from tensorscript.dialects.te.expr import Expr, all_of, binary, cast, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor, as_real, complex_of, converted
from .elements import as_expr, known
from .emission import Body
from .fourier import Length, real_inverse, scaled, transform
from .sizes import same_size, simplify
from .spectrum import fitted, floating
from .values import ComplexTensor, Tensor, Value

_ONE_SIDE = "Cannot have onesided output if window or input is complex"


def _lengths(b: Builder, n: Value, hop: Value, win: Value) -> tuple[Length, Length, Length]:
    """Samples of a transform, of a step, of the window."""
    step, length = n // 4 if hop is None else hop, n if win is None else win
    b.check(
        known(binary("gt", as_expr(step), 0)),
        f"stft(...): expected hop_length > 0, but got hop_length={step}",
    )
    fits = all_of([binary("gt", as_expr(length), 0), binary("le", as_expr(length), as_expr(n))])
    message = f"stft(...): expected 0 < win_length <= n_fft, but got win_length={length}"
    b.check(known(fits), message)
    samples, step, length = (known(b.size(as_expr(v))) for v in (n, step, length))
    return samples, step, length


def _window(
    b: Builder, window: Value, length: Length, n: Length, like: AnyTensor
) -> AnyTensor | None:
    """The window in the middle of n samples; None if it is 1 everywhere."""
    is_whole = same_size(as_expr(length), as_expr(n))
    if window is None:
        if is_whole:
            return None
        window = b.full([as_expr(length)], 1, real_dtype(like.dtype))
    message = (
        f"expected a 1D window tensor of size equal to win_length={length}, but got window"
        f" with size [{', '.join(map(str, window.shape))}]"
    )
    if window.rank != 1:
        b.error(message)
    b.require_same(window.shape[0], as_expr(length), message)
    left = (n - length) // 2
    kind = complex_dtype if isinstance(window, ComplexTensor) else real_dtype
    found = converted(b, window, kind(like.dtype))
    if is_whole:
        return found
    return b.apply("aten::constant_pad_nd", found, [left, n - length - left], 0)


def _root(n: Length, power: float) -> float | Expr:
    if isinstance(n, int):
        return float(n**power)
    return binary("pow", cast(n, float64), const(power, float64))


def _spectra(
    b: Builder, frames: AnyTensor, window: AnyTensor | None, n: Length, count: Length
) -> ComplexTensor:
    """Of frames (.., n) in the rows, `count` frequencies each."""
    shaped = frames if window is None else b.apply("aten::mul", frames, window)
    return transform(b, shaped, n, -1, real_dtype(frames.dtype), count)


def _stft(
    b: Builder,
    x: AnyTensor,
    n_fft: Value,
    hop_length: Value = None,
    win_length: Value = None,
    window: Value = None,
    normalized: Value = False,
    onesided: Value = None,
    return_complex: Value = None,
    *_: Value,
) -> AnyTensor:
    """(L,) or (B, L) -> ([B,] frequencies, frames[, 2])."""
    n, hop, length = _lengths(b, n_fft, hop_length, win_length)
    if x.rank not in (1, 2):
        b.error(f"stft(...): expected a 1D or 2D tensor, but got {x.rank}D")
    is_complex = any(isinstance(t, ComplexTensor) for t in (x, window))
    if return_complex is None and not is_complex:
        b.error(
            "stft requires the return_complex parameter be given for real inputs, and will further"
            " require that return_complex=True in a future PyTorch release."
        )
    samples = x.shape[-1]
    b.check(
        known(all_of([binary("le", n, samples), binary("gt", as_expr(n), 0)])),
        f"stft(...): expected 0 < n_fft < {samples}, but got n_fft={n}",
    )
    signal = floating(b, x)
    half = not is_complex if onesided is None else bool(onesided)
    if half and is_complex:
        b.error(_ONE_SIDE)
    frames = b.apply("aten::unfold", signal, -1, n, hop)
    shape = _window(b, window, length, n, signal)
    out = _spectra(b, frames, shape, n, n // 2 + 1 if half else n)
    turned: AnyTensor = b.apply("aten::transpose", out, -1, -2)
    turned = scaled(b, turned, _root(n, -0.5) if normalized else 1)
    if return_complex or return_complex is None:
        return turned
    assert isinstance(turned, ComplexTensor)
    return as_real(b, turned)


def _stft_centred(
    b: Builder,
    x: AnyTensor,
    n_fft: Value,
    hop_length: Value = None,
    win_length: Value = None,
    window: Value = None,
    center: Value = True,
    pad_mode: Value = "reflect",
    *rest: Value,
) -> AnyTensor:
    """With `center` the signal gets half a window on both sides."""
    if center and x.rank in (1, 2):
        half = n_fft // 2
        lead = 3 - x.rank
        image = b.apply("aten::reshape", x, [*[1] * lead, *x.shape])
        wide = b.apply("aten::pad", image, [half, half], pad_mode)
        x = b.apply("aten::reshape", wide, [*x.shape[:-1], wide.shape[-1]])
    return _stft(b, x, n_fft, hop_length, win_length, window, *rest)


def _is_whole(x: AnyTensor, n: Length) -> Value:
    """Whether a spectrum holds both halves."""
    return known(x.shape[-2].equals(n))


def _check_frequencies(b: Builder, x: AnyTensor, n: Length, onesided: Value) -> None:
    """Refuse a spectrum that has neither all frequencies nor, one-sided, the first half."""
    half = binary("eq", x.shape[-2], as_expr(n // 2 + 1))
    fits = half if onesided else binary("eq", x.shape[-2], as_expr(n))
    if onesided is None:
        fits = binary("or", fits, half)
    one = onesided is None or onesided
    b.check(
        known(fits),
        "istft(...) : expected the frequency dimension (3rd to the last) of the input tensor to"
        f" match n_fft{' / 2 + 1' if one else ''} when onesided={one}, but got {x.shape[-2]}",
    )


def _overlapped(b: Builder, frames: AnyTensor, n: Length, hop: Length) -> AnyTensor:
    """Frames (.., T, n) added up, each `hop` samples after the one before."""
    if isinstance(frames, ComplexTensor):
        return ComplexTensor(*(_overlapped_real(b, part, n, hop) for part in frames.elements))
    return _overlapped_real(b, frames, n, hop)


def _overlapped_real(b: Builder, frames: Tensor, n: Length, hop: Length) -> Tensor:
    count = frames.shape[-2]
    total = simplify((count - 1) * hop + n)
    reach = simplify(as_expr((n + hop - 1) // hop))

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        frame = i[-1] // hop - r[0]
        at = i[-1] - frame * hop
        inside = all_of([binary("ge", frame, 0), binary("lt", frame, count), binary("lt", at, n)])
        value = body.read(frames, [*i[:-1], frame, at], frames.dtype)
        return select(inside, value, const(0, frames.dtype))

    return b.reduce([*frames.shape[:-2], total], [reach], frames.dtype, "add", make)


def _istft(
    b: Builder,
    x: AnyTensor,
    n_fft: Value,
    hop_length: Value = None,
    win_length: Value = None,
    window: Value = None,
    center: Value = True,
    normalized: Value = False,
    onesided: Value = None,
    length: Value = None,
    return_complex: Value = False,
) -> AnyTensor:
    """([B,] frequencies, frames) -> (L,) or (B, L): frames added up, over the windows' squares."""
    n, hop, win = _lengths(b, n_fft, hop_length, win_length)
    if not isinstance(x, ComplexTensor):
        b.error(
            "istft requires a complex-valued input tensor matching the output from stft with"
            " return_complex=True."
        )
    dtype = real_dtype(x.dtype)
    shape = _window(b, window, win, n, x)
    if shape is None:
        shape = b.full([as_expr(n)], 1, dtype)
    if isinstance(shape, ComplexTensor) and not return_complex:
        b.error("Complex windows are incompatible with return_complex=False")
    _check_frequencies(b, x, n, onesided)
    spectrum = b.apply("aten::transpose", x, -1, -2)
    factor = _root(n, -0.5 if normalized else -1.0)
    if return_complex:
        b.check(_is_whole(x, n) if onesided is None else not onesided, _ONE_SIDE)
        frames: AnyTensor = transform(b, fitted(b, spectrum, x.rank - 1, n), n, 1, dtype)
    else:
        half = fitted(b, spectrum, x.rank - 1, n // 2 + 1)
        frames = real_inverse(b, complex_of(b, half, complex_dtype(dtype)), n, dtype)
    shaped = b.apply("aten::mul", scaled(b, frames, factor), shape)
    squares = b.apply("aten::mul", shape, shape)
    count = shaped.shape[-2]
    envelope = _overlapped(b, b.apply("aten::expand", squares, [count, n]), n, hop)
    sums = _overlapped(b, shaped, n, hop)
    start = n // 2 if center else 0
    total = sums.shape[-1]
    end = (
        simplify(total - start)
        if length is None
        else simplify(binary("min", total, start + length))
    )
    cut, weights = (b.apply("aten::slice", t, -1, start, end) for t in (sums, envelope))
    least = b.item(b.apply("aten::min", b.apply("aten::abs", weights)))
    b.check(known(binary("ge", least, const(1e-11, float64))), "window overlap add min: 1")
    out = b.apply("aten::div", cut, weights)
    return out if length is None else fitted(b, out, out.rank - 1, length)


STFT: Rows = {
    "aten::stft": _stft,
    "aten::stft.center": _stft_centred,
    "aten::istft": _istft,
}
"""Rows of real and of complex operands."""

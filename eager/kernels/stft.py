"""Short-time Fourier transform and its inverse (overlap-add with the squared window's envelope)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import Array, compute, wrap, wrap_like
from .window import windows

Kernel = Callable[..., Any]


def _window(window: Any, length: int, n_fft: int, dtype: Any) -> Array:
    """The window (default: all ones), centred in `n_fft` cells."""
    found = np.ones(length, dtype) if window is None else compute(window)
    if found.shape != (length,):
        raise OperatorError(
            f"expected a 1D window tensor of size equal to win_length={length}, but got window "
            f"with size {list(found.shape)}"
        )
    left = (n_fft - length) // 2
    return np.pad(found, (left, n_fft - length - left))


_ONE_SIDE = "Cannot have onesided output if window or input is complex"


def stft(
    self: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """(L,) or (B, L) -> ([B,] frequencies, frames[, 2])."""
    hop, length = _lengths(n_fft, hop_length, win_length)
    x = compute(self)
    if x.ndim not in (1, 2):
        raise OperatorError(f"stft(...): expected a 1D or 2D tensor, but got {x.ndim}D")
    if not 0 < n_fft <= x.shape[-1]:
        raise OperatorError(f"stft(...): expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    shape = _window(window, length, n_fft, x.dtype)
    frames = windows(x, [n_fft], [hop], [1]) * shape
    is_complex = "c" in (x.dtype.kind, shape.dtype.kind)
    one = not is_complex if onesided is None else onesided
    if one and is_complex:
        raise OperatorError(_ONE_SIDE)
    out = np.swapaxes(np.fft.rfft(frames) if one else np.fft.fft(frames), -1, -2)
    if normalized:
        out = out / np.sqrt(n_fft)
    out = out.astype(np.result_type(x.dtype, np.complex64))
    if return_complex is None and not is_complex:
        raise OperatorError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    if return_complex or return_complex is None:
        return wrap_like(out)
    return wrap_like(np.stack([out.real, out.imag], -1))


def _lengths(n_fft: int, hop: int | None, win: int | None) -> tuple[int, int]:
    found, length = n_fft // 4 if hop is None else hop, n_fft if win is None else win
    if found <= 0:
        raise OperatorError(f"expected hop_length > 0, but got hop_length={found}")
    if not 0 < length <= n_fft:
        raise OperatorError(f"expected 0 < win_length <= n_fft, but got win_length={length}")
    return found, length


def stft_center(
    self: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, pad_mode: str = "reflect", *rest: Any,
) -> Any:  # fmt: skip
    """`center` pads the signal by half a window on both sides."""
    if center:
        x, half = compute(self), n_fft // 2
        modes: dict[str, Any] = {"reflect": "reflect", "constant": "constant",
                                 "replicate": "edge", "circular": "wrap"}  # fmt: skip
        if pad_mode == "reflect" and half >= x.shape[-1]:
            raise OperatorError(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({half}, {half}) at dimension 2 of input {_framed(x.shape)}"
            )
        widths = [(0, 0)] * (x.ndim - 1) + [(half, half)]
        self = wrap(np.pad(x, widths, mode=modes[pad_mode]), self.dtype)
    return stft(self, n_fft, hop_length, win_length, window, *rest)


def _framed(shape: tuple[int, ...]) -> list[int]:
    """The sizes of a signal as PyTorch pads it: a batch, one channel, the samples."""
    return [1] * (3 - len(shape)) + list(shape)


def check_frequencies(have: int, n_fft: int, onesided: bool | None) -> None:
    """Refuse a spectrum that has neither all frequencies nor, one-sided, the first half.

    Raises:
        OperatorError: another count.
    """
    one = have != n_fft if onesided is None else onesided
    if have != (n_fft // 2 + 1 if one else n_fft):
        raise OperatorError(
            f"istft(...) : expected the frequency dimension (3rd to the last) of the input tensor"
            f" to match n_fft{' / 2 + 1' if one else ''} when onesided={one}, but got {have}"
        )


def istft(
    self: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, normalized: bool = False,
    onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """([B,] frequencies, frames) -> (L,) or (B, L)."""
    hop, win = _lengths(n_fft, hop_length, win_length)
    x = compute(self)
    if x.dtype.kind != "c":
        raise OperatorError("istft requires a complex-valued input tensor matching the output "
                            "from stft with return_complex=True.")  # fmt: skip
    real = np.dtype(np.float64 if x.dtype == np.complex128 else np.float32)
    shape = _window(window, win, n_fft, real)
    spectrum = np.swapaxes(x, -1, -2) * (np.sqrt(n_fft) if normalized else 1)
    check_frequencies(x.shape[-2], n_fft, onesided)
    frames: Array
    if shape.dtype.kind == "c" and not return_complex:
        raise OperatorError("Complex windows are incompatible with return_complex=False")
    if return_complex:
        if x.shape[-2] != n_fft if onesided is None else onesided:
            raise OperatorError(_ONE_SIDE)
        frames = np.fft.ifft(spectrum, n_fft) * shape
    else:  # a real signal is told by the first half of its spectrum, whether all of it is there
        frames = np.fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft) * shape
    count = frames.shape[-2]
    total = np.zeros((*frames.shape[:-2], n_fft + hop * (count - 1)), frames.dtype)
    envelope = np.zeros(total.shape[-1], shape.dtype)
    for t in range(count):
        total[..., t * hop : t * hop + n_fft] += frames[..., t, :]
        envelope[t * hop : t * hop + n_fft] += shape * shape
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total.shape[-1] - start
    total, envelope = total[..., start:end], envelope[start:end]
    if envelope.size and np.abs(envelope).min() < 1e-11:
        raise OperatorError("window overlap add min: 1")
    out = total / envelope
    if length is not None and out.shape[-1] < length:
        out = np.pad(out, [(0, 0)] * (out.ndim - 1) + [(0, length - out.shape[-1])])
    return wrap_like(out.astype(x.dtype if return_complex else real))


KERNELS: dict[str, Kernel] = {
    "aten::stft": stft,
    "aten::stft.center": stft_center,
    "aten::istft": istft,
}

"""The process's settings that PyTorch programs read and set; most have one value only here.

Kernels of ours are deterministic, compute float32 in float32 and run on the CPU, so that what
asks for that is granted, and what asks for anything else is refused or warned of.
"""

from __future__ import annotations

import warnings
from typing import Any

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArgumentError, OperatorError

from .device import CPU, PLACES, make_on
from .device import device as Device
from .modes import MODES, set_default_dtype
from .placement import existing

_PRECISIONS = ("highest", "high", "medium")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic algorithms; all of them are, whether asked for or not."""
    for name, flag in (("mode' (position 1)", mode), ("warn_only'", warn_only)):
        if not isinstance(flag, bool):
            raise ArgumentError(
                f"_set_deterministic_algorithms(): argument '{name} must be bool, not "
                f"{type(flag).__name__}"
            )
    MODES.deterministic, MODES.deterministic_warns = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    return MODES.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return MODES.deterministic_warns


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic algorithms by 0 or "default", 1 or "warn", 2 or "error".

    Raises:
        OperatorError: another word or number.
    """
    expected = (
        "one of `default`, `warn`, `error`," if isinstance(debug_mode, str) else "0, 1, or 2,"
    )
    if debug_mode not in (*_DEBUG_MODES, 0, 1, 2):
        raise OperatorError(
            f"invalid value of debug_mode, expected {expected} but got {debug_mode}"
        )
    at = _DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(at > 0, warn_only=at == 1)


def get_deterministic_debug_mode() -> int:
    return 0 if not MODES.deterministic else 1 if MODES.deterministic_warns else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 tensors to be less exact; they never are."""
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect.",
            stacklevel=2,
        )
        return
    MODES.matmul_precision = precision


def get_float32_matmul_precision() -> str:
    return MODES.matmul_precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers can be set to zero as asked: they are always kept."""
    return not mode


def get_default_device() -> Device:
    """Where new tensors are made."""
    chosen = PLACES[-1]
    return Device("cuda", existing(None)) if str(chosen) == "cuda" else chosen


def set_default_device(device: Any) -> None:
    """Say where new tensors are made; None is the CPU. Whether the device is there is seen when one
    is made."""
    make_on(CPU if device is None else Device(device))


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a type's name (`torch.DoubleTensor`).

    Raises:
        ArgumentError: no such type, or one without a dtype of floating-point numbers.
    """
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    dtype = t if isinstance(t, DType) else getattr(t, "dtype", None)
    if not isinstance(dtype, DType):
        raise ArgumentError(f"invalid type object: {t!r}")
    set_default_dtype(dtype)


_INTEROP_THREADS = 1


def get_num_interop_threads() -> int:
    """Threads for operators side by side: eager operators run one after the other."""
    return _INTEROP_THREADS


def set_num_interop_threads(threads: int) -> None:
    """Ask for threads for operators side by side; there is one.

    Raises:
        OperatorError: not a positive number.
    """
    if threads >= 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if threads < 1:
        raise OperatorError("set_num_interop_threads expects a positive integer")


def compiled_with_cxx11_abi() -> bool:
    """Whether C++ extensions would have to be built so: there are none."""
    return True


def set_warn_always(b: bool) -> None:
    """Whether warnings that come once are repeated; Python's filters decide that here."""
    MODES.warns_always = bool(b)


def is_warn_always_enabled() -> bool:
    return MODES.warns_always


SETTINGS = {
    f.__name__: f
    for f in (
        are_deterministic_algorithms_enabled, compiled_with_cxx11_abi, get_default_device,
        get_deterministic_debug_mode, get_float32_matmul_precision, get_num_interop_threads,
        is_deterministic_algorithms_warn_only_enabled, is_warn_always_enabled, set_default_device,
        set_default_tensor_type, set_deterministic_debug_mode, set_float32_matmul_precision,
        set_flush_denormal, set_num_interop_threads, set_warn_always, use_deterministic_algorithms,
    )
}  # fmt: skip
"""The functions of `torch` by name."""

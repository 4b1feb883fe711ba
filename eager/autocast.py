"""`torch.autocast` on the CPU: products in a short dtype, delicate operators in float32.

Which operators take which dtype is as PyTorch's documentation of `torch.amp` lists them ("CPU
Op-Specific Behavior"); float64 tensors and integers are left alone. The casts are operators, so a
trace records them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

from tensorscript.base.accelerator import ACCELERATOR
from tensorscript.base.dtypes import DType, bfloat16, float16, float32, float64
from tensorscript.base.errors import ArgumentError, OperatorError
from tensorscript.base.schema import Schema

from .modes import MODES
from .storage import TensorBase

_SHORT = """
    conv1d conv2d conv3d _convolution conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d bmm mm matmul linalg_matmul linalg_vecdot linalg_multi_dot chain_matmul
    einsum baddbmm addmm addbmm linear prelu scaled_dot_product_attention
    _native_multi_head_attention lstm rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell tensordot
    inner matrix_power linalg_matrix_power
"""
_LONG = """
    avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d grid_sampler_3d polar prod
    quantile nanquantile stft cdist trace view_as_complex cholesky cholesky_inverse
    cholesky_solve inverse lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d
    adaptive_avg_pool3d reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d
    replication_pad3d mse_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss
    poisson_nll_loss smooth_l1_loss cross_entropy_loss l1_loss huber_loss margin_ranking_loss
    soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div
    multilabel_margin_loss binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2 fft_ifft2
    fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft
    fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_svdvals
    linalg_eigvals linalg_eigvalsh linalg_inv linalg_householder_product linalg_tensorinv
    linalg_tensorsolve fake_quantize_per_tensor_affine geqrf _lu_with_info qr svd
    triangular_solve fractional_max_pool2d fractional_max_pool3d adaptive_max_pool3d
    multilabel_margin_loss_forward linalg_qr linalg_cholesky_ex linalg_svd linalg_eig
    linalg_eigh linalg_lstsq linalg_inv_ex nll_loss_nd
"""
_POLICY = {
    **dict.fromkeys(_SHORT.split(), "short"),
    **dict.fromkeys(_LONG.split(), "float32"),
    **dict.fromkeys(("cat", "stack", "index_copy"), "widest"),
    "pad": "float32",
}
"""Name of an operator to the dtype it takes; others take what they are given."""


_ENDS_SHORT = frozenset(("corrcoef", "cov", "linalg_pinv"))
"""Operators without a policy that PyTorch composes of others, the last a product of matrices."""


def ends_short(found: Schema, bound: tuple[Any, ...]) -> bool:
    """Whether the result of an operator that takes any dtype comes in the short one."""
    return found.base_name in _ENDS_SHORT and bool(_dtypes(bound))


def _einsum_contracts(equation: str, *_: Any) -> bool:
    """Whether two operands share a label that the result lacks: else it is no product of
    matrices."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    operands = inputs.split(",")
    counts = {label: inputs.count(label) for label in inputs if label.isalpha()}
    kept = output if arrow else [label for label, n in counts.items() if n == 1]
    return any(sum(label in o for o in operands) > 1 for label in counts if label not in kept)


def _pads_by_own_operator(x: TensorBase, pad: Any, mode: str = "constant", *_: Any) -> bool:
    """Constants and wrapped borders are made by slices and copies, and so are mirrored volumes."""
    return mode == "replicate" or (mode == "reflect" and len(pad) < 6)


def _has_rows(a: TensorBase, b: TensorBase) -> bool:
    return bool(a._array.ndim and b._array.ndim) and a._array.ndim + b._array.ndim > 2


def _keeps_a_dimension(a: TensorBase, b: TensorBase, dims: Any, *_: Any) -> bool:
    return len(dims) < max(a._array.ndim, b._array.ndim)


def _multiplies(x: TensorBase, n: int) -> bool:
    return n not in (0, 1, -1)


_ONLY_IF: dict[str, Callable[..., bool]] = {
    "einsum": _einsum_contracts,
    "pad": _pads_by_own_operator,
    "inner": _has_rows,
    "tensordot": _keeps_a_dimension,
    **dict.fromkeys(("matrix_power", "linalg_matrix_power"), _multiplies),
}
"""Operators that PyTorch composes of others: on which arguments the one with the policy is met."""


def cast_arguments(
    found: Schema, bound: tuple[Any, ...], to: Callable[[Any, DType], Any]
) -> tuple[Any, ...] | None:
    """The arguments in the dtype that `found` takes inside `autocast`; None: it takes any.

    Args:
        to: casts a tensor.
    """
    policy = _POLICY.get(found.base_name)
    applies = _ONLY_IF.get(found.base_name)
    if policy is None or (applies is not None and not applies(*bound)):
        return None
    is_long = policy == "float32" or (policy == "widest" and float32 in _dtypes(bound))
    dtype = float32 if is_long else MODES.autocast_dtype

    def fit(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(fit, value))
        return to(value, dtype) if _is_eligible(value) and value.dtype is not dtype else value

    fitted = [fit(value) for value in reversed(bound)]  # the last first, as in traces of PyTorch
    return tuple(reversed(fitted))


def _is_eligible(value: Any) -> bool:
    return (
        isinstance(value, TensorBase)
        and value.dtype.is_floating_point
        and value.dtype is not float64
    )


def _dtypes(bound: tuple[Any, ...]) -> set[DType]:
    flat = [v for b in bound for v in (b if isinstance(b, list | tuple) else [b])]
    return {v.dtype for v in flat if _is_eligible(v)}


F = TypeVar("F", bound=Callable[..., Any])
_NO_DECORATOR = "@autocast() decorator is not supported in script mode"


class autocast(ContextDecorator):
    """Within the `with` block, or the decorated function, operators choose their dtype.

    Args:
        device_type: "cpu"; "cuda" is disabled with a warning: operators compute on the CPU.
        dtype: bfloat16 (the default) or float16.
        enabled: False ends an outer autocast.
        cache_enabled: accepted; casts are not kept.

    Raises:
        OperatorError: an unknown device type.
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ArgumentError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda"):
            raise OperatorError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        if enabled and device_type == "cuda":
            missing = "Autocast of GPUs" if ACCELERATOR.driver.count() else "CUDA"
            warnings.warn(f"{missing} is not available. Disabling autocast.", stacklevel=2)
            enabled = False
        chosen = dtype or bfloat16
        if enabled and chosen not in (bfloat16, float16):
            warnings.warn(
                f"In {device_type} autocast, but the target dtype {chosen} is not supported. "
                "Disabling autocast.",
                stacklevel=2,
            )
            enabled = False
        self.device, self.fast_dtype, self._enabled = device_type, chosen, enabled
        self._before: list[tuple[bool, DType]] = []

    def __enter__(self) -> autocast:
        self._before.append((MODES.autocast_enabled, MODES.autocast_dtype))
        if self.device == "cpu":
            MODES.autocast_enabled, MODES.autocast_dtype = self._enabled, self.fast_dtype
        return self

    def __call__(self, func: F) -> F:
        """`func`, called within; scripts have `with` for that, and refuse it."""
        run = super().__call__(func)
        setattr(run, "__script_unsupported", _NO_DECORATOR)  # else it is mangled
        return run

    def __exit__(self, *exception: object) -> None:
        MODES.autocast_enabled, MODES.autocast_dtype = self._before.pop()


class of_device(autocast):
    """`torch.cuda.amp.autocast` and `torch.cpu.amp.autocast`: the device is in the name."""

    device_type = "cpu"

    def __init__(
        self, enabled: bool = True, dtype: DType | None = None, cache_enabled: bool = True
    ) -> None:
        super().__init__(self.device_type, dtype, enabled, cache_enabled)


class cuda_autocast(of_device):
    """`torch.cuda.amp.autocast`."""

    device_type = "cuda"


class cpu_autocast(of_device):
    """`torch.cpu.amp.autocast`."""


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` may name this device."""
    return device_type in ("cpu", "cuda")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether casts are made on a device; PyTorch's default is a GPU."""
    return MODES.autocast_enabled and device_type == "cpu"


def is_autocast_cpu_enabled() -> bool:
    """Whether casts are made."""
    return MODES.autocast_enabled


def get_autocast_dtype(device_type: str) -> DType:
    """The short dtype of a device."""
    return MODES.autocast_dtype if device_type == "cpu" else float16


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the short dtype of a device; what is set for a GPU changes nothing here."""
    if device_type == "cpu":
        MODES.autocast_dtype = dtype


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Begin or end casts on a device; without one, on a GPU, which changes nothing here."""
    if device_type == "cpu":
        MODES.autocast_enabled = bool(enabled)


SWITCHES: dict[str, Callable[..., Any]] = {
    "get_autocast_cpu_dtype": lambda: get_autocast_dtype("cpu"),
    "set_autocast_cpu_dtype": lambda dtype: set_autocast_dtype("cpu", dtype),
    "set_autocast_cpu_enabled": lambda enabled: set_autocast_enabled("cpu", enabled),
    "set_autocast_dtype": set_autocast_dtype,
    "set_autocast_enabled": set_autocast_enabled,
    "is_autocast_cache_enabled": lambda: True,
    "set_autocast_cache_enabled": lambda enabled: None,
    "clear_autocast_cache": lambda: None,
}
"""Functions of `torch` by name, older spellings too. Casts are not kept, so there is no cache."""

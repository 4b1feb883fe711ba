"""`nn.init`: fills of parameters, in place, by the distributions that layers start from.

The random ones draw from the generator in PyTorch's order, so that one seed gives one model.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .. import namespace as ts
from ..modes import GradMode
from ..random import Generator
from ..tensor import Tensor

_LINEAR = frozenset(
    {
        "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "sigmoid",
    }
)  # fmt: skip
_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights are scaled before a nonlinearity so that variances stay.

    Raises:
        ValueError: an unknown nonlinearity, or a slope that is no number.
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform in [a, b)."""
    return ts._no_grad_uniform_(tensor, a, b, generator)  # type: ignore[no-any-return]  # the tensor itself


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal with `mean` and `std`."""
    return ts._no_grad_normal_(tensor, mean, std, generator)  # type: ignore[no-any-return]  # the tensor itself


@GradMode(enabled=False)
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Normal within [a, b]: drawn again until inside, or by rejection where [a, b] is rare."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    if inside > 0.3:
        return _redrawn(tensor, mean, std, a, b, generator)
    return _rejected(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redrawn(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    found = tensor.normal_(mean, std, generator=generator)
    while (outside := (found < low) | (found > high)).any():
        again = ts.empty_like(found).normal_(mean, std, generator=generator)
        found = ts.where(outside, again, found)
    if found is not tensor:
        tensor.copy_(found)
    return tensor


def _rejected(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def refused(candidates: Tensor) -> Any:
        height = -0.5 * ((candidates - mean) / std) ** 2 - peak
        drawn = ts.empty_like(tensor).uniform_(generator=generator).log()
        return drawn > height

    found: Tensor = tensor.uniform_(a, b, generator=generator).clone()
    pending = refused(found)
    while pending.any():
        candidates = ts.empty_like(tensor).uniform_(a, b, generator=generator)
        found = ts.where(pending, candidates, found)
        pending = ts.where(pending, refused(candidates), pending)
    tensor.copy_(found)
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    return ts._no_grad_fill_(tensor, val)  # type: ignore[no-any-return]  # the tensor itself


def ones_(tensor: Tensor) -> Tensor:
    return ts._no_grad_fill_(tensor, 1.0)  # type: ignore[no-any-return]  # the tensor itself


def zeros_(tensor: Tensor) -> Tensor:
    return ts._no_grad_zero_(tensor)  # type: ignore[no-any-return]  # the tensor itself


@GradMode(enabled=False)
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix.

    Raises:
        ValueError: not two dimensions.
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    ts.eye(*tensor.shape, out=tensor)
    return tensor


@GradMode(enabled=False)
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight that passes as many channels through as there are.

    Raises:
        ValueError: not 3 to 5 dimensions, or dimension 0 is not divisible by `groups`.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.shape
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    outputs = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    zeros_(tensor)
    for group in range(groups):
        for d in range(min(outputs, sizes[1])):
            tensor[(group * outputs + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input.

    Raises:
        ValueError: fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = 1
    for size in tensor.shape[2:]:
        field *= size
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    valid = ["fan_in", "fan_out"]
    if mode.lower() not in valid:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {valid}")
    return _calculate_fan_in_and_fan_out(tensor)[valid.index(mode.lower())]


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform with variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator=generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Uniform with variance gain^2 / fan (He and others, 2015)."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Normal with variance gain^2 / fan (He and others, 2015)."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


@GradMode(enabled=False)
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Orthonormal rows or columns, times `gain` (Saxe and others, 2013).

    Raises:
        ValueError: fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = ts.linalg_qr(flat.t() if rows < columns else flat)
    q = q * ts.diag(r, 0).sign()
    if rows < columns:
        q = q.t()
    return tensor.copy_((q * gain).reshape(tensor.shape))  # type: ignore[no-any-return]  # the tensor itself


@GradMode(enabled=False)
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal, with a share of `sparsity` zeros in every column (Martens, 2010).

    Raises:
        ValueError: not two dimensions.
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0, std, generator=generator)
    for column in range(columns):
        tensor[ts.randperm(rows)[:zeros], column] = 0
    return tensor


def _former(fill: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function under its former name, without the underscore."""
    current, name = fill.__name__, fill.__name__[:-1]

    def run(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{current}`.",
            FutureWarning,
            stacklevel=2,
        )
        return fill(*args, **kwargs)

    run.__name__ = name
    return run


uniform = _former(uniform_)
normal = _former(normal_)
constant = _former(constant_)
eye = _former(eye_)
dirac = _former(dirac_)
xavier_uniform = _former(xavier_uniform_)
xavier_normal = _former(xavier_normal_)
kaiming_uniform = _former(kaiming_uniform_)
kaiming_normal = _former(kaiming_normal_)
orthogonal = _former(orthogonal_)
sparse = _former(sparse_)

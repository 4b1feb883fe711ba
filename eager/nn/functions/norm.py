"""Normalisation: the operators' arguments in the order of the interface."""

from __future__ import annotations

from ... import namespace as ts
from ...tensor import Tensor


def _need_several_values(sizes: list[int]) -> None:
    """Statistics of a batch need more than one value a channel."""
    count = sizes[0]
    for size in sizes[2:]:
        count = count * size
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {sizes}"
        )


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel by the statistics of the batch (`training`) or the given ones."""
    if training:
        _need_several_values(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return ts.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel of every sample."""
    if use_input_stats:
        count = 1
        for size in input.size()[2:]:
            count = count * size
        if count == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {input.size()}"
            )
    return ts.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions, whose sizes are `normalized_shape`."""
    return ts.layer_norm(input, normalized_shape, weight, bias, eps, True)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over groups of channels of every sample."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    _need_several_values(
        [input.size(0) * input.size(1) // num_groups, num_groups] + list(input.size()[2:])
    )
    return ts.group_norm(input, num_groups, weight, bias, eps, True)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """input / max(p-norm along `dim`, eps)."""
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denom
    return ts.div(input, denom, out=out)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by (k + alpha * mean square over `size` neighbouring channels) to the power beta.

    Alex Krizhevsky and others, "ImageNet Classification with Deep Convolutional Neural
    Networks", 2012.
    """
    dim = input.dim()
    if dim < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          "
            f"input (got {dim} dimensions)"
        )
    if input.numel() == 0:
        return input
    div = input * input
    margins = [size // 2, (size - 1) // 2]
    if dim == 3:
        div = ts.pad(div.unsqueeze(1), [0, 0] + margins)
        div = ts.avg_pool2d(div, [size, 1], stride=1).squeeze(1)
    else:
        sizes = input.size()
        div = div.view(sizes[0], 1, sizes[1], sizes[2], -1)
        div = ts.pad(div, [0, 0, 0, 0] + margins)
        div = ts.avg_pool3d(div, [size, 1, 1], stride=1).squeeze(1)
        div = div.view(sizes)
    div = (div * alpha + k).pow(beta)
    return input / div

"""Layers remade: batch norms folded into the layer before, memory formats, no random draws."""

from __future__ import annotations

import copy
from typing import Any

from .. import namespace as ts
from ..device import MemoryFormat
from ..modes import no_grad
from ..random_state import fork_rng
from ..tensor import Tensor
from .module import Module
from .parameter import Parameter


@no_grad
def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and bias of a convolution that also normalises by running statistics.

    `transpose`: the weight's output channels are its second dimension.
    """
    factor = ts.rsqrt(bn_rv + bn_eps) * (ts.ones_like(bn_rm) if bn_w is None else bn_w)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    bias = -bn_rm if conv_b is None else conv_b - bn_rm
    shift = bias * factor + (0 if bn_b is None else bn_b)
    weight = (conv_w * factor.reshape(shape)).to(conv_w.dtype)
    of_bias = False if conv_b is None else conv_b.requires_grad
    shift = shift.to(conv_w.dtype if conv_b is None else conv_b.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(shift, of_bias)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """As `fuse_conv_bn_weights`, of a linear layer."""
    found: tuple[Parameter, Parameter] = fuse_conv_bn_weights(
        linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b
    )
    return found


def _fused(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(layer)
    made.weight, made.bias = fuse_conv_bn_weights(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that also does what the batch norm behind it does.

    Raises:
        AssertionError: one of them is in training mode.
    """
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that also does what the batch norm behind it does.

    Raises:
        AssertionError: one is in training mode, or their features differ.
    """
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    return _fused(linear, bn, transpose=False)


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters keep what its class put there; the stream of random numbers goes on
    as if it had not been made.

    Raises:
        RuntimeError: not a class of modules.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    with fork_rng():
        return module_cls(*args, **kwargs)


def convert_conv2d_weight_memory_format(module: Any, memory_format: MemoryFormat) -> Any:
    """Put the weights of all two-dimensional convolutions into a memory format."""
    return _converted(module, 4, memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: MemoryFormat) -> Any:
    """Put the weights of all three-dimensional convolutions into a memory format."""
    return _converted(module, 5, memory_format)


def _converted(module: Any, ndim: int, memory_format: MemoryFormat) -> Any:
    for layer in module.modules():
        weight = getattr(layer, "weight", None)
        if hasattr(layer, "kernel_size") and weight is not None and weight.dim() == ndim:
            weight.data = weight.detach().clone().contiguous(memory_format=memory_format)
    return module

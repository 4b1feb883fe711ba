"""What normalisations ask of weights and statistics, and softmax of its result."""

from __future__ import annotations

import math
from typing import Any

from tensorscript.base.dtypes import bfloat16, float16, float32

from ..storage import array
from .words import Demand, each, require, sizes_of


def _norm(of_instances: bool) -> Demand:
    """Weights and statistics are of the channels; of instances each counts, for which PyTorch
    repeats them."""

    def check(self: Any, weight: Any, bias: Any, mean: Any, var: Any, *_: Any) -> None:
        sizes = sizes_of(self)
        if len(sizes) < 2:
            return
        times = sizes[0] if of_instances else 1
        wanted = sizes[1] * times
        named = {"running_mean": mean, "running_var": var, "weight": weight, "bias": bias}
        for name, found in named.items():
            if found is not None:
                count = array(found).size * times
                require(count == wanted, f"{name} should contain {wanted} elements not {count}")
        _mixed(self, weight, bias, mean, var)

    return check


def _group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, *_: Any) -> None:
    sizes = sizes_of(input)
    if len(sizes) < 2:
        return
    require(num_groups > 0, f"Expected num groups to be greater than 0, got {num_groups}")
    require(
        sizes[1] % num_groups == 0,
        "Expected number of channels in input to be divisible by num_groups, but got input of "
        f"shape {sizes} and num_groups={num_groups}",
    )
    for name, found in (("weight", weight), ("bias", bias)):
        require(
            found is None or sizes_of(found) == [sizes[1]],
            f"Expected {name} to be a vector of size equal to the number of channels in input, but "
            f"got {name} of shape {None if found is None else sizes_of(found)} and input of shape "
            f"{sizes}",
        )
    _mixed(input, weight, bias)


def _native_group_norm(
    input: Any, weight: Any, bias: Any, n: int, c: int, inner: int, group: int, eps: float
) -> None:
    for name, found in (("weight", weight), ("bias", bias)):
        require(
            found is None or sizes_of(found) == [c],
            f"Expected {name} to be a vector of size equal to the number of channels in input, but "
            f"got {name} of shape {None if found is None else sizes_of(found)} and input of shape "
            f"{sizes_of(input)}",
        )
    require(
        math.prod(sizes_of(input)) == n * c * inner,
        "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message "
        "be improved?  If so, please report an enhancement request to PyTorch.)",
    )
    _mixed(input, weight, bias)


def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, *_: Any
) -> None:
    wanted = list(normalized_shape)
    for name, given in (("weight", weight), ("bias", bias)):
        sizes = wanted if given is None else sizes_of(given)
        require(
            sizes == wanted,
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{sizes} and normalized_shape = {wanted}",
        )
    _mixed(input, weight, bias)


def _mixed(input: Any, *parameters: Any) -> None:
    """Parameters are of the input's dtype; those of a half type may be of float32."""
    given = [p for p in parameters if p is not None]
    if all(p.dtype is input.dtype for p in given):
        return
    if given[0].dtype is input.dtype:
        other = next(p.dtype for p in given if p.dtype is not input.dtype)
        require(False, f"expected scalar type {input.dtype.word} but found {other.word}")
    for p in given:
        require(
            p.dtype is float32,
            "mixed dtype (CPU): expect parameter to have scalar type of Float",
        )
    require(
        input.dtype in (bfloat16, float16),
        "mixed dtype (CPU): all inputs must share same datatype.",
    )


def _same_kind(grad_output: Any, output: Any, *_: Any) -> None:
    require(
        sizes_of(grad_output) == sizes_of(output),
        "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 "
        f"'output'; but {sizes_of(grad_output)} does not equal {sizes_of(output)}",
    )
    require(
        grad_output.dtype is output.dtype,
        f"expected scalar type {grad_output.dtype.word} but found {output.dtype.word}",
    )


NORMS: dict[str, Demand] = {
    **each(_norm(of_instances=False), "batch_norm", "native_batch_norm"),
    **each(_norm(of_instances=True), "instance_norm"),
    **each(_group_norm, "group_norm"),
    **each(_native_group_norm, "native_group_norm"),
    **each(_layer_norm, "layer_norm", "native_layer_norm"),
    **each(_same_kind, "_softmax_backward_data", "_log_softmax_backward_data"),
}
"""Overloads to what they ask, in the words of PyTorch."""

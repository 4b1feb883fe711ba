"""`nn.functional` by name: the functions of the families, then faces of operators, then operators.

The functions stand in `functions/` in the TorchScript language. The faces here are for eager calls
only: they take what Python callers write (no stride, one word instead of a number), and in script
their names mean the operators.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tensorscript.base.errors import OperatorError

from ..answering import asking
from ..built_in import BuiltInFunction
from ..composites import with_out
from ..dispatch import call
from ..namespace import lookup as operator_face
from .functions import (
    activation,
    attention,
    loss,
    norm,
    pooling,
    pooling_others,
    resampling,
    sparse,
    vision,
)
from .functions import dropout as dropouts  # `dropout` is a function here

FAMILIES = (
    activation, attention, dropouts, loss, norm, pooling, pooling_others, resampling, sparse,
    vision,
)  # fmt: skip
Face = Callable[..., Any]


def _avg_pool(n: int) -> Face:
    def run(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        steps = [] if stride is None else stride
        rest = () if n == 1 else (divisor_override,)
        options = (kernel_size, steps, padding, ceil_mode, count_include_pad, *rest)
        return call(f"aten::avg_pool{n}d", (input, *options))

    run.__name__ = f"avg_pool{n}d"
    return run


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    return call("aten::pad", (input, pad, mode, value), public=True)


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    return call(
        "aten::scaled_dot_product_attention", (query, key, value, attn_mask, dropout_p, is_causal),
        {"scale": scale, "enable_gqa": enable_gqa},
    )  # fmt: skip


def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    return call("aten::_grouped_mm", (mat_a, mat_b, offs, bias, out_dtype))


def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:  # fmt: skip
    """cross_entropy(linear(input)): input (*, F), linear_weight (C, ..., F). `options` say how
    PyTorch cuts the product into pieces and change nothing in the result."""
    if input.dim() not in (1, 2):
        raise OperatorError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise OperatorError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise OperatorError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {linear_weight.shape[-1]}), got unbatched input with "
            f"shape {tuple(input.shape)}"
        )
    features, shape = linear_weight.shape[-1], list(linear_weight.shape[:-1])
    if input.shape[-1] != features:
        raise OperatorError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {features}, respectively"
        )
    if linear_bias is not None and list(linear_bias.shape) != shape:
        raise OperatorError(
            f"expected linear_bias shape {tuple(shape)}, got {tuple(linear_bias.shape)}"
        )
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    rows = linear_weight.flatten(0, -2)
    logits = call("aten::linear", (input, rows, bias))
    if ignore_index is not None and tuple(target.shape) == (*input.shape[:-1], *shape):
        raise OperatorError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    return loss.cross_entropy(
        logits.reshape([*input.shape[:-1], *shape]), target, weight, None, ignored, None, reduction,
        label_smoothing,
    )  # fmt: skip


def _written(family: types.ModuleType) -> dict[str, Face]:
    """The public functions that a family defines (not those it imports)."""
    own = (family.__name__, f"{family.__package__}.choice")
    return {
        name: found
        for name, found in vars(family).items()
        if isinstance(found, types.FunctionType)
        and found.__module__ in own
        and not name.startswith("_")
        and name != "boolean_dispatch"
    }


def _named_here(function: Face) -> Face:
    """A function that pickles find by `lookup`."""
    function.__module__ = "tensorscript.nn.functional"
    return function


_BUILT_IN = ("avg_pool1d", "avg_pool2d", "avg_pool3d", "scaled_dot_product_attention")
"""Faces that are built-in functions in PyTorch."""
WRITTEN = {name: found for family in FAMILIES for name, found in _written(family).items()}
FACES: dict[str, Face] = {
    **{f"avg_pool{n}d": with_out(_avg_pool(n), f"avg_pool{n}d") for n in (1, 2, 3)},
    "grouped_mm": grouped_mm,
    "linear_cross_entropy": linear_cross_entropy,
    "pad": pad,
    "scaled_dot_product_attention": scaled_dot_product_attention,
}


_PYTHON = {
    name: _named_here(asking(found)) for name, found in {**FACES, **WRITTEN}.items()
}  # fmt: skip
"""The functions as users call them."""


def lookup(name: str) -> Face:
    """The function `nn.functional.<name>`.

    Raises:
        AttributeError: there is none.
    """
    if name in _BUILT_IN:
        return _built_in(name)
    return _PYTHON.get(name) or operator_face(name)


@cache
def _built_in(name: str) -> Face:
    return BuiltInFunction(asking(FACES[name]), lookup)


def __getattr__(name: str) -> Face:
    return lookup(name)

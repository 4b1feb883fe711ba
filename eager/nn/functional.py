"""`nn.functional`: faces whose arguments differ from the operators' and composites of operators.

Every composite is made of dispatched operators, so a tracer sees its parts. Names not written here
are operators of that name: `lookup` finds both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.errors import OperatorError, ValueRangeError

from ..dispatch import call
from ..namespace import lookup as operator_face

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
Face = Callable[..., Any]


def _op(name: str, *args: Any) -> Any:
    return call(f"aten::{name}", args)


def _reduction(word: str) -> int:
    if word not in REDUCTIONS:
        raise ValueRangeError(f"{word} is not a valid value for reduction")
    return REDUCTIONS[word]


def activation(name: str) -> Face:
    """`f(input, *parameters, inplace=False)` over the operator `name` and its in-place form."""

    def run(input: Any, *parameters: Any, inplace: bool = False, **named: Any) -> Any:
        return call(f"aten::{name}{'_' if inplace else ''}", (input, *parameters), named)

    run.__name__ = name
    return run


def _softmax(name: str) -> Face:
    def run(
        input: Any,
        dim: int | None = None,
        _stacklevel: int = 3,
        dtype: Any = None,
    ) -> Any:
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return _op(name, input, dim, dtype)

    run.__name__ = name
    return run


def softmin(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    return _softmax("softmax")(-input, dim, dtype=dtype)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not 0.0 <= p <= 1.0:
        raise ValueRangeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _op("dropout_" if inplace else "dropout", input, p, training)


def feature_dropout(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    return _op("feature_dropout", input, p, training)


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    return _op("linear", input, weight, bias)


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    if max_norm is not None:
        raise OperatorError("embedding: max_norm is not available")
    at = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return _op("embedding", weight, input, at, scale_grad_by_freq, sparse)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    return _op("one_hot", tensor, num_classes)


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    return _op("layer_norm", input, list(normalized_shape), weight, bias, eps, True)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    return _op("group_norm", input, num_groups, weight, bias, eps, True)


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    return _op("batch_norm", input, weight, bias, running_mean, running_var, training, momentum,
               eps, True)  # fmt: skip


def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    return _op("instance_norm", input, weight, bias, running_mean, running_var, use_input_stats,
               momentum, eps, True)  # fmt: skip


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """x / max(|x|_p, eps) along `dim`."""
    size = call("aten::linalg_vector_norm", (input, p, [dim], True))
    return _op("div", input, _op("expand_as", _op("clamp_min", size, eps), input))


def _pool(n: int) -> Face:
    def run(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        name = f"max_pool{n}d_with_indices" if return_indices else f"max_pool{n}d"
        steps = [] if stride is None else stride
        return _op(name, input, kernel_size, steps, padding, dilation, ceil_mode)

    return run


def _avg_pool(n: int) -> Face:
    def run(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        steps = [] if stride is None else stride
        rest = () if n == 1 else (divisor_override,)
        return _op(f"avg_pool{n}d", input, kernel_size, steps, padding, ceil_mode,
                   count_include_pad, *rest)  # fmt: skip

    return run


def _sizes(input: Any, output_size: Any, n: int) -> list[int]:
    given = [output_size] * n if isinstance(output_size, int) else list(output_size)
    own = input.shape[-n:]
    return [o if s is None else s for s, o in zip(given, own, strict=True)]


def _adaptive(n: int, kind: str) -> Face:
    def run(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        found = _op(f"adaptive_{kind}_pool{n}d", input, _sizes(input, output_size, n))
        return found[0] if kind == "max" and not return_indices else found

    return run


def _pair_loss(name: str) -> Face:
    def run(
        input: Any, target: Any, size_average: Any = None, reduce: Any = None,
        reduction: str = "mean",
    ) -> Any:  # fmt: skip
        return _op(name, *_broadcast(input, target), _reduction(reduction))

    return run


def _broadcast(a: Any, b: Any) -> tuple[Any, Any]:
    if a.shape == b.shape:
        return a, b
    first, second = call("aten::broadcast_tensors", ([a, b],))
    return first, second


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Any:  # fmt: skip
    return _op("smooth_l1_loss", *_broadcast(input, target), _reduction(reduction), beta)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    return _op("huber_loss", *_broadcast(input, target), _reduction(reduction), delta)


def kl_div(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    code = REDUCTIONS["sum"] if reduction == "batchmean" else _reduction(reduction)
    found = call("aten::kl_div", (input, target, code), {"log_target": log_target})
    return _op("div", found, input.shape[0]) if reduction == "batchmean" else found


def cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    return _op("cross_entropy_loss", input, target, weight, _reduction(reduction), ignore_index,
               label_smoothing)  # fmt: skip


def nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    return _op("nll_loss_nd", input, target, weight, _reduction(reduction), ignore_index)


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    return _op("binary_cross_entropy", input, target, weight, _reduction(reduction))


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    return _op("binary_cross_entropy_with_logits", input, target, weight, pos_weight,
               _reduction(reduction))  # fmt: skip


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    return _op("pad", input, list(pad), mode, value)


def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    return _op("im2col", input, kernel_size, dilation, padding, stride)


def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Any:  # fmt: skip
    return _op("col2im", input, output_size, kernel_size, dilation, padding, stride)


_RESAMPLERS = {
    ("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d",
    ("nearest", 3): "upsample_nearest3d", ("nearest-exact", 1): "_upsample_nearest_exact1d",
    ("nearest-exact", 2): "_upsample_nearest_exact2d",
    ("nearest-exact", 3): "_upsample_nearest_exact3d", ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d", ("trilinear", 3): "upsample_trilinear3d",
    ("bicubic", 2): "upsample_bicubic2d",
}  # fmt: skip


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:  # fmt: skip
    """Resample the dimensions behind (N, C).

    Raises:
        ValueRangeError: both or neither of `size` and `scale_factor`.
        OperatorError: no such mode for that number of dimensions.
    """
    n = input.dim() - 2
    if (size is None) == (scale_factor is None):
        which = "either" if size is None else "only one of"
        raise ValueRangeError(f"{which} size or scale_factor should be defined")
    if mode == "area":
        return _adaptive(n, "avg")(input, size)
    if antialias or (mode, n) not in _RESAMPLERS:
        raise OperatorError(
            f"Input Error: {input.dim()}D input with mode {mode!r} (antialias={antialias}) is not "
            "available"
        )
    sizes = [size] * n if isinstance(size, int) else size
    scales = [float(scale_factor)] * n if isinstance(scale_factor, (int, float)) else scale_factor
    if recompute_scale_factor and scales is not None:
        sizes = [math.floor(m * s) for m, s in zip(input.shape[2:], scales, strict=True)]
        scales = None
    align = () if mode.startswith("nearest") else (bool(align_corners),)
    return call(f"aten::{_RESAMPLERS[mode, n]}", (input, sizes, *align, scales))


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    return call(
        "aten::scaled_dot_product_attention", (query, key, value, attn_mask, dropout_p, is_causal),
        {"scale": scale, "enable_gqa": enable_gqa},
    )  # fmt: skip


_ACTIVATIONS = (
    "relu", "relu6", "silu", "mish", "hardtanh", "hardsigmoid", "hardswish", "leaky_relu", "elu",
    "selu", "celu", "threshold",
)  # fmt: skip

FACES: dict[str, Face] = {
    **{name: activation(name) for name in _ACTIVATIONS},
    "logsigmoid": activation("log_sigmoid"),
    "softsign": lambda x: _op("div", x, _op("add", _op("abs", x), 1)),
    "tanhshrink": lambda x: _op("sub", x, _op("tanh", x)),
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "softmin": softmin,
    "dropout": dropout,
    "dropout1d": feature_dropout,
    "dropout2d": feature_dropout,
    "dropout3d": feature_dropout,
    "linear": linear,
    "embedding": embedding,
    "one_hot": one_hot,
    "layer_norm": layer_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "instance_norm": instance_norm,
    "normalize": normalize,
    **{f"max_pool{n}d": _pool(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": _avg_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": _adaptive(n, "avg") for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": _adaptive(n, "max") for n in (1, 2, 3)},
    "mse_loss": _pair_loss("mse_loss"),
    "l1_loss": _pair_loss("l1_loss"),
    "soft_margin_loss": _pair_loss("soft_margin_loss"),
    "smooth_l1_loss": smooth_l1_loss,
    "huber_loss": huber_loss,
    "kl_div": kl_div,
    "cross_entropy": cross_entropy,
    "nll_loss": nll_loss,
    "binary_cross_entropy": binary_cross_entropy,
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "pad": pad,
    "unfold": unfold,
    "fold": fold,
    "interpolate": interpolate,
    "upsample": interpolate,
    "scaled_dot_product_attention": scaled_dot_product_attention,
}


def lookup(name: str) -> Face:
    """The function `nn.functional.<name>`.

    Raises:
        AttributeError: there is none.
    """
    return FACES[name] if name in FACES else operator_face(name)


def __getattr__(name: str) -> Face:
    return lookup(name)

"""What operators demand of their arguments, in PyTorch's words: one check an operator.

A check runs before the row of its operator and reads nothing but shapes, dtypes and literals. A
row may then take for granted that no index of it leaves its tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.cpp_names import cpp_name
from tensorscript.dialects.te.expr import Expr, binary, const

from .builder import Builder
from .checked_rows import Check
from .elements import as_expr, known
from .sizes import product, simplify, sizes_text
from .values import Tensor, Value


def per_dimension(values: Value, n: int) -> list[Value]:
    """An int or a list of one or n ints as n ints."""
    items = list(values) if isinstance(values, list | tuple) else [values]
    return items * n if len(items) == 1 else items


# --- convolution ----------------------------------------------------------------------------------


def _at_least(b: Builder, least: int, values: Sequence[Value], message: str) -> None:
    for v in values:
        b.check(known(binary("ge", as_expr(v), least)), message)


def _operands(
    b: Builder, x: Tensor, w: Tensor, bias: Tensor | None, groups: Value, transposed: bool
) -> None:
    n = w.rank - 2
    if bias is not None and bias.dtype is not x.dtype:
        b.error(
            f"Input type ({cpp_name(x.dtype)}) and bias type ({cpp_name(bias.dtype)}) should be the"
            " same"
        )
    if x.rank not in (n + 1, n + 2):
        kind = "conv_transpose" if transposed else "conv"
        b.error(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {kind}{n}d, but got"
            f" input of size: {sizes_text(x.shape)}"
        )
    if x.dtype is not w.dtype:
        b.error(f"expected scalar type {x.dtype.word} but found {w.dtype.word}")
    b.check(known(binary("gt", as_expr(groups), 0)), "non-positive groups is not supported")
    divisible = simplify(w.shape[0] % groups)
    if divisible.op == "const" and not divisible.is_int(0):
        b.error(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0,"
            f" but got weight of size [{sizes_text(w.shape)}] instead"
        )
    have = x.shape[x.rank - n - 1]
    wanted = w.shape[0] if transposed else simplify(w.shape[1] * groups)
    full = x.shape if x.rank == n + 2 else (const(1), *x.shape)
    b.require_same(
        have,
        wanted,
        f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size"
        f" {sizes_text(w.shape)}, expected input{sizes_text(full)} to have {wanted} channels, but"
        f" got {have} channels instead",
    )


def _bias(b: Builder, w: Tensor, bias: Tensor | None, size: Expr, lead: str = "") -> None:
    if bias is None:
        return
    message = (
        f"Given {lead}weight of size {sizes_text(w.shape)}, expected bias to be 1-dimensional with"
        f" {size} elements, but got bias of size {sizes_text(bias.shape)} instead"
    )
    if bias.rank != 1:
        b.error(message)
    b.require_same(bias.shape[0], size, message)


def _steps(b: Builder, stride: Value, dilation: Value, padding: Value, n: int) -> None:
    if not isinstance(padding, str):
        _at_least(b, 0, per_dimension(padding, n), "negative padding is not supported")
    _at_least(b, 1, per_dimension(stride, n), "non-positive stride is not supported")
    _at_least(b, 1, per_dimension(dilation, n), "dilation should be greater than zero")


def _conv(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None = None,
    stride: Value = 1,
    padding: Value = 0,
    dilation: Value = 1,
    groups: Value = 1,
    *_: Value,
) -> None:
    n = w.rank - 2
    _operands(b, x, w, bias, groups, False)
    _bias(b, w, bias, w.shape[0])
    _steps(b, stride, dilation, padding, n)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            b.error(f"Invalid padding string: '{padding}'")
        steps = [as_expr(s) for s in per_dimension(stride, n)]
        if padding == "same" and any(s.op != "const" for s in steps):
            b.cannot("a stride that is not known")
        if padding == "same" and not all(s.is_int(1) for s in steps):
            b.error("padding='same' is not supported for strided convolutions")
        if padding == "same":
            return
        padding = 0
    sizes = zip(x.shape[-n:], per_dimension(padding, n), strict=True)
    have = [simplify(size + 2 * as_expr(p)) for size, p in sizes]
    cells = zip(w.shape[2:], per_dimension(dilation, n), strict=True)
    need = [simplify((k - 1) * as_expr(d) + 1) for k, d in cells]
    message = (
        f"Calculated padded input size per channel: ({' x '.join(map(str, have))}). Kernel size:"
        f" ({' x '.join(map(str, need))}). Kernel size can't be greater than actual input size"
    )
    for size, reach in zip(have, need, strict=True):
        b.check(known(binary("ge", size, reach)), message)


_AXES = ("depth", "height", "width")


def _transposed(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None = None,
    stride: Value = 1,
    padding: Value = 0,
    extra: Value = 0,
    groups: Value = 1,
    dilation: Value = 1,
    *_: Value,
) -> None:
    n = w.rank - 2
    _operands(b, x, w, bias, groups, True)
    _bias(b, w, bias, simplify(w.shape[1] * groups), "transposed=1, ")
    _steps(b, stride, dilation, padding, n)
    lists = [per_dimension(v, n) for v in (extra, stride, dilation)]
    cells = zip(x.shape[-n:], w.shape[2:], per_dimension(padding, n), *lists, strict=True)
    for size, k, p, e, s, d in cells:
        reach = (size - 1) * s - 2 * as_expr(p) + (k - 1) * as_expr(d) + as_expr(e) + 1
        some = binary("or", binary("gt", reach, 0), size.equals(0))
        b.check(known(some), "Calculated output size per channel is too small")
    if all(e < s or e < d for e, s, d in zip(*lists, strict=True)):
        return
    # A single dimension is shown as the width of an image of height 1.
    if n == 1:
        lists = [[0, *lists[0]], [1, *lists[1]], [1, *lists[2]]]
    axes = _AXES[-len(lists[0]) :]
    parts = [
        f"{name}_{axis}: {value}"
        for name, values in zip(("output_padding", "stride", "dilation"), lists, strict=True)
        for axis, value in zip(axes, values, strict=True)
    ]
    b.error(
        "output padding must be smaller than either stride or dilation, but got " + " ".join(parts)
    )


def _convolution(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: Value,
    padding: Value,
    dilation: Value,
    transposed: Value,
    extra: Value,
    groups: Value,
    *_: Value,
) -> None:
    if transposed:
        _transposed(b, x, w, bias, stride, padding, extra, groups, dilation)
    else:
        _conv(b, x, w, bias, stride, padding, dilation, groups)


# --- pooling --------------------------------------------------------------------------------------


def _pool(n: int, is_average: bool) -> Check:
    """Rank, window and padding; the result has at least one window."""

    def check(
        b: Builder, x: Tensor, kernel: Value, stride: Value = None, padding: Value = 0, *rest: Value
    ) -> None:
        dilation, ceil = (1, rest[:1] == (True,)) if is_average else _dilated(rest)
        name = f"{'avg' if is_average else 'max'}_pool{n}d"
        if x.rank not in (n + 1, n + 2):
            if n == 1:
                b.error(
                    f"{name}() Expected 2D or 3D input tensor, but got {sizes_text(x.shape)}"
                    if not is_average
                    else "Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for"
                    f" input, but got:{sizes_text(x.shape)}"
                )
            b.error(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
        sizes, pads = per_dimension(kernel, n), per_dimension(padding, n)
        gaps = per_dimension(dilation, n)
        steps = per_dimension(stride, n) if stride else sizes
        _at_least(b, 1, sizes, "kernel size should be greater than zero")
        _at_least(b, 1, steps, "stride should not be zero")
        if is_average and len(rest) > 2 and rest[2] is not None:
            b.check(known(binary("ne", as_expr(rest[2]), 0)), "divisor must be not zero")
        outputs = [
            _windows(b, *of, ceil)
            for of in zip(x.shape[-n:], sizes, steps, pads, gaps, strict=True)
        ]
        channels = x.shape[x.rank - n - 1]
        message = (
            f"Given input size: ({'x'.join(map(str, (channels, *x.shape[-n:])))}). Calculated"
            f" output size: ({'x'.join(map(str, (channels, *outputs)))}). Output size is too small"
        )
        for size in outputs:
            b.check(known(binary("ge", size, 1)), message)

    return check


def _dilated(rest: Sequence[Value]) -> tuple[Value, bool]:
    """(dilation, ceil_mode) of the trailing arguments of maximum pooling."""
    return (rest[0] if rest else 1), rest[1:2] == (True,)


def _windows(b: Builder, size: Expr, k: int, s: int, p: int, d: int, ceil: bool) -> Expr:
    """The number of windows over one dimension."""
    if p < 0:
        b.error(f"pad must be non-negative, but got pad: {p}")
    if p > ((k - 1) * d + 1) // 2:
        b.error(
            "pad should be at most half of effective kernel size, but got pad="
            f"{p}, kernel_size={k} and dilation={d}"
        )
    span = size + (2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0))
    return simplify(span // s + 1)


# --- normalisation --------------------------------------------------------------------------------


def _normalized(b: Builder, x: Tensor, sizes: Value, lead: str, *tensors: Value) -> None:
    if not sizes:
        b.error(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one"
            " element, but got normalized_shape = []"
        )
    text = ", ".join(map(str, sizes))
    message = (
        f"Given normalized_shape=[{text}], expected input with shape [{lead}{text}], but got input"
        f" of size{sizes_text(x.shape)}"
    )
    if x.rank < len(sizes):
        b.error(message)
    for size, want in zip(x.shape[-len(sizes) :], sizes, strict=True):
        b.require_same(size, as_expr(want), message)
    for name, t in zip(("weight", "bias"), tensors, strict=False):
        if t is None:
            continue
        wrong = (
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape"
            f" {sizes_text(t.shape)} and normalized_shape = [{text}]"
        )
        if t.rank != len(sizes):
            b.error(wrong)
        for size, want in zip(t.shape, sizes, strict=True):
            b.require_same(size, as_expr(want), wrong)


def _layer_norm(
    b: Builder, x: Tensor, sizes: Value, weight: Value = None, bias: Value = None, *_: Value
) -> None:
    _normalized(b, x, sizes, "*, ", weight, bias)


def _rms_norm(b: Builder, x: Tensor, sizes: Value, weight: Value = None, *_: Value) -> None:
    _normalized(b, x, sizes, "*", weight)


def _group_norm(
    b: Builder, x: Tensor, groups: Value, weight: Value = None, bias: Value = None, *_: Value
) -> None:
    if x.rank < 2:
        b.error(f"Expected at least 2 dimensions for input tensor but received {x.rank}")
    if not isinstance(groups, int):
        b.cannot("a number of groups that is not known")
    rest = simplify(x.shape[1] % groups) if groups > 0 else const(1)
    if rest.op == "const" and not rest.is_int(0):
        b.error(
            "Expected number of channels in input to be divisible by num_groups, but got input of"
            f" shape {sizes_text(x.shape)} and num_groups={groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is None:
            continue
        message = (
            f"Expected {name} to be a vector of size equal to the number of channels in input, but"
            f" got {name} of shape {sizes_text(t.shape)} and input of shape {sizes_text(x.shape)}"
        )
        if t.rank != 1:
            b.error(message)
        b.require_same(t.shape[0], x.shape[1], message)


def _batch_norm(
    b: Builder, x: Tensor, weight: Value, bias: Value, mean: Value, var: Value, *_: Value
) -> None:
    if product(x.shape).is_int(0):
        return
    if x.rank < 2:
        b.error("Expected at least 2 dimensions for input tensor")
    names = ("running_mean", "running_var", "weight", "bias")
    for name, t in zip(names, (mean, var, weight, bias), strict=True):
        if t is not None:
            b.require_same(
                t.shape[0],
                x.shape[1],
                f"{name} should contain {x.shape[1]} elements not {t.shape[0]}",
            )


# --- losses and padding -------------------------------------------------------------------


def _nll(b: Builder, x: Tensor, target: Tensor, weight: Tensor | None = None, *_: Value) -> None:
    """One class number per sample (and place)."""
    message = (
        f"size mismatch (got input: {sizes_text(x.shape)}, target: {sizes_text(target.shape)})"
    )
    if not x.rank >= 1:
        b.error("input tensor should be 1D or 2D")
    expected = x.shape[:1] + x.shape[2:] if x.rank > 1 else ()
    if x.rank == 1 and target.rank == 1:
        expected = (const(1),)
    if target.rank != len(expected):
        b.error(message)
    for size, want in zip(target.shape, expected, strict=True):
        b.require_same(size, want, message)
    classes = x.shape[1 if x.rank > 1 else 0]
    if weight is not None:
        b.require_same(
            weight.shape[0],
            classes,
            "weight tensor should be defined either for all"
            f" {classes} classes or no classes but got weight tensor of shape:"
            f" {sizes_text(weight.shape)}",
        )


def _cross_entropy(
    b: Builder, x: Tensor, target: Tensor, weight: Value = None, reduction: Value = 1,
    ignored: Value = -100, *_: Value,
) -> None:  # fmt: skip
    if target.rank == x.rank and target.dtype.is_floating_point:
        if isinstance(ignored, int) and ignored >= 0:
            b.error("ignore_index is not supported for floating point target")
        return
    _nll(b, x, target, weight)


def _reflection(b: Builder, x: Tensor, padding: Value, *_: Value) -> None:
    """Less is mirrored than there is."""
    n = len(padding) // 2
    for k in range(n):
        d = x.rank - 1 - k
        low, high = padding[2 * k], padding[2 * k + 1]
        message = (
            f"Argument #{2 * k + 4}: Padding size should be less than the corresponding input"
            f" dimension, but got: padding ({low}, {high}) at dimension {d} of input"
            f" {sizes_text(x.shape)}"
        )
        for p in (low, high):
            b.check(known(binary("lt", as_expr(p), x.shape[d])), message)


ARGUMENTS: dict[str, Check] = {
    **{f"aten::conv{n}d": _conv for n in (1, 2, 3)},
    **{f"aten::conv_transpose{n}d": _transposed for n in (1, 2, 3)},
    "aten::convolution": _convolution,
    "aten::_convolution": _convolution,
    **{f"aten::max_pool{n}d": _pool(n, False) for n in (1, 2, 3)},
    **{f"aten::max_pool{n}d_with_indices": _pool(n, False) for n in (1, 2, 3)},
    **{f"aten::avg_pool{n}d": _pool(n, True) for n in (1, 2, 3)},
    "aten::layer_norm": _layer_norm,
    "aten::native_layer_norm": _layer_norm,
    "aten::rms_norm": _rms_norm,
    "aten::group_norm": _group_norm,
    "aten::batch_norm": _batch_norm,
    "aten::instance_norm": _batch_norm,
    "aten::nll_loss": _nll,
    "aten::nll_loss2d": _nll,
    "aten::nll_loss_nd": _nll,
    "aten::cross_entropy_loss": _cross_entropy,
    **{f"aten::reflection_pad{n}d": _reflection for n in (1, 2, 3)},
}

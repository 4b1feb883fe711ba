"""What operators on elements demand of their arguments, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import Category, bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, const

from .builder import Builder
from .checked_rows import Check
from .dims import dimension, literal
from .elements import as_expr, known
from .linalg import check_types
from .sizes import sizes_text
from .values import ComplexTensor, Tensor, Value


def _same_dtype(message: Callable[[Tensor, Tensor], str]) -> Check:
    """The first two tensors have one dtype."""

    def check(b: Builder, x: Tensor, y: Tensor, *_: Value) -> None:
        if x.dtype is not y.dtype:
            b.error(message(x, y))

    return check


def _fill(b: Builder, x: Tensor, value: Value, *_: Value) -> None:
    if isinstance(value, Tensor | ComplexTensor) and value.rank:
        b.error(
            "fill_ only supports 0-dimension value tensor but got tensor with"
            f" {value.rank} dimensions."
        )
    _filled(b, x, value)


def _filled(b: Builder, x: Tensor, value: Value) -> None:
    """An integer that only the running program knows, into narrower ones."""
    kind = x.dtype
    if not isinstance(value, Expr) or value.dtype is not int64 or not kind.is_integral:
        return
    if kind is bool_ or kind.bits == 64:
        return
    most = 2 ** (kind.bits - (1 if kind.signed else 0)) - 1
    least = -most - (1 if kind.signed else 0)
    fits = binary("and", binary("ge", value, least), binary("le", value, most))
    b.check(known(fits), f"value cannot be converted to type {kind.name}_t without overflow")


def _subtraction(b: Builder, x: Value, y: Value, *_: Value) -> None:
    def is_bool(v: Value) -> bool:
        return v.dtype is bool_ if isinstance(v, Tensor) else isinstance(v, bool)

    if isinstance(x, Tensor) and isinstance(y, Tensor) and is_bool(x) and is_bool(y):
        b.error(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if is_bool(x) or is_bool(y):
        b.error(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying"
            " to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def _integer_division(b: Builder, x: Tensor, p: Tensor, q: Tensor, *_: Value) -> None:
    if max(p.dtype.category, q.dtype.category) < Category.FLOATING:
        b.error(
            "Integer division with addcdiv is no longer supported, and in a future  release"
            " addcdiv will perform a true division of tensor1 and tensor2."
        )


def _halves(b: Builder, x: Tensor, dim: Value = -1, *_: Value) -> None:
    if not x.rank:
        b.error("glu does not support 0-dimensional tensors")
    d = dimension(b, dim, x.rank)
    message = f"Halving dimension must be even, but dimension {d} is size {x.shape[d]}"
    b.check(known(binary("eq", x.shape[d] % 2, 0)), message)


def _slopes(b: Builder, x: Tensor, weight: Tensor, *_: Value) -> None:
    if x.dtype is not weight.dtype:
        b.error(f"prelu: Type promoting not supported. Got {x.dtype.word} and {weight.dtype.word}")
    if weight.rank > 1:
        b.error(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.rank}"
        )
    if weight.rank == 0 or weight.shape[0].is_int(1):
        return
    if not x.rank:
        b.error("Not allow zero-dim input tensor.")
    channels = x.shape[1] if x.rank > 1 else x.shape[0]
    b.require_same(
        weight.shape[0],
        channels,
        "Mismatch of parameter numbers and input channel size. Found parameter numbers ="
        f" {weight.shape[0]} and channel size = {channels}.",
    )


def _dimension_of(b: Builder, x: Tensor, dim: Value, *_: Value) -> None:
    dimension(b, dim, x.rank)


def _window(b: Builder, x: Tensor, dim: Value, size: Value, step: Value, *_: Value) -> None:
    d = dimension(b, dim, x.rank)
    length, stride, most = as_expr(size), as_expr(step), x.shape[d] if x.rank else const(1)
    b.check(known(binary("ge", length, 0)), f"size is {size} but must be >= 0")
    b.check(known(binary("gt", stride, 0)), f"step is {step} but must be > 0")
    message = f"maximum size for tensor at dimension {d} is {most} but size is {size}"
    b.check(known(binary("ge", most, length)), message)


def _outputs(b: Builder, x: Tensor, sizes: Value, *_: Value) -> None:
    for size in sizes or ():
        message = f"Input and output sizes should be greater than 0, but got output {size}"
        b.check(known(binary("gt", as_expr(size), 0)), message)


def _number(at: int, op: str, message: str) -> Check:
    """How the number at a place compares with 0."""

    def check(b: Builder, *arguments: Value) -> None:
        if len(arguments) > at and arguments[at] is not None:
            b.check(known(binary(op, as_expr(arguments[at]), 0)), message)

    return check


def _unsigned(b: Builder, x: Tensor, low: Value = -1, high: Value = 1, *_: Value) -> None:
    ends = [v for v in (low, high) if isinstance(v, int | float)]
    if not x.dtype.is_floating_point and not x.dtype.signed and any(v <= -1 for v in ends):
        b.error("cannot do hardtanh on an unsigned type with negative limits")


def _batches(b: Builder, x: Tensor, y: Tensor, *_: Value) -> None:
    for t in (x, y):
        if t.rank != 3:
            b.error("batch1 must be a 3D tensor" if t is x else "batch2 must be a 3D tensor")
    message = (
        "Expected size for first two dimensions of batch2 tensor to be:"
        f" [{x.shape[0]}, {x.shape[2]}] but got: [{y.shape[0]}, {y.shape[1]}]."
    )
    b.require_same(x.shape[0], y.shape[0], message)
    b.require_same(x.shape[2], y.shape[1], message)


def _gradients(b: Builder, x: Tensor, required: Value = True, *_: Value) -> None:
    if required and not x.dtype.is_floating_point:
        b.error("only Tensors of floating point dtype can require gradients")


def _probabilities(b: Builder, x: Tensor, target: Tensor, *_: Value) -> None:
    """Equal shapes, and inputs in [0, 1] when the program runs."""
    b.require_alike(
        x.shape,
        target.shape,
        f"Using a target size ({sizes_text(target.shape)}) that is different to the input size"
        f" ({sizes_text(x.shape)}) is deprecated. Please ensure they have the same size.",
    )
    above = b.call("aten::ge", x, 0)
    inside = b.call("aten::logical_and", above, b.call("aten::le", x, 1))
    message = "all elements of input should be between 0 and 1"
    b.check(b.item(b.apply("aten::all", inside)), message)


def _classes(b: Builder, x: Tensor, classes: Value = -1, *_: Value) -> None:
    if x.dtype.name != "int64":
        b.error("one_hot is only applicable to index tensor of type LongTensor.")
    if isinstance(classes, int) and classes < 1 and literal_size(b, x) == 0:
        b.error("Can not infer total number of classes from empty tensor.")


def literal_size(b: Builder, x: Tensor) -> int | None:
    """The number of elements where it is known."""
    total = 1
    for size in x.shape:
        if size.op != "const":
            return None
        total *= literal(b, size, "a size")
    return total


def _did_not_match(x: Tensor, y: Tensor) -> str:
    return f"{x.dtype.word} did not match {y.dtype.word}"


ELEMENT_ARGUMENTS: dict[str, Check] = {
    "aten::isclose": _same_dtype(_did_not_match),
    "aten::allclose": _same_dtype(_did_not_match),
    "aten::lerp": _same_dtype(
        lambda x, y: (
            f"expected dtype {x.dtype.word.lower()} for `end` but got dtype {y.dtype.word.lower()}"
        )
    ),
    "aten::_euclidean_dist": check_types,  # PyTorch computes these distances by a product
    "aten::fill": _fill,
    "aten::masked_fill": lambda b, x, mask, value, *_: _filled(b, x, value),
    "aten::sub": _subtraction,
    "aten::subtract": _subtraction,
    "aten::rsub": _subtraction,
    "aten::addcdiv": _integer_division,
    "aten::glu": _halves,
    "aten::prelu": _slopes,
    "aten::cumsum": _dimension_of,
    "aten::cumprod": _dimension_of,
    "aten::unfold": _window,
    "aten::hardtanh": _unsigned,
    "aten::smooth_l1_loss": _number(
        3, "ge", "smooth_l1_loss does not support negative values for beta."
    ),
    "aten::huber_loss": _number(
        3, "gt", "huber_loss does not support non-positive values for delta."
    ),
    "aten::celu": _number(1, "ne", "ZeroDivisionError: alpha cannot be 0 for CELU"),
    "aten::softshrink": _number(1, "ge", "lambda must be in range of the input dtype"),
    **{f"aten::upsample_nearest{n}d": _outputs for n in (1, 2, 3)},
    **{f"aten::_upsample_nearest_exact{n}d": _outputs for n in (1, 2, 3)},
    **{
        f"aten::upsample_{mode}": _outputs
        for mode in ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d")
    },
    "aten::bmm": _batches,
    "aten::requires_grad_": _gradients,
    "aten::binary_cross_entropy": _probabilities,
    "aten::one_hot": _classes,
}

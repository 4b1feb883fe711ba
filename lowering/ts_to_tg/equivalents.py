"""Rows of operators that are other operators under another name or in another arrangement."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import BY_WORD, CAST_WORDS, DType, bool_, int64, real_dtype
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .bisection import bisected
from .builder import Builder, Rows
from .complex_tensors import copied
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .normalization import group_norm, layer_norm
from .pointwise import math_call
from .reduction import moments
from .reshape import reshaped
from .sizes import product, simplify, sizes_text
from .values import Tensor, Value
from .view import expand

FEW = 32
"""Elements that are compared one by one sooner than sorted."""


def renamed(name: str) -> Callable[..., Value]:
    """The row of another operator with the same arguments."""
    return lambda b, *arguments: b.call(name, *arguments)


def inverse_spread(b: Builder, var: Tensor, eps: Value, like: Tensor) -> Tensor:
    wide = compute_dtype(like.dtype)
    return b.pointwise(
        lambda v, e: const(1, wide) / call("sqrt", v + e), var, eps, dtype=like.dtype, compute=wide
    )


def _native_layer_norm(
    b: Builder, x: Tensor, sizes: Value, weight: Value, bias: Value, eps: Value
) -> Value:
    """The result, the means and the reciprocal standard deviations."""
    out = layer_norm(b, x, sizes, weight, bias, eps)
    mean, var = moments(b, x, list(range(x.rank - len(sizes), x.rank)), True, 0)
    return out, b.cast(mean, x.dtype), inverse_spread(b, var, eps, x)


def _native_group_norm(
    b: Builder,
    x: Tensor,
    weight: Value,
    bias: Value,
    n: Value,
    c: Value,
    hw: Value,
    groups: int,
    eps: Value,
) -> Value:
    for name, t in (("weight", weight), ("bias", bias)):
        if t is None:
            continue
        message = (
            f"Expected {name} to be a vector of size equal to the number of channels in input, but"
            f" got {name} of shape {sizes_text(t.shape)} and input of shape {sizes_text(x.shape)}"
        )
        if t.rank != 1:
            b.error(message)
        b.require_same(t.shape[0], as_expr(c), message)
    b.require_same(
        product(x.shape),
        simplify(as_expr(n) * as_expr(c) * as_expr(hw)),
        "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be"
        " improved?  If so, please report an enhancement request to PyTorch.)",
    )
    out = group_norm(b, x, groups, weight, bias, eps)
    inner = simplify(product(x.shape[1:]) // groups)
    flat = b.apply("aten::reshape", x, [x.shape[0], groups, inner])
    mean, var = moments(b, flat, [2], False, 0)
    return out, b.cast(mean, x.dtype), inverse_spread(b, var, eps, x)


def _convolution_mode(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Value,
    stride: Value,
    padding: Value,
    dilation: Value,
    groups: Value,
) -> Value:
    name = f"aten::conv{w.rank - 2}d.padding"
    return b.call(name, x, w, bias, stride, padding, dilation, groups)


def _conv_tbc(b: Builder, x: Tensor, w: Tensor, bias: Tensor, pad: Value = 0) -> Value:
    """Time first, channels last: x (T, B, C), w (K, C, O)."""
    image = b.call("aten::permute", x, [1, 2, 0])
    kernel = b.call("aten::permute", w, [2, 1, 0])
    out = b.call("aten::conv1d", image, kernel, bias, [1], [pad])
    return b.call("aten::permute", out, [2, 0, 1])


def at_least(rank: int) -> Callable[..., Value]:
    """atleast_nd of a tensor or of each of a list."""

    def row(b: Builder, x: Value, *_: Value) -> Value:
        if isinstance(x, list):
            return [row(b, t) for t in x]
        if x.rank >= rank:
            return x
        if rank == 3 and x.rank:
            ends = (*x.shape, const(1)) if x.rank == 2 else (const(1), *x.shape, const(1))
            return reshaped(b, x, ends)
        return reshaped(b, x, (*[const(1)] * (rank - x.rank), *x.shape))

    return row


def _broadcast_tensors(b: Builder, tensors: list[Tensor], *_: Value) -> list[Tensor]:
    sizes = list(b.broadcast_shapes(*(t.shape for t in tensors)))
    return [expand(b, t, sizes) for t in tensors]


def _is_in(
    b: Builder,
    elements: Value,
    among: Value,
    unique: Value = False,
    invert: Value = False,
    *_: Value,
) -> Tensor:
    """Whether each element equals one of `among`."""
    dtype = b.result_type(elements, among)
    wide = compute_dtype(dtype)
    shape = elements.shape if isinstance(elements, Tensor) else ()
    flat = b.apply("aten::reshape", among, [-1]) if isinstance(among, Tensor) else None
    if shape and flat is not None and not _are_few(flat.shape[0]):
        found = _is_in_sorted(b, b.cast(elements, dtype), b.cast(flat, dtype))
        return b.apply("aten::logical_not", found) if invert else found

    def equal(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = body.read(elements, i, wide) if shape or isinstance(elements, Tensor) else None
        left = body.scalar(elements, wide) if e is None else e
        right = body.scalar(among, wide) if flat is None else body.read(flat, r, wide)
        return left.equals(right)

    found = b.reduce(shape, [const(1) if flat is None else flat.shape[0]], bool_, "or", equal)
    return b.apply("aten::logical_not", found) if invert else found


def _are_few(count: Expr) -> bool:
    n = known(count)
    return isinstance(n, int) and n <= FEW


def _is_in_sorted(b: Builder, elements: Tensor, among: Tensor) -> Tensor:
    """The first of the sorted that is not below an element is the one that may equal it; NaN,
    which are last, equal none."""
    in_order = b.call("aten::sort", among, 0, False)[0]
    place = bisected(b, in_order, elements, lambda bound, value: binary("lt", bound, value))
    count, wide = in_order.shape[0], compute_dtype(elements.dtype)

    def equal(body: Body, i: list[Expr]) -> Expr:
        at = body.read(place, i, int64)
        found = body.read(in_order, [binary("min", at, count - 1)], wide)
        return binary("and", at < count, found.equals(body.read(elements, i, wide)))

    return b.compute(elements.shape, bool_, equal)


def _matrix_power(b: Builder, x: Tensor, n: Value, *_: Value) -> Value:
    """Repeated squaring; 0 gives the identity."""
    if not isinstance(n, int):
        b.cannot("a power that is not known")
    if n < 0 and x.rank > 1:
        x, n = b.apply("aten::linalg_inv", x), -n
    if x.rank < 2:
        b.error("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    b.require_same(
        x.shape[-1],
        x.shape[-2],
        "linalg.matrix_power: A must be batches of square matrices, but they are"
        f" {x.shape[-2]} by {x.shape[-1]} matrices",
    )
    if n == 0:
        one = b.call("aten::eye", x.shape[-1], real_dtype(x.dtype).code)
        if x.dtype.is_complex:
            one = b.call("aten::complex", one, b.call("aten::zeros_like", one))
        return b.call("aten::clone", b.call("aten::expand", one, list(x.shape)))
    out: Tensor | None = None
    square = x
    while n:
        if n & 1:
            out = square if out is None else b.apply("aten::matmul", out, square)
        n >>= 1
        square = b.apply("aten::matmul", square, square) if n else square
    assert out is not None
    return out if out is not x else copied(b, x)


def _is_nonzero(b: Builder, x: Tensor) -> Value:
    b.single(x, "Boolean value of Tensor with more than one value is ambiguous")
    return b.item(b.cast(x, bool_))


def _angle(b: Builder, x: Tensor, *_: Value) -> Tensor:
    """pi for negative numbers, 0 for others, NaN for NaN."""
    dtype = x.dtype if x.dtype.is_floating_point else b.default_dtype

    def fn(e: Expr) -> Expr:
        turned = select(binary("lt", e, 0), const(math.pi, e.dtype), const(0, e.dtype))
        return select(call("isnan", e), e, turned)

    return b.pointwise(fn, x, dtype=dtype, compute=compute_dtype(dtype))


def _shape_as_tensor(b: Builder, x: Tensor, *_: Value) -> Value:
    return b.call("aten::tensor", list(x.shape), int64.code)


def _cast(dtype: DType) -> Callable[..., Value]:
    return lambda b, x, *_: b.cast(x, dtype)


EQUIVALENT: Rows = {
    "aten::special_softmax": renamed("aten::softmax"),
    "aten::special_log_softmax": renamed("aten::log_softmax"),
    "aten::arccosh": math_call("acosh"),
    "aten::arcsinh": math_call("asinh"),
    "aten::arctanh": math_call("atanh"),
    "aten::arctan2": renamed("aten::atan2"),
    "aten::unsafe_split": renamed("aten::split"),
    "aten::unsafe_split_with_sizes": renamed("aten::split_with_sizes"),
    "aten::linalg_matrix_power": _matrix_power,
    "aten::matrix_power": _matrix_power,
    **{f"aten::_cast_{word}": _cast(BY_WORD[word]) for word in CAST_WORDS},
    "aten::real": lambda b, x, *_: x,
    "aten::isreal": lambda b, x, *_: b.full(x.shape, True, bool_),
    "aten::is_nonzero": _is_nonzero,
    "aten::angle": _angle,
    "aten::native_layer_norm": _native_layer_norm,
    "aten::native_group_norm": _native_group_norm,
    "aten::_convolution_mode": _convolution_mode,
    "aten::conv_tbc": _conv_tbc,
    **{f"aten::atleast_{n}d": at_least(n) for n in (1, 2, 3)},
    "aten::broadcast_tensors": _broadcast_tensors,
    "aten::isin": _is_in,
    "aten::_shape_as_tensor": _shape_as_tensor,
    "aten::_neg_view": renamed("aten::neg"),
    "aten::_aminmax": renamed("aten::aminmax"),
}

"""Rows that make tensors: filled, ranges, copies, conversions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from tensorscript.base.dtypes import (
    BY_CODE,
    DType,
    bool_,
    float32,
    float64,
    int64,
    promote_types,
)
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, known_as, select

from .builder import Builder, Rows
from .dims import dtype_asked, dtype_of, sizes_of
from .elements import HALVES, as_expr, compute_dtype
from .emission import Body
from .sizes import simplify
from .values import Tensor, Value
from .view import expand


def filled(value: Value) -> Callable[..., Tensor]:
    """zeros, ones, empty: (size, dtype, ...)."""

    def row(b: Builder, size: Value, dtype: Value = None, *_: Value) -> Tensor:
        return b.full(sizes_of(b, size), value, dtype_of(dtype, b.default_dtype))

    return row


def like(value: Value) -> Callable[..., Tensor]:
    """Rows of `zeros_like` and its kind: one number in the shape of a tensor."""

    def row(b: Builder, x: Tensor, dtype: Value = None, *_: Value) -> Tensor:
        return b.full(x.shape, value, dtype_of(dtype, x.dtype))

    return row


def new(value: Value) -> Callable[..., Tensor]:
    """Rows of `new_zeros` and its kind: one number in a given shape."""

    def row(b: Builder, x: Tensor, size: Value, dtype: Value = None, *_: Value) -> Tensor:
        return b.full(sizes_of(b, size), value, dtype_of(dtype, x.dtype))

    return row


def natural_dtype(b: Builder, value: Value) -> DType:
    """The dtype a number has as a tensor."""
    kind = as_expr(value).dtype
    return b.default_dtype if kind is float64 else kind


def _full(b: Builder, size: Value, value: Value, dtype: Value = None, *_: Value) -> Tensor:
    return b.full(sizes_of(b, size), value, dtype_of(dtype, natural_dtype(b, value)))


def _full_like(b: Builder, x: Tensor, value: Value, dtype: Value = None, *_: Value) -> Tensor:
    return b.full(x.shape, value, dtype_of(dtype, x.dtype))


def _new_full(
    b: Builder, x: Tensor, size: Value, value: Value, dtype: Value = None, *_: Value
) -> Tensor:
    return b.full(sizes_of(b, size), value, dtype_of(dtype, x.dtype))


def _arange(b: Builder, start: Value, end: Value, step: Value, dtype: Value) -> Tensor:
    start, end, step = (int(v) if isinstance(v, bool) else v for v in (start, end, step))
    floats = any(as_expr(v).dtype is float64 for v in (start, end, step))
    kind = dtype_of(dtype, b.default_dtype if floats else int64)
    if known_as(step, 0):
        b.error("step must be nonzero")
    is_found = any(isinstance(v, Expr) for v in (start, end, step))
    whole = floats and not kind.is_floating_point
    if whole and is_found:
        b.cannot("a range of floats as integers whose ends are not known")
    if whole and kind is int64:  # other integers are counted as floats
        start, end, step = int(start), int(end), int(step)
    if floats and is_found:
        length = _count_floats(b, *(cast(as_expr(v), float64) for v in (start, end, step)))
    elif floats:
        if (span := (end - start) / step) < 0:
            b.error(_WRONG_SIGN)
        length = const(int(np.ceil(span)))
    else:
        length = _count(b, as_expr(start), as_expr(end), step)
    (size,) = sizes_of(b, [length])
    wide = float64 if floats else int64
    if whole:
        start, step, wide = int(start), int(step), int64  # as PyTorch's kernel takes them

    def make(body: Body, i: list[Expr]) -> Expr:
        at = cast(i[0], wide)
        return body.scalar(start, wide) + at * body.scalar(step, wide)

    return b.compute((size,), kind, make)


_WRONG_SIGN = "upper bound and lower bound inconsistent with step sign"


def _count_floats(b: Builder, first: Expr, last: Expr, step: Expr) -> Expr:
    """How many floats a range has whose ends or step the program finds."""
    b.check(binary("ne", step, 0.0), "step must be nonzero")
    span = (last - first) / step
    count = call("ceil", span)
    b.check(binary("ge", span, 0.0), _WRONG_SIGN)
    b.check(binary("lt", count, 2.0**62), f"unsupported range: {first} -> {last}")
    return b.scalar_of(b.scalar_operand(cast(count, int64)))


def _count(b: Builder, first: Expr, last: Expr, step: Value) -> Expr:
    """How many integers a range has."""
    if not isinstance(step, int):
        by, is_up = as_expr(step), binary("gt", as_expr(step), 0)
        b.check(binary("ne", by, 0), "step must be nonzero")
        span = select(is_up, last - first, first - last)
        width = select(is_up, by, select(binary("eq", by, 0), 1, 0 - by))
        b.check(binary("ge", span, 0), _WRONG_SIGN)
        return b.scalar_of(b.scalar_operand((span + (width - 1)) // width))
    span = simplify(last - first if step > 0 else first - last)
    if span.op == "const" and int(str(span.value)) < 0:
        b.error(_WRONG_SIGN)
    if span.op != "const" and abs(step) > 1:  # a step too large makes nothing of a wrong sign
        b.check(binary("ge", span, 0), _WRONG_SIGN)
    return simplify((span + (abs(step) - 1)) // abs(step))


def _as_kind(e: Expr, kind: DType) -> Expr:
    """An end of a range of integers loses its fraction first."""
    return e if kind.is_floating_point else call("trunc", e)


def _end(b: Builder, value: Value) -> Value:
    if isinstance(value, Tensor) and value.rank:
        b.error(
            "linspace only supports 0-dimensional start and end tensors, but got"
            f" {value.rank}-dimensional"
        )
    return b.item(value) if isinstance(value, Tensor) else value


def _linspace(
    b: Builder, start: Value, end: Value, steps: Value, dtype: Value = None, *_: Value
) -> Tensor:
    kind = dtype_of(dtype, b.default_dtype)
    start, end = (_end(b, v) for v in (start, end))
    (size,) = sizes_of(b, [steps])
    wide = float64 if kind is float64 else compute_dtype(kind)
    if not wide.is_floating_point:
        wide = float64

    def make(body: Body, i: list[Expr]) -> Expr:
        first, last = (_as_kind(body.scalar(v, wide), kind) for v in (start, end))
        if size.is_int(1):
            return first
        step = (last - first) / cast(size - 1, wide)
        # From the nearer end, as PyTorch does, so that both ends are exact.
        back = last - step * cast(simplify(size - 1 - i[0]), wide)
        return select(binary("lt", i[0], size // 2), first + step * cast(i[0], wide), back)

    return b.compute((size,), kind, make)


def _eye(b: Builder, n: Value, m: Value, dtype: Value = None) -> Tensor:
    shape = sizes_of(b, [n, m])
    kind = dtype_of(dtype, b.default_dtype)
    return b.compute(
        shape, kind, lambda body, i: select(i[0].equals(i[1]), const(1, kind), const(0, kind))
    )


def _widest(b: Builder, numbers: list[Value]) -> DType:
    """The dtype of a tensor of numbers of several kinds."""
    kinds = {natural_dtype(b, v) for v in numbers}
    return reduce(promote_types, kinds) if kinds else b.default_dtype


def _tensor(b: Builder, data: Value, dtype: Value = None, *_: Value) -> Tensor:
    """torch.tensor of a number or nested lists."""
    if isinstance(data, Tensor):
        return b.copied(b.cast(data, dtype_of(dtype, data.dtype)))
    if not isinstance(data, list):
        return b.full((), data, dtype_of(dtype, natural_dtype(b, data)))
    numbers: list[Value] = []

    def collect(part: Value) -> list[int]:
        if not isinstance(part, list):
            numbers.append(part)
            return []
        inner = [collect(p) for p in part]
        if any(s != inner[0] for s in inner):
            b.error("Expected sequence of equal lengths in tensor()")
        return [len(part), *(inner[0] if inner else [])]

    shape = collect(data)
    if any(isinstance(v, Expr | Tensor) for v in numbers):
        kind = dtype_of(dtype, _widest(b, numbers))
        parts = [b.call("tg::view", b.full((), v, kind), [1]) for v in numbers]
        return b.apply("tg::view", b.apply("aten::cat", parts, 0), shape)
    kind = dtype_of(dtype, _widest(b, numbers))
    array = np.array(numbers).reshape(shape) if numbers else np.zeros(shape)
    if kind.name == "bfloat16":
        return b.cast(b.literal(array.astype(np.float32), BY_CODE[6]), kind)
    made = array.astype(kind.numpy)
    b.kept.append(made)
    return b.literal(made, kind)


def converted(b: Builder, x: Tensor, dtype: DType, copy: bool = False) -> Tensor:
    out = b.cast(x, dtype)
    return b.copied(out) if copy and out is x else out


def _to(b: Builder, x: Tensor, *arguments: Value) -> Tensor:
    """All overloads of to."""
    target = dtype_asked(x, arguments)
    flags = [a for a in arguments if isinstance(a, bool)]
    if target.is_complex:
        b.cannot("complex numbers")
    return converted(b, x, target, len(flags) > 1 and flags[1])


def _to_layout(b: Builder, x: Tensor, dtype: Value = None, *rest: Value) -> Tensor:
    flags = [a for a in rest if isinstance(a, bool)]
    return converted(b, x, dtype_of(dtype, x.dtype), bool(flags[-1:] and flags[-1]))


def _fresh(b: Builder, x: Tensor, *_: Value) -> Tensor:
    return b.copied(x)


def _copy(b: Builder, x: Tensor, source: Value, *_: Value) -> Tensor:
    """The new elements of `x` after x.copy_(source)."""
    if not isinstance(source, Tensor):
        return b.full(x.shape, source, x.dtype)
    if source.rank > x.rank:
        b.error(
            f"output with shape {list(x.shape)} doesn't match the broadcast shape"
            f" {list(source.shape)}"
        )
    return b.cast(expand(b, source, list(x.shape)), x.dtype)


def _fill(b: Builder, x: Tensor, value: Value, *_: Value) -> Tensor:
    if isinstance(value, Tensor):
        return _copy(b, x, value)
    return b.full(x.shape, value, x.dtype)


def triangle(lower: bool) -> Callable[..., Tensor]:
    """Rows of `tril` and `triu`: zero above, or below, a diagonal of the last two dimensions."""

    def row(b: Builder, x: Tensor, diagonal: Value = 0, *_: Value) -> Tensor:
        def make(body: Body, i: list[Expr]) -> Expr:
            gap = i[-1] - i[-2]
            offset = body.scalar(diagonal, int64)
            inside = binary("le" if lower else "ge", gap, offset)
            return select(inside, body.read(x, i, x.dtype), const(0, x.dtype))

        return b.compute(x.shape, x.dtype, make)

    return row


def _scalar_tensor(b: Builder, value: Value, dtype: Value = None, *_: Value) -> Tensor:
    return b.full((), value, dtype_of(dtype, b.default_dtype))


def _closed_range(
    b: Builder, start: Value, end: Value, step: Value = 1, dtype: Value = None, *_: Value
) -> Tensor:
    """`torch.range`: as `arange`, the end included; floats unless a dtype is given."""
    if any(isinstance(v, Expr) for v in (start, end, step)):
        b.cannot("a closed range whose ends are not known")
    kind = dtype_of(dtype, b.default_dtype)
    if known_as(step, 0):
        b.error("step must be nonzero")
    if (end - start) * step < 0:
        b.error("upper bound and lower bound inconsistent with step sign")
    if not kind.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    count = int((end - start) / step) + 1

    def make(body: Body, i: list[Expr]) -> Expr:
        return body.scalar(start, float64) + cast(i[0], float64) * body.scalar(step, float64)

    return b.compute([count], kind, make)


def _to_reduced(
    b: Builder, x: Tensor, cuda: Value, cpu: Value, cuda_dtype: Value, cpu_dtype: Value
) -> Tensor:
    """A cast that autocast put into a graph: float32 becomes the short dtype."""
    return b.cast(x, dtype_of(cpu_dtype, x.dtype)) if cpu and x.dtype is float32 else x


def _to_full(b: Builder, x: Tensor, cuda: Value, cpu: Value) -> Tensor:
    """A cast that autocast put into a graph: short floats become float32."""
    return b.cast(x, float32) if cpu and x.dtype in HALVES else x


CREATION: Rows = {
    "aten::zeros": filled(0),
    "aten::ones": filled(1),
    "aten::empty": filled(0),
    "aten::zeros_like": like(0),
    "aten::ones_like": like(1),
    "aten::empty_like": like(0),
    "aten::new_zeros": new(0),
    "aten::new_ones": new(1),
    "aten::new_empty": new(0),
    "aten::empty_strided": lambda b, size, stride, dtype=None, *_: filled(0)(b, size, dtype),
    "aten::new_empty_strided": lambda b, x, size, stride, dtype=None, *_: new(0)(b, x, size, dtype),
    "aten::empty_permuted": lambda b, size, order, dtype=None, *_: filled(0)(b, size, dtype),
    "aten::full": _full,
    "aten::full_like": _full_like,
    "aten::new_full": _new_full,
    "aten::range": lambda b, start, end, dtype=None, *_: _closed_range(b, start, end, 1, dtype),
    "aten::range.step": _closed_range,
    "aten::arange": lambda b, end, dtype=None, *_: _arange(b, 0, end, 1, dtype),
    "aten::arange.start": lambda b, start, end, dtype=None, *_: _arange(b, start, end, 1, dtype),
    "aten::arange.start_step": lambda b, start, end, step=1, dtype=None, *_: _arange(
        b, start, end, step, dtype
    ),
    "aten::linspace": _linspace,
    "aten::eye": lambda b, n, dtype=None, *_: _eye(b, n, n, dtype),
    "aten::eye.m": lambda b, n, m, dtype=None, *_: _eye(b, n, m, dtype),
    "aten::tensor": _tensor,
    "aten::as_tensor": _tensor,
    "aten::scalar_tensor": _scalar_tensor,
    "aten::to": _to,
    "aten::to.dtype_layout": _to_layout,
    "aten::_to_copy": _to_layout,
    "aten::type_as": lambda b, x, y: b.cast(x, y.dtype),
    "aten::_autocast_to_reduced_precision": _to_reduced,
    "aten::_autocast_to_full_precision": _to_full,
    "aten::float": lambda b, x: b.cast(x, BY_CODE[6]),
    "aten::double": lambda b, x: b.cast(x, BY_CODE[7]),
    "aten::half": lambda b, x: b.cast(x, BY_CODE[5]),
    "aten::long": lambda b, x: b.cast(x, BY_CODE[4]),
    "aten::int": lambda b, x: b.cast(x, BY_CODE[3]),
    "aten::bool": lambda b, x: b.cast(x, bool_),
    "aten::cpu": lambda b, x, *_: x,
    "aten::clone": _fresh,
    "aten::lift_fresh": lambda b, x: x,
    "aten::copy": _copy,
    "aten::fill": _fill,
    "aten::zero": lambda b, x: b.full(x.shape, 0, x.dtype),
    "aten::_no_grad_fill": _fill,
    "aten::_no_grad_zero": lambda b, x: b.full(x.shape, 0, x.dtype),
    "aten::tril": triangle(True),
    "aten::triu": triangle(False),
}

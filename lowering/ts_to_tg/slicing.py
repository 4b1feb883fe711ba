"""Rows that take a part of a tensor: one index, a range, or its pieces."""

from __future__ import annotations

from collections.abc import Iterable

from tensorscript.dialects.te.expr import Expr, binary, const, select, var
from tensorscript.dialects.te.ranges import SIZE, Interval, Prover

from .builder import Builder, Rows
from .dims import dimension, literal, size_of, sizes_of
from .elements import as_expr, known
from .sizes import same_size, simplify
from .values import Tensor, Value
from .view import strides_of, view


def checked_index(b: Builder, index: Value, size: Expr, dim: int) -> Expr:
    """`index` counted from either end, within 0 <= index < size (checked)."""
    e = as_expr(index)
    if e.op == "const" and size.op == "const":
        position, limit = int(str(e.value)), int(str(size.value))
        if not -limit <= position < limit:
            b.error(
                f"select(): index {position} out of range for tensor of size [{size}] at dimension"
                f" {dim}"
            )
        return const(position % limit)
    if e.op == "const":
        number = int(str(e.value))
        least = number + 1 if number >= 0 else -number
        b.check(known(binary("ge", size, least)), "index out of range")
        return e if number >= 0 else simplify(size + e)
    if (
        e.op == "var"
        and (bound := b.bounds.get(str(e.value))) is not None
        and (
            same_size(bound, size)
            or (bound.op == size.op == "const" and int(str(bound.value)) <= int(str(size.value)))
        )
    ):
        return e
    prover = Prover(_ranges(b, e.free | size.free))
    is_counted, is_below = prover.decide(e >= 0), prover.decide(e < size)
    if not is_below:
        inside = e < size if is_counted else binary("and", e >= -size, e < size)
        b.check(known(inside), f"select(): index out of range for dimension {dim}")
    place = e if is_counted else select(e < 0, e + size, e)
    return as_expr(b.scalar_of(b.scalar_operand(place)))


def _ranges(b: Builder, names: Iterable[str]) -> dict[str, Interval]:
    """Of the counters of loops and the sizes among the names; those that a bound is made of come
    before what it bounds."""
    found: dict[str, Interval] = {}
    for name in sorted(names):
        if (bound := b.bounds.get(name)) is not None:
            found |= _ranges(b, bound.free)
            found[name] = Interval(0, None, above=(bound - 1,))
        elif not name.startswith("$"):
            found[name] = SIZE
    return found


def select_at(b: Builder, x: Tensor, dim: Value, index: Value, *_: Value) -> Tensor:
    if not x.rank:
        b.error("select() cannot be applied to a 0-dim tensor.")
    d = dimension(b, dim, x.rank)
    at = [var(f"i{k if k < d else k - 1}") for k in range(x.rank)]
    at[d] = checked_index(b, index, x.shape[d], d)
    strides = strides_of(x)
    shape = [*x.shape[:d], *x.shape[d + 1 :]]
    return view(x, shape, at, [*strides[:d], *strides[d + 1 :]])


def _clamped(value: Value, size: Expr, default: Expr) -> Expr:
    """A slice end counted from either side, between 0 and size."""
    if value is None:
        return default
    e = as_expr(value)
    if e.op == "const":
        number = int(str(e.value))
        if number == 0:
            return e
        if number >= 2**62:
            return size
        if number < 0:
            return simplify(binary("max", size + e, 0))
        return simplify(binary("min", e, size))
    if not any(n.startswith("$") for n in e.free):
        # Sizes are not negative: what is computed from sizes alone is clamped from above only
        # where it is a size, and from both sides else.
        low = e if e.op == "var" else binary("max", select(e < 0, e + size, e), 0)
        return simplify(binary("min", low, size))
    return simplify(binary("min", binary("max", select(e < 0, e + size, e), 0), size))


def slice_at(
    b: Builder,
    x: Tensor,
    dim: Value = 0,
    start: Value = None,
    end: Value = None,
    step: Value = 1,
    *_: Value,
) -> Tensor:
    if not x.rank:
        b.error("slice() cannot be applied to a 0-dim tensor.")
    d = dimension(b, dim, x.rank)
    if not isinstance(step, int):
        b.cannot("a slice whose step is not known")
    if step <= 0:
        b.error("slice step must be positive")
    size = x.shape[d]
    low = _clamped(start, size, const(0))
    high = _clamped(end, size, size)
    length = simplify(high - low)
    if length.op == "const":
        length = const(max(int(str(length.value)), 0))
    elif not low.is_int(0):
        length = simplify(binary("max", length, 0))
    if step != 1:
        length = simplify((length + (step - 1)) // step)
    (length,) = sizes_of(b, [length])
    at = [var(f"i{k}") for k in range(x.rank)]
    at[d] = var(f"i{d}") * step + low
    shape = [*x.shape[:d], length, *x.shape[d + 1 :]]
    strides = list(strides_of(x))
    strides[d] = strides[d] * step
    return view(x, shape, at, strides)


def _first(b: Builder, start: Value, size: Expr) -> Expr:
    """Where a part begins, counted from either end, within -size <= start (checked)."""
    e = as_expr(b.item(start) if isinstance(start, Tensor) else start)
    is_counter = e.op == "var" and str(e.value) in b.bounds
    if is_counter or known(binary("ge", e, 0)) is True:
        return e
    b.check(known(binary("ge", e + size, 0)), f"start out of range (got {e} of {size})")
    if e.op == "const":
        return size + e
    return as_expr(b.scalar_of(b.scalar_operand(select(e < 0, e + size, e))))


def narrow(b: Builder, x: Tensor, dim: Value, start: Value, length: Value, *_: Value) -> Tensor:
    d = dimension(b, dim, x.rank)
    return _part(b, x, d, _first(b, start, x.shape[d]), size_of(length))


def _part(b: Builder, x: Tensor, d: int, first: Expr, size: Expr) -> Tensor:
    b.check(
        known(binary("le", first + size, x.shape[d])),
        f"start ({first}) + length ({size}) exceeds dimension size ({x.shape[d]}).",
    )
    at = [var(f"i{k}") for k in range(x.rank)]
    at[d] = var(f"i{d}") + simplify(first)
    shape = [*x.shape[:d], *sizes_of(b, [size]), *x.shape[d + 1 :]]
    return view(x, shape, at, strides_of(x))


def split_sizes(b: Builder, x: Tensor, sizes: Value, dim: Value = 0, *_: Value) -> list[Tensor]:
    d = dimension(b, dim, x.rank)
    total = const(0)
    for size in sizes:
        total = total + size_of(size)
    b.require_same(
        simplify(total),
        x.shape[d],
        f"split_with_sizes expects split_sizes to sum exactly to {x.shape[d]} (input tensor's size"
        f" at dimension {d}), but got split_sizes={sizes}",
    )
    out, start = [], const(0)
    for size in map(size_of, sizes):
        out.append(_part(b, x, d, start, size))
        start = simplify(start + size)
    return out


def _split(b: Builder, x: Tensor, size: Value, dim: Value = 0, *_: Value) -> list[Tensor]:
    if isinstance(size, list):
        return split_sizes(b, x, size, dim)
    d = dimension(b, dim, x.rank)
    total = literal(b, x.shape[d], "the size that is split")
    step = literal(b, size_of(size), "the size of the parts")
    if total and not step:
        b.error(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}"
        )
    step = step or 1
    parts = [min(step, total - at) for at in range(0, total, step)] or [0]
    return split_sizes(b, x, parts, d)


def _chunk(b: Builder, x: Tensor, chunks: int, dim: Value = 0, *_: Value) -> list[Tensor]:
    d = dimension(b, dim, x.rank)
    size = x.shape[d]
    if size.op != "const":
        part = simplify((size + (chunks - 1)) // chunks)
        if same_size(part * chunks, size):
            return split_sizes(b, x, [part] * chunks, d)
    total = literal(b, size, "the size that is chunked")
    if not total:  # of nothing there are as many pieces as asked for
        return split_sizes(b, x, [0] * chunks, d)
    return _split(b, x, -(-total // chunks), d)


def unbind(b: Builder, x: Tensor, dim: Value = 0, *_: Value) -> list[Tensor]:
    if not x.rank:
        b.error(f"Dimension specified as {dim} but tensor has no dimensions")
    d = dimension(b, dim, x.rank)
    return [select_at(b, x, d, k) for k in range(literal(b, x.shape[d], "the size unbound"))]


SLICING: Rows = {
    "aten::select": select_at,
    "aten::slice": slice_at,
    "aten::narrow": narrow,
    "aten::split": _split,
    "aten::split_with_sizes": split_sizes,
    "aten::chunk": _chunk,
    "aten::unsafe_chunk": _chunk,
    "aten::unbind": unbind,
}

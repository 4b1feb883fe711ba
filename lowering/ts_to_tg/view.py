"""Rows that give other indices to the same elements (views), and those that join tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.te.buffers import contiguous_strides
from tensorscript.dialects.te.expr import Expr, binary, const, mul, select, substitute, var
from tensorscript.dialects.tg.ops import ViewOp

from .builder import Body, Builder, Rows
from .dims import dimension, literal, size_of, sizes_of
from .elements import as_expr, known
from .sizes import product, same_size, simplify
from .values import Tensor, Value


def indices_of(x: Tensor) -> tuple[Expr, ...]:
    if x.indices is not None:
        return x.indices
    return tuple(var(f"i{d}") for d in range(x.rank))


def strides_of(x: Tensor) -> tuple[Expr, ...]:
    return x.strides if x.strides is not None else contiguous_strides(x.shape)


def view(
    x: Tensor,
    shape: Sequence[Expr],
    indices: Sequence[Expr],
    strides: Sequence[Expr] | None = None,
) -> Tensor:
    """The view whose element (i0, i1, ...) is `x`'s element `indices`."""
    sizes = tuple(shape)
    values = {f"i{d}": e for d, e in enumerate(indices)}
    bounds = {f"i{d}": s for d, s in enumerate(sizes)}
    mapped = tuple(simplify(substitute(e, values), bounds) for e in indices_of(x))
    whole = len(mapped) == len(sizes) == len(x.storage.shape) and all(
        e is var(f"i{d}") and same_size(s, x.storage.shape[d])
        for d, (e, s) in enumerate(zip(mapped, sizes, strict=True))
    )
    return Tensor(x.storage, sizes, None if whole else mapped, tuple(strides) if strides else None)


def permute(b: Builder, x: Tensor, dims: Sequence[Value]) -> Tensor:
    order = [dimension(b, d, x.rank) for d in dims]
    if sorted(order) != list(range(x.rank)):
        b.error(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the"
            f" length of the desired ordering of dimensions i.e. input.dim() = {x.rank} is not"
            f" equal to len(dims) = {len(order)}"
        )
    at = [const(0)] * x.rank
    for position, d in enumerate(order):
        at[d] = var(f"i{position}")
    strides = strides_of(x)
    return view(x, [x.shape[d] for d in order], at, [strides[d] for d in order])


def transpose(b: Builder, x: Tensor, first: Value, second: Value, *_: Value) -> Tensor:
    if not x.rank:
        return x
    order: list[Value] = list(range(x.rank))
    p, q = dimension(b, first, x.rank), dimension(b, second, x.rank)
    order[p], order[q] = q, p
    return permute(b, x, order)


def _t(b: Builder, x: Tensor, *_: Value) -> Tensor:
    if x.rank > 2:
        b.error(f"t() expects a tensor with <= 2 dimensions, but self is {x.rank}D")
    return x if x.rank < 2 else transpose(b, x, 0, 1)


def _inferred(b: Builder, x: Tensor, wanted: Sequence[Value]) -> tuple[Expr, ...]:
    """The shape of a view, -1 worked out."""
    sizes = [size_of(s) for s in wanted]
    total = product(x.shape)
    holes = [k for k, s in enumerate(sizes) if s.is_int(-1)]
    if len(holes) > 1:
        b.error("only one dimension can be inferred")
    message = f"shape '[{', '.join(map(str, sizes))}]' is invalid for input of size {total}"
    if holes:
        rest = product(tuple(s for k, s in enumerate(sizes) if k != holes[0]))
        if rest.is_int(0):
            b.error(
                f"cannot reshape tensor of 0 elements into shape [{', '.join(map(str, sizes))}]"
                " because the unspecified dimension size -1 can be any value and is ambiguous"
            )
        sizes[holes[0]] = simplify(total // rest)
        b.require_same(mul(sizes[holes[0]], rest), total, message)
    else:
        b.require_same(product(tuple(sizes)), total, message)
    return sizes_of(b, sizes)


def _groups(old: Sequence[Expr], new: Sequence[Expr]) -> list[tuple[list[int], list[int]]] | None:
    """Consecutive dimensions of both shapes that hold the same elements."""
    out: list[tuple[list[int], list[int]]] = []
    p = q = 0
    while p < len(old) or q < len(new):
        left: list[int] = []
        right: list[int] = []
        have, want = const(1), const(1)
        while True:
            if left and right and same_size(have, want):
                break
            behind = have.op == want.op == "const" and int(str(have.value)) < int(str(want.value))
            if p < len(old) and (not left or behind or q == len(new)):
                left.append(p)
                have, p = simplify(mul(have, old[p])), p + 1
            elif q < len(new):
                right.append(q)
                want, q = simplify(mul(want, new[q])), q + 1
            elif p < len(old):
                left.append(p)
                have, p = simplify(mul(have, old[p])), p + 1
            else:
                if same_size(have, want):
                    break
                return None
        out.append((left, right))
    return out


def _linear(dims: Sequence[int], shape: Sequence[Expr]) -> Expr:
    out = const(0)
    for d in dims:
        out = out * shape[d] + (const(0) if shape[d].is_int(1) else var(f"i{d}"))
    return out


def _digits(linear: Expr, shape: Sequence[Expr], bounds: dict[str, Expr]) -> list[Expr]:
    """The indices of a position in row-major order."""
    out: list[Expr] = []
    for k, size in enumerate(shape):
        inner = product(tuple(shape[k + 1 :]))
        at = const(0) if size.is_int(1) else linear // inner if not inner.is_int(1) else linear
        if k and not size.is_int(1):
            at = at % size
        out.append(simplify(at, bounds))
    return out


def reshaped(b: Builder, x: Tensor, shape: tuple[Expr, ...]) -> Tensor:
    """The same elements in row-major order under another shape, as a view of `x`."""
    if len(shape) == x.rank and all(map(same_size, shape, x.shape)):
        return x
    bounds = {f"i{d}": s for d, s in enumerate(shape)}
    groups = _groups(x.shape, shape) or [(list(range(x.rank)), list(range(len(shape))))]
    at = [const(0)] * x.rank
    for old, new in groups:
        parts = _digits(_linear(new, shape), [x.shape[d] for d in old], bounds)
        for d, e in zip(old, parts, strict=True):
            at[d] = e
    return view(x, shape, at)


def is_contiguous(x: Tensor) -> bool:
    if x.strides is None:
        return True
    plain = contiguous_strides(x.shape)
    return all(
        s.is_int(1) or same_size(a, c) for s, a, c in zip(x.shape, x.strides, plain, strict=True)
    )


def _view(b: Builder, x: Tensor, shape: Value, *_: Value) -> Tensor:
    return reshaped(b, x, _inferred(b, x, shape))


def _reshape(b: Builder, x: Tensor, shape: Value, *_: Value) -> Tensor:
    out = reshaped(b, x, _inferred(b, x, shape))
    return out if is_contiguous(x) else b.copied(out)


def _flatten(b: Builder, x: Tensor, start: Value = 0, end: Value = -1, *_: Value) -> Tensor:
    if not x.rank:
        return reshaped(b, x, (const(1),))
    p, q = dimension(b, start, x.rank), dimension(b, end, x.rank)
    if p > q:
        b.error("flatten() has invalid args: start_dim cannot come after end_dim")
    middle = product(x.shape[p : q + 1])
    return _reshape(b, x, [*x.shape[:p], middle, *x.shape[q + 1 :]])


def _unflatten(b: Builder, x: Tensor, dim: Value, sizes: Value, *_: Value) -> Tensor:
    at = dimension(b, dim, x.rank)
    part = _inferred(b, Tensor(x.storage, (x.shape[at],)), sizes)
    return _view(b, x, [*x.shape[:at], *part, *x.shape[at + 1 :]])


def _squeeze(b: Builder, x: Tensor, dims: Value = None, *_: Value) -> Tensor:
    if dims is None:
        chosen = [d for d, s in enumerate(x.shape) if s.is_int(1)]
    else:
        items = dims if isinstance(dims, list) else [dims]
        found = [dimension(b, d, x.rank) for d in items]
        chosen = [d for d in found if x.rank and x.shape[d].is_int(1)]
    left = [d for d in range(x.rank) if d not in chosen]
    at = [const(0)] * x.rank
    for k, d in enumerate(left):
        at[d] = var(f"i{k}")
    strides = strides_of(x)
    return view(x, [x.shape[d] for d in left], at, [strides[d] for d in left])


def unsqueeze(b: Builder, x: Tensor, dim: Value, *_: Value) -> Tensor:
    at = dimension(b, dim, x.rank + 1)
    shape = [*x.shape[:at], const(1), *x.shape[at:]]
    indices = [var(f"i{d if d < at else d + 1}") for d in range(x.rank)]
    strides = list(strides_of(x))
    inner = strides[at] * x.shape[at] if at < x.rank else const(1)
    return view(x, shape, indices, [*strides[:at], inner, *strides[at:]])


def expand(b: Builder, x: Tensor, sizes: Value, *_: Value) -> Tensor:
    wanted = [size_of(s) for s in sizes]
    lead = len(wanted) - x.rank
    if lead < 0:
        b.error(
            f"expand: the number of sizes provided ({len(wanted)}) must be greater or equal to the"
            f" number of dimensions in the tensor ({x.rank})"
        )
    at, strides = [], [const(0)] * lead
    for d, size in enumerate(x.shape):
        target = wanted[lead + d]
        if target.is_int(-1):
            wanted[lead + d] = target = size
        if size.is_int(1) and not target.is_int(1):
            at.append(const(0))
            strides.append(const(0))
            continue
        b.require_same(
            target,
            size,
            f"The expanded size of the tensor ({target}) must match the existing size ({size}) at"
            f" non-singleton dimension {lead + d}.  Target sizes: {wanted}.  Tensor sizes:"
            f" {list(x.shape)}",
        )
        at.append(var(f"i{lead + d}"))
        strides.append(strides_of(x)[d])
    return view(x, sizes_of(b, wanted), at, strides)


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
        b.check(known(binary("lt", const(int(str(e.value))), size)), "index out of range")
        return e if int(str(e.value)) >= 0 else simplify(size + e)
    if (
        e.op == "var"
        and (bound := b.bounds.get(str(e.value))) is not None
        and (
            same_size(bound, size)
            or (bound.op == size.op == "const" and int(str(bound.value)) <= int(str(size.value)))
        )
    ):
        return e
    inside = binary("and", binary("ge", e, -size), binary("lt", e, size))
    b.check(known(inside), f"select(): index out of range for dimension {dim}")
    return as_expr(b.scalar_of(b.scalar_operand(select(e < 0, e + size, e))))


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


def narrow(b: Builder, x: Tensor, dim: Value, start: Value, length: Value, *_: Value) -> Tensor:
    d = dimension(b, dim, x.rank)
    first, size = as_expr(start), size_of(length)
    if first.op == "const" and int(str(first.value)) < 0:
        first = x.shape[d] + first
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
    for size in sizes:
        out.append(narrow(b, x, d, start, size))
        start = simplify(start + size_of(size))
    return out


def _split(b: Builder, x: Tensor, size: Value, dim: Value = 0, *_: Value) -> list[Tensor]:
    if isinstance(size, list):
        return split_sizes(b, x, size, dim)
    d = dimension(b, dim, x.rank)
    total = literal(b, x.shape[d], "the size that is split")
    step = literal(b, size_of(size), "the size of the parts") or max(total, 1)
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
    return _split(b, x, max(-(-total // chunks), 1), d)


def unbind(b: Builder, x: Tensor, dim: Value = 0, *_: Value) -> list[Tensor]:
    d = dimension(b, dim, x.rank)
    return [select_at(b, x, d, k) for k in range(literal(b, x.shape[d], "the size unbound"))]


def cat(b: Builder, tensors: list[Tensor], dim: Value = 0, *_: Value) -> Tensor:
    """Concatenation as a chain of selects; empty 1-d tensors are skipped as PyTorch does."""
    parts = [t for t in tensors if not (t.rank == 1 and t.shape[0].is_int(0))] or tensors[:1]
    if not tensors:
        b.error("torch.cat(): expected a non-empty list of Tensors")
    rank = parts[0].rank
    if not rank:
        b.error("zero-dimensional tensor (at position 0) cannot be concatenated")
    d = dimension(b, dim, rank)
    for k, t in enumerate(parts):
        if t.rank != rank:
            b.error(f"Tensors must have same number of dimensions: got {rank} and {t.rank}")
        for e in range(rank):
            if e != d:
                b.require_same(
                    t.shape[e],
                    parts[0].shape[e],
                    f"Sizes of tensors must match except in dimension {d}. Expected size"
                    f" {parts[0].shape[e]} but got size {t.shape[e]} for tensor number {k} in the"
                    " list.",
                )
    dtype = b.result_type(*tensors)
    starts = [const(0)]
    for t in parts:
        starts.append(simplify(starts[-1] + t.shape[d]))
    shape = [*parts[0].shape[:d], starts[-1], *parts[0].shape[d + 1 :]]

    def make(body: Body, i: list[Expr]) -> Expr:
        def element(k: int) -> Expr:
            at = list(i)
            at[d] = simplify(i[d] - starts[k])
            return body.read(parts[k], at, dtype)

        out = element(len(parts) - 1)
        for k in range(len(parts) - 2, -1, -1):
            out = select(binary("lt", i[d], starts[k + 1]), element(k), out)
        return out

    return b.compute(shape, dtype, make)


def stack(b: Builder, tensors: list[Tensor], dim: Value = 0, *_: Value) -> Tensor:
    if not tensors:
        b.error("stack expects a non-empty TensorList")
    for k, t in enumerate(tensors):
        if t.rank != tensors[0].rank or not all(map(same_size, t.shape, tensors[0].shape)):
            b.error(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at"
                f" entry 0 and {list(t.shape)} at entry {k}"
            )
    d = dimension(b, dim, tensors[0].rank + 1)
    return cat(b, [unsqueeze(b, t, d) for t in tensors], d)


def _flip(b: Builder, x: Tensor, dims: Value, *_: Value) -> Tensor:
    chosen = [dimension(b, d, x.rank) for d in dims]

    def make(body: Body, i: list[Expr]) -> Expr:
        at = [simplify(x.shape[d] - 1 - e) if d in chosen else e for d, e in enumerate(i)]
        return body.read(x, at, x.dtype)

    return b.compute(x.shape, x.dtype, make, ViewOp)


def _roll(b: Builder, x: Tensor, shifts: Value, dims: Value = None, *_: Value) -> Tensor:
    if not dims:
        flat = reshaped(b, x, (product(x.shape),))
        return reshaped(b, _roll(b, flat, shifts, [0]), x.shape)
    moves = {dimension(b, d, x.rank): s for d, s in zip(dims, shifts, strict=True)}

    def make(body: Body, i: list[Expr]) -> Expr:
        at = [(e - as_expr(moves[d])) % x.shape[d] if d in moves else e for d, e in enumerate(i)]
        return body.read(x, at, x.dtype)

    return b.compute(x.shape, x.dtype, make, ViewOp)


def repeat(b: Builder, x: Tensor, times: Value, *_: Value) -> Tensor:
    counts = [size_of(t) for t in times]
    lead = len(counts) - x.rank
    if lead < 0:
        b.error(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of"
            " tensor"
        )
    old = [const(1)] * lead + list(x.shape)
    shape = sizes_of(b, [mul(n, s) for n, s in zip(counts, old, strict=True)])

    def make(body: Body, i: list[Expr]) -> Expr:
        at = []
        for d, size in enumerate(x.shape):
            e = i[lead + d]
            at.append(e if counts[lead + d].is_int(1) else e % size)
        return body.read(x, [simplify(e) for e in at], x.dtype)

    return b.compute(shape, x.dtype, make, ViewOp)


def _movedim(b: Builder, x: Tensor, source: Value, target: Value, *_: Value) -> Tensor:
    froms = [dimension(b, d, x.rank) for d in (source if isinstance(source, list) else [source])]
    tos = [dimension(b, d, x.rank) for d in (target if isinstance(target, list) else [target])]
    if not x.rank:
        return x
    order: list[Value] = [-1] * x.rank
    for p, q in zip(froms, tos, strict=True):
        order[q] = p
    rest = iter(d for d in range(x.rank) if d not in froms)
    return permute(b, x, [next(rest) if d == -1 else d for d in order])


def _diagonal(
    b: Builder, x: Tensor, offset: int = 0, first: int = 0, second: int = 1, *_: Value
) -> Tensor:
    p, q = dimension(b, first, x.rank), dimension(b, second, x.rank)
    rows, columns = x.shape[p], x.shape[q]
    skip_rows, skip_columns = max(-offset, 0), max(offset, 0)
    length = simplify(binary("min", rows - skip_rows, columns - skip_columns))
    if length.op == "const":
        length = const(max(int(str(length.value)), 0))
    rest = [d for d in range(x.rank) if d not in (p, q)]
    at = [const(0)] * x.rank
    for k, d in enumerate(rest):
        at[d] = var(f"i{k}")
    last = var(f"i{len(rest)}")
    at[p], at[q] = last + skip_rows, last + skip_columns
    strides = strides_of(x)
    steps = [*(strides[d] for d in rest), strides[p] + strides[q]]
    return view(x, [*(x.shape[d] for d in rest), length], at, steps)


def _unfold(b: Builder, x: Tensor, dim: Value, size: int, step: int, *_: Value) -> Tensor:
    d = dimension(b, dim, x.rank)
    length = simplify((x.shape[d] - size) // step + 1)
    at = [var(f"i{k}") for k in range(x.rank)]
    at[d] = var(f"i{d}") * step + var(f"i{x.rank}")
    strides = list(strides_of(x))
    steps = [*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d]]
    return view(x, [*x.shape[:d], length, *x.shape[d + 1 :], const(size)], at, steps)


def size_row(b: Builder, x: Tensor, dim: Value = None, *_: Value) -> Value:
    """One size, or all of them."""
    if dim is None:
        return list(x.shape)
    if not x.rank:
        b.error(f"Dimension specified as {dim} but tensor has no dimensions")
    return x.shape[dimension(b, dim, x.rank)]


def _stride(b: Builder, x: Tensor, dim: Value = None, *_: Value) -> Value:
    strides = list(strides_of(x))
    return strides if dim is None else strides[dimension(b, dim, x.rank)]


def _contiguous(b: Builder, x: Tensor, *_: Value) -> Tensor:
    return x if is_contiguous(x) else b.copied(x)


def _atleast(rank: int) -> Callable[..., Tensor]:
    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        return reshaped(b, x, (*[const(1)] * (rank - x.rank), *x.shape))

    return row


def same(b: Builder, x: Tensor, *_: Value) -> Tensor:
    return x


VIEW: Rows = {
    "tg::size": size_row,
    "aten::dim": lambda b, x: x.rank,
    "aten::numel": lambda b, x: product(x.shape),
    "aten::stride": _stride,
    "aten::storage_offset": lambda b, x: 0,
    "aten::is_contiguous": lambda b, x, *_: is_contiguous(x),
    "aten::is_same_size": lambda b, x, y: x.shape == y.shape,
    "aten::view": _view,
    "aten::_unsafe_view": _view,
    "aten::reshape": _reshape,
    "aten::view_as": lambda b, x, y: _view(b, x, list(y.shape)),
    "aten::reshape_as": lambda b, x, y: _reshape(b, x, list(y.shape)),
    "aten::flatten": _flatten,
    "aten::ravel": lambda b, x: _reshape(b, x, [-1]),
    "aten::unflatten": _unflatten,
    "aten::permute": lambda b, x, dims, *_: permute(b, x, dims),
    "aten::transpose": transpose,
    "aten::swapaxes": transpose,
    "aten::swapdims": transpose,
    "aten::movedim": _movedim,
    "aten::moveaxis": _movedim,
    "aten::t": _t,
    "aten::numpy_T": lambda b, x: permute(b, x, list(range(x.rank))[::-1]),
    "aten::mT": lambda b, x: transpose(b, x, -2, -1),
    "aten::adjoint": lambda b, x: transpose(b, x, -2, -1),
    "aten::squeeze": _squeeze,
    "aten::unsqueeze": unsqueeze,
    "aten::expand": expand,
    "aten::expand_as": lambda b, x, y: expand(b, x, list(y.shape)),
    "aten::broadcast_to": expand,
    "aten::select": select_at,
    "aten::slice": slice_at,
    "aten::narrow": narrow,
    "aten::split": _split,
    "aten::split_with_sizes": split_sizes,
    "aten::chunk": _chunk,
    "aten::unsafe_chunk": _chunk,
    "aten::unbind": unbind,
    "aten::cat": cat,
    "aten::concat": cat,
    "aten::concatenate": cat,
    "aten::stack": stack,
    "aten::hstack": lambda b, ts: cat(b, [_atleast(1)(b, t) for t in ts], min(1, ts[0].rank - 1)),
    "aten::vstack": lambda b, ts: cat(b, [_atleast(2)(b, t) for t in ts], 0),
    "aten::flip": _flip,
    "aten::roll": _roll,
    "aten::repeat": repeat,
    "aten::tile": lambda b, x, n: repeat(b, x, [1] * (x.rank - len(n)) + list(n)),
    "aten::diagonal": _diagonal,
    "aten::unfold": _unfold,
    "aten::contiguous": _contiguous,
    "aten::detach": same,
    "aten::alias": same,
    "aten::requires_grad_": same,
    "aten::resolve_conj": same,
    "aten::resolve_neg": same,
}

"""Rows that give other indices to the same elements: views by permuting, expanding and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tensorscript.dialects.te.buffers import contiguous_strides
from tensorscript.dialects.te.expr import Expr, binary, const, known_as, select, var
from tensorscript.dialects.te.rewriting import substitute

from .builder import Builder, Rows
from .dims import dimension, size_of, sizes_of
from .elements import as_expr, known
from .sizes import product, same_size, simplify
from .values import Storage, Tensor, Value


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


def is_contiguous(x: Tensor) -> bool:
    if x.strides is None:
        return True
    plain = contiguous_strides(x.shape)
    return all(
        s.is_int(1) or same_size(a, c) for s, a, c in zip(x.shape, x.strides, plain, strict=True)
    )


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
    found = view(x, [x.shape[d] for d in order], at, [strides[d] for d in order])
    b.permutes = b.permutes or not is_contiguous(found)
    return found


def require_known_order(b: Builder, x: Tensor) -> None:
    """Refuse what was computed where other orders than row by row are about: PyTorch's operators
    keep the order of their operands, or do not."""
    own = x.strides if x.indices is None else x.storage.strides
    if own is None and not x.storage.origin and (b.permutes or _has_other_orders(b)):
        b.cannot("the strides of what was computed from tensors in other orders")


def _has_other_orders(b: Builder) -> bool:
    return any(isinstance(held, Storage) and held.strides is not None for held in b.heap)


def transpose(b: Builder, x: Tensor, first: Value, second: Value, *_: Value) -> Tensor:
    if not x.rank:
        return x
    order: list[Value] = list(range(x.rank))
    p, q = dimension(b, first, x.rank), dimension(b, second, x.rank)
    order[p], order[q] = q, p
    return permute(b, x, order)


def matrix_transpose(name: str) -> Callable[..., Value]:
    """`mT` and its kind: the last two dimensions exchanged; a scalar stays as it is."""

    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        if x.rank == 1:
            b.error(
                f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D"
                " tensor."
            )
        return transpose(b, x, -2, -1)

    return row


def matrix_h(b: Builder, x: Tensor, *_: Value) -> Tensor:
    """`H`, of one matrix or a scalar."""
    if x.rank not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if x.rank > 2 else ""
        b.error(
            f"tensor.H is only supported on matrices (2-D tensors). Got {x.rank}-D tensor.{more}"
        )
    return transpose(b, x, -2, -1)


def _t(b: Builder, x: Tensor, *_: Value) -> Tensor:
    if x.rank > 2:
        b.error(f"t() expects a tensor with <= 2 dimensions, but self is {x.rank}D")
    return x if x.rank < 2 else transpose(b, x, 0, 1)


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


def _squeeze(b: Builder, x: Tensor, dims: Value = None, *_: Value) -> Tensor:
    found: Sequence[int] = ()
    if dims is None:
        chosen = [d for d, s in enumerate(x.shape) if s.is_int(1)]
    else:
        items = dims if isinstance(dims, list) else [dims]
        found = [dimension(b, d, x.rank) for d in items]
        chosen = [d for d in found if x.rank and x.shape[d].is_int(1)]
    asked = range(x.rank) if dims is None else found
    if any(b.may_be_one(x.shape[d]) for d in asked if x.rank):
        b.cannot("squeezing a size that may be 1 when the program runs")
    b.take_above_one(*(x.shape[d] for d in asked if x.rank))
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
        if b.is_computed(target):
            target = select(binary("eq", target, -1), b.unsized(size), target)
            wanted[lead + d] = target = sizes_of(b, [target])[0]
        if size.is_int(1) and not target.is_int(1):
            at.append(const(0))
            strides.append(const(0))
            continue
        message = (
            f"The expanded size of the tensor ({target}) must match the existing size ({size}) at"
            f" non-singleton dimension {lead + d}.  Target sizes: {wanted}.  Tensor sizes:"
            f" {list(x.shape)}"
        )
        own, stride = var(f"i{lead + d}"), strides_of(x)[d]
        if b.may_be_one(size) and not same_size(target, size):
            is_one = b.unsized(binary("eq", size, 1))
            b.check(simplify(binary("or", is_one, b.unsized(binary("eq", size, target)))), message)
            own = select(_all(b, is_one, binary("gt", target, 1)), const(0), own)
            stride = select(_all(b, is_one, binary("ne", target, 1)), const(0), stride)
        else:
            wanted[lead + d] = size  # equal, or an error
            b.require_unbroadcast(target, size, message)
        at.append(own)
        strides.append(stride)
    return view(x, sizes_of(b, wanted), at, strides)


def _all(b: Builder, condition: Expr, other: Expr) -> Expr:
    return binary("and", condition, b.unsized(other))


def _is_same_size(b: Builder, x: Tensor, y: Tensor) -> Value:
    """Whether two shapes are equal, as a bool."""
    if x.rank != y.rank:
        return False
    pairs = zip(x.shape, y.shape, strict=True)
    alike = [b.unsized(simplify(binary("eq", p, q))) for p, q in pairs if not same_size(p, q)]
    return known(reduce(lambda p, q: binary("and", p, q), alike, as_expr(True)))


def diagonal(
    b: Builder, x: Tensor, offset: Value = 0, first: int = 0, second: int = 1, *_: Value
) -> Tensor:
    p, q = dimension(b, first, x.rank), dimension(b, second, x.rank)
    rows, columns = x.shape[p], x.shape[q]
    start = as_expr(offset)
    skip_rows, skip_columns = (binary("max", e, 0) for e in (-start, start))
    length = binary("min", rows - skip_rows, columns - skip_columns)
    (length,) = sizes_of(b, [length if known_as(offset, 0) else binary("max", length, 0)])
    rest = [d for d in range(x.rank) if d not in (p, q)]
    at = [const(0)] * x.rank
    for k, d in enumerate(rest):
        at[d] = var(f"i{k}")
    last = var(f"i{len(rest)}")
    at[p], at[q] = last + skip_rows, last + skip_columns
    strides = strides_of(x)
    steps = [*(strides[d] for d in rest), strides[p] + strides[q]]
    return view(x, [*(x.shape[d] for d in rest), length], at, steps)


def _unfold(b: Builder, x: Tensor, dim: Value, size: Value, step: Value, *_: Value) -> Tensor:
    size, step = sizes_of(b, [size, step])
    if not x.rank:
        return view(x, [size], [], [const(1)])
    d = dimension(b, dim, x.rank)
    length = simplify((x.shape[d] - size) // step + 1)
    at = [var(f"i{k}") for k in range(x.rank)]
    at[d] = var(f"i{d}") * step + var(f"i{x.rank}")
    strides = list(strides_of(x))
    steps = [*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d]]
    return view(x, [*x.shape[:d], length, *x.shape[d + 1 :], size], at, steps)


def size_row(b: Builder, x: Tensor, dim: Value = None, *_: Value) -> Value:
    """One size, or all of them."""
    if dim is None:
        return list(x.shape)
    if not x.rank:
        b.error(f"Dimension specified as {dim} but tensor has no dimensions")
    return x.shape[dimension(b, dim, x.rank)]


def _storage_offset(b: Builder, x: Tensor) -> Value:
    """Where in its storage the first element of a view lies."""
    first = {f"i{d}": const(0) for d in range(x.rank)}
    steps = contiguous_strides(x.storage.shape)
    at = [substitute(e, first) * step for e, step in zip(indices_of(x), steps, strict=True)]
    return simplify(sum(at, start=const(0)))


def same(b: Builder, x: Tensor, *_: Value) -> Tensor:
    return x


VIEW: Rows = {
    "tg::size": size_row,
    "aten::dim": lambda b, x: x.rank,
    "aten::numel": lambda b, x: product(x.shape),
    "aten::storage_offset": _storage_offset,
    "aten::is_same_size": _is_same_size,
    "aten::permute": lambda b, x, dims, *_: permute(b, x, dims),
    "aten::transpose": transpose,
    "aten::swapaxes": transpose,
    "aten::swapdims": transpose,
    "aten::movedim": _movedim,
    "aten::moveaxis": _movedim,
    "aten::t": _t,
    "aten::numpy_T": lambda b, x: permute(b, x, list(range(x.rank))[::-1]),
    "aten::mT": matrix_transpose("mT"),
    "aten::mH": matrix_transpose("mH"),
    "aten::adjoint": matrix_transpose("adjoint()"),
    "aten::matrix_H": matrix_h,
    "aten::squeeze": _squeeze,
    "aten::unsqueeze": unsqueeze,
    "aten::expand": expand,
    "aten::expand_as": lambda b, x, y: expand(b, x, list(y.shape)),
    "aten::broadcast_to": expand,
    "aten::diagonal": diagonal,
    "aten::unfold": _unfold,
    "aten::detach": same,
    "aten::detach_": same,
    "aten::alias": same,
    "aten::requires_grad_": same,
    "aten::resolve_conj": same,
    "aten::resolve_neg": same,
}

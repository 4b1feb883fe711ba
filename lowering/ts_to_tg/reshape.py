"""Rows that give the elements another shape, in row-major order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from tensorscript.dialects.te.expr import Expr, binary, const, mul, select, var

from .builder import Builder, Rows
from .dims import dimension, size_of, sizes_of
from .sizes import product, same_size, simplify
from .values import Tensor, Value
from .view import is_contiguous, strides_of, view


def _inferred(b: Builder, x: Tensor, wanted: Sequence[Value]) -> tuple[Expr, ...]:
    """The shape of a view, -1 worked out."""
    total = product(x.shape)
    sizes = _with_unknown_holes(b, [size_of(s) for s in wanted], total)
    holes = [k for k, s in enumerate(sizes) if s.is_int(-1)]
    if len(holes) > 1:
        b.error("only one dimension can be inferred")
    message = f"shape '[{', '.join(map(str, sizes))}]' is invalid for input of size {total}"
    if holes:
        rest = product(tuple(s for k, s in enumerate(sizes) if k != holes[0]))
        if rest.is_int(0) and total.op == "const" and not total.is_int(0):
            b.error(message)
        if rest.is_int(0):
            b.error(
                f"cannot reshape tensor of 0 elements into shape [{', '.join(map(str, sizes))}]"
                " because the unspecified dimension size -1 can be any value and is ambiguous"
            )
        if rest.op != "const":
            b.check(binary("ne", rest, 0), message)
        sizes[holes[0]] = simplify(total // rest)
        b.require_same(mul(sizes[holes[0]], rest), total, message)
    else:
        b.require_same(product(tuple(sizes)), total, message)
    return sizes_of(b, sizes)


def _with_unknown_holes(b: Builder, sizes: list[Expr], total: Expr) -> list[Expr]:
    """Sizes the program computes, each of which may turn out to be -1, which is worked out then."""
    unknown = [k for k, s in enumerate(sizes) if b.is_computed(s)]
    holes = [binary("eq", sizes[k], -1) for k in unknown]
    if not unknown:
        return sizes
    if any(s.is_int(-1) for s in sizes):
        return [s if s.is_int(-1) else sizes_of(b, [s])[0] for s in sizes]
    filled = [select(holes[unknown.index(k)], 1, s) if k in unknown else s
              for k, s in enumerate(sizes)]  # fmt: skip
    rest = b.scalar_of(b.scalar_operand(b.unsized(product(tuple(filled)))))
    whole = b.unsized(total)
    found = list(sizes)
    for k, hole in zip(unknown, holes, strict=True):
        inferred = select(binary("eq", rest, 0), 0, whole // select(binary("eq", rest, 0), 1, rest))
        (found[k],) = sizes_of(b, [b.scalar_of(b.scalar_operand(select(hole, inferred, sizes[k])))])
    return found


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


def _strides(
    x: Tensor, shape: Sequence[Expr], groups: Sequence[tuple[list[int], list[int]]]
) -> tuple[Expr, ...] | None:
    """The strides of a view of `x`, None where its elements do not lie regularly enough.

    Each group of old dimensions has to be one run of memory (the rule of PyTorch's computeStride).
    """
    have = strides_of(x)
    out = [const(1)] * len(shape)
    for old, new in groups:
        wide = [d for d in old if not x.shape[d].is_int(1)]
        for outer, inner in pairwise(wide):
            if not same_size(have[outer], simplify(mul(have[inner], x.shape[inner]))):
                return None
        step = have[wide[-1]] if wide else const(1)
        for d in reversed(new):
            out[d] = step
            step = simplify(mul(step, shape[d]))
    for d in reversed(range(len(shape))):  # PyTorch counts those of size 1 with what follows
        if shape[d].is_int(1):
            last = d + 1 == len(shape)
            out[d] = have[-1] if last and have else const(1)
            if not last:
                out[d] = simplify(mul(out[d + 1], shape[d + 1]))
    return tuple(out)


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
    return view(x, shape, at, _strides(x, shape, groups) if x.strides else None)


def _is_view(x: Tensor, shape: tuple[Expr, ...]) -> bool:
    """Whether `x` can be seen in another shape without a copy."""
    if is_contiguous(x) or any(s.is_int(0) for s in shape):
        return True
    groups = _groups(x.shape, shape)
    return groups is not None and _strides(x, shape, groups) is not None


def _seen_as(b: Builder, x: Tensor, shape: Value, *_: Value) -> Tensor:
    return reshaped(b, x, _inferred(b, x, shape))


def _view(b: Builder, x: Tensor, shape: Value, *_: Value) -> Tensor:
    """A view as programs ask for it. How PyTorch would lay out what was computed here is not
    known, so only views of the caller's own tensors are refused."""
    sizes = _inferred(b, x, shape)
    if x.storage.origin and not _is_view(x, sizes):
        b.error(
            "view size is not compatible with input tensor's size and stride (at least one"
            " dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return reshaped(b, x, sizes)


def _reshape(b: Builder, x: Tensor, shape: Value, *_: Value) -> Tensor:
    sizes = _inferred(b, x, shape)
    out = reshaped(b, x, sizes)
    return out if _is_view(x, sizes) else b.copied(out)


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


def atleast(rank: int) -> Callable[..., Tensor]:
    """Rows of `atleast_1d` and `atleast_2d`: dimensions of size 1 in front."""

    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        return reshaped(b, x, (*[const(1)] * (rank - x.rank), *x.shape))

    return row


RESHAPE: Rows = {
    "tg::view": _seen_as,
    "aten::view": _view,
    "aten::_unsafe_view": _seen_as,
    "aten::reshape": _reshape,
    "aten::view_as": lambda b, x, y: _view(b, x, list(y.shape)),
    "aten::reshape_as": lambda b, x, y: _reshape(b, x, list(y.shape)),
    "aten::flatten": _flatten,
    "aten::ravel": lambda b, x: _reshape(b, x, [-1]),
    "aten::unflatten": _unflatten,
}

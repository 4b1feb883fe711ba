"""Rows that join tensors, and those that repeat or turn round the elements of one."""

from __future__ import annotations

from tensorscript.dialects.te.expr import Expr, binary, const, mul, select
from tensorscript.dialects.tg.ops import ViewOp

from .builder import Builder, Rows
from .dims import dimension, size_of, sizes_of
from .elements import as_expr
from .emission import Body
from .reshape import atleast, reshaped
from .sizes import product, simplify
from .values import Tensor, Value
from .view import unsqueeze


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
    """n tensors of one shape along a new dimension of size n."""
    if not tensors:
        b.error("stack expects a non-empty TensorList")
    first = tensors[0].shape
    for k, t in enumerate(tensors):
        message = (
            f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and"
            f" {list(t.shape)} at entry {k}"
        )
        if len(t.shape) != len(first):
            b.error(message)
        for own, size in zip(t.shape, first, strict=True):
            b.require_same(own, size, message)
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
    moves: dict[int, Expr] = {}
    for dim, shift in zip(dims, shifts, strict=True):
        d = dimension(b, dim, x.rank)
        moves[d] = b.size((moves.get(d, const(0)) + as_expr(shift)) % x.shape[d])

    def make(body: Body, i: list[Expr]) -> Expr:
        at = [(e - moves[d]) % x.shape[d] if d in moves else e for d, e in enumerate(i)]
        return body.read(x, at, x.dtype)

    return b.compute(x.shape, x.dtype, make, ViewOp)


def repeat(b: Builder, x: Tensor, times: Value, *_: Value) -> Tensor:
    """Copies side by side, `times[k]` of them along dimension k; dimensions are added in front."""
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


JOINING: Rows = {
    "aten::cat": cat,
    "aten::concat": cat,
    "aten::concatenate": cat,
    "aten::stack": stack,
    "aten::hstack": lambda b, ts: cat(b, [atleast(1)(b, t) for t in ts], min(1, ts[0].rank - 1)),
    "aten::vstack": lambda b, ts: cat(b, [atleast(2)(b, t) for t in ts], 0),
    "aten::flip": _flip,
    "aten::roll": _roll,
    "aten::repeat": repeat,
    "aten::tile": lambda b, x, n: repeat(b, x, [1] * (x.rank - len(n)) + list(n)),
}

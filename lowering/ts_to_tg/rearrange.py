"""Rows that put elements in another order, join or cut tensors; each is an index map."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tensorscript.base.dtypes import DType, int64
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, known_as, select
from tensorscript.dialects.tg.ops import ViewOp

from .builder import Builder, Rows
from .dims import dimension, dtype_of, literal, sizes_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .joining import cat, stack
from .reshape import reshaped
from .sizes import product, simplify
from .slicing import slice_at
from .values import Tensor, Value
from .view import expand, transpose


def _channel_shuffle(b: Builder, x: Tensor, groups: Value, *_: Value) -> Tensor:
    if x.rank < 3:
        b.error(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"[{', '.join(map(str, x.shape))}]"
        )
    channels = x.shape[1]
    if not isinstance(groups, int):
        b.cannot("a number of groups that is not known")
    if groups <= 0:
        b.error(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    message = (
        f"Number of channels must be divisible by groups. Got {channels} channels and {groups}"
        " groups."
    )
    b.require_same(simplify(channels % groups), const(0), message)

    def make(body: Body, i: list[Expr]) -> Expr:
        source = (i[1] % groups) * (channels // groups) + i[1] // groups
        return body.read(x, [i[0], source, *i[2:]], x.dtype)

    return b.compute(x.shape, x.dtype, make, ViewOp)


def _pixel_unshuffle(b: Builder, x: Tensor, factor: int, *_: Value) -> Tensor:
    if x.rank < 3:
        b.error(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{x.rank} dimension(s)"
        )
    message = f"pixel_unshuffle expects a positive downscale_factor, but got {factor}"
    b.check(known(binary("gt", as_expr(factor), 0)), message)
    for name, d in (("height", -2), ("width", -1)):
        message = (
            f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
            f"input.size({d})={x.shape[d]} is not divisible by {factor}"
        )
        b.require_same(simplify(x.shape[d] % factor), const(0), message)
    area = factor * factor
    shape = [*x.shape[:-3], x.shape[-3] * area, x.shape[-2] // factor, x.shape[-1] // factor]

    def make(body: Body, i: list[Expr]) -> Expr:
        cell = i[-3] % area
        at = [i[-3] // area, i[-2] * factor + cell // factor, i[-1] * factor + cell % factor]
        return body.read(x, [*i[:-3], *at], x.dtype)

    return b.compute([simplify(s) for s in shape], x.dtype, make, ViewOp)


def _rot90(b: Builder, x: Tensor, k: int = 1, dims: Value = (0, 1), *_: Value) -> Value:
    if len(dims) != 2:
        b.error(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    p, q = (dimension(b, d, x.rank) for d in dims)
    if p == q:
        b.error(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    if not isinstance(k, int):
        b.cannot("a number of turns that is not known")
    match k % 4:
        case 1:
            return transpose(b, b.call("aten::flip", x, [q]), p, q)
        case 2:
            return b.call("aten::flip", x, [p, q])
        case 3:
            return transpose(b, b.call("aten::flip", x, [p]), p, q)
    return b.copied(x)


def _flip_at(axis: int, rank: int) -> Value:
    def row(b: Builder, x: Tensor, *_: Value) -> Value:
        if x.rank < rank:
            b.error(f"Input must be >= {rank}-d.")
        return b.call("aten::flip", x, [axis])

    return row


def _dstack(b: Builder, tensors: list[Tensor], *_: Value) -> Tensor:
    def deep(t: Tensor) -> Tensor:
        shapes = {0: (const(1),) * 3, 1: (const(1), *t.shape, const(1)), 2: (*t.shape, const(1))}
        return reshaped(b, t, shapes[t.rank]) if t.rank < 3 else t

    return cat(b, [deep(t) for t in tensors], 2)


def _column_stack(b: Builder, tensors: list[Tensor], *_: Value) -> Tensor:
    columns = [reshaped(b, t, (product(t.shape), const(1))) if t.rank < 2 else t for t in tensors]
    return cat(b, columns, 1)


def tensor_split(b: Builder, x: Tensor, parts: Value, dim: Value = 0, *_: Value) -> list[Tensor]:
    """Into `parts` nearly equal pieces, or at the given places."""
    if isinstance(parts, Tensor):
        if parts.rank != 1:
            b.cannot("a number of pieces that is not known")
        count = literal(b, parts.shape[0], "the number of pieces")
        parts = [b.item(b.apply("aten::select", parts, 0, k)) for k in range(count)]
    if not x.rank:
        b.error(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = dimension(b, dim, x.rank)
    if isinstance(parts, list):
        places: list[Value] = [0, *parts]
        return [
            slice_at(b, x, d, start, stop)
            for start, stop in zip(places, [*parts, None], strict=True)
        ]
    if parts <= 0:
        b.error(f"number of sections must be larger than 0, got {parts}")
    small, extra = x.shape[d] // parts, x.shape[d] % parts
    ends = [simplify(small * k + binary("min", extra, k)) for k in range(parts + 1)]
    return [b.apply("aten::narrow", x, d, p, simplify(q - p)) for p, q in pairwise(ends)]


def _even_split(name: str, axis: int) -> Value:
    """hsplit, vsplit and dsplit: equal pieces, or at the given places."""

    def row(b: Builder, x: Tensor, parts: Value, *_: Value) -> list[Tensor]:
        least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}[name]
        if x.rank < least:
            b.error(
                f"torch.{name} requires a tensor with at least {least} "
                f"dimension{'s' if least > 1 else ''}, but got a tensor with {x.rank} dimensions!"
            )
        at = 0 if x.rank == 1 else axis
        if isinstance(parts, int):
            size = x.shape[at]
            message = (
                f"torch.{name} attempted to split along dimension {at}, but the size of the "
                f"dimension {size} is not divisible by the split_size {parts}!"
            )
            if parts <= 0:
                b.error(message)
            b.require_same(simplify(size % parts), const(0), message)
        return tensor_split(b, x, parts, at)

    return row


def meshgrid(b: Builder, tensors: list[Tensor], indexing: str = "ij", *_: Value) -> list[Tensor]:
    """Each of n tensors (s_k) or () spread over the grid (s_1, .., s_n); "xy" swaps s_1 and s_2."""
    if not tensors:
        b.error("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        b.error(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.rank > 1:
            b.error(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"[{', '.join(map(str, t.shape))}]"
            )
    flat = [reshaped(b, t, (product(t.shape),)) for t in tensors]
    swap = indexing == "xy" and len(flat) > 1
    if swap:
        flat[:2] = flat[1], flat[0]
    sizes = [t.shape[0] for t in flat]
    grids = []
    for k, t in enumerate(flat):
        shape = tuple(s if d == k else const(1) for d, s in enumerate(sizes))
        grids.append(expand(b, reshaped(b, t, shape), sizes))
    if swap:
        grids[:2] = grids[1], grids[0]
    return grids


def _cartesian(b: Builder, tensors: list[Tensor], *_: Value) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(b, tensors)
    return stack(b, [reshaped(b, g, (product(g.shape),)) for g in grids], 1)


def _triangle_indices(lower: bool) -> Value:
    def row(
        b: Builder, rows: Value, columns: Value, offset: Value = 0, dtype: Value = None, *_: Value
    ) -> Tensor:
        if any(isinstance(v, Expr) for v in (rows, columns, offset)):
            b.cannot("sizes that are not known")
        if rows < 0 or columns < 0:
            b.error(f"row and col must be non-negative, got row: {rows}, col: {columns}")
        find = np.tril_indices if lower else np.triu_indices
        kind: DType = dtype_of(dtype, int64)
        made = np.array(find(rows, offset, columns)).astype(kind.numpy)
        b.kept.append(made)
        return b.literal(made, kind)

    return row


def _diff(
    b: Builder,
    x: Tensor,
    n: int = 1,
    dim: Value = -1,
    before: Value = None,
    after: Value = None,
    *_: Value,
) -> Value:
    """Differences of neighbours, `n` times."""
    if not x.rank:
        b.error("diff expects input to be at least one-dimensional")
    d = dimension(b, dim, x.rank)
    if n == 0:  # what is put before and behind is left out, too
        return b.copied(x)
    parts = [t for t in (before, x, after) if t is not None]
    x = cat(b, parts, d) if len(parts) > 1 else x
    for _step in range(n):
        later, sooner = slice_at(b, x, d, 1), slice_at(b, x, d, 0, -1)
        kind = "aten::logical_xor" if x.dtype.name == "bool" else "aten::sub.Tensor"
        x = b.call(kind, later, sooner)
    return x


def _two(values: Value) -> list[Value]:
    """A number, or one for each dimension of an image."""
    items = list(values) if isinstance(values, list | tuple) else [values]
    return items * 2 if len(items) == 1 else items


def _pair(b: Builder, values: Value) -> list[int]:
    items = _two(values)
    if any(isinstance(v, Expr) for v in items):
        b.cannot("a window that is not known")
    return items


def _im2col(
    b: Builder, x: Tensor, kernel: Value, dilation: Value, padding: Value, stride: Value, *_: Value
) -> Tensor:
    """(N, C, H, W) -> (N, C * kernel cells, windows); a column holds one window."""
    k, gaps, pads, steps = (_pair(b, v) for v in (kernel, dilation, padding, stride))
    if x.rank not in (3, 4):
        b.error(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: [{', '.join(map(str, x.shape))}]"
        )
    sizes = x.shape[-2:]
    counts = [
        simplify((sizes[d] + (2 * pads[d] - gaps[d] * (k[d] - 1) - 1)) // steps[d] + 1)
        for d in (0, 1)
    ]
    for count in counts:
        b.check(
            simplify(count >= 1),
            f"Given input with spatial size ({sizes[0]}, {sizes[1]}), kernel_size=({k[0]}, "
            f"{k[1]}), dilation=({gaps[0]}, {gaps[1]}), padding=({pads[0]}, {pads[1]}), "
            f"calculated shape of the array of sliding blocks as ({counts[0]}, {counts[1]}), "
            "but its components must be at least one.",
        )
    cells = k[0] * k[1]

    def make(body: Body, i: list[Expr]) -> Expr:
        cell, place = i[-2] % cells, i[-1]
        starts = (place // counts[1], place % counts[1])
        offsets = (cell // k[1], cell % k[1])
        at, guards = [], []
        for d in (0, 1):
            e = starts[d] * steps[d] + offsets[d] * gaps[d] - pads[d]
            at.append(e)
            if pads[d]:
                guards += [binary("ge", e, 0), binary("lt", e, sizes[d])]
        value = body.read(x, [*i[:-2], i[-2] // cells, *at], x.dtype)
        return select(all_of(guards), value, const(0, x.dtype))

    shape = [*x.shape[:-3], x.shape[-3] * cells, counts[0] * counts[1]]
    return b.compute([simplify(s) for s in shape], x.dtype, make)


def _col2im(
    b: Builder,
    x: Tensor,
    output: Value,
    kernel: Value,
    dilation: Value,
    padding: Value,
    stride: Value,
    *_: Value,
) -> Tensor:
    """(N, C * cells, windows) -> (N, C, *output): each element sums the cells that cover it."""
    k, gaps, pads, steps = (_pair(b, v) for v in (kernel, dilation, padding, stride))
    out = sizes_of(b, _two(output))
    reach = [2 * pads[d] - gaps[d] * (k[d] - 1) - 1 for d in (0, 1)]
    counts = [simplify((out[d] + reach[d]) // steps[d] + 1) for d in (0, 1)]
    cells, wide = k[0] * k[1], compute_dtype(x.dtype)
    channels = x.shape[-2]
    message = (
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
        f"but got input.size(1)={channels} and kernel_size=({k[0]}, {k[1]})."
    )
    b.require_same(simplify(channels % cells), const(0), message)
    length = simplify(counts[0] * counts[1])
    b.require_same(
        x.shape[-1],
        length,
        f"Given output_size=({out[0]}, {out[1]}), kernel_size=({k[0]}, {k[1]}), "
        f"dilation=({gaps[0]}, {gaps[1]}), padding=({pads[0]}, {pads[1]}), stride=({steps[0]}, "
        f"{steps[1]}), expected size of input's dimension 2 to match the calculated number of "
        f"sliding blocks {counts[0]} * {counts[1]} = {length}, but got "
        f"input.size(2)={x.shape[-1]}.",
    )

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        guards, starts = [], []
        for d in (0, 1):
            reach = i[d - 2] + pads[d] - r[d] * gaps[d]
            start = reach // steps[d]
            guards += [binary("ge", reach, 0), binary("lt", start, counts[d])]
            if not known_as(steps[d], 1):
                guards.append(binary("eq", reach % steps[d], 0))
            starts.append(start)
        row = i[-3] * cells + r[0] * k[1] + r[1]
        value = body.read(x, [*i[:-3], row, starts[0] * counts[1] + starts[1]], wide)
        return select(all_of(guards), value, const(0, wide))

    shape = [*x.shape[:-2], simplify(channels // cells), *out]
    return b.cast(b.reduce(shape, [const(k[0]), const(k[1])], wide, "add", make), x.dtype)


def _row_stack(b: Builder, tensors: list[Tensor], *_: Value) -> Value:
    return b.call("aten::vstack", tensors)


def _unsqueezed_diagonal(b: Builder, x: Tensor, offset: int, first: int, second: int) -> Tensor:
    """A matrix (at dimensions first, second) with the last dimension of `x` on a diagonal."""
    rank = x.rank + 1
    p, q = dimension(b, first, rank), dimension(b, second, rank)
    if p == q:
        b.error(f"diagonal dimensions cannot be identical {first}, {second}")
    if not isinstance(offset, int):
        b.cannot("an offset that is not known")
    size = simplify(x.shape[-1] + abs(offset))
    rest = iter(x.shape[:-1])
    shape = [size if d in (p, q) else next(rest) for d in range(rank)]

    def make(body: Body, i: list[Expr]) -> Expr:
        on = i[q].equals(i[p] + offset)
        along = i[p] if offset >= 0 else i[q]
        inside = all_of([on, binary("lt", along, x.shape[-1])])
        lead = [e for d, e in enumerate(i) if d not in (p, q)]
        return select(inside, body.read(x, [*lead, along], x.dtype), const(0, x.dtype))

    return b.compute(shape, x.dtype, make)


def _diag_embed(
    b: Builder, x: Tensor, offset: int = 0, first: int = -2, second: int = -1, *_: Value
) -> Tensor:
    return _unsqueezed_diagonal(b, x, offset, first, second)


def _diag(b: Builder, x: Tensor, offset: int = 0, *_: Value) -> Value:
    if x.rank == 1:
        return _unsqueezed_diagonal(b, x, offset, 0, 1)
    if x.rank != 2:
        b.error(f"diag(): Supports 1D or 2D tensors. Got {x.rank}D")
    return b.copied(b.call("aten::diagonal", x, offset, 0, 1))


def _trace(b: Builder, x: Tensor, *_: Value) -> Value:
    if x.rank != 2:
        b.error("trace: expected a matrix")
    return b.call("aten::sum", b.call("aten::diagonal", x, 0, 0, 1))


REARRANGE: Rows = {
    "aten::channel_shuffle": _channel_shuffle,
    "aten::native_channel_shuffle": _channel_shuffle,
    "aten::pixel_unshuffle": _pixel_unshuffle,
    "aten::rot90": _rot90,
    "aten::fliplr": _flip_at(1, 2),
    "aten::flipud": _flip_at(0, 1),
    "aten::dstack": _dstack,
    "aten::column_stack": _column_stack,
    "aten::row_stack": _row_stack,
    "aten::tensor_split": tensor_split,
    "aten::hsplit": _even_split("hsplit", 1),
    "aten::vsplit": _even_split("vsplit", 0),
    "aten::dsplit": _even_split("dsplit", 2),
    "aten::meshgrid": meshgrid,
    "aten::cartesian_prod": _cartesian,
    "aten::tril_indices": _triangle_indices(True),
    "aten::triu_indices": _triangle_indices(False),
    "aten::diff": _diff,
    "aten::im2col": _im2col,
    "aten::col2im": _col2im,
    "aten::diag_embed": _diag_embed,
    "aten::diag": _diag,
    "aten::trace": _trace,
}

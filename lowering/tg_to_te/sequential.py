"""Stages with an order of their own: scan, sort, scatter.

Each makes a whole kernel. A scan runs along its axis with every other dimension outside. A sort is
stated by ranks: an element's place is the number of elements that come before it (equal ones: by
position, so it is stable; NaN is greater than every number, as in PyTorch). That is O(n^2) and has
no data-dependent control flow, which suits a GPU; the CPU's schedule writes networks instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, StoreOp, UpdateOp
from tensorscript.dialects.te.ordering import comes_before
from tensorscript.dialects.tg.ops import ComputeOp, ScanOp, ScatterOp, SortOp, identity
from tensorscript.dialects.tg.types import TensorType

from .builder import KernelBuilder
from .merged_dimensions import ranges_of


def _type(op: Operation) -> TensorType:
    found = op.results[0].type
    assert isinstance(found, TensorType)
    return found


def _nest(sizes: Sequence[Expr], skip: int, inner: list[Operation]) -> list[Operation]:
    """Loops i0, i1, ... around `inner`, without dimension `skip`."""
    for dim in reversed(range(len(sizes))):
        if dim != skip:
            inner = [ForOp(f"i{dim}", sizes[dim], inner)]
    return inner


def lower_scan(builder: KernelBuilder, op: Operation) -> list[Operation]:
    """One running value per line along the axis, of a tensor or of what is computed there."""
    assert isinstance(op, ScanOp)
    type_, axis = _type(op), op.axis.data
    out = builder.places[op.result]
    indices = [var(f"i{d}") for d in range(type_.rank)]
    ranges = dict(ranges_of(zip((f"i{d}" for d in range(type_.rank)), type_.shape, strict=True)))
    if isinstance(given := op.input.owner, ComputeOp):
        own = {f"i{d}": index for d, index in enumerate(indices)}
        value = builder.expression(given.inputs, given.expr, own, ranges)
    else:
        value = builder.places[op.input].read(indices, ranges)
    wide, combiner = op.running_dtype, op.combiner.data
    running = Buffer("running", wide, ())
    step: list[Operation] = [
        UpdateOp("running", (), combiner, cast(value, wide)),
        StoreOp(out.buffer.name, indices, cast(load("running", (), wide), type_.dtype)),
    ]
    line: list[Operation] = [
        AllocOp(running, "stack"),
        StoreOp("running", (), identity(combiner, wide)),
        ForOp(f"i{axis}", type_.shape[axis], step),
    ]
    return _nest(type_.shape, axis, line)


def lower_sort(builder: KernelBuilder, op: Operation) -> list[Operation]:
    """Rank every element of a line, then store it at its rank if that is among those kept."""
    assert isinstance(op, SortOp)
    assert isinstance(op.input.type, TensorType)
    type_, axis, kept = op.input.type, op.axis.data, _type(op).shape[op.axis.data]
    source = builder.places[op.input]
    places = [builder.places.get(r) for r in (op.values, op.indices)]
    here = [var(f"i{d}") for d in range(type_.rank)]
    other = [*here[:axis], var("j"), *here[axis + 1 :]]
    before, not_behind = comes_before(
        source.read(other), source.read(here), op.descending is not None
    )
    earlier = binary("and", not_behind, binary("lt", var("j"), here[axis]))
    ranked = [*here[:axis], load("rank", (), int64), *here[axis + 1 :]]
    element: list[Operation] = [
        AllocOp(Buffer("rank", int64, ()), "stack"),
        StoreOp("rank", (), identity("add", int64)),
        ForOp(
            "j",
            type_.shape[axis],
            [UpdateOp("rank", (), "add", cast(binary("or", before, earlier), int64))],
            reduction=True,
        ),
    ]
    stores: list[Operation] = [
        StoreOp(place.buffer.name, ranked, value)
        for place, value in zip(places, (source.read(here), here[axis]), strict=True)
        if place is not None
    ]
    if kept is not type_.shape[axis]:
        stores = [IfOp(load("rank", (), int64) < kept, stores)]
    element += stores
    return _nest(type_.shape, -1, element)


def lower_scatter(builder: KernelBuilder, op: Operation) -> list[Operation]:
    """Copy the base (unless its memory is taken over), then store the updates in order."""
    assert isinstance(op, ScatterOp)
    type_ = _type(op)
    base, out = builder.places[op.base], builder.places[op.result]
    here = [var(f"i{d}") for d in range(type_.rank)]
    name = out.buffer.name
    copy: list[Operation] = []
    if base is not out:
        copy = _nest(type_.shape, -1, [StoreOp(name, here, base.read(here))])
    extents = op.extents.data
    points = {f"d{d}": var(f"d{d}") for d in range(len(extents))}
    inputs = list(op.inputs)
    indices = [builder.expression(inputs, e, points) for e in op.indices.data]
    value = builder.expression(inputs, op.body.data, points)
    combiner = op.combiner.data
    update: list[Operation] = [
        StoreOp(name, indices, value)
        if combiner == "set"
        else UpdateOp(name, indices, combiner, value)
    ]
    for dim in reversed(range(len(extents))):
        update = [ForOp(f"d{dim}", extents[dim], update)]
    return [*copy, *update]

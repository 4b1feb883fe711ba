"""Let channels lie last in memory around convolutions that filter each channel by itself.

```
%y = tg.contract %x, %w <"a0[i0, i1, i2 + r1, i3 + r2] * a1[i1, 0, r1, r2]"> : f32[1, 96, 56, 56]
%z = tg.contract %y, %v <"a0[i0, r0, i2, i3] * a1[i1, r0]">                  : f32[1, 24, 56, 56]
-->
%y = tg.contract %x, %w <"a0[i0, i1 + r1, i2 + r2, i3] * a1[0, r1, r2, i3]"> : f32[1, 56, 56, 96]
%z = tg.contract %y, %v <"a0[i0, i1, i2, r0] * a1[i3, r0]">                  : f32[1, 56, 56, 24]
```
Such a convolution has no product in it. With its channels in the lanes of vectors nothing is
wasted at the end of a row of the image, and the border of zeros is no matter of masks; products of
single pixels then have panels of constant weights, and no lanes wasted on a small image either.

A value may lie so if nothing but computing ops reads it. Products of single pixels go from one
layout to the other at no cost; what works on each element or channel wants all it reads to lie as
its result does; convolutions that mix channels of a window are faster on planes, and so keep what
they read; they give either layout, if rows of pixels divide into runs. What is left is changed
where it is linked to a convolution by channel.

Convolutions of bytes that mix channels (`integer_products.py`), and those of bfloat16 where a
matrix unit takes them, want channels last, too, and the channel last among what they sum up:
numbers that are multiplied by one instruction are neighbours.
Their images are copied if they cannot lie so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.ir import Attribute, Block, SSAValue

from tensorscript.base.dtypes import DType, bfloat16, float32, int32
from tensorscript.dialects.te.buffers import ExprAttr, ExprsAttr
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import Expr, load, node, var
from tensorscript.dialects.te.rewriting import substitute, transform
from tensorscript.dialects.tg.names import numbered, operand_number
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    ConstantOp,
    ContractOp,
    FuncOp,
    ReductionOp,
    ViewOp,
)
from tensorscript.dialects.tg.types import TensorType, tensor

from ..te.affine import coefficient, known
from .bodies import reads_of

LEAST_CHANNELS = 16
"""Lanes of the widest vectors of float32."""

RUN_STEP = 4
"""Rows of so many pixels, or a multiple, divide into runs."""

_Body = ComputeOp | ReductionOp


def _last(parts: Sequence[Expr]) -> list[Expr]:
    """Batch, channels, places -> batch, places, channels."""
    return [parts[0], *parts[2:], parts[1]]


def _variables(e: Expr, letter: str) -> set[str]:
    return set(numbered(e.free, letter))


class _Link:
    """How an op reads an operand of images: batch, channels, places."""

    def __init__(self, op: _Body, number: int) -> None:
        self._op, self._number = op, number
        self.reads = reads_of(op.expr, number)
        dims = [index[1:] for index in self.reads]
        self.by_channel = all(_is_moved(channel, "i1") for channel, *_ in dims)
        self.mixes_channels = any(_variables(channel, "r") for channel, *_ in dims)
        self.has_groups = any(_variables(channel, "i") for channel, *_ in dims)
        self.has_window = any(
            _variables(place, "i") and _variables(place, "r")
            for _, *places in dims
            for place in places
        )

    @property
    def value(self) -> SSAValue:
        """The operand, which may have been written again since."""
        return self._op.inputs[self._number]


def _is_moved(e: Expr, name: str) -> bool:
    """A variable with something added that does not depend on it."""
    step = coefficient(e, name)
    return step is not None and step.is_int(1)


def _links(op: _Body) -> Iterator[_Link]:
    """The reads of operands whose places follow the places of the result in their order."""
    rank = op.type.rank
    for number, value in enumerate(op.inputs):
        type_ = value.type
        if rank < 3 or not isinstance(type_, TensorType) or type_.rank != rank:
            continue
        reads = reads_of(op.expr, number)
        followed = all(
            _variables(index, "i") <= {f"i{d}"}
            for read in reads
            for d, index in enumerate(read)
            if d != 1
        )
        if reads and followed:
            yield _Link(op, number)


def _is_flat(type_: Attribute) -> bool:
    """Images of a single pixel."""
    assert isinstance(type_, TensorType)
    return all(size.is_int(1) for size in type_.shape[2:])


def _has_runs(type_: TensorType) -> bool:
    """Rows of pixels divide into runs (`schedules/convolution_pixels.py`)."""
    width = known(type_.shape[-1])
    return width is not None and width % RUN_STEP == 0


def _may_change(op: _Body) -> bool:
    """Result of enough channels that only ops of the block compute with."""
    type_ = op.type
    if type_.rank < 3 or not type_.shape[1].is_const:
        return False
    if int(str(type_.shape[1])) < LEAST_CHANNELS:
        return False
    users = [use.operation for use in op.results[0].uses]
    return all(isinstance(user, _Body) and user.parent is op.parent for user in users)


def _constant_by_channel(op: _Body, number: int) -> bool:
    """A constant that is read along the channels in its first dimension, and there only."""
    owner = op.inputs[number].owner
    if not isinstance(owner, ConstantOp) or owner.parent is not op.parent:
        return False
    if owner.data.data.array is None:
        return False
    reads = reads_of(op.expr, number)
    return bool(reads) and all(
        len(read) > 1 and read[0] is var("i1") and not any("i1" in e.free for e in read[1:])
        for read in reads
    )


def _is_of_halves(op: ContractOp) -> bool:
    """A product in float32 of many channels of bfloat16 by constants of it."""
    body, channels = op.expr, known(op.extents.data[0]) or 0
    weights = [value for value in op.inputs if isinstance(value.owner, ConstantOp)]
    if body.op != "mul" or len(weights) != 1 or channels < LEAST_CHANNELS:
        return False
    return body.dtype is float32 and all(_converts_halves(factor) for factor in body.args)


def _converts_halves(factor: Expr) -> bool:
    """A number of bfloat16, or beyond the border of an image something else."""
    inside = factor.args[1] if factor.op == "select" else factor
    return inside.op == "cast" and inside.args[0].dtype is bfloat16


class _Graph:
    """The computing ops of a block, and how each reads images; dtypes that a matrix unit takes."""

    def __init__(self, ops: Sequence[_Body], units: frozenset[DType]) -> None:
        self.links = {op: list(_links(op)) for op in ops}
        self.units = units

    def filters_channels(self, op: _Body) -> bool:
        """A convolution of each channel by constant weights of its own."""
        windows = [link for link in self.links[op] if link.by_channel and link.has_window]
        if not isinstance(op, ContractOp) or len(windows) != 1:
            return False
        return any(_constant_by_channel(op, k) for k in range(len(op.inputs)))

    def wants_last(self, op: _Body) -> bool:
        return self.filters_channels(op) or self.multiplies_groups(op)

    def multiplies_groups(self, op: _Body) -> bool:
        """A convolution that mixes the channels of windows: of bytes, in 32-bit integers, or of
        many channels in bfloat16, with constant weights, where a matrix unit takes that."""
        if not isinstance(op, ContractOp):
            return False
        windows = [link for link in self.links[op] if link.has_window and link.mixes_channels]
        if len(windows) != 1 or windows[0].has_groups:
            return False
        return op.type.dtype is int32 or (bfloat16 in self.units and _is_of_halves(op))

    def settled(self) -> set[SSAValue]:
        """The values that may change, after all that would make an op read across memory is out."""
        chosen: set[SSAValue] = {op.results[0] for op in self.links if _may_change(op)}
        while drop := {v for op in self.links for v in self._in_the_way(op, chosen)} & chosen:
            chosen -= drop
        return chosen

    def _in_the_way(self, op: _Body, chosen: set[SSAValue]) -> list[SSAValue]:
        """What has to keep its layout because of this op."""
        if self.multiplies_groups(op):
            return []
        links = self.links[op]
        around = [op.results[0], *(link.value for link in links)]
        if isinstance(op, ContractOp) and any(link.mixes_channels for link in links):
            if any(link.has_groups for link in links):
                return around
            windows = any(link.has_window for link in links)
            return [] if not windows else around[1:] if _has_runs(op.type) else around
        images = [link for link in links if not _is_flat(link.value.type)]
        if _is_flat(op.type) or not images:
            return []
        whole = all(link.by_channel and link.value in chosen for link in images)
        return [] if whole and op.results[0] in chosen else around

    def near_filters(self, chosen: set[SSAValue]) -> set[SSAValue]:
        """Those of the values that are linked to the result of a convolution that wants them."""
        near: dict[SSAValue, list[SSAValue]] = {value: [] for value in chosen}
        for op, links in self.links.items():
            around = [v for v in (op.results[0], *(k.value for k in links)) if v in chosen]
            for value in around[1:]:
                near[around[0]].append(value)
                near[value].append(around[0])
        found: set[SSAValue] = set()
        left: list[SSAValue] = [op.results[0] for op in self.links if self.wants_last(op)]
        while left:
            if (value := left.pop()) in chosen and value not in found:
                found.add(value)
                left += near[value]
        return found


class _Rewriter:
    """Writes ops again with some values' channels last."""

    def __init__(self, graph: _Graph, chosen: set[SSAValue]) -> None:
        self.graph, self.chosen = graph, chosen
        self.made: dict[SSAValue, SSAValue] = {}
        self._constants: dict[SSAValue, SSAValue] = {}

    def rewrite(self, op: _Body, block: Block) -> None:
        """Put an op that makes or reads such values in the place of `op`."""
        result, inputs = op.results[0], list(op.inputs)
        in_groups = self.graph.multiplies_groups(op)
        if in_groups:
            self._move_image(op, block)
        moved = {n for n, value in enumerate(inputs) if value in self.made}
        if result not in self.chosen and not moved:
            return
        body, type_, constants = op.expr, op.type, set[int]()
        if result in self.chosen:
            names = [var(f"i{d}") for d in range(type_.rank)]
            old = [str(name.value) for name in _last(names)]
            body = substitute(body, dict(zip(old, names, strict=True)))
            type_ = tensor(type_.dtype, tuple(_last(type_.shape)))
            if self.graph.filters_channels(op):
                constants = {n for n in range(len(inputs)) if _constant_by_channel(op, n)}
        for n in moved:
            inputs[n] = self.made[inputs[n]]
        for n in constants:
            inputs[n] = self._constant(inputs[n], block)
        clone = type(op).create(
            operands=inputs,
            result_types=[type_],
            properties={**op.properties, "body": ExprAttr(_read(body, moved, constants))},
        )
        if in_groups:
            _sum_channels_last(clone)
        clone.location = op.location
        block.insert_op_before(clone, op)
        if result in self.chosen:
            self.made[result] = clone.results[0]
        else:
            result.replace_all_uses_with(clone.results[0])

    def _move_image(self, op: _Body, block: Block) -> None:
        """A copy, channels last, of the image of a convolution in groups that has none."""
        (image,) = (k.value for k in self.graph.links[op] if k.has_window and k.mixes_channels)
        if image in self.made:
            return
        type_ = image.type
        assert isinstance(type_, TensorType)
        names = [var(f"i{d}") for d in range(type_.rank)]
        places = [names[0], names[-1], *names[1:-1]]
        turned = tensor(type_.dtype, tuple(_last(type_.shape)))
        copy = ViewOp([image], load("a0", places, type_.dtype), turned)
        copy.location = op.location
        block.insert_op_before(copy, op)
        self.made[image] = copy.result

    def _constant(self, value: SSAValue, block: Block) -> SSAValue:
        """A constant with its first dimension last."""
        if value not in self._constants:
            owner = value.owner
            assert isinstance(owner, ConstantOp)
            array = owner.data.data.array
            type_ = value.type
            assert array is not None
            assert isinstance(type_, TensorType)
            data = DataAttr.of(np.ascontiguousarray(np.moveaxis(array, 0, -1)))
            turned = tensor(type_.dtype, (*type_.shape[1:], type_.shape[0]))
            made = ConstantOp(data, turned)
            block.insert_op_before(made, owner)
            self._constants[value] = made.result
        return self._constants[value]


def _sum_channels_last(op: _Body) -> None:
    """Reorder what a sum runs along: the channels come first in convolutions."""
    assert isinstance(op, ReductionOp)
    channels, *taps = op.extents.data
    names = {"r0": var(f"r{len(taps)}")} | {f"r{k + 1}": var(f"r{k}") for k in range(len(taps))}
    op.properties["extents"] = ExprsAttr((*taps, channels))
    op.properties["body"] = ExprAttr(substitute(op.expr, names))


def _read(body: Expr, moved: set[int], constants: set[int]) -> Expr:
    """`body` with the indices of reads in their new order."""

    def visit(n: Expr) -> Expr | None:
        if n.op != "load":
            return None
        number = operand_number(str(n.value))
        if number in moved:
            return node(n.op, tuple(_last(n.args)), n.value, n.dtype)
        if number in constants:
            return node(n.op, (*n.args[1:], n.args[0]), n.value, n.dtype)
        return None

    return transform(body, visit)


def channels_last(func: FuncOp, units: frozenset[DType] = frozenset()) -> None:
    """Run on the block of a function; the regions in it stay as they are.

    Args:
        units: dtypes that the target's matrix unit multiplies.
    """
    block = func.block
    ops = [op for op in block.ops if isinstance(op, _Body)]
    graph = _Graph(ops, units)
    if not any(map(graph.wants_last, ops)):
        return
    forced = {op.results[0] for op in ops if graph.multiplies_groups(op)}
    rewriter = _Rewriter(graph, graph.near_filters(graph.settled()) | forced)
    for op in ops:
        rewriter.rewrite(op, block)
    for op in reversed(ops):
        if not op.results[0].uses:
            block.erase_op(op)

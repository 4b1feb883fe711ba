"""Compute a run of ops image by image where what they hand to each other leaves the caches.

```
%a = tg.contract %x, %w : f32[8, 112, 112, 96]      %n = the number 8
%b = tg.contract %a, %v : f32[8, 56, 56, 24]        %b = tg.loop %n, true (%zeros) {
                                              -->   ^bb0(%i, %whole):
                                                      %p = tg.contract %x, %i, %w : f32[1, 112, ..
                                                      %q = tg.contract %p, %v : f32[1, 56, 56, 24]
                                                      %more = tg.scatter %whole, %i, %q
                                                      tg.yield true, %more }
```
An op belongs to a run if it computes each image (an index of the first dimension) from the same
image of what it reads; weights are read for each. A run pays where what it saves, results that are
written and read nearer to the core, is more than the weights that it reads again for every image.
A loop's kernels are those of a batch of one, and take the threads as these do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, load, node, var
from tensorscript.dialects.te.rewriting import transform, walk
from tensorscript.dialects.tg.names import operand_number
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    ConstantOp,
    FuncOp,
    LoopOp,
    PointwiseOp,
    ReductionOp,
    ScalarOp,
    ScatterOp,
    YieldOp,
)
from tensorscript.dialects.tg.types import ScalarType, TensorType, tensor

from ..te.affine import known
from .bodies import reads_of

CACHES = (1 << 20, 1 << 24)
"""Bytes that stay in the second cache, and in a thread's part of the third."""
DISTANCES = (0, 1, 3)
"""What a byte costs that comes from the second cache, from the third, and from memory."""
TURN = 1 << 16
"""What an iteration costs beside its work: its calls, and threads that find little to share."""

_Body = ComputeOp | ReductionOp
_IMAGE = var("i0")


def _bytes(type_: Attribute) -> int:
    """Of a tensor; 0 of a size that is not known."""
    if not isinstance(type_, TensorType):
        return 0
    total = type_.dtype.itemsize
    for size in type_.shape:
        total *= known(size) or 0
    return total


def _distance(count: int) -> int:
    """What a byte costs of so many that are written before they are read."""
    return DISTANCES[sum(count > cache for cache in CACHES)]


def _batch(type_: Attribute) -> int:
    """Images of a tensor, 0 where there are not several."""
    if not isinstance(type_, TensorType) or not type_.rank:
        return 0
    count = known(type_.shape[0]) or 0
    return count if count > 1 else 0


def _by_image(op: Operation) -> set[int] | None:
    """The operands of which an op reads, for each image, that one only; None for an op that is of
    another kind, or that knows the number of the image otherwise."""
    if not isinstance(op, _Body) or not (count := _batch(op.type)):
        return None
    found: set[int] = set()
    for number, value in enumerate(op.inputs):
        reads = reads_of(op.expr, number)
        at_image = [bool(read) and read[0] is _IMAGE for read in reads]
        if not any(at_image):
            continue
        if not all(at_image) or _batch(value.type) != count:
            return None
        found.add(number)
    rest = transform(op.expr, lambda n: _without_image(n, found))
    return None if "i0" in rest.free else found


def _without_image(n: Expr, operands: set[int]) -> Expr | None:
    """A read of one of the operands, at image 0."""
    if n.op != "load" or operand_number(str(n.value)) not in operands:
        return None
    return node(n.op, (const(0), *n.args[1:]), n.value, n.dtype)


@dataclass
class _Run:
    """Neighbouring ops that work image by image, and what it saves to loop over the images.

    Attributes:
        count: images.
        uses: of each result, those that are not in the run.
        weights: constants that the ops read; `weight` their bytes.
        saved: by the results that nothing outside reads; `open` what the others would save.
        copied: what it costs to put the other results into their place.
    """

    count: int
    ops: list[_Body] = field(default_factory=list)
    uses: dict[SSAValue, int] = field(default_factory=dict)
    weights: set[SSAValue] = field(default_factory=set)
    weight: int = 0
    saved: int = 0
    open: int = 0
    copied: int = 0

    def takes(self, op: Operation) -> bool:
        """Whether an op may come next: what it reads of the run, it reads image by image."""
        images = _by_image(op)
        if images is None or _batch(op.results[0].type) != self.count:
            return False
        return all(v not in self.uses or k in images for k, v in enumerate(op.operands))

    def add(self, op: _Body) -> None:
        self.ops.append(op)
        self.uses[op.result] = sum(1 for _ in op.result.uses)
        self.copied += _copying(op.result)
        self.open += self._saving(_bytes(op.type))
        for value in op.inputs:
            if value in self.uses:
                self.uses[value] -= 1
                if not self.uses[value]:
                    self.copied -= _copying(value)
                    self.open -= self._saving(_bytes(value.type))
                    self.saved += self._saving(_bytes(value.type))
            elif isinstance(value.owner, ConstantOp) and value not in self.weights:
                self.weights.add(value)
                self.weight += _bytes(value.type)

    def _saving(self, whole: int) -> int:
        """Of a result that is written and read in one iteration."""
        return 2 * whole * (_distance(whole) - _distance(whole // self.count))

    @property
    def _again(self) -> int:
        """Of the weights, for every image but the first, and of the turns."""
        return (self.count - 1) * (self.weight * _distance(self.weight) + TURN)

    @property
    def gain(self) -> int:
        """What the loop saves, less what it costs."""
        return self.saved - self.copied - self._again

    @property
    def hope(self) -> int:
        """The gain if everything else were read by what comes next."""
        return self.saved + self.open - self._again


def _copying(value: SSAValue) -> int:
    """Of a result that is cleared, and then filled image by image."""
    whole = _bytes(value.type)
    return 3 * whole * max(1, _distance(whole))


def _neighbours(block: Block) -> Iterator[list[_Body]]:
    """The ops that work image by image, in rows that nothing else interrupts."""
    row: list[_Body] = []
    for op in block.ops:
        images = isinstance(op, _Body) and _by_image(op) is not None
        if row and not (images and _batch(op.results[0].type) == _batch(row[0].type)):
            yield row
            row = []
        if isinstance(op, _Body) and images:
            row.append(op)
    if row:
        yield row


def _runs(ops: Sequence[_Body]) -> Iterator[list[_Body]]:
    """The parts of a row that pay: each from a result that lies far away to where the gain is
    largest."""
    start = 0
    while start < len(ops):
        run, best, paying = _Run(_batch(ops[start].type)), 0, 0
        for op in ops[start:]:
            if not run.takes(op):
                break
            run.add(op)
            if run.gain > best:
                best, paying = run.gain, len(run.ops)
            if run.hope <= 0:
                break
        if paying:
            yield run.ops[:paying]
        start += paying or 1


class _Splitter:
    """Puts a loop over images in the place of a run."""

    def __init__(self, ops: Sequence[_Body]) -> None:
        self.ops = ops
        self.count = _batch(ops[0].type)
        self.images: dict[SSAValue, SSAValue] = {}

    def loop(self) -> None:
        """Write the loop behind the last op of the run, and remove the run."""
        last, inside = self.ops[-1], set(self.ops)
        block = last.parent
        assert block is not None
        wholes = [
            op.result
            for op in self.ops
            if any(use.operation not in inside for use in op.result.uses)
        ]
        trip, going = (ScalarOp([], c) for c in (const(self.count), const(True, bool_)))
        zeros = [_zeros(value) for value in wholes]
        body = Block(arg_types=[ScalarType(int64), *(value.type for value in wholes)])
        counter, *carried = body.args
        for op in self.ops:
            body.add_op(self._of_one(op, counter))
        done = [
            _into(whole, self.images[value], counter)
            for whole, value in zip(carried, wholes, strict=True)
        ]
        body.add_ops(done)
        body.add_op(YieldOp([going.result, *(op.result for op in done)]))
        loop = LoopOp(trip.result, going.result, [z.result for z in zeros], body)
        for made in (*body.ops, trip, going, *zeros, loop):
            made.location = last.location
        block.insert_ops_after([trip, going, *zeros, loop], last)
        for value, result in zip(wholes, loop.outputs, strict=True):
            value.replace_uses_with_if(result, lambda use: use.operation not in inside)
        for op in reversed(self.ops):
            block.erase_op(op)

    def _of_one(self, op: _Body, counter: SSAValue) -> Operation:
        """The op for a batch of one, the image that the loop stands at."""
        images = _by_image(op)
        assert images is not None
        inputs = [self.images.get(value, value) for value in op.inputs]
        wholes = {k for k in images if op.inputs[k] not in self.images}
        number = var(f"a{len(inputs)}")

        def visit(n: Expr) -> Expr | None:
            if n.op != "load" or (k := operand_number(str(n.value))) not in images:
                return None
            return node(n.op, (number if k in wholes else const(0), *n.args[1:]), n.value, n.dtype)

        body = transform(op.expr, visit)
        if any(n is number for n in walk(body)):
            inputs.append(counter)
        made = type(op).create(
            operands=inputs,
            result_types=[tensor(op.type.dtype, (const(1), *op.type.shape[1:]))],
            properties={**op.properties, "body": type(op.body)(body)},
        )
        self.images[op.result] = made.results[0]
        return made


def _zeros(value: SSAValue) -> PointwiseOp:
    """What the images of a result are put into."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    return PointwiseOp([], const(0, type_.dtype), type_)


def _into(whole: SSAValue, image: SSAValue, counter: SSAValue) -> ScatterOp:
    """The results of all images with that of one in its place."""
    type_ = whole.type
    assert isinstance(type_, TensorType)
    places = [var(f"d{k}") for k in range(type_.rank - 1)]
    return ScatterOp(
        whole,
        [image, counter],
        [var("a1"), *places],
        load("a0", [const(0), *places], type_.dtype),
        type_.shape[1:],
    )


def split_batch(func: FuncOp) -> bool:
    """Split the runs of a function's block that pay; the regions in it stay as they are."""
    block = func.block
    first = next((op for op in block.ops if not isinstance(op, ConstantOp)), None)
    for op in [op for op in block.ops if isinstance(op, ConstantOp)]:
        if first is not None:  # weights stand in nobody's way
            op.detach()
            block.insert_op_before(op, first)
    found = [run for row in _neighbours(block) for run in _runs(row)]
    for run in found:
        _Splitter(run).loop()
    return bool(found)

"""Dimensions of an operand that a kernel reads as one, and has as one then.

```
p0: f32[64, 16, 16]   p0[i0, i1 // 16, i1 % 16]   -->   p0: f32[64, 256]   p0[i0, i1]
```
So a reshaped tensor is read. By quotients and remainders memory does not go on evenly for who looks
at one index after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.te.ranges import Interval, Ranges
from tensorscript.dialects.te.rewriting import walk
from tensorscript.dialects.te.simplify import simplify
from tensorscript.dialects.tg.ops import ComputeOp, KernelOp, ReductionOp
from tensorscript.dialects.tg.types import TensorType

from ..te.affine import known
from ..tg.bodies import reads_of

Runs = tuple[tuple[Expr, ...], ...]
"""The sizes of dimensions that lie one behind the other, by the dimension that they are."""


def flat(sizes: Sequence[Expr], indices: Sequence[Expr], ranges: Ranges) -> Expr:
    """The one index of an element."""
    total = const(0)
    for size, index in zip(sizes, indices, strict=True):
        total = total * size + index
    return simplify(total, ranges)


def merged_runs(kernel: KernelOp, number: int) -> Runs | None:
    """The runs of the dimensions of an input, None where each is read by itself."""
    argument = kernel.block.args[number]
    assert isinstance(argument.type, TensorType)
    shape = argument.type.shape
    if len(shape) < 2 or any(known(size) is None for size in shape):
        return None
    reads: list[tuple[tuple[Expr, ...], Ranges]] = []
    bodies: list[Expr] = []
    for op in dict.fromkeys(use.operation for use in argument.uses):
        if not isinstance(op, ComputeOp | ReductionOp):
            return None
        bodies.append(op.body.data)
        ranges = _ranges(op)
        for place, value in enumerate(op.inputs):
            if value is argument:
                reads += [(at, ranges) for at in reads_of(op.body.data, place)]
    if not any(_divisions(index) for at, _ in reads for index in at):
        return None
    beside = {n.args for body in bodies for n in _outside_of_reads(body) if _divides(n)}
    runs = [range(d, d + 1) for d in range(len(shape))]
    for d in reversed(range(len(shape) - 1)):
        joined = range(d, runs[d + 1].stop)
        if _reads_evenly(shape, joined, reads, beside):
            runs[d : d + 2] = [joined]
    merged = tuple(tuple(shape[run.start : run.stop]) for run in runs)
    return merged if len(merged) < len(shape) else None


def _reads_evenly(
    shape: Sequence[Expr],
    run: range,
    reads: Iterable[tuple[tuple[Expr, ...], Ranges]],
    beside: set[tuple[Expr, ...]],
) -> bool:
    """Whether some read divides less in the one dimension that a run becomes, and none more. What
    the kernel divides to decide what to read, as `unfold` does for its borders, it divides in reads
    as well: loops are cut where quotients change, and each index goes on evenly in between."""
    fewer = False
    for at, ranges in reads:
        here = at[run.start : run.stop]
        before = [n for index in here for n in _divisions(index)]
        after = _divisions(flat(shape[run.start : run.stop], here, ranges))
        if len(after) > len(before) or {n.args for n in set(before) - set(after)} & beside:
            return False
        fewer |= len(after) < len(before)
    return fewer


def _divides(e: Expr) -> bool:
    return e.op in ("floordiv", "mod")


def _divisions(e: Expr) -> list[Expr]:
    return [n for n in walk(e) if _divides(n)]


def _outside_of_reads(body: Expr) -> Iterator[Expr]:
    """The nodes of a body without those that are only in places of reads."""
    left, seen = [body], {body}
    while left:
        e = left.pop()
        yield e
        fresh = [a for a in e.args if a not in seen] if e.op != "load" else []
        seen.update(fresh)
        left += fresh


def _ranges(op: ComputeOp | ReductionOp) -> Ranges:
    loops = [(f"i{d}", size) for d, size in enumerate(op.type.shape)]
    if isinstance(op, ReductionOp):
        loops += [(f"r{d}", size) for d, size in enumerate(op.extents.data)]
    return ranges_of(loops)


def ranges_of(loops: Iterable[tuple[str, Expr]]) -> Ranges:
    """Of the variables of loops from 0 to these sizes."""
    return {
        name: Interval(0, None if (n := known(size)) is None else n - 1) for name, size in loops
    }

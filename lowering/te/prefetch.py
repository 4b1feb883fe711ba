"""prefetch: what a pass over a row reads later is asked for now.

```
prefetch("j", "x", 2048):
for i in 0 .. 512 {                       for i in 0 .. 512 {
  for r in 0 .. 4 { 64 lanes of x[i, ..] }  for r in 0 .. 4 { 64 lanes of x[i, ..] }
  for j in 0 .. 4 {                  -->    for j in 0 .. 4 {
    y[i, j * 64 .. j * 64 + 64] = ..          prefetch x[i, j * 64 + 2048], x[i, j * 64 + 2064], ..
  } }                                         y[i, j * 64 .. j * 64 + 64] = .. } }
```

Each iteration of the loop asks for the lines of what it reads of the buffer, so many elements
further on. Where it reads nothing of the buffer itself, another loop beside it with the same
iterations stands for it. A processor fetches by itself what is read on and on, but not while other
passes over the row keep it busy (Halide's and TVM's `prefetch`).

What is asked for may lie behind the end of the buffer; nothing computed depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import LINE, Buffer, Scalar
from tensorscript.dialects.te.expr import Expr, load, var
from tensorscript.dialects.te.ops import ForOp, PrefetchOp
from tensorscript.dialects.te.rewriting import loads, substitute
from tensorscript.dialects.walks import walk_ops

from .affine import accesses, coefficient, flat_index, known
from .nest import Nest, insert_before

MOST_LINES = 16
"""Of an iteration; what is asked for waits in a dozen places."""


@dataclass(frozen=True)
class _Read:
    """What an iteration of a loop reads: `span` neighbours from `indices` on."""

    indices: tuple[Expr, ...]
    span: int


def check(nest: Nest, target: str, buffer: str, distance: int) -> str | None:
    loop, read = nest.loops[target], nest.buffers.get(buffer)
    if loop.kind.data == "vector":
        return f"{target} is a vector"
    if loop.block.first_op is None:
        return f"{target} does nothing"
    if read not in nest.func.buffers or read is None:
        return f"{buffer} is no argument"
    if distance < 1:
        return f"{distance} is no distance ahead"
    if (found := _read_in(nest, loop, read)) is None:
        return f"an iteration of {target} reads no neighbours of {buffer}"
    lines = _lines(found, read)
    return None if lines <= MOST_LINES else f"an iteration of {target} reads {lines} lines"


def apply(nest: Nest, target: str, buffer: str, distance: int) -> None:
    loop, read = nest.loops[target], nest.buffers[buffer]
    found, front = _read_in(nest, loop, read), loop.block.first_op
    assert found is not None and front is not None  # the check found it, and what reads it
    *others, last = found.indices
    step = LINE // read.dtype.itemsize
    places = [[*others, last + (distance + step * n)] for n in range(_lines(found, read))]
    insert_before(front, [PrefetchOp(load(buffer, p, read.dtype), 1) for p in places])


def _lines(found: _Read, read: Buffer) -> int:
    return -(-found.span * read.dtype.itemsize // LINE)


def _read_in(nest: Nest, loop: ForOp, read: Buffer) -> _Read | None:
    """What the loop, or one beside it with the same iterations, reads of a buffer."""
    if not read.shape or not read.effective_strides[-1].is_int(1):
        return None
    known_there = {op.var for op in (loop, *nest.enclosing(loop))} | _numbers(nest)
    for beside in (loop, *_beside(loop)):
        inner = {op.var: op.start for op in walk_ops(beside) if isinstance(op, ForOp)}
        for name, indices in accesses(beside):
            if name != read.name:
                continue
            span = coefficient(flat_index(read, indices), beside.var)
            places = tuple(substitute(e, inner | {beside.var: var(loop.var)}) for e in indices)
            size = None if span is None else known(span)
            if size is not None and size > 0 and all(_is_known(e, known_there) for e in places):
                return _Read(places, size)
    return None


def _beside(loop: ForOp) -> Iterator[ForOp]:
    block = loop.parent
    for op in () if block is None else block.ops:
        if isinstance(op, ForOp) and op is not loop and _same_iterations(op, loop):
            yield op


def _same_iterations(one: ForOp, other: ForOp) -> bool:
    return one.extent is other.extent and one.start is other.start


def _numbers(nest: Nest) -> set[str]:
    return {p.name for p in nest.func.params if isinstance(p, Scalar)}


def _is_known(place: Expr, names: set[str]) -> bool:
    return place.free <= names and not loads(place)

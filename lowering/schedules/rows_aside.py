"""Rows that several loops read out of memory: copied to where vectors are aligned, once.

```
for i in 0 .. 8192 {                      for i_o in 0 .. 256 {
  t[] = sum of x[i, 0 .. 512]^2             w_c = w                       (of all rows of the block)
  for j { y[i, j] = x[i, j] * w[j]          for i_i in 0 .. 32 {
                    / sqrt(t[]) } }  -->      x_c = x[i, 0 .. 512];  t[] = sum of x_c^2
                                              for j { y[i, j] = x_c[j] * w_c[j] / sqrt(t[]) } } }
```

NumPy's arrays begin 16 bytes behind a cache line, so that each whole vector of a row lies in two:
of three passes over such rows only the first one, which copies, has to ask for both.
"""

from __future__ import annotations

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.ops import ForOp, StoreOp, UpdateOp
from tensorscript.dialects.walks import walk_ops

from ..schedule import Scheduler
from ..te.affine import accesses, bytes_of, coefficient, flat_index, known
from ..te.dependence import private
from .cpu_vectors import CPUParameters, is_innermost, vectorize_inside
from .short_rows import row_dimension
from .work import calls

LARGE = 5 << 20
"""Bytes of a tensor that lies in no near cache: what does is read twice at little cost."""
SHORTEST, LONGEST = 256, 2048
"""Elements of a row; of longer ones the copy would leave the first cache."""
BLOCK = 32
"""Rows that share a copy of what all of them read."""


@dataclass(frozen=True)
class Aside:
    """What to copy: `rows` are other elements in each row, `shared` the same ones in all."""

    rows: tuple[str, ...]
    shared: tuple[str, ...]


def rows_aside(loops: list[ForOp], buffers: dict[str, Buffer]) -> Aside | None:
    """What the last of the loops around a row had better copy; None for nothing. Math functions
    take longer than loads do."""
    if not loops:
        return None
    loop = loops[-1]
    inside = [op for op in walk_ops(loop) if isinstance(op, ForOp)]
    if not any(r.is_reduction for r in inside) or not all(map(is_innermost, inside)):
        return None
    lengths = {r.var: known(r.extent) or 0 for r in inside}
    if len(set(lengths.values())) > 1 or any(calls(r) for r in inside):
        return None
    if not SHORTEST <= min(lengths.values()) <= LONGEST:
        return None
    written = {op.buffer for op in walk_ops(loop) if isinstance(op, StoreOp | UpdateOp)}
    own = private(list(loop.block.ops))
    if not written - own:
        return None
    touched = {name for name, _ in accesses(loop)} - written - own
    readers = {name: _readers(name, inside) for name in sorted(touched) if name in buffers}
    rows = tuple(n for n, r in readers.items() if len(r) > 1 and _is_rows(buffers[n], r, n, loop))
    shared = tuple(n for n, r in readers.items() if _is_shared(buffers[n], r, n, loop))
    return Aside(rows, shared) if rows else None


def _readers(name: str, inside: list[ForOp]) -> list[ForOp]:
    return [r for r in inside if any(found == name for found, _ in accesses(r))]


def _is_rows(buffer: Buffer, readers: list[ForOp], name: str, loop: ForOp) -> bool:
    """A large tensor of rows, all of whose elements are read where they lie."""
    lengths = {r.var: known(r.extent) or 0 for r in readers}
    return bytes_of(buffer) >= LARGE and all(
        row_dimension(buffer, indices, loop, lengths) is not None
        for found, indices in accesses(loop)
        if found == name
    )


def _is_shared(buffer: Buffer, readers: list[ForOp], name: str, loop: ForOp) -> bool:
    """All that is read are the same neighbours for each row."""
    if not readers or len(buffer.shape) != 1:
        return False
    every = [indices for found, indices in accesses(loop) if found == name]
    inside = [i for r in readers for found, i in accesses(r) if found == name]
    names = {r.var for r in readers}
    return len(every) == len(inside) and all(
        str(indices[0]) in names
        and (step := coefficient(flat_index(buffer, indices), str(indices[0]))) is not None
        and step.is_int(1)
        for indices in every
    )


def copy_aside(scheduler: Scheduler, loop: ForOp, found: Aside, parameters: CPUParameters) -> ForOp:
    """Copy what was found; the loop around one row."""
    inner = loop.var
    if found.shared and not (known(loop.extent) or 1) % BLOCK:
        outer, inner = scheduler.do("split", loop.var, BLOCK, "exact")
        for name in found.shared:
            for made in scheduler.do("cache", name, outer, "stack"):
                vectorize_inside(scheduler, scheduler.nest.loops[made], parameters)
    for name in found.rows:
        scheduler.do("cache", name, inner, "stack")
    return scheduler.nest.loops[inner]

"""Whether the threads of a row on a GPU take its elements by vectors of 16 bytes.

A nest of a row does where the code generator makes one load or store of each access: it walks
memory in steps of one, from a multiple of the vector on, or stays where it is. A vector of partial
sums a thread is added up at the end. What is computed with vectors is computed lane by lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.te.ops import ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, substitute, walk

from ..te.affine import coefficient, flat_index, known
from .gpu_tile import VECTOR_BYTES

MOST_LANES = 4
"""Of a vector that the code generator makes a load of."""
LEAST_TURNS = 3
"""Elements of a thread that are worth a vector, of whose lanes some would be idle."""
_APART = frozenset(("floordiv", "mod", "truncdiv", "truncmod"))
_ANY = 1 << 20
"""The multiple that 0 counts as."""


def vector_width(
    loops: Sequence[ForOp],
    body: Sequence[Operation],
    buffers: Mapping[str, Buffer],
    sums: Mapping[str, DType],
    lanes: int,
) -> int:
    """Elements that each of `lanes` threads takes at once of a nest with that body; 1 if no more.

    Args:
        sums: the dtypes of results that the body updates.
    """
    inner = loops[-1]
    extent = known(inner.extent)
    whole = 1
    for loop in loops:
        whole *= known(loop.extent) or 0
    if extent is None or whole < LEAST_TURNS * lanes:
        return 1
    sizes = [buffers[name].dtype.itemsize for name, _ in _accesses(body, sums)]
    if not sizes or min(sizes) == 1:
        return 1  # NVPTX has no vectors of bytes
    width = min(MOST_LANES, VECTOR_BYTES // max(sizes))
    if extent % width or not all(_fits(op, sums) for op in body):
        return 1
    aligned = all(
        _walks(flat_index(buffers[name], indices), inner.var, width)
        for name, indices in _accesses(body, sums)
    )
    return width if aligned else 1


def _fits(op: Operation, sums: Mapping[str, DType]) -> bool:
    """A store, or a sum in the dtype of what is added, of values that vectors can be of."""
    if isinstance(op, UpdateOp):
        if op.value.dtype is not sums.get(op.buffer):
            return False
    elif not isinstance(op, StoreOp):
        return False
    nodes = list(walk(op.value))
    if any(n.op == "select" and _is_costly(n) for n in nodes):
        return False
    return not any(n.dtype.itemsize == 1 and n.op == "load" for n in nodes)


def _is_costly(choice: Expr) -> bool:
    """Sides that are evaluated only where they are asked for."""
    return any(n.op == "load" or n.op in _APART for side in choice.args[1:] for n in walk(side))


def _accesses(
    body: Sequence[Operation], sums: Mapping[str, DType]
) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """Buffer and indices of what is in memory."""
    for op in body:
        if not isinstance(op, StoreOp | UpdateOp):
            continue
        if op.buffer not in sums:
            yield op.buffer, op.indices
        for n in loads(op.value):
            if n.args:
                yield str(n.value), n.args


def _walks(position: Expr, name: str, width: int) -> bool:
    step = coefficient(position, name)
    if step is None or not (step.is_int(0) or step.is_int(1)):
        return False
    return step.is_int(0) or _multiple(substitute(position, {name: const(0)})) % width == 0


def _multiple(e: Expr) -> int:
    """A number that divides `e`."""
    match e.op:
        case "const":
            return abs(known(e) or 0) or _ANY
        case "mul":
            return _multiple(e.args[0]) * _multiple(e.args[1])
        case "add" | "sub":
            return gcd(_multiple(e.args[0]), _multiple(e.args[1]))
    return 1

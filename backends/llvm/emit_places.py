"""Where an access of a buffer goes: its flat index, how that moves with the lane, its address.

In a vector loop the flat index decides: free of the lane, one scalar access; lane + base, one
contiguous vector; base - lane, a reversed vector; anything else a gather or scatter. Accesses under
a mask use LLVM's masked intrinsics. Vector accesses claim the alignment of one element only (which
costs nothing on CPUs that have unaligned vector moves); GPUs claim what can be proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, add, const, mul, sub, var

from .emit_context import Context
from .emit_scope import Place, affine, flat_index, multiple
from .emit_types import Value, memory_type, suffix, vector_of

WHOLE = 64
"""A buffer in the frame ends with a whole vector, of so many elements at most."""

Evaluate = Callable[[Context, Expr], Value]


@dataclass(frozen=True)
class Target:
    """An access resolved: its place, its flat index, and how the index moves with the lane."""

    place: Place
    index: Expr
    kind: str
    base: Expr
    step: Expr

    @property
    def dtype(self) -> DType:
        return self.place.buffer.dtype


def locate(context: Context, buffer: str, indices: tuple[Expr, ...]) -> Target:
    """The access `buffer[indices]` (resolved expressions). kind: uniform, contiguous, reversed,
    strided (step in `step`) or indexed."""
    place = context.place(buffer)
    index = context.resolve(flat_index(place.buffer, indices, context.is_flat))
    if place.per_lane and context.vector is not None:
        index = add(mul(index, const(context.width)), var(context.vector.name))
    if not context.varies(index) or context.vector is None:
        return Target(place, index, "uniform", index, const(0))
    found = affine(index, context.vector, context.scope)
    if found is None:
        return Target(place, index, "indexed", index, const(0))
    base, step = found
    kind = "contiguous" if step.is_int(1) else "reversed" if step.is_int(-1) else "strided"
    if step.is_int(0):
        kind = "uniform"
    if kind == "reversed":
        base = sub(base, const(context.width - 1))
    return Target(place, index, kind, base, step)


def address(context: Context, target: Target, evaluate: Evaluate) -> str:
    """The address of the access, of its first lane where it has several."""
    place = target.place
    if (ahead := pointer_ahead(context, place, target.base)) is not None:
        pointer, rest = ahead
        return point(context, place, pointer, evaluate(context, rest).text)
    offset = evaluate(context, target.base).text
    if offset == "0":
        return place.pointer
    element = memory_type(target.dtype)
    return context.code.let(
        f"getelementptr inbounds {element}, {place.pointer_type} {place.pointer}, i64 {offset}", "p"
    )


def pointer_ahead(context: Context, place: Place, index: Expr) -> tuple[str, Expr] | None:
    """A pointer from before the loop, and what an index goes on from there."""
    if context.ahead is None:
        return None
    steady, rest = context.ahead.split(index)
    pointer = context.ahead.pointers.get((place.buffer.name, steady))
    return None if pointer is None else (pointer, rest)


def point(context: Context, place: Place, pointer: str, offset: str) -> str:
    """So many elements from a pointer, which may lie anywhere."""
    if offset == "0":
        return pointer
    element = memory_type(place.buffer.dtype)
    return context.code.let(
        f"getelementptr {element}, {place.pointer_type} {pointer}, i64 {offset}", "p"
    )


def addresses(context: Context, target: Target, evaluate: Evaluate) -> str:
    """The vector of addresses of an access that is not contiguous."""
    place, lanes = target.place, context.width
    element = memory_type(target.dtype)
    if target.kind == "strided" and target.step.is_const:
        step = int(str(target.step.value))
        start = address(context, target, evaluate)
        small = abs(step) * lanes < 2**31
        kind = "i32" if small else "i64"
        offsets = f"<{', '.join(f'{kind} {step * k}' for k in range(lanes))}>"
        return context.code.let(
            f"getelementptr inbounds {element}, {place.pointer_type} {start}, "
            f"<{lanes} x {kind}> {offsets}",
            "p",
        )
    steady, varying = _parted(context, target.index)
    start, inbounds = place.pointer, " inbounds"
    if not steady.is_int(0):
        start, inbounds = point(context, place, start, evaluate(context, steady).text), ""
    offsets = context.widen(evaluate(context, varying), varying.dtype, lanes)
    return context.code.let(
        f"getelementptr{inbounds} {element}, {place.pointer_type} {start}, "
        f"<{lanes} x i64> {offsets}",
        "p",
    )


def _parted(context: Context, index: Expr) -> tuple[Expr, Expr]:
    """A sum as what all lanes have and what each has of its own: of a loop that only the first
    changes along, LLVM computes the second once."""
    steady, varying = const(0), const(0)
    stack = [index]
    while stack:
        e = stack.pop()
        if e.op == "add":
            stack += e.args
        elif context.varies(e):
            varying = add(e, varying)
        else:
            steady = add(e, steady)
    return steady, varying


def all_lanes(context: Context) -> str:
    """The mask that an intrinsic takes: the one in force, or all lanes."""
    return context.mask or "splat (i1 true)"


def alignment(context: Context, target: Target) -> int:
    """Bytes the start of a vector access is aligned to, as far as it matters."""
    size = target.dtype.itemsize
    if not context.gpu or target.kind != "contiguous":
        return size
    wide = min(size * context.width, target.place.align)
    aligned = multiple(target.base, context.scope) % context.width == 0
    return wide if aligned else size


def is_register(context: Context, target: Target) -> bool:
    """All lanes lie in a buffer of registers, so that lanes a mask leaves out may be read."""
    base = target.base
    if target.kind != "contiguous" or not base.is_const:
        return False
    return 0 <= int(base) <= register_size(target.place) - context.width


def register_size(place: Place) -> int:
    """The elements of a buffer of registers, all of which may be read; 0 of another one."""
    if not place.in_registers:
        return 0
    return whole_vectors(math.prod(int(e) if e.is_const else 0 for e in place.buffer.shape))


def whole_vectors(count: int) -> int:
    """The elements that a buffer of `count` in the frame has room for."""
    whole = min(WHOLE, 1 << (count - 1).bit_length()) if count else 1
    return -(-count // whole) * whole


def tail(target: Target, lanes: int) -> str:
    """How names of masked intrinsics end for the access."""
    return f"{suffix(memory_type(target.dtype), lanes)}.p{target.place.space}"


def reverse(context: Context, element: str, value: str) -> str:
    """A vector with its lanes in the other order."""
    lanes = context.width
    kind = vector_of(element, lanes)
    picks = ", ".join(f"i32 {k}" for k in reversed(range(lanes)))
    return context.code.let(
        f"shufflevector {kind} {value}, {kind} poison, <{lanes} x i32> <{picks}>"
    )


def any_lane(context: Context, mask: str) -> str:
    """i1: some lane of `mask` is on."""
    lanes = context.width
    return context.code.call("i1", f"llvm.vector.reduce.or.v{lanes}i1", [(f"<{lanes} x i1>", mask)])

"""Comparisons of every third number and the like: compared as they lie, and then picked as bits.

```
x[3 * (64 o + v)] > c, v = 0 .. 64     three vectors of 64 numbers are compared with c; of what is
                                       found 64 bits are picked
```
To pick the numbers first takes a shuffle for every 16 of them, a vector of bytes holds 64 bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.expr import Expr

from .emit_arith import compare
from .emit_cast import from_memory
from .emit_context import Context
from .emit_places import Evaluate, Target, address, locate
from .emit_scope import element_count
from .emit_types import Value, memory_type, vector_of
from .emit_windows import pattern, picked, placed, readable_from, windows

Window = tuple[int, int]


class Apart(NamedTuple):
    """A comparison of a number with those that lie apart.

    Attributes:
        target: where these lie; `side` is their operand's number.
        distances: of each lane from the target's base.
        chunk: the vectors that hold them.
    """

    target: Target
    side: int
    distances: tuple[int, ...]
    chunk: list[Window]


def numbers_apart(context: Context, e: Expr) -> Apart | None:
    """The form of a resolved comparison; None if it has another, or numbers are better picked."""
    lane = context.vector
    if lane is None or context.mask is not None or not context.options.picks_bytes:
        return None
    varying = [k for k, a in enumerate(e.args) if context.varies(a)]
    if len(varying) != 1 or e.args[varying[0]].op != "load":
        return None
    read = e.args[varying[0]]
    if not _is_worth_it(read.dtype, lane.width):
        return None
    target = locate(context, str(read.value), read.args)
    if target.kind != "strided" or (found := pattern(target.index, lane, context.scope)) is None:
        return None
    start, distances = placed(found, context.scope)
    count = context.resolve(element_count(target.place.buffer))
    readable = readable_from(start, distances, lane.width, count, context.scope)
    chunks = windows(distances, readable, lane.width)
    if chunks is None or len(chunks) != 1:
        return None
    return Apart(replace(target, base=start), varying[0], distances, chunks[0])


def _is_worth_it(dtype: DType, lanes: int) -> bool:
    """Bits of all lanes fill one vector of bytes, the numbers several vectors."""
    return lanes == 64 and dtype.itemsize > 1


def compare_apart(context: Context, e: Expr, form: Apart, evaluate: Evaluate) -> Value:
    """Each vector is compared as it lies."""
    code, target, lanes = context.code, form.target, context.width
    element, pointer_type = memory_type(target.dtype), target.place.pointer_type
    pointer = address(context, target, evaluate)
    number = evaluate(context, e.args[1 - form.side])
    other = context.widen(number, target.dtype, lanes)
    site = context.site(target.dtype, lanes)
    found: dict[Window, str] = {}
    for window in form.chunk:
        place = code.let(
            f"getelementptr inbounds {element}, {pointer_type} {pointer}, i64 {window[0]}", "p"
        )
        kind = vector_of(element, lanes)
        raw = code.let(f"load {kind}, {pointer_type} {place}, align {target.dtype.itemsize}")
        sides = [from_memory(code, target.dtype, lanes, raw), other]
        bits = compare(site, e.op, *(sides if form.side == 0 else reversed(sides)))
        found[window] = code.let(f"sext <{lanes} x i1> {bits} to <{lanes} x i8>")
    made = picked(code, "i8", form.distances, form.chunk, found)
    return Value(code.let(f"icmp slt <{lanes} x i8> {made}, zeroinitializer"), lanes)

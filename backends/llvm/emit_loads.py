"""Loads of buffers, and prefetches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tensorscript.dialects.te.expr import Expr, add, const

from .emit_arith import Site
from .emit_cast import from_memory
from .emit_context import Context
from .emit_near import may_be_near, near_or
from .emit_places import (
    Evaluate,
    Target,
    address,
    addresses,
    alignment,
    all_lanes,
    any_lane,
    is_register,
    locate,
    point,
    pointer_ahead,
    register_size,
    reverse,
    tail,
)
from .emit_scope import element_count
from .emit_types import Value, memory_type, suffix, vector_of
from .emit_windows import (
    CHUNK,
    Pattern,
    load_windows,
    pattern,
    placed,
    readable_from,
    windows,
)

Proof = Callable[[Context, Expr], bool]


def emit_load(context: Context, e: Expr, evaluate: Evaluate, in_bounds: Proof) -> Value:
    """A load node; `in_bounds` proves that it may run even where it is not asked for."""
    target = locate(context, str(e.value), e.args)
    if target.kind == "uniform":
        guarded = context.mask is not None and not context.mask_is_any
        if guarded and not in_bounds(context, e):
            return _load_if_any(context, target, evaluate)
        return Value(load_scalar(context, target, evaluate))
    lanes = context.width
    stored = vector_of(memory_type(target.dtype), lanes)
    if target.kind in ("contiguous", "reversed") and not _is_between(context, target):
        raw = load_contiguous(context, target, stored, evaluate)
    elif (windows := _load_windows(context, target, evaluate)) is not None:
        raw = windows
    elif target.kind in ("contiguous", "reversed"):
        raw = load_contiguous(context, target, stored, evaluate)
    elif target.kind == "strided" and target.step.is_int(2) and not context.gpu:
        raw = _load_every_second(context, target, stored, evaluate)
    elif may_be_near(context, target):
        raw = near_or(
            context, target, stored, evaluate, lambda: gather(context, target, stored, evaluate)
        )
    else:
        raw = gather(context, target, stored, evaluate)
    own = target.place.in_registers
    return Value(from_memory(context.code, target.dtype, lanes, raw, own), lanes)


def emit_prefetch(context: Context, target: Target, level: int, evaluate: Evaluate) -> None:
    """Ask for the line of an access into a level of the cache; it need not lie in its buffer."""
    pointer, rest = pointer_ahead(context, target.place, target.base) or (
        target.place.pointer, target.base,
    )  # fmt: skip
    pointer = point(context, target.place, pointer, evaluate(context, rest).text)
    locality = 4 - level  # 3 is the first cache
    numbers = [("i32", "0"), ("i32", str(locality)), ("i32", "1")]  # to be read; how near; data
    context.code.call("void", "llvm.prefetch.p0", [("ptr", pointer), *numbers])


def load_scalar(context: Context, target: Target, evaluate: Evaluate) -> str:
    """One element, as it is computed with."""
    pointer = address(context, target, evaluate)
    stored, size = memory_type(target.dtype), target.dtype.itemsize
    kind = target.place.pointer_type
    raw = context.code.let(f"load {stored}, {kind} {pointer}, align {size}")
    return from_memory(context.code, target.dtype, 1, raw)


def _load_if_any(context: Context, target: Target, evaluate: Evaluate) -> Value:
    """A scalar load for lanes that may all be switched off."""
    code = context.code
    site = Site(code, target.dtype, 1)
    active = any_lane(context, context.mask or "")
    yes, join, before = code.name("any"), code.name("join"), code.block
    code.branch(active, yes, join)
    code.start(yes)
    with context.branch_cache():
        loaded = load_scalar(context, target, evaluate)
    incoming = f"[ {loaded}, %{code.block} ], [ {site.literal(0)}, %{before} ]"
    code.end(f"br label %{join}")
    code.start(join)
    return Value(code.let(f"phi {site.type} {incoming}"))


def load_contiguous(context: Context, target: Target, stored: str, evaluate: Evaluate) -> str:
    """A contiguous or reversed vector, as it is stored."""
    code, lanes = context.code, context.width
    pointer = address(context, target, evaluate)
    kind, align = target.place.pointer_type, alignment(context, target)
    mask = context.mask
    if mask is not None and target.kind == "reversed":
        mask = reverse(context, "i1", mask)
    if mask is None or is_register(context, target):
        raw = code.let(f"load {stored}, {kind} {pointer}, align {align}")
    else:
        name = f"llvm.masked.load.{tail(target, lanes)}"
        raw = code.call(
            stored,
            name,
            [(kind, pointer), ("i32", str(align)), (f"<{lanes} x i1>", mask),
             (stored, "zeroinitializer")],
        )  # fmt: skip
    return raw if target.kind == "contiguous" else reverse(context, memory_type(target.dtype), raw)


def _is_between(context: Context, target: Target) -> bool:
    """Whether a vector of a buffer in registers is no whole one of those that were stored there."""
    if not register_size(target.place) or not target.base.is_const:
        return False
    return int(target.base) % context.width != 0


def _load_every_second(context: Context, target: Target, stored: str, evaluate: Evaluate) -> str:
    """Elements 0, 2, 4, ...: two overlapping vectors that end with the last one, and a shuffle.

    Nothing outside of the first to the last element is touched. A gather costs a load a lane.
    """
    code, lanes = context.code, context.width
    first = replace(target, kind="contiguous")
    second = replace(first, base=add(target.base, const(lanes - 1)))
    halves = []
    for part, offset in ((first, 0), (second, lanes - 1)):
        wanted = [(k + offset) // 2 if (k + offset) % 2 == 0 else None for k in range(lanes)]
        with context.masked(_spread(context, wanted)):
            halves.append(load_contiguous(context, part, stored, evaluate))
    picks = [2 * k if 2 * k < lanes else 2 * k + 1 for k in range(lanes)]
    text = ", ".join(f"i32 {k}" for k in picks)
    return code.let(
        f"shufflevector {stored} {halves[0]}, {stored} {halves[1]}, <{lanes} x i32> <{text}>"
    )


def _spread(context: Context, wanted: list[int | None]) -> str | None:
    """The mask in force at the positions `wanted`, off where there is None."""
    if context.mask is None:
        return None
    lanes = context.width
    kind = vector_of("i1", lanes)
    picks = ", ".join(f"i32 {lanes if k is None else k}" for k in wanted)
    return context.code.let(
        f"shufflevector {kind} {context.mask}, {kind} zeroinitializer, <{lanes} x i32> <{picks}>"
    )


def _load_windows(context: Context, target: Target, evaluate: Evaluate) -> str | None:
    """Lanes at fixed distances from contiguous vectors; None where a gather is better."""
    lane = context.vector
    if context.gpu or lane is None:
        return None
    found = pattern(target.index, lane, context.scope)
    if found is None:
        return None
    readable = register_size(target.place)
    if (within := _in_registers(context, found, readable)) is not None:
        start, distances = const(0), within
    elif context.mask is not None:
        return None
    else:
        start, distances = placed(found, context.scope)
        count = context.resolve(element_count(target.place.buffer))
        readable = readable_from(start, distances, CHUNK, count, context.scope)
    if (chunks := windows(distances, readable)) is None:
        return None
    pointer = address(context, replace(target, base=start), evaluate)
    kinds = memory_type(target.dtype), target.place.pointer_type
    size = target.dtype.itemsize
    return load_windows(context.code, *kinds, pointer, size, distances, chunks)


def _in_registers(context: Context, found: Pattern, size: int) -> tuple[int, ...] | None:
    """Where lanes lie in a buffer of registers of `size` elements, those that are known to be off
    at the first one that is on; None if they do not."""
    start, distances = found
    if not start.is_const or (context.mask is not None and context.on is None):
        return None
    places = [int(start) + d for d in distances]
    if context.on is not None:
        first = next(p for p, on in zip(places, context.on, strict=True) if on)
        places = [p if on else first for p, on in zip(places, context.on, strict=True)]
    return tuple(places) if min(places) >= 0 and max(places) < size else None


def gather(context: Context, target: Target, stored: str, evaluate: Evaluate) -> str:
    """The lanes from addresses of their own, as they are stored."""
    lanes = context.width
    pointers = addresses(context, target, evaluate)
    kind = vector_of(target.place.pointer_type, lanes)
    name = f"llvm.masked.gather.{suffix(memory_type(target.dtype), lanes)}"
    name += f".v{lanes}p{target.place.space}"
    return context.code.call(
        stored,
        name,
        [(kind, pointers), ("i32", str(target.dtype.itemsize)),
         (f"<{lanes} x i1>", all_lanes(context)), (stored, "zeroinitializer")],
    )  # fmt: skip

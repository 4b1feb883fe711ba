"""Stores into buffers, and updates: an element becomes what a combiner makes of it and a value."""

from __future__ import annotations

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import LINE

from .emit_arith import BINARY, REORDERED, Site, horizontal, identity
from .emit_cast import from_memory, round_result, to_memory
from .emit_context import Context
from .emit_loads import gather, load_contiguous, load_scalar
from .emit_places import (
    Evaluate,
    Target,
    address,
    addresses,
    alignment,
    all_lanes,
    any_lane,
    is_register,
    reverse,
    tail,
)
from .emit_types import Value, is_half, memory_type, register_type, splat, suffix, vector_of
from .lists import ELEMENT


def emit_store(context: Context, target: Target, value: Value, evaluate: Evaluate) -> None:
    """Store `value`. A store that all lanes share keeps the last active lane's value."""
    if target.kind == "uniform":
        _store_uniform(context, target, value, evaluate)
        return
    lanes, code = context.width, context.code
    wide = context.widen(value, target.dtype, lanes)
    raw = to_memory(code, target.dtype, lanes, wide)
    stored = vector_of(memory_type(target.dtype), lanes)
    if target.kind in ("contiguous", "reversed"):
        _store_contiguous(context, target, stored, raw, evaluate)
        return
    pointers = addresses(context, target, evaluate)
    name = f"llvm.masked.scatter.{suffix(memory_type(target.dtype), lanes)}"
    code.call(
        "void",
        f"{name}.v{lanes}p{target.place.space}",
        [(stored, raw), (vector_of(target.place.pointer_type, lanes), pointers),
         ("i32", str(target.dtype.itemsize)), (f"<{lanes} x i1>", all_lanes(context))],
    )  # fmt: skip


def _store_uniform(context: Context, target: Target, value: Value, evaluate: Evaluate) -> None:
    code = context.code
    text = value.text
    if value.lanes > 1:
        if context.mask is not None:
            raise context.refuse(f"a masked store of varying values to one element: {target.index}")
        kind = register_type(target.dtype, value.lanes)
        text = code.let(f"extractelement {kind} {text}, i64 {value.lanes - 1}")
    raw = to_memory(code, target.dtype, 1, text)
    if context.mask is None or context.mask_is_any:
        _store_scalar(context, target, raw, evaluate)
        return
    yes, join = code.name("any"), code.name("join")
    code.branch(any_lane(context, context.mask), yes, join)
    code.start(yes)
    with context.branch_cache():
        _store_scalar(context, target, raw, evaluate)
    code.start(join)


def _store_scalar(context: Context, target: Target, raw: str, evaluate: Evaluate) -> None:
    pointer = address(context, target, evaluate)
    stored, kind = memory_type(target.dtype), target.place.pointer_type
    tag = f", {ELEMENT}" if target.place.of_list else ""
    context.code.do(f"store {stored} {raw}, {kind} {pointer}, align {target.dtype.itemsize}{tag}")


def _store_contiguous(
    context: Context, target: Target, stored: str, raw: str, evaluate: Evaluate
) -> None:
    code, lanes, mask = context.code, context.width, context.mask
    pointer = address(context, target, evaluate)
    kind, align = target.place.pointer_type, alignment(context, target)
    if target.kind == "reversed":
        raw = reverse(context, memory_type(target.dtype), raw)
        mask = None if mask is None else reverse(context, "i1", mask)
    if mask is not None and is_register(context, target):
        old = code.let(f"load {stored}, {kind} {pointer}, align {align}")
        raw = code.let(f"select <{lanes} x i1> {mask}, {stored} {raw}, {stored} {old}")
        mask = None
    if mask is None and target.place.streamed and not lanes * target.dtype.itemsize % LINE:
        _stream(context, f"{stored} {raw}, {kind} {pointer}", pointer, align)
        return
    if mask is None:
        code.do(f"store {stored} {raw}, {kind} {pointer}, align {align}")
        return
    if context.on is not None and sum(context.on) == 1:
        _store_lane(context, target, stored, raw, pointer)
        return
    code.call(
        "void",
        f"llvm.masked.store.{tail(target, lanes)}",
        [(stored, raw), (kind, pointer), ("i32", str(align)), (f"<{lanes} x i1>", mask)],
    )


def _stream(context: Context, what: str, pointer: str, align: int) -> None:
    """Store whole lines past the caches, where they begin at a line."""
    code = context.code
    context.streams = True
    place = code.let(f"ptrtoint ptr {pointer} to i64")
    behind = code.let(f"and i64 {place}, {LINE - 1}")
    past, near, join = code.name("past"), code.name("near"), code.name("join")
    code.branch(code.let(f"icmp eq i64 {behind}, 0"), past, near)
    code.start(past)
    mark = code.module.streamed_metadata()
    code.do(f"store {what}, align {LINE}, !nontemporal {mark}")
    code.end(f"br label %{join}")
    code.start(near)
    code.do(f"store {what}, align {align}")
    code.start(join)


def _store_lane(context: Context, target: Target, stored: str, raw: str, pointer: str) -> None:
    """Store the one lane that is on as a scalar.

    No masked store may do it: LLVM 22 makes one of truncated lanes, under a constant mask of a
    single lane, a store of the whole wide lane (for AVX-512).
    """
    assert context.on is not None
    lane = context.on.index(True)
    at = context.width - 1 - lane if target.kind == "reversed" else lane
    element, kind = memory_type(target.dtype), target.place.pointer_type
    code = context.code
    value = code.let(f"extractelement {stored} {raw}, i64 {at}")
    place = code.let(f"getelementptr inbounds {element}, {kind} {pointer}, i64 {at}", "p")
    code.do(f"store {element} {value}, {kind} {place}, align {target.dtype.itemsize}")


def emit_update(
    context: Context, target: Target, combiner: str, value: Value, evaluate: Evaluate
) -> None:
    """`target = combiner(target, value)`: lane by lane, or over the lanes into one element."""
    if target.kind == "uniform":
        _update_one(context, target, combiner, value, evaluate)
    elif target.kind == "indexed" or (target.kind == "strided" and not target.step.is_const):
        _update_each(context, target, combiner, value, evaluate)
    else:
        lanes = context.width
        stored = vector_of(memory_type(target.dtype), lanes)
        read = gather if target.kind == "strided" else load_contiguous
        raw, own = read(context, target, stored, evaluate), target.place.in_registers
        old = from_memory(context.code, target.dtype, lanes, raw, own)
        new = combine(context, target.dtype, lanes, combiner, old,
                      context.widen(value, target.dtype, lanes))  # fmt: skip
        emit_store(context, target, Value(new, lanes), evaluate)


def combine(context: Context, dtype: DType, lanes: int, combiner: str, old: str, new: str) -> str:
    """One step of a reduction; float sums may be reordered unless the module is strict."""
    loose = not context.options.strict
    site = Site(context.code, dtype, lanes, loose, REORDERED if loose else "")
    if combiner in ("min", "max", "greater"):
        old, new = new, old  # an extremum tests its first operand for NaN: off the chain of results
    made = BINARY[combiner](site, old, new)
    return round_result(context.code, dtype, lanes, made) if is_half(dtype) else made


def _update_one(
    context: Context, target: Target, combiner: str, value: Value, evaluate: Evaluate
) -> None:
    text = value.text
    lanes = context.width
    if context.vector is not None:
        # A uniform value still counts once per lane (idempotent combiners aside).
        text = context.widen(value, target.dtype, lanes)
        site = context.site(target.dtype, lanes)
        if context.mask is not None:
            text = site.choose(
                context.mask, text, splat(target.dtype, lanes, identity(combiner, target.dtype))
            )
        text = horizontal(site, combiner, text)
    old = load_scalar(context, target, evaluate)
    new = combine(context, target.dtype, 1, combiner, old, text)
    emit_store(context, target, Value(new), evaluate)


def _update_each(
    context: Context, target: Target, combiner: str, value: Value, evaluate: Evaluate
) -> None:
    """Lanes may meet in one element: one after the other."""
    code, lanes = context.code, context.width
    index = context.widen(evaluate(context, target.index), target.index.dtype, lanes)
    wide = context.widen(value, target.dtype, lanes)
    element, stored = register_type(target.dtype), memory_type(target.dtype)
    kind, size = target.place.pointer_type, target.dtype.itemsize
    for lane in range(lanes):
        done = code.name("done")
        if context.mask is not None:
            active = code.let(f"extractelement <{lanes} x i1> {context.mask}, i64 {lane}")
            update = code.name("update")
            code.branch(active, update, done)
            code.start(update)
        offset = code.let(f"extractelement <{lanes} x i64> {index}, i64 {lane}")
        pointer = code.let(
            f"getelementptr inbounds {stored}, {kind} {target.place.pointer}, i64 {offset}", "p"
        )
        raw = code.let(f"load {stored}, {kind} {pointer}, align {size}")
        old = from_memory(code, target.dtype, 1, raw)
        new = code.let(f"extractelement {vector_of(element, lanes)} {wide}, i64 {lane}")
        made = combine(context, target.dtype, 1, combiner, old, new)
        made = to_memory(code, target.dtype, 1, made)
        code.do(f"store {stored} {made}, {kind} {pointer}, align {size}")
        if context.mask is not None:
            code.start(done)

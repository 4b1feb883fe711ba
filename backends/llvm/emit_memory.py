"""Loads, stores and updates of buffers.

In a vector loop the flat index decides: free of the lane, one scalar access; lane + base, one
contiguous vector; base - lane, a reversed vector; anything else a gather or scatter. Accesses under
a mask use LLVM's masked intrinsics. Vector accesses claim the alignment of one element only (which
costs nothing on CPUs that have unaligned vector moves); GPUs claim what can be proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.expr import Expr, add, const, mul, sub, var

from .emit_arith import BINARY, Site, horizontal, identity
from .emit_cast import from_memory, round_result, to_memory
from .emit_context import Context
from .emit_scope import Place, affine, flat_index, multiple
from .emit_types import Value, is_half, memory_type, register_type, splat, suffix, vector_of
from .emit_windows import load_windows, pattern, placed, windows

Evaluate = Callable[[Context, Expr], Value]
Proof = Callable[[Context, Expr], bool]


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


def _pointer(context: Context, target: Target, evaluate: Evaluate) -> str:
    offset = evaluate(context, target.base).text
    place = target.place
    if offset == "0":
        return place.pointer
    element = memory_type(target.dtype)
    return context.code.let(
        f"getelementptr inbounds {element}, {place.pointer_type} {place.pointer}, i64 {offset}", "p"
    )


def _pointers(context: Context, target: Target, evaluate: Evaluate) -> str:
    """The vector of addresses of an access that is not contiguous."""
    place, lanes = target.place, context.width
    element = memory_type(target.dtype)
    if target.kind == "strided" and target.step.is_const:
        step = int(str(target.step.value))
        start = _pointer(context, target, evaluate)
        small = abs(step) * lanes < 2**31
        kind = "i32" if small else "i64"
        offsets = f"<{', '.join(f'{kind} {step * k}' for k in range(lanes))}>"
        return context.code.let(
            f"getelementptr inbounds {element}, {place.pointer_type} {start}, "
            f"<{lanes} x {kind}> {offsets}",
            "p",
        )
    offsets = context.widen(evaluate(context, target.index), target.index.dtype, lanes)
    return context.code.let(
        f"getelementptr inbounds {element}, {place.pointer_type} {place.pointer}, "
        f"<{lanes} x i64> {offsets}",
        "p",
    )


def _all_lanes(context: Context) -> str:
    return context.mask or "splat (i1 true)"


def _alignment(context: Context, target: Target) -> int:
    """Bytes the start of a vector access is aligned to, as far as it matters."""
    size = target.dtype.itemsize
    if not context.gpu or target.kind != "contiguous":
        return size
    wide = min(size * context.width, target.place.align)
    aligned = multiple(target.base, context.scope) % context.width == 0
    return wide if aligned else size


# --- loads --------------------------------------------------------------------------------------


def emit_load(context: Context, e: Expr, evaluate: Evaluate, in_bounds: Proof) -> Value:
    """A load node; `in_bounds` proves that it may run even where it is not asked for."""
    target = locate(context, str(e.value), e.args)
    if target.kind == "uniform":
        guarded = context.mask is not None and not context.mask_is_any
        if guarded and not in_bounds(context, e):
            return _load_if_any(context, target, evaluate)
        return Value(_load_scalar(context, target, evaluate))
    lanes = context.width
    stored = vector_of(memory_type(target.dtype), lanes)
    if target.kind in ("contiguous", "reversed"):
        raw = _load_contiguous(context, target, stored, evaluate)
    elif target.kind == "strided" and target.step.is_int(2) and not context.gpu:
        raw = _load_every_second(context, target, stored, evaluate)
    else:
        raw = _load_windows(context, target, evaluate) or _gather(context, target, stored, evaluate)
    return Value(from_memory(context.code, target.dtype, lanes, raw), lanes)


def emit_prefetch(context: Context, target: Target, evaluate: Evaluate) -> None:
    """Ask for the line of an access into the second cache; it need not lie in its buffer."""
    element, place = memory_type(target.dtype), target.place
    offset = evaluate(context, target.base).text
    pointer = context.code.let(
        f"getelementptr {element}, {place.pointer_type} {place.pointer}, i64 {offset}", "p"
    )
    numbers = [("i32", "0"), ("i32", "2"), ("i32", "1")]  # to be read; near; data
    context.code.call("void", "llvm.prefetch.p0", [("ptr", pointer), *numbers])


def _load_scalar(context: Context, target: Target, evaluate: Evaluate) -> str:
    pointer = _pointer(context, target, evaluate)
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
        loaded = _load_scalar(context, target, evaluate)
    incoming = f"[ {loaded}, %{code.block} ], [ {site.literal(0)}, %{before} ]"
    code.end(f"br label %{join}")
    code.start(join)
    return Value(code.let(f"phi {site.type} {incoming}"))


def _load_contiguous(context: Context, target: Target, stored: str, evaluate: Evaluate) -> str:
    code, lanes = context.code, context.width
    pointer = _pointer(context, target, evaluate)
    kind, align = target.place.pointer_type, _alignment(context, target)
    mask = context.mask
    if mask is not None and target.kind == "reversed":
        mask = _reverse(context, "i1", mask)
    if mask is None or _is_register(context, target):
        raw = code.let(f"load {stored}, {kind} {pointer}, align {align}")
    else:
        name = f"llvm.masked.load.{_tail(target, lanes)}"
        raw = code.call(
            stored,
            name,
            [(kind, pointer), ("i32", str(align)), (f"<{lanes} x i1>", mask),
             (stored, "zeroinitializer")],
        )  # fmt: skip
    return raw if target.kind == "contiguous" else _reverse(context, memory_type(target.dtype), raw)


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
            halves.append(_load_contiguous(context, part, stored, evaluate))
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


def _is_register(context: Context, target: Target) -> bool:
    """All lanes lie in a buffer of registers, so that lanes a mask leaves out may be read."""
    place, base = target.place, target.base
    if not place.in_registers or target.kind != "contiguous" or not base.is_const:
        return False
    size = 1
    for extent in place.buffer.shape:
        size *= int(str(extent.value)) if extent.is_const else 0
    return int(str(base.value)) + context.width <= size


def _tail(target: Target, lanes: int) -> str:
    return f"{suffix(memory_type(target.dtype), lanes)}.p{target.place.space}"


def _reverse(context: Context, element: str, value: str) -> str:
    lanes = context.width
    kind = vector_of(element, lanes)
    picks = ", ".join(f"i32 {k}" for k in reversed(range(lanes)))
    return context.code.let(
        f"shufflevector {kind} {value}, {kind} poison, <{lanes} x i32> <{picks}>"
    )


def _load_windows(context: Context, target: Target, evaluate: Evaluate) -> str | None:
    """Lanes at fixed distances from contiguous vectors; None where a gather is better."""
    lane = context.vector
    if context.gpu or context.mask is not None or lane is None:
        return None
    found = pattern(target.index, lane, context.scope)
    if found is None:
        return None
    start, distances = placed(found, context.scope)
    if (chunks := windows(distances)) is None:
        return None
    pointer = _pointer(context, replace(target, base=start), evaluate)
    kinds = memory_type(target.dtype), target.place.pointer_type
    size = target.dtype.itemsize
    return load_windows(context.code, *kinds, pointer, size, distances, chunks)


def _gather(context: Context, target: Target, stored: str, evaluate: Evaluate) -> str:
    lanes = context.width
    pointers = _pointers(context, target, evaluate)
    kind = vector_of(target.place.pointer_type, lanes)
    name = f"llvm.masked.gather.{suffix(memory_type(target.dtype), lanes)}"
    name += f".v{lanes}p{target.place.space}"
    return context.code.call(
        stored,
        name,
        [(kind, pointers), ("i32", str(target.dtype.itemsize)),
         (f"<{lanes} x i1>", _all_lanes(context)), (stored, "zeroinitializer")],
    )  # fmt: skip


def any_lane(context: Context, mask: str) -> str:
    """i1: some lane of `mask` is on."""
    lanes = context.width
    return context.code.call("i1", f"llvm.vector.reduce.or.v{lanes}i1", [(f"<{lanes} x i1>", mask)])


# --- stores -------------------------------------------------------------------------------------


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
    pointers = _pointers(context, target, evaluate)
    name = f"llvm.masked.scatter.{suffix(memory_type(target.dtype), lanes)}"
    code.call(
        "void",
        f"{name}.v{lanes}p{target.place.space}",
        [(stored, raw), (vector_of(target.place.pointer_type, lanes), pointers),
         ("i32", str(target.dtype.itemsize)), (f"<{lanes} x i1>", _all_lanes(context))],
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
    pointer = _pointer(context, target, evaluate)
    stored, kind = memory_type(target.dtype), target.place.pointer_type
    context.code.do(f"store {stored} {raw}, {kind} {pointer}, align {target.dtype.itemsize}")


def _store_contiguous(
    context: Context, target: Target, stored: str, raw: str, evaluate: Evaluate
) -> None:
    code, lanes, mask = context.code, context.width, context.mask
    pointer = _pointer(context, target, evaluate)
    kind, align = target.place.pointer_type, _alignment(context, target)
    if target.kind == "reversed":
        raw = _reverse(context, memory_type(target.dtype), raw)
        mask = None if mask is None else _reverse(context, "i1", mask)
    if mask is not None and _is_register(context, target):
        old = code.let(f"load {stored}, {kind} {pointer}, align {align}")
        raw = code.let(f"select <{lanes} x i1> {mask}, {stored} {raw}, {stored} {old}")
        mask = None
    if mask is None:
        code.do(f"store {stored} {raw}, {kind} {pointer}, align {align}")
        return
    code.call(
        "void",
        f"llvm.masked.store.{_tail(target, lanes)}",
        [(stored, raw), (kind, pointer), ("i32", str(align)), (f"<{lanes} x i1>", mask)],
    )


# --- updates ------------------------------------------------------------------------------------


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
        read = _gather if target.kind == "strided" else _load_contiguous
        old = from_memory(
            context.code, target.dtype, lanes, read(context, target, stored, evaluate)
        )
        new = combine(context, target.dtype, lanes, combiner, old,
                      context.widen(value, target.dtype, lanes))  # fmt: skip
        emit_store(context, target, Value(new, lanes), evaluate)


def combine(context: Context, dtype: DType, lanes: int, combiner: str, old: str, new: str) -> str:
    """One step of a reduction; float sums may be reordered unless the module is strict."""
    flags = "" if context.options.strict else " reassoc contract"
    site = Site(context.code, dtype, lanes, flags)
    if combiner in ("min", "max"):
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
    old = _load_scalar(context, target, evaluate)
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

"""te.alloc on the CPU: registers and stack in the entry block, arena and heap by the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import Operation

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, add, binary, cast, const, mul, select
from tensorscript.dialects.te.ops import AllocOp

from .emit_context import Context
from .emit_expr import evaluate_scalar
from .emit_places import whole_vectors
from .emit_scope import Place, element_count
from .emit_stmt import OUT_OF_MEMORY, fail_unless
from .emit_text import Code
from .emit_types import ALIGN, memory_type, vector_of

STACK_LIMIT = 1 << 16
"""Bytes up to which a `stack` buffer of constant size lives in the frame."""
SMALL = 1 << 10
"""Bytes up to which a block whose size is found at run time lives in the frame."""
_TOO_MANY = 1 << 62
"""Bytes that no allocator gives; the runtime may still add to them."""
MOST_SMALL = 16
"""Blocks of a function that have a place in the frame for that."""


def byte_count(buffer: Buffer) -> Expr:
    return mul(element_count(buffer), const(buffer.dtype.itemsize))


def emit_alloc(context: Context, op: Operation) -> None:
    assert isinstance(op, AllocOp)
    buffer, scope = op.buffer, op.scope.data
    size = mul(context.resolve(byte_count(buffer)), const(context.width))
    private = context.vector is not None
    in_registers = not private and _is_small(scope, size)
    again = ""
    if scope in ("reg", "stack", "tile") and size.is_const and _fits(scope, size):
        pointer = frame_buffer(context, buffer)
        if in_registers:
            _clear_padding(context, buffer, pointer)
    elif scope == "arena" and op.offset is not None and context.vector is None:
        offset = evaluate_scalar(context, op.offset, "an offset")
        again = f"getelementptr inbounds i8, ptr {context.arena}, i64 {offset}"
        pointer = context.code.let(again, "buffer")
    elif scope in ("stack", "arena"):
        pointer = allocate(context, size)
    else:
        raise context.refuse(f"cannot allocate {op.head()}")
    if context.vector is not None:
        context.vector.private.add(buffer.name)
    context.scope.places[buffer.name] = Place(
        buffer,
        pointer,
        ALIGN,
        per_lane=private,
        in_registers=in_registers,
        again=again,
    )


def _is_small(scope: str, size: Expr) -> bool:
    """Whether LLVM may keep a buffer in registers."""
    small = scope == "stack" and size.is_const and int(size) <= SMALL
    return scope == "reg" or small


def _fits(scope: str, size: Expr) -> bool:
    return scope != "stack" or int(str(size.value)) <= STACK_LIMIT


def frame_buffer(context: Context, buffer: Buffer) -> str:
    """An entry-block array for a buffer of constant size."""
    total = whole_vectors(max(1, int(context.resolve(element_count(buffer))))) * context.width
    kind = f"[{total} x {memory_type(buffer.dtype)}]"
    return context.code.alloca(f"{kind}, align {ALIGN}", buffer.name)


def _clear_padding(context: Context, buffer: Buffer, pointer: str) -> None:
    """Zeros behind the last element, which lanes that are off compute with: subnormal numbers, say
    what is left of addresses, would take a hundred times as long."""
    count = int(context.resolve(element_count(buffer)))
    padding = whole_vectors(max(1, count)) - count
    if padding and buffer.dtype.is_floating_point:
        element = memory_type(buffer.dtype)
        tail = f"%{context.code.name('tail')}"
        context.code.at_entry(f"{tail} = getelementptr {element}, ptr {pointer}, i64 {count}")
        kind = vector_of(element, padding)
        size = buffer.dtype.itemsize
        context.code.at_entry(f"store {kind} zeroinitializer, ptr {tail}, align {size}")


def _counted(size: Expr) -> Expr:
    """`size` bytes, or more than there can be where 64 bits do not count them: a product of sizes
    that wraps around would ask for a small block."""
    if size.is_const:
        return size
    return select(binary("lt", _estimate(size), float(_TOO_MANY)), size, _TOO_MANY)


def _estimate(size: Expr) -> Expr:
    """`size` in float64, where nothing wraps around."""
    if size.op in ("add", "sub", "mul", "min", "max"):
        return binary(size.op, *map(_estimate, size.args))
    if size.op == "floordiv" and size.args[1].is_const:
        return binary("div", *map(_estimate, size.args))
    return cast(size, float64)


def allocate(context: Context, bytes_: Expr) -> str:
    """A block of so many bytes, small ones in the frame and others from the runtime, which are
    freed when their te block or the function ends. One in a loop whose size is the same in all of a
    kernel is there once for all iterations."""
    code = context.code
    lasts = bool(bytes_.free) and bytes_.free <= context.given
    size = evaluate_scalar(context, _counted(bytes_), "a size")
    slot = code.alloca("ptr", "heap")
    code.at_entry(f"store ptr null, ptr {slot}")
    in_frame = len(context.heap) < MOST_SMALL
    context.heap.append(slot)
    if not lasts:
        context.live.append(slot)
    block = _kept_block if lasts else _from_runtime
    if not in_frame:
        return block(context, size, slot)
    frame = code.alloca(f"[{SMALL} x i8], align {ALIGN}", "small")
    fits = code.let(f"icmp sle i64 {size}, {SMALL}")
    return _either(code, fits, frame, lambda: block(context, size, slot))


def _either(code: Code, have: str, pointer: str, make: Callable[[], str]) -> str:
    """`pointer` where the i1 `have` holds, else the one that `make` emits."""
    before, missing, there = code.block, code.name("missing"), code.name("there")
    code.branch(have, there, missing)
    code.start(missing)
    made = make()
    after = code.block
    code.start(there)
    return code.let(f"phi ptr [ {pointer}, %{before} ], [ {made}, %{after} ]", "buffer")


def _kept_block(context: Context, size: str, slot: str) -> str:
    """The block in `slot`, which an earlier iteration put there, or a new one."""
    code = context.code
    kept = code.let(f"load ptr, ptr {slot}")
    there = code.let(f"icmp ne ptr {kept}, null")
    return _either(code, there, kept, lambda: _from_runtime(context, size, slot))


def _from_runtime(context: Context, size: str, slot: str) -> str:
    """A block of `size` bytes from the runtime, noted in `slot`."""
    code = context.code
    least = code.call("i64", "llvm.smax.i64", [("i64", size), ("i64", "1")])
    pointer = code.call("ptr", "ts_scratch", [("i64", least)])
    code.do(f"store ptr {pointer}, ptr {slot}")
    found = code.let(f"icmp ne ptr {pointer}, null")
    fail_unless(context, found, OUT_OF_MEMORY, "out of memory")
    return pointer


def release(context: Context, slots: Iterable[str]) -> None:
    """Give blocks back; the runtime accepts null for those not allocated on this path."""
    for slot in slots:
        pointer = context.code.let(f"load ptr, ptr {slot}")
        context.code.call("void", "ts_scratch_free", [("ptr", pointer)])
        context.code.do(f"store ptr null, ptr {slot}")


def arena_size(allocations: Iterable[AllocOp]) -> Expr | None:
    """Bytes of the arena that holds all planned allocations; None if there is none."""
    total: Expr | None = None
    for op in allocations:
        if op.scope.data == "arena" and op.offset is not None:
            end = add(op.offset, byte_count(op.buffer))
            total = end if total is None else binary("max", total, end)
    return total

"""te kernels to LLVM IR text for NVPTX: one `ptx_kernel` per te.func with GPU loops.

A loop of kind bx .. tz becomes the index of the block or thread; the launch gets the extents as
grid and block, and a loop shorter than its launch dimension is guarded. Neither a te.sync nor a
te.across may stand inside a guarded loop. `shared` buffers are globals of address space 3; `reg`
and `stack` buffers belong to one thread. Vector loops become vector loads and stores where
alignment is certain, else their lanes are unrolled. Expressions are those of the CPU emitter, with
one-lane math functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tensorscript.backends.llvm.emit import STATEMENTS, library
from tensorscript.backends.llvm.emit_alloc import frame_buffer
from tensorscript.backends.llvm.emit_cast import from_memory
from tensorscript.backends.llvm.emit_context import Context, EmitOptions, Row
from tensorscript.backends.llvm.emit_expr import evaluate, evaluate_scalar
from tensorscript.backends.llvm.emit_loops import emit_for, emit_serial, emit_unrolled, emit_vector
from tensorscript.backends.llvm.emit_scope import (
    Bound,
    Lane,
    Place,
    Scope,
    element_count,
    nonneg,
    sizes_of,
    upper,
)
from tensorscript.backends.llvm.emit_text import Code, ModuleText, c_string
from tensorscript.backends.llvm.emit_types import Value, memory_type
from tensorscript.backends.target import Target
from tensorscript.base.dtypes import int64
from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, Parameter
from tensorscript.dialects.te.expr import Expr, binary, const
from tensorscript.dialects.te.ops import (
    AcrossOp,
    AllocOp,
    AssertOp,
    CallOp,
    ForOp,
    FuncOp,
    MatricesOp,
    MultiplyOp,
    SyncOp,
    constants,
    functions,
)

from .emit_across import emit_across
from .emit_matrices import emit_matrices, emit_multiply
from .emit_vector import can_be_vector

STAGE = "ptx"
AXES = ("bx", "by", "bz", "tx", "ty", "tz")
ALIGN = 16
"""Bytes that every buffer of a kernel must be aligned to (device allocations are, by 256)."""
GLOBAL, SHARED = 1, 3
FITTING_THREADS = 256
"""Of a block, whose registers fit if each has 255, which are all that there are."""


@dataclass(frozen=True)
class KernelLaunch:
    """How to start a kernel.

    Attributes:
        name: the kernel's symbol.
        parameters: its parameters in order; a buffer is passed as a device pointer.
        grid, block: extents as expressions of the scalar parameters; a launch with a zero extent
            has nothing to do and must be skipped.
    """

    name: str
    parameters: tuple[Parameter, ...]
    grid: tuple[Expr, Expr, Expr]
    block: tuple[Expr, Expr, Expr]


def emit_kernel_module(
    module: ModuleOp, target: Target, options: EmitOptions | None = None
) -> tuple[str, list[KernelLaunch]]:
    """LLVM IR text of the module's kernels (host functions are left out), and their launches.

    Raises:
        InternalError: a statement that a GPU thread cannot execute, naming it.
    """
    options = options or EmitOptions()
    text = ModuleText(scalar_math=True)
    places = {op.buffer.name: _constant(text, op.buffer, op.data.data.array)
              for op in constants(module)}  # fmt: skip
    launches = []
    for function in functions(module):
        if function.role.data == "kernel":
            launches.append(_emit_kernel(text, function, options, places))
    support = library(text, target)
    return text.render([f'target triple = "{target.triple}"'], support), launches


def _constant(text: ModuleText, buffer: Buffer, array: object) -> Place:
    if array is None:
        raise InternalError(f"the data of te.constant @{buffer.name} is not at hand", STAGE)
    data = array.tobytes()  # type: ignore[attr-defined]  # a NumPy array
    name = f"@{buffer.name}"
    text.globals.append(
        f"{name} = internal addrspace({GLOBAL}) constant [{len(data)} x i8] {c_string(data)}, "
        f"align {ALIGN}"
    )
    return Place(buffer, name, ALIGN, GLOBAL)


def _extents(function: FuncOp) -> dict[str, Expr]:
    """The launch extent of each axis: the largest of the loops bound to it."""
    found: dict[str, Expr] = {}
    for op in function.walk():
        if isinstance(op, ForOp) and (axis := op.kind.data) in AXES:
            known = found.get(axis, op.extent)
            found[axis] = known if known is op.extent else binary("max", known, op.extent)
    return found


def _emit_kernel(
    text: ModuleText, function: FuncOp, options: EmitOptions, places: Mapping[str, Place]
) -> KernelLaunch:
    name = function.sym_name.data
    extents = _extents(function)
    code = Code(text)
    context = Context(
        name, code, _STATEMENTS, options, function.level.data == "flat",
        scope=Scope(places=dict(places)), gpu=True, launch=extents,
    )  # fmt: skip
    heads = [_bind_parameter(context, p, sizes_of(list(function.buffers))) for p in function.params]
    context.block(list(function.block.ops))
    code.end("ret void")
    one = const(1)
    grid = (extents.get("bx", one), extents.get("by", one), extents.get("bz", one))
    block = (extents.get("tx", one), extents.get("ty", one), extents.get("tz", one))
    head = f"define ptx_kernel void @{name}({', '.join(heads)}) nounwind"
    text.functions.append(code.render(head + _most_threads(block)))
    return KernelLaunch(name, function.params, grid, block)


def _most_threads(block: tuple[Expr, ...]) -> str:
    """The attribute by which ptxas leaves registers for all threads of a block. So many fit anyhow,
    and ptxas spills some to make room for more blocks of fewer."""
    sizes = [int(str(size.value)) for size in block if size.is_const]
    if len(sizes) < len(block) or math.prod(sizes) <= FITTING_THREADS:
        return ""
    return f' "nvvm.maxntid"="{",".join(map(str, sizes))}"'


def _bind_parameter(context: Context, parameter: Parameter, sizes: set[str]) -> str:
    name = f"%arg.{parameter.name}"
    if isinstance(parameter, Buffer):
        context.scope.places[parameter.name] = Place(parameter, name, ALIGN, GLOBAL)
        return f"ptr addrspace({GLOBAL}) noalias align {ALIGN} {name}"
    value = from_memory(context.code, parameter.dtype, 1, name)
    context.scope.values[parameter.name] = Bound(
        Value(value), parameter.dtype, parameter.name in sizes
    )
    return f"{memory_type(parameter.dtype)} {name}"


# --- statements that differ from the CPU's ------------------------------------------------------


def _emit_bound(context: Context, op: ForOp) -> None:
    """A loop over blocks or threads: this thread's iteration."""
    axis = op.kind.data
    register = ("ctaid" if axis[0] == "b" else "tid") + f".{axis[1]}"
    code, scope = context.code, context.scope
    number = code.call("i32", f"llvm.nvvm.read.ptx.sreg.{register}", [])
    index = code.let(f"zext i32 {number} to i64", op.var)
    start, extent = context.resolve(op.start), context.resolve(op.extent)
    if not start.is_int(0):
        first = evaluate_scalar(context, start, f"the start of {op.var}")
        index = code.let(f"add nsw i64 {index}, {first}")
    most = upper(extent, scope)
    scope.replaced.pop(op.var, None)
    if start.is_int(0):
        bound = Bound(Value(index), int64, True, 1, None if most is None else most - 1, extent)
    else:
        bound = Bound(Value(index), int64, nonneg(start, scope))
    scope.values[op.var] = bound
    if context.launch[axis] is op.extent:
        context.block(list(op.block.ops))
        return
    _guarded(context, op, number)


def _guarded(context: Context, op: ForOp, number: str) -> None:
    together = SyncOp | AcrossOp | MatricesOp | MultiplyOp
    if any(isinstance(inner, together) for inner in op.walk()):
        raise context.refuse(f"a barrier inside a guarded loop: {op.head()}")
    code = context.code
    count = evaluate_scalar(context, op.extent, f"the extent of {op.var}")
    wide = code.let(f"zext i32 {number} to i64")
    yes, done = code.name("inside"), code.name("outside")
    code.branch(code.let(f"icmp slt i64 {wide}, {count}"), yes, done)
    code.start(yes)
    context.block(list(op.block.ops))
    code.start(done)


def _emit_vector_loop(context: Context, op: ForOp) -> None:
    width = int(str(context.resolve(op.extent).value))
    if width in (2, 4, 8) and context.vector is None:
        name = f"{op.var}$lane"
        if can_be_vector(context, op, Lane(name, width, {name})):
            emit_vector(context, op)
            return
    emit_unrolled(context, op)


def _emit_alloc(context: Context, op: Operation) -> None:
    assert isinstance(op, AllocOp)
    buffer, scope = op.buffer, op.scope.data
    count = context.resolve(element_count(buffer))
    if not count.is_const or scope not in ("reg", "stack", "shared"):
        raise context.refuse(f"a GPU thread cannot allocate {op.head()}")
    if scope != "shared":
        context.scope.places[buffer.name] = Place(buffer, frame_buffer(context, buffer), ALIGN)
        return
    total = max(1, int(str(count.value)))
    name = f"@{context.name}.{buffer.name}"
    context.code.module.add_global(
        f"{name} = internal addrspace({SHARED}) global "
        f"[{total} x {memory_type(buffer.dtype)}] undef, align {ALIGN}"
    )
    context.scope.places[buffer.name] = Place(buffer, name, ALIGN, SHARED)


def _emit_sync(context: Context, op: Operation) -> None:
    assert isinstance(op, SyncOp)
    match op.scope.data:
        case "shared":
            context.code.call("void", "llvm.nvvm.barrier.cta.sync.aligned.all", [("i32", "0")])
        case "warp":
            context.code.call("void", "llvm.nvvm.bar.warp.sync", [("i32", "-1")])
        case other:
            raise context.refuse(f"no barrier of scope {other}")


def _emit_assert(context: Context, op: Operation) -> None:
    """A failing thread ends the kernel with a trap; the message stays with the caller."""
    assert isinstance(op, AssertOp)
    code = context.code
    good, bad = code.name("good"), code.name("bad")
    code.branch(evaluate(context, op.condition).text, good, bad)
    code.start(bad)
    code.call("void", "llvm.trap", [])
    code.end("unreachable")
    code.start(good)


def _emit_call(context: Context, op: Operation) -> None:
    raise context.refuse(f"a GPU thread cannot call: {op}")


_LOOPS: dict[str, Callable[[Context, ForOp], None]] = {
    "serial": emit_serial,
    "unroll": emit_unrolled,
    "vector": _emit_vector_loop,
    **dict.fromkeys(AXES, _emit_bound),
}


def _emit_for(context: Context, op: Operation) -> None:
    emit_for(context, op, _LOOPS)


_STATEMENTS: dict[type[Operation], Row] = {
    **STATEMENTS,
    ForOp: _emit_for,
    AllocOp: _emit_alloc,
    SyncOp: _emit_sync,
    AcrossOp: emit_across,
    MatricesOp: emit_matrices,
    MultiplyOp: emit_multiply,
    AssertOp: _emit_assert,
    CallOp: _emit_call,
}

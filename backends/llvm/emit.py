"""te modules to LLVM IR text for the CPU: the module level and the table of statements.

Every te.func becomes an internal function that gives a status; entries are exported wrappers. Names
of the run-time support it calls: ts_scratch, ts_scratch_free, ts_set_error, ts_par_for,
ts_get_num_threads, ts_list_* (`dialects/te/lists.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tensorscript.backends.target import Target
from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.buffers import Buffer, Parameter, Scalar
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.lists import BindOp, GiveOp, InvokeOp
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    AssignOp,
    CallOp,
    ConstantOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    PrefetchOp,
    ScanOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
    constants,
    functions,
)
from tensorscript.dialects.walks import walk_ops

from .element_loops import has_element_loop
from .emit_alloc import allocate, arena_size, emit_alloc
from .emit_call import INTEGER_POWER
from .emit_clock import declare_times
from .emit_context import Context, EmitOptions, Row
from .emit_entry import emit_entry
from .emit_lists import emit_bind, emit_give, emit_invoke, list_library
from .emit_loops import emit_for, emit_serial, emit_unrolled, emit_vector, emit_while
from .emit_parallel import emit_parallel, finish
from .emit_scan import emit_scan
from .emit_scope import Bound, Place, Scope, element_count, sizes_of
from .emit_stmt import (
    emit_assert,
    emit_assign,
    emit_call_op,
    emit_if,
    emit_let,
    emit_prefetch_op,
    emit_store_op,
    emit_update_op,
    emit_var,
)
from .emit_text import SIMPLIFY, Code, ModuleText, c_string
from .emit_tiles import allocate_tiles, emit_matrix
from .emit_types import ALIGN, Value, register_type
from .half_registers import attributes
from .math.library import closure_parts
from .weights import data_of

LOOPS: dict[str, Callable[[Context, ForOp], None]] = {
    "serial": emit_serial,
    "unroll": emit_unrolled,
    "vector": emit_vector,
    "matrix": emit_matrix,
    "parallel": emit_parallel,
}


def _emit_for(context: Context, op: Operation) -> None:
    emit_for(context, op, LOOPS)


def _emit_alloc(context: Context, op: Operation) -> None:
    assert isinstance(op, AllocOp)
    if not allocate_tiles(context, op):
        emit_alloc(context, op)


STATEMENTS: dict[type[Operation], Row] = {
    AllocOp: _emit_alloc,
    ForOp: _emit_for,
    WhileOp: emit_while,
    IfOp: emit_if,
    LetOp: emit_let,
    VarOp: emit_var,
    AssignOp: emit_assign,
    StoreOp: emit_store_op,
    UpdateOp: emit_update_op,
    CallOp: emit_call_op,
    AssertOp: emit_assert,
    PrefetchOp: emit_prefetch_op,
    ScanOp: emit_scan,
    InvokeOp: emit_invoke,
    BindOp: emit_bind,
    GiveOp: emit_give,
}


def emit_module(
    module: ModuleOp,
    target: Target,
    entries: Mapping[str, str],
    options: EmitOptions | None = None,
) -> str:
    """LLVM IR text of a te module.

    Args:
        module: te.func (scheduled or flat; logical works, slowly) and te.constant ops.
        target: the CPU the code is for (triple, and lanes of the math library).
        entries: te.func name to the exported symbol of its `i32 (ptr args)` wrapper.
        options: see `EmitOptions`.

    Raises:
        InternalError: a statement or expression that has no row, naming it.
    """
    options = options or EmitOptions()
    groups = target.exact_groups if options.strict else target.groups
    tiles = target.exact_tiles if options.strict else target.tiles
    options = replace(
        options, groups=groups, tiles=tiles, lanes=target.vector_bytes // 4,
        picks_bytes=target.picks_bytes,
        halves_registers=target.halves_registers,
    )  # fmt: skip
    text = ModuleText()
    places = {}
    for op in constants(module):
        places[op.buffer.name] = _emit_constant(text, op, options)
    if options.timed:
        declare_times(text, len(options.timed))
    funcs = {f.sym_name.data: f for f in functions(module)}
    parameters = {name: f.params for name, f in funcs.items()}
    taken = set(entries.values())
    symbols = {name: f"{name}.te" for name in funcs if name in taken}
    for f in funcs.values():
        emit_function(text, f, options, places, parameters, symbols)
    for name, symbol in entries.items():
        emit_entry(text, funcs[name], symbols.get(name, name), symbol)
    support = library(text, target)
    return text.render([f'target triple = "{target.triple}"'], support)


def _emit_constant(text: ModuleText, op: ConstantOp, options: EmitOptions) -> Place:
    name = f"@{op.buffer.name}"
    if options.external_constants:
        text.globals.append(f"{name} = external global i8, align {ALIGN}")
        return Place(op.buffer, name, ALIGN)
    if options.block is not None and (placed := options.block.symbols.get(op.buffer.name)):
        return Place(op.buffer, placed, ALIGN)
    data = data_of(op).tobytes()
    text.globals.append(
        f"{name} = private unnamed_addr constant [{len(data)} x i8] {c_string(data)}, align {ALIGN}"
    )
    return Place(op.buffer, name, ALIGN)


def emit_function(
    text: ModuleText,
    function: FuncOp,
    options: EmitOptions,
    places: Mapping[str, Place],
    parameters: Mapping[str, tuple[Parameter, ...]],
    symbols: Mapping[str, str],
) -> None:
    """Append one te.func (and the bodies of its parallel loops) to the module's text."""
    name = symbols.get(function.sym_name.data, function.sym_name.data)
    if function.role.data == "host":  # a program's floats are IEEE doubles, as in Python
        options = replace(options, strict=True)
    context = Context(
        name, Code(text), STATEMENTS, options, function.level.data == "flat",
        scope=function_scope(function, places), callees=parameters, symbols=symbols,
    )  # fmt: skip
    context.finds_sizes = function.role.data == "kernel" and any(
        isinstance(p, Scalar) and p.dtype is int64 for p in function.params
    )
    if context.finds_sizes:
        context.given = frozenset(context.scope.values)
    _open_arena(context, function)
    context.block(list(function.block.ops))
    finish(context)
    if not context.can_fail:
        text.certain.add(name)
    inside = ", ".join(map(_parameter, function.params))
    text.functions.append(
        context.code.render(
            f"define internal i32 @{name}({inside}) {_attributes(text, function, context)}"
        )
    )


def _attributes(text: ModuleText, function: FuncOp, context: Context) -> str:
    if function.role.data == "host":
        marked = has_element_loop(function, text.inlined)
        return f"nounwind {SIMPLIFY}" if marked else "nounwind"
    if not context.code.is_short:
        return attributes(context, function)
    text.inlined.add(function.sym_name.data)
    return "alwaysinline nounwind"


def function_scope(function: FuncOp, places: Mapping[str, Place], space: int = 0) -> Scope:
    """The names a te.func starts with: constants and parameters."""
    scope = Scope(places=dict(places))
    sizes = sizes_of(list(function.buffers))
    for p in function.params:
        if isinstance(p, Buffer):
            pointer, streamed = f"%arg.{p.name}", p.name in function.streamed
            scope.places[p.name] = Place(p, pointer, p.dtype.itemsize, space, streamed=streamed)
        else:
            scope.values[p.name] = Bound(Value(f"%arg.{p.name}"), p.dtype, p.name in sizes)
    return scope


def _parameter(parameter: Parameter) -> str:
    if isinstance(parameter, Scalar):
        return f"{register_type(parameter.dtype)} %arg.{parameter.name}"
    known = _known_bytes(parameter)
    size = f" dereferenceable({known})" if known else ""
    return f"ptr noalias{size} %arg.{parameter.name}"


def _known_bytes(buffer: Buffer) -> int:
    count: Expr = element_count(buffer)
    if not count.is_const or any(s.is_int(0) for s in buffer.shape):
        return 0
    return max(0, int(str(count.value))) * buffer.dtype.itemsize


def _open_arena(context: Context, function: FuncOp) -> None:
    size = arena_size(op for op in walk_ops(function) if isinstance(op, AllocOp))
    if size is not None:
        context.arena = allocate(context, size)


def library(text: ModuleText, target: Target) -> list[str]:
    """Definitions of the support functions that the module's text calls; notes declarations."""
    found = [INTEGER_POWER] if any("@ts_ipow(" in f for f in text.functions) else []
    declarations, definitions = closure_parts(text.math, target)
    accesses, needed = list_library(text.functions)
    text.declare_lines([*declarations, *needed])
    return [*found, *definitions, *accesses]

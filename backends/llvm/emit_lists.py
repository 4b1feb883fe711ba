"""Host statements over run-time lists: te.invoke, te.bind, te.give."""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import const, mul
from tensorscript.dialects.te.lists import RUNTIME, BindOp, GiveOp, InvokeOp, kinds_of

from .emit_context import Context
from .emit_expr import evaluate_scalar
from .emit_scope import Bound, Place, element_count
from .emit_stmt import OUT_OF_MEMORY, fail_unless
from .emit_types import ALIGN, Value, register_type
from .lists import DATA, DECLARATIONS, ELEMENT, INLINED, TAGS


def frame_of(context: Context) -> str:
    """The ring of the call's lists: before and after an empty one stands it itself."""
    if not context.frame:
        code = context.code
        context.frame = code.alloca("[2 x ptr], align 8", "frame")
        code.at_entry(f"store ptr {context.frame}, ptr {context.frame}")
        after = code.name("after")
        code.at_entry(f"%{after} = getelementptr inbounds ptr, ptr {context.frame}, i64 1")
        code.at_entry(f"store ptr {context.frame}, ptr %{after}")
    return context.frame


def emit_invoke(context: Context, op: Operation) -> None:
    assert isinstance(op, InvokeOp)
    function, code = RUNTIME[op.function], context.code
    dtypes, result = kinds_of(op.function)
    arguments = []
    if function.result == "h":
        arguments.append(("ptr", frame_of(context)))
    for kind, dtype, e in zip(function.parameters, dtypes, op.arguments, strict=True):
        text = evaluate_scalar(context, e, f"an argument of {op.function}")
        if kind == "h":
            arguments.append(("ptr", code.let(f"inttoptr i64 {text} to ptr")))
        else:
            arguments.append((register_type(dtype), text))
    inside = ", ".join(f"{t} {v}" for t, v in arguments)
    type_ = "ptr" if function.result == "h" else register_type(result) if result else "void"
    if function.fails and not function.result:
        type_ = "i1"
    prefix = "ts." if op.function in INLINED else "ts_"
    if prefix == "ts_":
        code.module.declare(f"ts_{op.function}", type_, ", ".join(t for t, _ in arguments))
    call = f"call {type_} @{prefix}{op.function}({inside})"
    if type_ == "void":
        code.do(call)
        return
    made = code.let(call)
    if function.fails:
        good = made if type_ == "i1" else code.let(f"icmp ne ptr {made}, null")
        fail_unless(context, good, OUT_OF_MEMORY, "out of memory")
    if result is None:
        return
    value = code.let(f"ptrtoint ptr {made} to i64") if type_ == "ptr" else made
    context.scope.replaced.pop(op.var, None)
    is_count = op.function in ("list_length",)
    context.scope.values[op.var] = Bound(Value(value), result, is_count)


def emit_bind(context: Context, op: Operation) -> None:
    assert isinstance(op, BindOp)
    code = context.code
    handle = evaluate_scalar(context, op.handle, "a list")
    pointer = code.let(f"inttoptr i64 {handle} to ptr")
    at = code.let(f"getelementptr inbounds i8, ptr {pointer}, i64 {DATA}")
    data = code.let(f"load ptr, ptr {at}", "data")
    context.scope.places[op.buffer.name] = Place(op.buffer, data, ALIGN, of_list=True)


def emit_give(context: Context, op: Operation) -> None:
    assert isinstance(op, GiveOp)
    code = context.code
    target, source = context.place(op.target), context.place(op.source)
    buffer = source.buffer
    size = mul(element_count(buffer), const(buffer.dtype.itemsize))
    bytes_ = evaluate_scalar(context, context.resolve(size), "the size of a result")
    arguments = [("ptr", target.pointer), ("ptr", source.pointer), ("i64", bytes_)]
    good = code.call("i1", "ts_list_give", arguments)
    fail_unless(context, good, OUT_OF_MEMORY, "out of memory")
    # The caller's sizes count complex numbers, not their parts.
    sizes = buffer.shape[:-1] if target.buffer.complex else buffer.shape
    for axis, extent in enumerate(sizes):
        text = evaluate_scalar(context, context.resolve(extent), "a size of a result")
        cell = code.let(f"getelementptr inbounds i64, ptr {target.pointer}, i64 {axis + 1}")
        code.do(f"store i64 {text}, ptr {cell}")


def list_library(functions: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Definitions of the inlined accesses that `functions` call, and what those declare."""
    used = [name for name in INLINED if any(f"@ts.{name}(" in text for text in functions)]
    if not used:
        return [TAGS] * any(ELEMENT in text for text in functions), ()
    return [*(INLINED[name] for name in used), TAGS], DECLARATIONS

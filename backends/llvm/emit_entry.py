"""Exported entries: one pointer to an array of pointers, in the te.func's parameter order.

A buffer's pointer is its data; a scalar is read through its pointer (i64, f64, ..., bool as i8).
"""

from __future__ import annotations

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.ops import FuncOp

from .emit_cast import from_memory
from .emit_text import Code, ModuleText
from .emit_types import memory_type, register_type


def emit_entry(module: ModuleText, function: FuncOp, callee: str, symbol: str) -> None:
    """`define i32 @symbol(ptr %args)`, which calls `callee` and gives its status."""
    code = Code(module)
    arguments = []
    for number, parameter in enumerate(function.params):
        cell = code.let(f"getelementptr inbounds ptr, ptr %args, i64 {number}", "cell")
        pointer = code.let(f"load ptr, ptr {cell}")
        if isinstance(parameter, Buffer):
            arguments.append(f"ptr {pointer}")
            continue
        dtype = parameter.dtype
        raw = code.let(f"load {memory_type(dtype)}, ptr {pointer}")
        arguments.append(f"{register_type(dtype)} {from_memory(code, dtype, 1, raw)}")
    inside = ", ".join(arguments)
    code.end(f"ret i32 {code.let(f'call i32 @{callee}({inside})')}")
    module.functions.append(code.render(f"define i32 @{symbol}(ptr %args) nounwind"))

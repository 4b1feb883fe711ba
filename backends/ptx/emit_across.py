"""te.across: a butterfly of shuffles over neighbouring threads of a warp.

```
for each half of the lanes, 16, 8, 4, 2, 1:  own = combine(own, own of the thread number xor half)
```
Every thread combines the same pairs, so that all of them end with the same bits. Only `greater`
takes either of two zeros, or of a NaN and a number: the first thread's choice is passed on.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.backends.llvm.emit_context import Context
from tensorscript.backends.llvm.emit_expr import value_of
from tensorscript.backends.llvm.emit_loads import load_scalar
from tensorscript.backends.llvm.emit_places import locate
from tensorscript.backends.llvm.emit_stores import combine, emit_store
from tensorscript.backends.llvm.emit_text import Code
from tensorscript.backends.llvm.emit_types import Value, register_type
from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.warps import WARP, AcrossOp

_EVERYBODY = "-1"
"""The member mask: all threads of the warp."""
_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}


def emit_across(context: Context, op: Operation) -> None:
    assert isinstance(op, AcrossOp)
    target = locate(context, op.buffer, ())
    own = load_scalar(context, target, value_of)
    half = op.lanes // 2
    while half:
        other = _shuffled(context.code, target.dtype, own, "bfly", half, WARP - 1)
        own = combine(context, target.dtype, 1, op.combiner, own, other)
        half //= 2
    if op.combiner == "greater":
        within = (WARP - op.lanes) << 8 | WARP - 1
        own = _shuffled(context.code, target.dtype, own, "idx", 0, within)
    emit_store(context, target, Value(own), value_of)


def _shuffled(code: Code, dtype: DType, own: str, mode: str, lane: int, control: int) -> str:
    """The value that another thread has, moved by words of 32 bits."""
    kind = register_type(dtype)
    bits = _BITS[kind]
    whole = own if kind[0] == "i" else code.let(f"bitcast {kind} {own} to i{bits}")
    words = max(1, bits // 32)
    moved = [
        _word(code, _part(code, whole, bits, number), mode, lane, control)
        for number in range(words)
    ]
    made = moved[0]
    if bits < 32:
        made = code.let(f"trunc i32 {made} to i{bits}")
    elif bits > 32:
        low, high = (code.let(f"zext i32 {word} to i64") for word in moved)
        made = code.let(f"or i64 {low}, {code.let(f'shl i64 {high}, 32')}")
    return made if kind[0] == "i" else code.let(f"bitcast i{bits} {made} to {kind}")


def _part(code: Code, whole: str, bits: int, number: int) -> str:
    """32 bits of a value of `bits`, filled up with zeros."""
    if bits == 32:
        return whole
    if bits < 32:
        return code.let(f"zext i{bits} {whole} to i32")
    shifted = code.let(f"lshr i64 {whole}, 32") if number else whole
    return code.let(f"trunc i64 {shifted} to i32")


def _word(code: Code, word: str, mode: str, lane: int, control: int) -> str:
    arguments = [("i32", _EVERYBODY), ("i32", word), ("i32", str(lane)), ("i32", str(control))]
    return code.call("i32", f"llvm.nvvm.shfl.sync.{mode}.i32", arguments)

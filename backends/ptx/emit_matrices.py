"""te.matrices and te.multiply: fragments of matrices, and their product on tensor cores (sm_80)."""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.backends.llvm.emit_context import Context
from tensorscript.backends.llvm.emit_expr import value_of
from tensorscript.backends.llvm.emit_loads import load_scalar
from tensorscript.backends.llvm.emit_places import Target, address, locate
from tensorscript.backends.llvm.emit_stores import emit_store
from tensorscript.backends.llvm.emit_types import Value
from tensorscript.base.dtypes import float16
from tensorscript.dialects.te.expr import Expr, add, const
from tensorscript.dialects.te.warps import MatricesOp, MultiplyOp

SHARED = 3
_SUMS, _X, _Y = 4, 4, 2
"""Registers of a thread."""


def _registers(context: Context, first: Expr, count: int) -> list[Target]:
    """`count` elements of a thread's own buffer."""
    first = context.resolve(first)
    (index,) = first.args
    return [locate(context, str(first.value), (add(index, const(k)),)) for k in range(count)]


def _results(context: Context, kind: str, made: str, targets: list[Target]) -> None:
    struct = f"{{{', '.join([kind] * len(targets))}}}"
    for number, target in enumerate(targets):
        part = context.code.let(f"extractvalue {struct} {made}, {number}")
        emit_store(context, target, Value(part), value_of)


def emit_matrices(context: Context, op: Operation) -> None:
    assert isinstance(op, MatricesOp)
    place = context.resolve(op.place)
    source = locate(context, str(place.value), place.args)
    if source.place.space != SHARED:
        raise context.refuse(f"matrices are loaded from shared memory: {op.head()}")
    pointer = address(context, source, value_of)
    order = ".trans" if op.across else ""
    made = context.code.call(
        "{i32, i32, i32, i32}",
        f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{order}.b16.p{SHARED}",
        [(source.place.pointer_type, pointer)],
    )
    _results(context, "i32", made, _registers(context, op.target, 4))


def emit_multiply(context: Context, op: Operation) -> None:
    assert isinstance(op, MultiplyOp)
    sums = _registers(context, op.sums, _SUMS)
    half = op.dtype is float16
    arguments: list[tuple[str, str]] = []
    for first, count in ((op.x, _X), (op.y, _Y)):
        for register in _registers(context, first, count):
            pair = load_scalar(context, register, value_of)
            if half:
                pair = context.code.let(f"bitcast i32 {pair} to <2 x half>")
            arguments.append(("<2 x half>" if half else "i32", pair))
    arguments += [("float", load_scalar(context, s, value_of)) for s in sums]
    kinds = "f32.f32" if half else "bf16"
    made = context.code.call(
        "{float, float, float, float}", f"llvm.nvvm.mma.m16n8k16.row.col.{kinds}", arguments
    )
    _results(context, "float", made, sums)

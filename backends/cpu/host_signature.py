"""The signature of a host te.func, for the code made of it."""

from __future__ import annotations

from tensorscript.base.dtypes import DType, complex_dtype
from tensorscript.base.errors import NotCompilable
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import FuncOp

from .signature import SCALARS, ArraySpec, ScalarSpec, Signature, ValueSpec


def signature_of(func: FuncOp) -> Signature:
    """The signature of a host te.func.

    Outputs of rank 0 come as arrays: te does not tell a 0-dim tensor from a scalar, the caller does
    (`with_scalar_outputs`).
    """
    given = [b for b in func.buffers if b.mode != "grown"]
    symbols = {n for b in given for size in b.shape for n in size.free}
    inputs: list[ValueSpec] = []
    outputs: list[ValueSpec] = []
    sizes: list[str] = []
    for p in func.params:
        if isinstance(p, Buffer):
            spec = ArraySpec(
                p.name,
                *_elements(p),
                updated=p.mode == "inout",
                listed=p.mode == "list",
                grown=p.mode == "grown",
            )
            (outputs if p.mode in ("out", "grown") else inputs).append(spec)
        elif p.name in symbols:
            sizes.append(p.name)
        elif p.dtype in SCALARS:
            inputs.append(ScalarSpec(p.name, p.dtype))
        else:
            raise NotCompilable(f"a scalar argument cannot be {p.dtype}")
    return Signature(tuple(inputs), tuple(sizes), tuple(outputs))


def _elements(p: Buffer) -> tuple[DType, tuple[Expr, ...], tuple[Expr, ...] | None]:
    """dtype, shape and strides as the caller sees them: parts of complex numbers are one number."""
    if not p.complex:
        return p.dtype, p.shape, p.strides
    strides = None if p.strides is None else tuple(map(_halved, p.strides[:-1]))
    return complex_dtype(p.dtype), p.shape[:-1], strides


def _halved(stride: Expr) -> Expr:
    """Of parts, counted in whole numbers."""
    return stride.args[0] if stride.op == "mul" and stride.args[1].is_int(2) else stride // 2

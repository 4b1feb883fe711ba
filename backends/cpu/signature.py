"""The signature of an entry: what callers pass to a compiled host function, in order.

Entry ABI: `i32 entry(ptr args)`, where `args` points to one pointer per te.func parameter: the data
of an array, or a cell of 8 bytes (i64, double) or 1 byte (bool) holding a scalar. Parameters come
as inputs, then symbolic sizes (i64), then outputs; a scalar output is a cell to be written.
Status 0 is success.

A result whose sizes are found by the program (`grown`) is a block of 1 + rank cells: the entry
stores a pointer to fresh memory, which the caller gives back by `ts_free`, and the sizes. The
caller sets the pointer to null before the call.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorscript.base.dtypes import DType, bool_, complex_dtype, float64, int64
from tensorscript.base.errors import NotCompilable
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import FuncOp


@dataclass(frozen=True)
class ArraySpec:
    """An array argument or result.

    Attributes:
        name: the parameter's name.
        dtype: element type.
        shape: expressions over symbolic sizes; an input's are integers or plain symbols.
        strides: of an input, in elements; None for row-major contiguous. Outputs are contiguous.
        updated: the entry also writes to it.
        listed: the elements of a list argument; its length may be anything.
        grown: a result whose sizes the entry finds; names in its shape stand for those.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] | None = None
    updated: bool = False
    listed: bool = False
    grown: bool = False


@dataclass(frozen=True)
class ScalarSpec:
    """A number: int64 (int), float64 (float) or bool."""

    name: str
    dtype: DType


ValueSpec = ArraySpec | ScalarSpec


@dataclass(frozen=True)
class Signature:
    """Of one entry: inputs, symbolic sizes in parameter order, outputs."""

    inputs: tuple[ValueSpec, ...]
    sizes: tuple[str, ...]
    outputs: tuple[ValueSpec, ...]

    @property
    def is_static(self) -> bool:
        return not self.sizes and not self.has_grown

    @property
    def has_grown(self) -> bool:
        """A result's memory is made by the entry."""
        return any(isinstance(o, ArraySpec) and o.grown for o in self.outputs)

    def without(self, inputs: int, outputs: frozenset[int]) -> Signature:
        """The signature without its last `inputs` inputs, and without these outputs."""
        given = self.inputs[: len(self.inputs) - inputs]
        shown = tuple(o for k, o in enumerate(self.outputs) if k not in outputs)
        return Signature(given, self.sizes, shown)


SCALARS = (int64, float64, bool_)


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


def with_scalar_outputs(signature: Signature, scalars: frozenset[int]) -> Signature:
    """The signature with the outputs of those numbers returned as Python numbers."""
    outputs = tuple(
        ScalarSpec(o.name, o.dtype) if number in scalars else o
        for number, o in enumerate(signature.outputs)
    )
    return Signature(signature.inputs, signature.sizes, outputs)

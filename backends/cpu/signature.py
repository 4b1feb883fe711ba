"""The signature of an entry: what callers pass to a compiled host function, in order.

Entry ABI: `i32 entry(ptr args)`, where `args` points to one pointer per te.func parameter: the data
of an array, or a cell of 8 bytes (i64, double) or 1 byte (bool) holding a scalar. Parameters come
as inputs, then symbolic sizes (i64), then outputs; a scalar output is a cell to be written.
Status 0 is success.

A result whose sizes are found by the program (`grown`) is a block of 1 + rank cells: the entry
stores a pointer to fresh memory, which the caller gives back by `ts_scratch_free`, and the sizes.
The caller sets the pointer to null before the call.
"""

from __future__ import annotations

from dataclasses import replace

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr


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
class Calling:
    """How the call of a program from Python becomes one of its entry.

    Attributes:
        constants: numbers of the parameters that are known objects, and no inputs of the entry.
        optional: so many of the last parameters may be missing; they have defaults.
        gradients: what `is_grad_enabled()` must say; None if the code does not depend on it.
        above_one: symbolic sizes that may not be 1; none may be 0.
    """

    constants: tuple[int, ...] = ()
    optional: int = 0
    gradients: bool | None = None
    above_one: tuple[str, ...] = ()


@dataclass(frozen=True)
class Signature:
    """Of one entry: inputs, symbolic sizes in parameter order, outputs."""

    inputs: tuple[ValueSpec, ...]
    sizes: tuple[str, ...]
    outputs: tuple[ValueSpec, ...]
    calling: Calling = Calling()

    @property
    def is_static(self) -> bool:
        return not self.sizes and not self.has_grown

    @property
    def parameters(self) -> int:
        """How many the program has."""
        return len(self.inputs) + len(self.calling.constants)

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


def with_scalar_outputs(signature: Signature, scalars: frozenset[int]) -> Signature:
    """The signature with the outputs of those numbers returned as Python numbers."""
    outputs = tuple(
        ScalarSpec(o.name, o.dtype) if number in scalars else o
        for number, o in enumerate(signature.outputs)
    )
    return replace(signature, outputs=outputs)

"""tg.kernel -> a logical te.func: one loop nest per stage under the shared outer loops.

```
tg.kernel "rows" shared 1 {      te.func @k0 kernel logical rows (p0: f32[R, C], out o0: ..) {
  %m = tg.reduce %x "max"          te.for i0 in 0 .. R serial {
  %y = tg.pointwise %x, %m  -->      te.alloc stack t0: f32[]
}                                    te.store t0[] = -inf
                                     te.for s0_r0 in 0 .. C serial reduce {
                                       te.update t0[] max= .. }
                                     te.for s1_i1 in 0 .. C serial {
                                       te.store o0[i0, s1_i1] = .. }
```
A result that leaves the kernel is stored to an output parameter; one that does not is a buffer of
one outer iteration (`stack`). A result that is both read by later stages and leaves is an output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import BlockArgument, Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Scalar
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp
from tensorscript.dialects.tg.names import KINDS, numbered
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    KernelOp,
    ReductionOp,
    ScanOp,
    ScatterOp,
    SortOp,
    YieldOp,
)
from tensorscript.dialects.tg.types import TensorType

from .builder import KernelBuilder
from .sequential import lower_scan, lower_scatter, lower_sort
from .tested_places import lower_tested_places, tests_places


@dataclass
class LoweredKernel:
    """A te.func and the size symbols it takes after its data parameters."""

    func: FuncOp
    symbols: tuple[str, ...]


_SEQUENTIAL: dict[type[Operation], Callable[[KernelBuilder, Operation], list[Operation]]] = {
    ScanOp: lower_scan,
    SortOp: lower_sort,
    ScatterOp: lower_scatter,
}


def size_symbols(exprs: Sequence[Expr]) -> tuple[str, ...]:
    """Names of sizes in shapes and extents, in order of first appearance."""
    found: dict[str, None] = {}
    for e in exprs:
        for name in sorted(e.free):
            found.setdefault(name)
    return tuple(found)


def _symbols_of(kernel: KernelOp) -> tuple[str, ...]:
    exprs: list[Expr] = []
    for value in (*kernel.block.args, *(r for op in kernel.block.ops for r in op.results)):
        if isinstance(value.type, TensorType):
            exprs += value.type.shape
    for op in kernel.block.ops:
        if isinstance(op, ReductionOp):
            exprs += op.extents.data
        if isinstance(op, ComputeOp | ReductionOp | ScatterOp):
            exprs.append(op.body.data)
        if isinstance(op, ScatterOp):
            exprs += [*op.extents.data, *op.indices.data]
    own = {n for e in exprs for n in numbered(e.free, KINDS)}
    return tuple(n for n in size_symbols(exprs) if n not in own)


def lower_kernel(
    kernel: KernelOp,
    strides: Sequence[tuple[Expr, ...] | None] | None = None,
    updated: int | None = None,
) -> LoweredKernel:
    """The logical te.func of a tg.kernel; parameters: inputs, outputs, then size symbols (i64).

    Args:
        strides: per input its strides in elements, None where it is contiguous.
        updated: the input that a scatter writes into; it is no parameter then.
    """
    builder = KernelBuilder(kernel, strides or [None] * len(kernel.inputs), updated)
    builder.bind_parameters()
    stages = [op for op in kernel.block.ops if not isinstance(op, YieldOp)]
    statements: list[Operation] = []
    if lower := _SEQUENTIAL.get(type(stages[-1])):
        statements = lower(builder, stages[-1])
    elif tests_places(stages):
        statements = lower_tested_places(builder, stages)
    else:
        for number, op in enumerate(stages):
            before = len(builder.temporaries)
            made = builder.stage(op, number)
            allocs = [AllocOp(b, "stack") for b in builder.temporaries[before:]]
            statements += [*allocs, *made]
        dims = _sizes(stages[0])
        own = builder.own_dimensions(len(dims))
        for dim in reversed([*range(own.start), *range(own.stop, len(dims))]):
            statements = [ForOp(f"i{dim}", dims[dim], statements)]
            statements[0].location = kernel.location
    symbols = _symbols_of(kernel)
    parameters = [*builder.parameters, *(Scalar(s, var(s).dtype) for s in symbols)]
    func = FuncOp(kernel.sym_name.data, parameters, statements, category=kernel.category.data)
    func.location = kernel.location
    return LoweredKernel(func, symbols)


def scatter_base(kernel: KernelOp) -> int | None:
    """The input of a kernel that is one scatter's base and nothing else."""
    first = kernel.block.first_op
    if not isinstance(first, ScatterOp) or first.base in first.inputs:
        return None
    base = first.base
    return base.index if isinstance(base, BlockArgument) and base.owner is kernel.block else None


def _sizes(op: Operation) -> tuple[Expr, ...]:
    found = op.results[0].type
    assert isinstance(found, TensorType)
    return found.shape

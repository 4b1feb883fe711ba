"""Operations of `tg`: pure values on ranked tensors, scalars, and structured control flow.

A computing op names its operands `a0, a1, ...` and its iteration variables `i0, i1, ...` (one per
result dimension); `body` is the scalar expression of one element. In it `aK.dtype[indices]` reads
the K-th operand if that is a tensor, `aK.dtype` if it is a scalar. Every read must be in bounds for
every point of the iteration space, or stand in the untaken side of a `select`.

```
tg.func @f (args) -> types, sizes = the symbols N, M that stand in its types (i64 scalars)
tg.pointwise %x, %y {body = sigmoid(a0.f32[i0, i1]) * a1.f32[i1]}       map and broadcast
tg.view      %x     {body = a0.f32[i1, i0]}                              one read, other indices
tg.gather    %x, %n {body = a0.f32[a1.i64[i0], i1]}                      index from data
tg.reduce    %x     {body = a0.f32[i0, r0], extents = 64, combiner = max} over r0 in [0, 64)
tg.contract  %x, %w {body = a0.f32[i0, r0] * a1.f32[i1, r0], ...}        a sum of products
tg.scan      %x     {axis, combiner}                                     inclusive
tg.sort      %x     {axis, descending} -> values, indices                stable, NaN last
tg.scatter   %base, %x.. {extents, indices, body, combiner}  base with element [indices] set or
                                                   combined, for d0, d1 .. over extents in order
tg.constant  {data}            tg.scalar %n {body = a0 + 1} -> scalar
tg.if %c -> types {..} {..}    tg.loop %max_trip, %condition (carried) {..}    tg.yield
tg.list "push" %l, %v          actions on lists that grow (`lists.py`)
tg.size "n" %v                 a number as a size: `n` stands for it in shapes made after it
tg.assert %c {message}         tg.kernel %x, %y {..}: what one kernel computes (after fusion)
```
`tg.view`, `tg.gather` and `tg.pointwise` mean the same thing; the names tell the fuser what to
expect. `tg.loop` is TorchScript's loop: body arguments (counter, carried), yields (condition,
carried). An empty reduction gives the combiner's identity.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .bases import TGOp
from .combiners import COMBINERS, identity
from .computing import (
    BodyOp,
    ComputeOp,
    ConstantOp,
    ContractOp,
    GatherOp,
    PointwiseOp,
    ReduceOp,
    ReductionOp,
    ScalarOp,
    ScanOp,
    ScatterOp,
    SortOp,
    ViewOp,
)
from .lists import LIST_OPS
from .structure import AssertOp, FuncOp, IfOp, KernelOp, LoopOp, ReturnOp, YieldOp, functions
from .types import ListType, ScalarType, TensorType

__all__ = [
    "COMBINERS",
    "TG",
    "AssertOp",
    "BodyOp",
    "ComputeOp",
    "ConstantOp",
    "ContractOp",
    "FuncOp",
    "GatherOp",
    "IfOp",
    "KernelOp",
    "LoopOp",
    "PointwiseOp",
    "ReduceOp",
    "ReductionOp",
    "ReturnOp",
    "ScalarOp",
    "ScanOp",
    "ScatterOp",
    "SortOp",
    "TGOp",
    "ViewOp",
    "YieldOp",
    "functions",
    "identity",
]

TG = Dialect(
    "tg",
    [
        FuncOp, ReturnOp, YieldOp, PointwiseOp, ViewOp, GatherOp, ReduceOp, ContractOp, ScanOp,
        SortOp, ScatterOp, ConstantOp, ScalarOp, IfOp, LoopOp, AssertOp, KernelOp, *LIST_OPS,
    ],
    [TensorType, ScalarType, ListType],
)  # fmt: skip

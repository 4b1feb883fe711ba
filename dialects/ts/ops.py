"""Operations of `ts`: TorchScript's graph in SSA form with structured control flow.

```
module    ::= (ts.class | ts.func)*
ts.func   @"__torch__.f" (args) -> types { one block ending in ts.return }
ts.op     "aten::add.Tensor"(%a, %b, %one) : every schema argument is an operand, defaults included
ts.if     %cond -> (types) { ... ts.yield } { ... ts.yield }
ts.loop   %max_trip, %condition, (carried) -> (types) { ^(%i, carried): .. ts.yield %cond, .. }
```

Invariants: operand and result types obey the schema; both branches of `ts.if` yield the result
types; `ts.loop` is TorchScript's `prim::Loop`: it runs while the condition holds and the trip
counter is below `max_trip`. Every op's `location` is a `SpanLoc` where its source is known.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .constants import ValueAttr
from .structure import (
    AwaitableOp,
    CallMethodOp,
    CallOp,
    ClassOp,
    ForkOp,
    FuncOp,
    IfOp,
    LoopOp,
    NodeOp,
    PrintOp,
    PythonOp,
    RaiseOp,
    ReturnOp,
    TaskOp,
    TSOp,
    YieldOp,
)
from .types import TYPES
from .value_ops import (
    ConstantOp,
    CreateObjectOp,
    DictConstructOp,
    EnterOp,
    ExitOp,
    GetAttrOp,
    IsInstanceOp,
    ListConstructOp,
    ListUnpackOp,
    ModuleContainerIndexOp,
    OperatorOp,
    SetAttrOp,
    TupleConstructOp,
    TupleIndexOp,
    TupleSliceOp,
    TupleUnpackOp,
    UncheckedCastOp,
    UninitializedOp,
)

__all__ = [
    "TS",
    "AwaitableOp",
    "CallMethodOp",
    "CallOp",
    "ClassOp",
    "ConstantOp",
    "CreateObjectOp",
    "DictConstructOp",
    "EnterOp",
    "ExitOp",
    "ForkOp",
    "FuncOp",
    "GetAttrOp",
    "IfOp",
    "IsInstanceOp",
    "ListConstructOp",
    "ListUnpackOp",
    "LoopOp",
    "ModuleContainerIndexOp",
    "NodeOp",
    "OperatorOp",
    "PrintOp",
    "PythonOp",
    "RaiseOp",
    "ReturnOp",
    "SetAttrOp",
    "TSOp",
    "TaskOp",
    "TupleConstructOp",
    "TupleIndexOp",
    "TupleSliceOp",
    "TupleUnpackOp",
    "UncheckedCastOp",
    "UninitializedOp",
    "YieldOp",
]

TS = Dialect(
    "ts",
    [
        FuncOp, ClassOp, ReturnOp, YieldOp, ConstantOp, OperatorOp, ListConstructOp,
        TupleConstructOp, DictConstructOp, ListUnpackOp, TupleUnpackOp, UncheckedCastOp, EnterOp,
        ExitOp, IsInstanceOp, TupleIndexOp, TupleSliceOp, GetAttrOp, SetAttrOp, CreateObjectOp,
        ModuleContainerIndexOp, UninitializedOp, CallOp, CallMethodOp, PythonOp, IfOp, LoopOp,
        PrintOp, RaiseOp, ForkOp, AwaitableOp, NodeOp,
    ],
    [*TYPES, ValueAttr],
)  # fmt: skip

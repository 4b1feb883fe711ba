"""Operations of `te`: loop nests and host code over named buffers.

Structure is xDSL ops; scalar values and indices are expressions held in attributes (`expr.py`).
Nothing here is SSA: loop variables, scalars and buffers are names, unique within their te.func.

```
te.func @k kernel logical rows (x: f32[1024, N], out y: f32[1024, N], N: i64) { stmt* }
         ... (...) streams y { stmt* }                    whole lines of y go past the caches
stmt ::= te.alloc stack t: f32[16]                        visible to the end of the enclosing block
       | te.for i in 0 .. 1024 parallel { stmt* }         start .. extent; then `reduce`, `grain n`
       | te.for i in 0 .. 1024 parallel chunk n { .. }    once for all n from i on that a thread has
       | te.while condition { stmt* }                     condition read before each iteration
       | te.if condition { stmt* } else { stmt* }
       | te.let n: f64 = expr  (fixed)   | te.var n: f64 = expr (mutable)   | te.assign n = expr
       | te.store y[i, j] = expr         | te.update y[i] add= expr
       | te.scan m: i64 of n min= expr, step 1  n = min(expr, n + 1), in order; m is it
       | te.call @callee(x, y, 3 + n)    buffers by name, scalars by expression, in order
       | te.assert condition, message 'text'   where it is false the function ends with a status
       | te.prefetch x.f32[i]                             its line is read soon
       | te.sync shared       | te.across, te.matrices, te.multiply: threads of a warp, see warps.py
       | te.invoke h: i64 = @list_new(8, 0)                the run-time support, see lists.py
       | te.bind b: i64[n] = h      the data of a list as a buffer, until the list changes
       | te.give out0 = b           a `grown` result: a copy of b that the caller will free
te.constant @w: f32[10, 64] = "hex"      module level: data of a buffer that any te.func may read
```

Loop kinds: serial; parallel (iterations independent, run by the thread pool); vector (constant
extent: all lanes in lock step); unroll (constant extent); matrix (constant extents: a nest of these
fills, empties or adds a product to a buffer of scope tile at once, where the processor has a matrix
unit, and runs one after the other elsewhere); bx by bz tx ty tz (GPU grid and block).
A loop marked `reduce` carries te.update statements whose order over its iterations does not matter.

Sub-levels: *logical* (what tg lowers to: all loops serial, each element stored once, reductions as
te.update), *scheduled* (kinds set, vector/unroll extents constant), *flat* (one index per access).
The `level` of te.func names the level.

A host function has the entry's parameters (inputs, then symbolic sizes, then outputs), calls
kernels, and holds control flow; every te.func can be called by te.call.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .buffers import BufferAttr, ExprAttr, ExprsAttr, ParametersAttr
from .data import DataAttr
from .lists import BindOp, GiveOp, InvokeOp
from .statements import (
    COMBINERS,
    AllocOp,
    AssertOp,
    AssignOp,
    CallOp,
    LetOp,
    PrefetchOp,
    ScanOp,
    StoreOp,
    SyncOp,
    UpdateOp,
    VarOp,
)
from .structure import (
    LEVELS,
    LOOP_KINDS,
    ROLES,
    ConstantOp,
    ForOp,
    FuncOp,
    IfOp,
    WhileOp,
    constants,
    functions,
    statements,
)
from .warps import AcrossOp, MatricesOp, MultiplyOp

__all__ = [
    "COMBINERS",
    "LEVELS",
    "LOOP_KINDS",
    "ROLES",
    "TE",
    "AcrossOp",
    "AllocOp",
    "AssertOp",
    "AssignOp",
    "CallOp",
    "ConstantOp",
    "ForOp",
    "FuncOp",
    "IfOp",
    "LetOp",
    "MatricesOp",
    "MultiplyOp",
    "PrefetchOp",
    "ScanOp",
    "StoreOp",
    "SyncOp",
    "UpdateOp",
    "VarOp",
    "WhileOp",
    "constants",
    "functions",
    "statements",
]

TE = Dialect(
    "te",
    [
        FuncOp, ConstantOp, AllocOp, ForOp, WhileOp, IfOp, LetOp, VarOp, AssignOp, StoreOp,
        UpdateOp, ScanOp, CallOp, AssertOp, PrefetchOp, SyncOp, AcrossOp, MatricesOp,
        MultiplyOp, InvokeOp, BindOp, GiveOp,
    ],
    [ExprAttr, ExprsAttr, ParametersAttr, BufferAttr, DataAttr],
)  # fmt: skip

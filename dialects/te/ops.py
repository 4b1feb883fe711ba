"""Operations of `te`: loop nests and host code over named buffers.

Structure is xDSL ops; scalar values and indices are expressions held in attributes (`expr.py`).
Nothing here is SSA: loop variables, scalars and buffers are names, unique within their te.func.

```
te.func @k kernel logical rows (x: f32[1024, N], out y: f32[1024, N], N: i64) { stmt* }
stmt ::= te.alloc stack t: f32[16]                        visible to the end of the enclosing block
       | te.for i in 0 .. 1024 parallel { stmt* }         start .. extent; then `reduce`, `grain n`
       | te.while condition { stmt* }                     condition read before each iteration
       | te.if condition { stmt* } else { stmt* }
       | te.let n: f64 = expr  (fixed)   | te.var n: f64 = expr (mutable)   | te.assign n = expr
       | te.store y[i, j] = expr         | te.update y[i] add= expr
       | te.call @callee(x, y, 3 + n)    buffers by name, scalars by expression, in order
       | te.assert condition, "message"  a false condition ends the function with an error status
       | te.sync shared
       | te.invoke h: i64 = @list_new(8, 0)                the run-time support, see lists.py
       | te.bind b: i64[n] = h      the data of a list as a buffer, until the list changes
       | te.give out0 = b           a `grown` result: a copy of b that the caller will free
te.constant @w: f32[10, 64] = "hex"      module level: data of a buffer that any te.func may read
```

Loop kinds: serial; parallel (iterations independent, run by the thread pool); vector (constant
extent: all lanes in lock step); unroll (constant extent); bx by bz tx ty tz (GPU grid and block).
A loop marked `reduce` carries te.update statements whose order over its iterations does not matter.

Sub-levels: *logical* (what tg lowers to: all loops serial, each element stored once, reductions as
te.update), *scheduled* (kinds set, vector/unroll extents constant), *flat* (one index per access).
The `level` of te.func names the level.

A host function has the entry's parameters (inputs, then symbolic sizes, then outputs), calls
kernels, and holds control flow; every te.func can be called by te.call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, Dialect, Operation, Region
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import BY_SHORT, DType, bool_

from .buffers import (
    SCOPES,
    Buffer,
    BufferAttr,
    ExprAttr,
    ExprsAttr,
    Parameter,
    ParametersAttr,
    Scalar,
    parameter_text,
    parse_parameter,
    split_commas,
)
from .data import DataAttr
from .expr import Expr, ExprLike, as_expr, parse, text, var
from .lists import BindOp, GiveOp, InvokeOp
from .syntax import HeadOp, match_head

LOOP_KINDS = ("serial", "parallel", "vector", "unroll", "bx", "by", "bz", "tx", "ty", "tz")
COMBINERS = ("add", "mul", "min", "max", "and", "or", "xor")
ROLES = ("kernel", "host")
LEVELS = ("logical", "scheduled", "flat")


def _region(statements: Sequence[Operation]) -> Region:
    return Region(Block(list(statements)))


@irdl_op_definition
class FuncOp(HeadOp):
    """A kernel or host function; returns a status (0 is success). `category` is the schedule family
    a kernel was formed for (pointwise, reduction, rows, contraction, ...), "" where it has none."""

    name = "te.func"
    REGIONS: ClassVar[int] = 1
    sym_name = prop_def(StringAttr)
    parameters = prop_def(ParametersAttr)
    role = prop_def(StringAttr)
    level = prop_def(StringAttr)
    category = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator())

    def __init__(
        self,
        name: str,
        parameters: Sequence[Parameter],
        statements: Sequence[Operation] = (),
        role: str = "kernel",
        level: str = "logical",
        category: str = "",
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "parameters": ParametersAttr(tuple(parameters)),
                "role": StringAttr(role),
                "level": StringAttr(level),
                "category": StringAttr(category),
            },
            regions=[_region(statements)],
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def params(self) -> tuple[Parameter, ...]:
        return self.parameters.data

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(p for p in self.params if isinstance(p, Buffer))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(p for p in self.params if isinstance(p, Scalar))

    def verify_(self) -> None:
        if self.role.data not in ROLES or self.level.data not in LEVELS:
            raise VerifyException(f"unknown role or level of @{self.sym_name.data}")

    def head(self) -> str:
        inside = ", ".join(map(parameter_text, self.params))
        words = f"{self.role.data} {self.level.data} {self.category.data}".rstrip()
        return f"@{self.sym_name.data} {words} ({inside})"

    @classmethod
    def from_head(cls, head: str) -> FuncOp:
        found = match_head(r"@(\S+) (\w+) (\w+)( \w+)? \((.*)\)", head)
        parameters = [parse_parameter(p) for p in split_commas(found[5])]
        category = (found[4] or "").strip()
        return cls(found[1], parameters, (), found[2], found[3], category)


@irdl_op_definition
class ConstantOp(HeadOp):
    """Read-only data, a buffer of scope const that every function of the module sees by name."""

    name = "te.constant"
    buffer_attr = prop_def(BufferAttr)
    data = prop_def(DataAttr)

    def __init__(self, buffer: Buffer, data: DataAttr) -> None:
        super().__init__(properties={"buffer_attr": BufferAttr(buffer), "data": data})

    @property
    def buffer(self) -> Buffer:
        return self.buffer_attr.data

    def head(self) -> str:
        return f"@{self.buffer} = {self.data.text()}"

    @classmethod
    def from_head(cls, head: str) -> ConstantOp:
        found = match_head(r"@(.*?) = (.*)", head)
        buffer = parse_parameter(found[1])
        if not isinstance(buffer, Buffer):
            raise ValueError("a constant is a buffer")
        return cls(buffer, DataAttr.from_text(found[2]))


@irdl_op_definition
class AllocOp(HeadOp):
    """Storage for a buffer, live to the end of the enclosing block; contents undefined at first.

    `offset`: bytes from the start of the function's arena, set by storage planning."""

    name = "te.alloc"
    scope = prop_def(StringAttr)
    buffer_attr = prop_def(BufferAttr)
    offset_attr = opt_prop_def(ExprAttr)

    def __init__(self, buffer: Buffer, scope: str = "arena", offset: Expr | None = None) -> None:
        super().__init__(
            properties={
                "buffer_attr": BufferAttr(buffer),
                "scope": StringAttr(scope),
                "offset_attr": None if offset is None else ExprAttr(offset),
            }
        )

    @property
    def offset(self) -> Expr | None:
        return None if self.offset_attr is None else self.offset_attr.data

    @property
    def buffer(self) -> Buffer:
        return self.buffer_attr.data

    def verify_(self) -> None:
        if self.scope.data not in SCOPES:
            raise VerifyException(f"unknown scope {self.scope.data}")

    def head(self) -> str:
        place = "" if self.offset is None else f" at {text(self.offset)}"
        return f"{self.scope.data} {self.buffer}{place}"

    @classmethod
    def from_head(cls, head: str) -> AllocOp:
        scope, _, rest = head.partition(" ")
        rest, _, offset = rest.partition(" at ")
        buffer = parse_parameter(rest)
        if not isinstance(buffer, Buffer):
            raise ValueError("te.alloc takes a buffer")
        return cls(buffer, scope, parse(offset) if offset else None)


@irdl_op_definition
class ForOp(HeadOp):
    """`for var in [start, start + extent)`, in the way `kind` says."""

    name = "te.for"
    REGIONS: ClassVar[int] = 1
    var_name = prop_def(StringAttr)
    start_attr = prop_def(ExprAttr)
    extent_attr = prop_def(ExprAttr)
    kind = prop_def(StringAttr)
    reduction = opt_prop_def(UnitAttr)
    grain_attr = opt_prop_def(ExprAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(
        self,
        var_name: str,
        extent: ExprLike,
        statements: Sequence[Operation] = (),
        kind: str = "serial",
        start: ExprLike = 0,
        reduction: bool = False,
        grain: int | None = None,
    ) -> None:
        super().__init__(
            properties={
                "var_name": StringAttr(var_name),
                "start_attr": ExprAttr(as_expr(start)),
                "extent_attr": ExprAttr(as_expr(extent)),
                "kind": StringAttr(kind),
                "reduction": UnitAttr() if reduction else None,
                "grain_attr": None if grain is None else ExprAttr(as_expr(grain)),
            },
            regions=[_region(statements)],
        )

    @property
    def var(self) -> str:
        return self.var_name.data

    @property
    def start(self) -> Expr:
        return self.start_attr.data

    @property
    def extent(self) -> Expr:
        return self.extent_attr.data

    @property
    def is_reduction(self) -> bool:
        return self.reduction is not None

    @property
    def grain(self) -> int | None:
        """Of a parallel loop: the least number of iterations worth giving to a thread."""
        return None if self.grain_attr is None else int(str(self.grain_attr.data))

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        if self.kind.data not in LOOP_KINDS:
            raise VerifyException(f"unknown loop kind {self.kind.data}")
        if self.kind.data in ("vector", "unroll") and not self.extent.is_const:
            raise VerifyException(f"a {self.kind.data} loop needs a constant extent")

    def head(self) -> str:
        mark = " reduce" if self.is_reduction else ""
        mark += "" if self.grain is None else f" grain {self.grain}"
        return f"{self.var} in {text(self.start)} .. {text(self.extent)} {self.kind.data}{mark}"

    @classmethod
    def from_head(cls, head: str) -> ForOp:
        kinds = "|".join(LOOP_KINDS)
        found = match_head(rf"(\S+) in (.*) \.\. (.*) ({kinds})( reduce)?( grain \d+)?", head)
        start, extent = parse(found[2]), parse(found[3])
        grain = int(found[6].split()[1]) if found[6] else None
        return cls(found[1], extent, (), found[4], start, bool(found[5]), grain)


@irdl_op_definition
class WhileOp(HeadOp):
    name = "te.while"
    REGIONS: ClassVar[int] = 1
    condition_attr = prop_def(ExprAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(self, condition: Expr, statements: Sequence[Operation] = ()) -> None:
        super().__init__(
            properties={"condition_attr": ExprAttr(condition)}, regions=[_region(statements)]
        )

    @property
    def condition(self) -> Expr:
        return self.condition_attr.data

    @property
    def block(self) -> Block:
        return self.body.block

    def head(self) -> str:
        return text(self.condition)

    @classmethod
    def from_head(cls, head: str) -> WhileOp:
        return cls(parse(head))


@irdl_op_definition
class IfOp(HeadOp):
    name = "te.if"
    REGIONS: ClassVar[int] = 2
    condition_attr = prop_def(ExprAttr)
    then_body = region_def("single_block")
    else_body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(
        self,
        condition: Expr,
        then: Sequence[Operation] = (),
        otherwise: Sequence[Operation] = (),
    ) -> None:
        super().__init__(
            properties={"condition_attr": ExprAttr(condition)},
            regions=[_region(then), _region(otherwise)],
        )

    @property
    def condition(self) -> Expr:
        return self.condition_attr.data

    def verify_(self) -> None:
        if self.condition.dtype is not bool_:
            raise VerifyException("a condition is a bool expression")

    def head(self) -> str:
        return text(self.condition)

    @classmethod
    def from_head(cls, head: str) -> IfOp:
        return cls(parse(head))


class _Binding(HeadOp):
    """Base of te.let and te.var: a name, a dtype (that of the value) and a value."""

    var_name = prop_def(StringAttr)
    value_attr = prop_def(ExprAttr)

    def __init__(self, var_name: str, value: Expr) -> None:
        super().__init__(
            properties={"var_name": StringAttr(var_name), "value_attr": ExprAttr(value)}
        )

    @property
    def var(self) -> str:
        return self.var_name.data

    @property
    def value(self) -> Expr:
        return self.value_attr.data

    @property
    def dtype(self) -> DType:
        return self.value.dtype

    def head(self) -> str:
        return f"{self.var}: {self.dtype.short} = {text(self.value)}"

    @classmethod
    def _parts(cls, head: str) -> tuple[str, Expr]:
        found = match_head(r"(\S+): (\w+) = (.*)", head)
        value = parse(found[3])
        if BY_SHORT.get(found[2]) is not value.dtype:
            raise ValueError(f"{found[2]} is not the dtype of {found[3]}")
        return found[1], value


@irdl_op_definition
class LetOp(_Binding):
    """A scalar that never changes; visible to the end of the enclosing block."""

    name = "te.let"

    @classmethod
    def from_head(cls, head: str) -> LetOp:
        return cls(*cls._parts(head))


@irdl_op_definition
class VarOp(_Binding):
    """A mutable scalar; te.assign changes it."""

    name = "te.var"

    @classmethod
    def from_head(cls, head: str) -> VarOp:
        return cls(*cls._parts(head))


@irdl_op_definition
class AssignOp(HeadOp):
    name = "te.assign"
    var_name = prop_def(StringAttr)
    value_attr = prop_def(ExprAttr)

    def __init__(self, var_name: str, value: Expr) -> None:
        super().__init__(
            properties={"var_name": StringAttr(var_name), "value_attr": ExprAttr(value)}
        )

    @property
    def var(self) -> str:
        return self.var_name.data

    @property
    def value(self) -> Expr:
        return self.value_attr.data

    def head(self) -> str:
        return f"{self.var} = {text(self.value)}"

    @classmethod
    def from_head(cls, head: str) -> AssignOp:
        found = match_head(r"(\S+) = (.*)", head)
        return cls(found[1], parse(found[2]))


class _Access(HeadOp):
    """Base of te.store and te.update: buffer, indices, value."""

    buffer_name = prop_def(StringAttr)
    indices_attr = prop_def(ExprsAttr)
    value_attr = prop_def(ExprAttr)

    @property
    def buffer(self) -> str:
        return self.buffer_name.data

    @property
    def indices(self) -> tuple[Expr, ...]:
        return self.indices_attr.data

    @property
    def value(self) -> Expr:
        return self.value_attr.data

    def _target(self) -> str:
        return f"{self.buffer}[{', '.join(map(text, self.indices))}]"


@irdl_op_definition
class StoreOp(_Access):
    """`buffer[indices] = value`; the value has the buffer's dtype."""

    name = "te.store"

    def __init__(self, buffer: str, indices: Sequence[ExprLike], value: Expr) -> None:
        super().__init__(
            properties={
                "buffer_name": StringAttr(buffer),
                "indices_attr": ExprsAttr(tuple(as_expr(i) for i in indices)),
                "value_attr": ExprAttr(value),
            }
        )

    def head(self) -> str:
        return f"{self._target()} = {text(self.value)}"

    @classmethod
    def from_head(cls, head: str) -> StoreOp:
        found = match_head(r"([\w.$]+)\[(.*?)\] = (.*)", head)
        indices = [parse(p) for p in split_commas(found[2])]
        return cls(found[1], indices, parse(found[3]))


@irdl_op_definition
class UpdateOp(_Access):
    """`buffer[indices] = combine(buffer[indices], value)`; one step of a reduction. A sum in
    float64 may be of float32: schedules may add up some of it in that before they widen it."""

    name = "te.update"
    combiner_attr = prop_def(StringAttr)

    def __init__(
        self, buffer: str, indices: Sequence[ExprLike], combiner: str, value: Expr
    ) -> None:
        super().__init__(
            properties={
                "buffer_name": StringAttr(buffer),
                "indices_attr": ExprsAttr(tuple(as_expr(i) for i in indices)),
                "combiner_attr": StringAttr(combiner),
                "value_attr": ExprAttr(value),
            }
        )

    @property
    def combiner(self) -> str:
        return self.combiner_attr.data

    def verify_(self) -> None:
        if self.combiner not in COMBINERS:
            raise VerifyException(f"unknown combiner {self.combiner}")

    def head(self) -> str:
        return f"{self._target()} {self.combiner}= {text(self.value)}"

    @classmethod
    def from_head(cls, head: str) -> UpdateOp:
        found = match_head(r"([\w.$]+)\[(.*?)\] (\w+)= (.*)", head)
        indices = [parse(p) for p in split_commas(found[2])]
        return cls(found[1], indices, found[3], parse(found[4]))


@irdl_op_definition
class CallOp(HeadOp):
    """Calls a te.func of the module. `arguments` are in the callee's parameter order: a buffer is
    passed by a bare name (an i64 `var` of that name), a scalar by its expression. A failing callee
    ends the caller with the same status."""

    name = "te.call"
    callee_attr = prop_def(StringAttr)
    arguments_attr = prop_def(ExprsAttr)

    def __init__(self, callee: str, arguments: Sequence[str | Expr]) -> None:
        items = tuple(var(a) if isinstance(a, str) else a for a in arguments)
        super().__init__(
            properties={"callee_attr": StringAttr(callee), "arguments_attr": ExprsAttr(items)}
        )

    @property
    def callee(self) -> str:
        return self.callee_attr.data

    @property
    def arguments(self) -> tuple[Expr, ...]:
        return self.arguments_attr.data

    def head(self) -> str:
        return f"@{self.callee}({', '.join(map(text, self.arguments))})"

    @classmethod
    def from_head(cls, head: str) -> CallOp:
        found = match_head(r"@([\w.$]+)\((.*)\)", head)
        return cls(found[1], [parse(p) for p in split_commas(found[2])])


@irdl_op_definition
class AssertOp(HeadOp):
    """Ends the function with an error status and `message` unless `condition` holds."""

    name = "te.assert"
    condition_attr = prop_def(ExprAttr)
    message_attr = prop_def(StringAttr)

    def __init__(self, condition: Expr, message: str) -> None:
        super().__init__(
            properties={"condition_attr": ExprAttr(condition), "message_attr": StringAttr(message)}
        )

    @property
    def condition(self) -> Expr:
        return self.condition_attr.data

    @property
    def message(self) -> str:
        return self.message_attr.data

    def head(self) -> str:
        return f"{text(self.condition)}, message {self.message!r}"

    @classmethod
    def from_head(cls, head: str) -> AssertOp:
        found = match_head(r"(.*?), message (.*)", head)
        return cls(parse(found[1]), str(ast.literal_eval(found[2])))


@irdl_op_definition
class SyncOp(HeadOp):
    """A barrier of the GPU block (`shared`) or of its warp (`warp`)."""

    name = "te.sync"
    scope = prop_def(StringAttr)

    def __init__(self, scope: str = "shared") -> None:
        super().__init__(properties={"scope": StringAttr(scope)})

    def head(self) -> str:
        return self.scope.data

    @classmethod
    def from_head(cls, head: str) -> SyncOp:
        return cls(head)


TE = Dialect(
    "te",
    [
        FuncOp, ConstantOp, AllocOp, ForOp, WhileOp, IfOp, LetOp, VarOp, AssignOp, StoreOp,
        UpdateOp, CallOp, AssertOp, SyncOp, InvokeOp, BindOp, GiveOp,
    ],
    [ExprAttr, ExprsAttr, ParametersAttr, BufferAttr, DataAttr],
)  # fmt: skip


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The te.func ops of a module, in order."""
    return (op for op in module.body.block.ops if isinstance(op, FuncOp))


def constants(module: ModuleOp) -> Iterator[ConstantOp]:
    """The te.constant ops of a module, in order."""
    return (op for op in module.body.block.ops if isinstance(op, ConstantOp))


def statements(op: Operation) -> Iterator[Operation]:
    """The statements directly inside `op`, region after region."""
    return (child for region in op.regions for block in region.blocks for child in block.ops)

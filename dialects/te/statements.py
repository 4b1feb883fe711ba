"""Statements of `te` that hold no others: storage, scalars, stores, calls, checks."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import BY_SHORT, DType, bool_

from .buffers import SCOPES, Buffer, BufferAttr, ExprAttr, ExprsAttr, parse_parameter, split_commas
from .expr import Expr, ExprLike, add, as_expr, binary, var
from .expr_parse import parse
from .expr_text import text
from .syntax import HeadOp, match_head

COMBINERS = ("add", "mul", "min", "max", "greater", "and", "or", "xor")
SCANS = ("add", "min", "max")
"""Those of te.scan."""


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


class _Naming(HeadOp):
    """Base of te.let, te.var and te.assign: the name of a scalar and a value."""

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


class _Binding(_Naming):
    """Base of te.let and te.var, which say the dtype of the value as well."""

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
class AssignOp(_Naming):
    """A new value of a scalar that te.var made."""

    name = "te.assign"

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
        if self.combiner == "greater" and not self.value.dtype.is_floating_point:
            raise VerifyException(f"greater joins floats, not {self.value.dtype.short}")

    def head(self) -> str:
        return f"{self._target()} {self.combiner}= {text(self.value)}"

    @classmethod
    def from_head(cls, head: str) -> UpdateOp:
        found = match_head(r"([\w.$]+)\[(.*?)\] (\w+)= (.*)", head)
        indices = [parse(p) for p in split_commas(found[2])]
        return cls(found[1], indices, found[3], parse(found[4]))


@irdl_op_definition
class ScanOp(_Binding):
    """One step of a recurrence that each iteration sees the result of.

    The te.var `carried` becomes `combiner(value, carried + step)`, and `var` names that. It does so
    in the order of the iterations in a vector loop too, where the lanes are combined at distances
    1, 2, 4...: Hillis and Steele, "Data parallel algorithms", CACM 29(12), 1986. So sums of floats
    are grouped otherwise there. A `step` is for minima and maxima of integers; it does not vary,
    and no sum of a value, or of what is carried, and as many steps as there are iterations in the
    loop leaves the dtype."""

    name = "te.scan"
    carried_name = prop_def(StringAttr)
    combiner_attr = prop_def(StringAttr)
    step_attr = prop_def(ExprAttr)

    def __init__(
        self, var_name: str, carried: str, combiner: str, value: Expr, step: ExprLike = 0
    ) -> None:
        super().__init__(var_name, value)
        self.properties["carried_name"] = StringAttr(carried)
        self.properties["combiner_attr"] = StringAttr(combiner)
        self.properties["step_attr"] = ExprAttr(as_expr(step, value.dtype))

    @property
    def carried(self) -> str:
        return self.carried_name.data

    @property
    def combiner(self) -> str:
        return self.combiner_attr.data

    @property
    def step(self) -> Expr:
        return self.step_attr.data

    @property
    def next(self) -> Expr:
        """What `carried` becomes."""
        before = var(self.carried, self.dtype)
        return binary(self.combiner, self.value, add(before, self.step) if self.steps else before)

    @property
    def steps(self) -> bool:
        """Whether there is a step."""
        return not (self.step.is_const and self.step.value == 0)

    def verify_(self) -> None:
        if self.combiner not in SCANS or self.dtype is bool_:
            raise VerifyException(f"no scan of {self.dtype} with {self.combiner}")
        if self.steps and (self.combiner == "add" or not self.dtype.is_integral):
            raise VerifyException("only extremes of integers have a step beside their values")

    def head(self) -> str:
        step = f", step {text(self.step)}" if self.steps else ""
        value = f"{self.combiner}= {text(self.value)}{step}"
        return f"{self.var}: {self.dtype.short} of {self.carried} {value}"

    @classmethod
    def from_head(cls, head: str) -> ScanOp:
        found = match_head(r"(\S+): \w+ of (\S+) (\w+)= (.*?)(?:, step (.*))?$", head)
        step = 0 if found[5] is None else parse(found[5])
        return cls(found[1], found[2], found[3], parse(found[4]), step)


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
class PrefetchOp(HeadOp):
    """Asks for the cache line of an element, a load, before it is used, into a level of the cache;
    the element may lie behind the end of its buffer. Has no effect on what is computed."""

    name = "te.prefetch"
    place_attr = prop_def(ExprAttr)
    level_attr = prop_def(IntAttr)

    def __init__(self, place: Expr, level: int = 2) -> None:
        super().__init__(properties={"place_attr": ExprAttr(place), "level_attr": IntAttr(level)})

    @property
    def place(self) -> Expr:
        return self.place_attr.data

    @property
    def level(self) -> int:
        return int(self.level_attr.data)

    def verify_(self) -> None:
        if self.place.op != "load":
            raise VerifyException("only an element can be fetched")
        if self.level not in (1, 2):
            raise VerifyException(f"there is no cache {self.level} to fetch into")

    def head(self) -> str:
        return f"{text(self.place)}, cache {self.level}"

    @classmethod
    def from_head(cls, head: str) -> PrefetchOp:
        found = match_head(r"(.*), cache (\d+)", head)
        return cls(parse(found[1]), int(found[2]))


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

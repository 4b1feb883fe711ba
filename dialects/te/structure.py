"""Ops of `te` that hold statements - functions, loops, branches - and what a module holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import bool_

from .buffers import (
    Buffer,
    BufferAttr,
    ExprAttr,
    Parameter,
    ParametersAttr,
    Scalar,
    parameter_text,
    parse_parameter,
    split_commas,
)
from .data import DataAttr
from .expr import Expr, ExprLike, as_expr
from .expr_parse import parse
from .expr_text import text
from .syntax import HeadOp, match_head

LOOP_KINDS = (
    "serial", "parallel", "vector", "unroll", "matrix", "bx", "by", "bz", "tx", "ty", "tz",
)  # fmt: skip
ROLES = ("kernel", "host")
LEVELS = ("logical", "scheduled", "flat")


def _region(statements: Sequence[Operation]) -> Region:
    return Region(Block(list(statements)))


@irdl_op_definition
class FuncOp(HeadOp):
    """A kernel or host function; returns a status (0 is success). `category` is the schedule family
    a kernel was formed for (pointwise, reduction, rows, contraction, ...), "" where it has none;
    `streamed` are the results that it writes past the caches."""

    name = "te.func"
    REGIONS: ClassVar[int] = 1
    sym_name = prop_def(StringAttr)
    parameters = prop_def(ParametersAttr)
    role = prop_def(StringAttr)
    level = prop_def(StringAttr)
    category = prop_def(StringAttr)
    streamed_attr = opt_prop_def(ArrayAttr[StringAttr])
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

    @property
    def streamed(self) -> tuple[str, ...]:
        return () if self.streamed_attr is None else tuple(n.data for n in self.streamed_attr)

    def verify_(self) -> None:
        if not {b.name for b in self.buffers}.issuperset(self.streamed):
            raise VerifyException(f"@{self.sym_name.data} streams what is no buffer of its caller")
        if self.role.data not in ROLES or self.level.data not in LEVELS:
            raise VerifyException(f"unknown role or level of @{self.sym_name.data}")

    def head(self) -> str:
        inside = ", ".join(map(parameter_text, self.params))
        words = f"{self.role.data} {self.level.data} {self.category.data}".rstrip()
        streams = f" streams {', '.join(self.streamed)}" if self.streamed else ""
        return f"@{self.sym_name.data} {words} ({inside}){streams}"

    @classmethod
    def from_head(cls, head: str) -> FuncOp:
        found = match_head(r"@(\S+) (\w+) (\w+)( \w+)? \((.*?)\)(?: streams ([^()]*))?", head)
        parameters = [parse_parameter(p) for p in split_commas(found[5])]
        category = (found[4] or "").strip()
        made = cls(found[1], parameters, (), found[2], found[3], category)
        if found[6]:
            names = ArrayAttr([StringAttr(name) for name in split_commas(found[6])])
            made.properties["streamed_attr"] = names
        return made


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
    chunk_name = opt_prop_def(StringAttr)
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
        chunk: str | None = None,
    ) -> None:
        super().__init__(
            properties={
                "var_name": StringAttr(var_name),
                "start_attr": ExprAttr(as_expr(start)),
                "extent_attr": ExprAttr(as_expr(extent)),
                "kind": StringAttr(kind),
                "reduction": UnitAttr() if reduction else None,
                "grain_attr": None if grain is None else ExprAttr(as_expr(grain)),
                "chunk_name": None if chunk is None else StringAttr(chunk),
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
    def chunk(self) -> str | None:
        """Of a parallel loop whose body is run once for all iterations that a thread takes: the
        name of their number; the variable is the first of them."""
        return None if self.chunk_name is None else self.chunk_name.data

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        if self.kind.data not in LOOP_KINDS:
            raise VerifyException(f"unknown loop kind {self.kind.data}")
        if self.chunk is not None and self.kind.data != "parallel":
            raise VerifyException(f"a {self.kind.data} loop has no chunks")
        if self.kind.data in ("vector", "unroll", "matrix") and not self.extent.is_const:
            raise VerifyException(f"a {self.kind.data} loop needs a constant extent")
        around = self.parent_op()
        while around is not None:
            if isinstance(around, ForOp) and around.var == self.var:
                raise VerifyException(f"a loop {self.var} stands in another one of that name")
            around = around.parent_op()

    def head(self) -> str:
        mark = " reduce" if self.is_reduction else ""
        mark += "" if self.grain is None else f" grain {self.grain}"
        mark += "" if self.chunk is None else f" chunk {self.chunk}"
        return f"{self.var} in {text(self.start)} .. {text(self.extent)} {self.kind.data}{mark}"

    @classmethod
    def from_head(cls, head: str) -> ForOp:
        kinds = "|".join(LOOP_KINDS)
        marks = r"( reduce)?( grain \d+)?(?: chunk (\S+))?"
        found = match_head(rf"(\S+) in (.*) \.\. (.*) ({kinds}){marks}", head)
        start, extent = parse(found[2]), parse(found[3])
        grain = int(found[6].split()[1]) if found[6] else None
        return cls(found[1], extent, (), found[4], start, bool(found[5]), grain, found[7])


@irdl_op_definition
class WhileOp(HeadOp):
    """Runs its body again and again while the condition, read before each time, holds."""

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
    """Runs one of two bodies; the second may be empty."""

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


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The te.func ops of a module, in order."""
    return (op for op in module.body.block.ops if isinstance(op, FuncOp))


def constants(module: ModuleOp) -> Iterator[ConstantOp]:
    """The te.constant ops of a module, in order."""
    return (op for op in module.body.block.ops if isinstance(op, ConstantOp))


def statements(op: Operation) -> Iterator[Operation]:
    """The statements directly inside `op`, region after region."""
    return (child for region in op.regions for block in region.blocks for child in block.ops)

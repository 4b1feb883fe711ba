"""The `.graph` text of a function: TorchScript's IR grammar.

    graph(%x.1 : Tensor):
      %1 : int = prim::Constant[value=1]() # f.py:3:4
      %2 : Tensor = aten::add(%x.1, %1, %1)
      return (%2)

Names: a value keeps its hint, made unique by a suffix; other values print their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.walks import walk_ops

from .locations import scope_of, span_of
from .node_fields import fields_text
from .ops import (
    CallOp,
    ConstantOp,
    FuncOp,
    OperatorOp,
    PythonOp,
    ReturnOp,
    TaskOp,
    TSOp,
    TupleConstructOp,
    YieldOp,
)
from .type_text import ir_text
from .types import FUNCTION, DeviceType, DictType, EnumType, ListType, TupleType
from .value_names import ValueNames

_PLACELESS = frozenset({
    "prim::DictConstruct", "prim::ListConstruct", "prim::TupleConstruct", "prim::ListUnpack",
    "prim::TupleUnpack", "prim::TupleIndex", "prim::GetAttr", "prim::SetAttr",
    "prim::ModuleContainerIndex", "prim::Enter", "prim::Exit", "prim::EnumName", "prim::EnumValue",
    "prim::Uninitialized", "prim::unchecked_cast", "prim::isinstance", "prim::tolist",
    "prim::device", "prim::dtype", "prim::index", "prim::is_cuda", "prim::layout",
    "prim::requires_grad", "prim::type",
})  # fmt: skip
"""Nodes of scripts that PyTorch shows no place of; what they have is for errors."""


def _is_placeless(op: Operation) -> bool:
    if isinstance(op, ConstantOp):
        made = op.result.type
        is_members = isinstance(made, ListType) and isinstance(made.element, EnumType)
        return not is_members and isinstance(made, TupleType | ListType | DictType | DeviceType)
    if isinstance(op, TupleConstructOp) and isinstance(op.result.type, TupleType):
        return not op.result.type.class_name.data
    return isinstance(op, TSOp) and op.node_kind in _PLACELESS


class _Printer:
    def __init__(self, function: FuncOp, names: ValueNames, locations: bool) -> None:
        self.names = names
        self.locations = locations
        self.is_traced = function.is_traced is not None
        self.lines: list[str] = []
        self.starts: list[tuple[Operation, int]] = []
        self.forks: list[TaskOp] = []
        self.warnings = 0
        self.callees: dict[str, str] = {}

    def body(self, function: FuncOp) -> None:
        """The nodes of a function. A constant for each function that is called stands where it
        stood among the others, at first the one of the last; in a trace it stands before the call.
        """
        calls = self.first_calls(function)
        constants = 0
        for op in self.nodes(function.block):
            is_constant = isinstance(op, ConstantOp)
            while calls and (calls[-1].place <= constants or not is_constant):
                call = calls.pop()
                self.callees[call.callee.data] = self.function_constant(call, "  ")
                constants += 1
            self.node(op, "  ")
            constants += is_constant

    def first_calls(self, function: FuncOp) -> list[CallOp]:
        """The first call of each function, that whose constant stands first at the end."""
        calls: dict[str, CallOp] = {}
        for op in () if self.is_traced else walk_ops(function):
            if isinstance(op, CallOp):
                calls.setdefault(op.callee.data, op)
        return sorted(reversed(calls.values()), key=lambda call: call.place)[::-1]

    def function_constant(self, op: CallOp, indent: str) -> str:
        """Write the constant of the function that `op` calls; gives its number."""
        held = self.held(op)
        name = op.callee.data.rpartition(".")[2]
        self.lines.append(
            f'{indent}%{held} : {ir_text(FUNCTION)} = prim::Constant[name="{name}"]()'
        )
        return held

    def held(self, op: CallOp) -> str:
        """The name of the constant that holds the function that `op` calls."""
        return self.names.held(op if self.is_traced else op.callee)

    def use(self, values: Sequence[SSAValue]) -> str:
        return ", ".join(f"%{self.names.define(v)}" for v in values)

    def define(self, value: SSAValue) -> str:
        return f"%{self.names.define(value)} : {ir_text(value.type)}"

    def attributes(self, op: Operation) -> str:
        if isinstance(op, OperatorOp) and op.node_kind == "aten::warn":
            self.warnings += 1
            return f"[warn_id={self.warnings - 1}]"
        return fields_text(op)

    def comment(self, op: Operation) -> str:
        shown = self.locations and (self.is_traced or not _is_placeless(op))
        span = span_of(op) if shown else None
        scope = scope_of(op)
        inside = f", scope: {scope}" if scope else ""
        return inside + (f" # {span.place}" if span is not None else "")

    def line(self, op: TSOp, indent: str) -> None:
        operands: Sequence[SSAValue] = op.operands
        kind = op.node_kind
        prefix = ""
        if isinstance(op, CallOp):
            held = self.callees.get(op.callee.data) or self.function_constant(op, indent)
            prefix = f"%{held}" + (", " if operands else "")
        if isinstance(op, TaskOp):
            kind = f"{kind}_{len(self.forks)}"
            self.forks.append(op)
        if isinstance(op, PythonOp):
            kind = f"^{op.callee.data.rpartition('.')[2]}[]()"
        used = prefix + self.use(operands)
        made = ", ".join(map(self.define, op.results))
        self.starts.append((op, len(self.lines)))
        self.lines.append(f"{indent}{made} = {kind}{self.attributes(op)}({used}){self.comment(op)}")

    def nodes(self, block: Block) -> Iterator[TSOp]:
        """What of a block is a node."""
        for op in block.ops:
            assert isinstance(op, TSOp)
            if not isinstance(op, ReturnOp | YieldOp):
                yield op

    def node(self, op: TSOp, indent: str) -> None:
        """A node and its blocks."""
        self.line(op, indent)
        for at, region in enumerate(op.regions):
            self.inner(region.block, at, indent + "  ")

    def inner(self, block: Block, at: int, indent: str) -> None:
        params = ", ".join(map(self.define, block.args))
        self.lines.append(f"{indent}block{at}({params}):")
        for op in self.nodes(block):
            self.node(op, indent + "  ")
        last = block.last_op
        assert isinstance(last, YieldOp)
        self.lines.append(f"{indent}  -> ({self.use(last.values)})")


def _printed(
    function: FuncOp, locations: bool, head: str = "", names: ValueNames | None = None
) -> _Printer:
    printer = _Printer(function, names or ValueNames(function), locations)
    params = ",\n      ".join(map(printer.define, function.block.args))
    printer.lines.append(f"{head}graph({params}):")
    printer.body(function)
    printer.lines.append(f"  return ({printer.use(function.return_op.values)})")
    return printer


def _functions(function: FuncOp) -> Iterator[FuncOp]:
    parent = function.parent_block()
    for op in parent.ops if parent is not None else ():
        if isinstance(op, FuncOp):
            yield op


def value_names(function: FuncOp) -> ValueNames:
    """The names that the graph's text gives to the values of `function`."""
    return _printed(function, True).names


def graph_text(
    function: FuncOp,
    locations: bool = True,
    functions: Mapping[str, FuncOp] | None = None,
    names: ValueNames | None = None,
) -> str:
    """The graph of `function`; bodies of tasks follow as `with prim::fork_N = graph(...)`.

    Args:
        functions: where forked bodies are found; by default the functions of its module.
        names: what its values are called; by default as `value_names` calls them.
    """
    printer = _printed(function, locations, names=names)
    symbols: Mapping[str, FuncOp] = functions or {}
    if printer.forks and not symbols:
        symbols = {f.sym_name.data: f for f in _functions(function)}
    return "\n".join(_with_forks(printer, locations, symbols)) + "\n"


def _with_forks(printer: _Printer, locations: bool, symbols: Mapping[str, FuncOp]) -> list[str]:
    """A graph's lines, and those of the bodies that it forks, of each with what that forks."""
    lines = printer.lines
    for at, fork in enumerate(printer.forks):
        body = _printed(symbols[fork.callee.data], locations, f"with {fork.KIND}_{at} = ")
        lines += _with_forks(body, locations, symbols)
    return lines


def node_text(function: FuncOp, op: TSOp, names: ValueNames, locations: bool) -> str:
    """One node with its blocks, a line each."""
    printer = _Printer(function, names, locations)
    for call in (each for each in (op, *walk_ops(op)) if isinstance(each, CallOp)):
        printer.callees[call.callee.data] = printer.held(call)
    printer.node(op, "")
    return "".join(f"{line}\n" for line in printer.lines)


def node_texts(function: FuncOp) -> list[tuple[Operation, str]]:
    """The first line of each node of the graph, inner blocks' too, without indentation."""
    printer = _printed(function, True)
    return [(op, printer.lines[at].strip()) for op, at in printer.starts]

"""The `.graph` text of a function: TorchScript's IR grammar.

    graph(%x.1 : Tensor):
      %1 : int = prim::Constant[value=1]() # f.py:3:4
      %2 : Tensor = aten::add(%x.1, %1, %1)
      return (%2)

Names: a value keeps its hint, made unique by a suffix; other values print their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import DType, numbers
from tensorscript.base.tensor_text import tensor_text

from .constants import Device, DictLiteral, EnumRef, FunctionRef, ListLiteral, TensorLiteral
from .locations import scope_of, span_of
from .ops import (
    CallMethodOp,
    CallOp,
    ConstantOp,
    ForkOp,
    FuncOp,
    GetAttrOp,
    IfOp,
    IsInstanceOp,
    LoopOp,
    OperatorOp,
    PythonOp,
    ReturnOp,
    SetAttrOp,
    TSOp,
    TupleSliceOp,
    YieldOp,
)
from .type_text import annotation_text, ir_text
from .types import FUNCTION

LARGEST_SHOWN = 10
"""Tensors with more elements print as `<Tensor>`."""


def float_text(value: float) -> str:
    """`1.`, `0.10000000000000001`, `1e+20`, `-0.`."""
    text = f"{value:.17g}" if math.isfinite(value) else str(value)
    return text if any(c in text for c in ".enia") else text + "."


def string_text(value: str) -> str:
    """A string in double quotes with C escapes."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f",
               "\v": "\\v", "\a": "\\a", "\b": "\\b", "'": "\\'"}  # fmt: skip
    return '"' + "".join(escapes.get(c, c) for c in value) + '"'


def _element_text(value: object, dtype: DType) -> str:
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    return f"{value:g}" if dtype.is_floating_point else str(value)


def _tensor_text(value: TensorLiteral) -> str:
    if value.array.size == 1:
        element = numbers(value.array, value.dtype).reshape(-1)[0].item()
        return "{" + _element_text(element, value.dtype) + "}"
    if value.array.size > LARGEST_SHOWN:
        return "<Tensor>"
    kind = f"CPU{value.dtype.word}Type"
    if not value.dtype.is_complex:
        return tensor_text(numbers(value.array, value.dtype), kind).replace("\n", " ")
    shown = " ".join(f" {v.item()}" for v in value.array.reshape(-1))
    return f"{shown} [ {kind}{{{','.join(map(str, value.array.shape))}}} ]"


def value_text(value: object) -> str:
    """A constant as graphs print it."""
    match value:
        case bool():
            return str(int(value))
        case float():
            return float_text(value)
        case complex():
            return f"{float_text(value.real)}+{float_text(value.imag)}j"
        case str():
            return string_text(value)
        case Device():
            return string_text(value.text)
        case tuple():
            inside = ", ".join(str(v) if isinstance(v, bool) else value_text(v) for v in value)
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        case ListLiteral():
            return f"[{', '.join(map(value_text, value.elements))}]"
        case DictLiteral():
            pairs = (f"{value_text(k)}: {value_text(v)}" for k, v in value.items)
            return "{" + ", ".join(pairs) + "}"
        case EnumRef():
            return f"{value.class_name}.{value.member}"
        case TensorLiteral():
            return _tensor_text(value)
    return str(value)


class _Names:
    """Unique names of values: `x.1`, `x.3`, ... for the hint `x`.

    In a trace the last value of a hint has the bare name: each gave it up to the next.
    """

    def __init__(self, function: FuncOp) -> None:
        self.names: dict[SSAValue, str] = {}
        self.counts: dict[str, int] = {}
        self.number = 0
        self.last = _last_of_hint(function) if function.is_traced is not None else {}

    def define(self, value: SSAValue) -> str:
        hint = value.name_hint
        if hint is None or hint.isdigit():
            name = str(self.number)
        else:
            seen = self.counts.get(hint, 1)
            self.counts[hint] = seen + 2
            is_bare = self.last.get(hint) is value or (hint == "self" and seen == 1)
            name = hint if is_bare else f"{hint}.{seen}"
        self.number += 1
        self.names[value] = name
        return name

    def unnamed(self) -> str:
        self.number += 1
        return str(self.number - 1)


def _last_of_hint(function: FuncOp) -> dict[str, SSAValue]:
    """The last value that has a hint."""
    out: dict[str, SSAValue] = {}
    values = [*function.block.args, *(r for op in function.block.ops for r in op.results)]
    for value in values:
        if value.name_hint is not None:
            out[value.name_hint] = value
    return out


class _Printer:
    def __init__(self, names: _Names, locations: bool) -> None:
        self.names = names
        self.locations = locations
        self.lines: list[str] = []
        self.starts: list[tuple[Operation, int]] = []
        self.forks: list[ForkOp] = []
        self.warnings = 0
        self.callees: dict[str, str] = {}

    def function_constants(self, function: FuncOp) -> None:
        """A constant for each function that is called; in a trace it stands before the call."""
        for op in function.walk() if function.is_traced is None else ():
            if isinstance(op, CallOp) and op.callee.data not in self.callees:
                self.callees[op.callee.data] = self.function_constant(op, "  ")

    def function_constant(self, op: CallOp, indent: str) -> str:
        """Write the constant of the function that `op` calls; gives its number."""
        held = self.names.unnamed()
        name = op.callee.data.rpartition(".")[2]
        self.lines.append(
            f'{indent}%{held} : {ir_text(FUNCTION)} = prim::Constant[name="{name}"]()'
        )
        return held

    def use(self, values: Sequence[SSAValue]) -> str:
        return ", ".join(f"%{self.names.names[v]}" for v in values)

    def define(self, value: SSAValue) -> str:
        return f"%{self.names.define(value)} : {ir_text(value.type)}"

    def attributes(self, op: Operation) -> str:
        match op:
            case ConstantOp():
                held = op.value.data
                if isinstance(held, FunctionRef):
                    return f'[name="{held.qualified_name.rpartition(".")[2]}"]'
                if isinstance(held, ListLiteral) and not held.elements:
                    return f"[value=annotate({annotation_text(op.result.type)}, [])]"
                return "" if held is None else f"[value={value_text(held)}]"
            case GetAttrOp() | SetAttrOp():
                return f'[name="{op.attribute.data}"]'
            case CallMethodOp():
                return f'[name="{op.method.data}"]'
            case IsInstanceOp():
                return f"[types=[{', '.join(map(ir_text, op.types))}]]"
            case TupleSliceOp():
                return f"[beg={op.begin.data}, end={op.end.data}]"
            case OperatorOp() if op.node_kind == "aten::warn":
                self.warnings += 1
                return f"[warn_id={self.warnings - 1}]"
        return ""

    def comment(self, op: Operation) -> str:
        span = span_of(op) if self.locations else None
        scope = scope_of(op)
        inside = f", scope: {scope}" if scope else ""
        return inside + (f" # {span}" if span is not None else "")

    def line(self, op: TSOp, indent: str) -> None:
        operands: Sequence[SSAValue] = op.operands
        kind = op.node_kind
        prefix = ""
        if isinstance(op, CallOp):
            held = self.callees.get(op.callee.data) or self.function_constant(op, indent)
            prefix = f"%{held}" + (", " if operands else "")
        if isinstance(op, ForkOp):
            kind = f"prim::fork_{len(self.forks)}"
            self.forks.append(op)
        if isinstance(op, PythonOp):
            kind = f"^{op.callee.data.rpartition('.')[2]}[]()"
        used = prefix + self.use(operands)
        made = ", ".join(map(self.define, op.results))
        self.starts.append((op, len(self.lines)))
        self.lines.append(f"{indent}{made} = {kind}{self.attributes(op)}({used}){self.comment(op)}")

    def block(self, block: Block, indent: str) -> None:
        for op in block.ops:
            if isinstance(op, ReturnOp | YieldOp):
                continue
            assert isinstance(op, TSOp)
            self.line(op, indent)
            if isinstance(op, IfOp | LoopOp):
                for at, region in enumerate(op.regions):
                    self.inner(region.block, at, indent + "  ")

    def inner(self, block: Block, at: int, indent: str) -> None:
        params = ", ".join(map(self.define, block.args))
        self.lines.append(f"{indent}block{at}({params}):")
        self.block(block, indent + "  ")
        last = block.last_op
        assert isinstance(last, YieldOp)
        self.lines.append(f"{indent}  -> ({self.use(last.values)})")


def _printed(function: FuncOp, locations: bool, head: str) -> _Printer:
    printer = _Printer(_Names(function), locations)
    params = ",\n      ".join(map(printer.define, function.block.args))
    printer.lines.append(f"{head}graph({params}):")
    printer.function_constants(function)
    printer.block(function.block, "  ")
    printer.lines.append(f"  return ({printer.use(function.return_op.values)})")
    return printer


def _functions(function: FuncOp) -> Iterator[FuncOp]:
    parent = function.parent_block()
    for op in parent.ops if parent is not None else ():
        if isinstance(op, FuncOp):
            yield op


def value_names(function: FuncOp) -> dict[SSAValue, str]:
    """The names that the graph's text gives to the values of `function`."""
    return _printed(function, True, "").names.names


def graph_text(
    function: FuncOp, locations: bool = True, functions: Mapping[str, FuncOp] | None = None
) -> str:
    """The graph of `function`; forked bodies follow as `with prim::fork_N = graph(...)`.

    Args:
        functions: where forked bodies are found; by default the functions of its module.
    """
    printer = _printed(function, locations, "")
    symbols: Mapping[str, FuncOp] = functions or {}
    if printer.forks and not symbols:
        symbols = {f.sym_name.data: f for f in _functions(function)}
    return "\n".join(_with_forks(printer, locations, symbols)) + "\n"


def _with_forks(printer: _Printer, locations: bool, symbols: Mapping[str, FuncOp]) -> list[str]:
    """A graph's lines, and those of the bodies that it forks, of each with what that forks."""
    lines = printer.lines
    for at, fork in enumerate(printer.forks):
        body = _printed(symbols[fork.callee.data], locations, f"with prim::fork_{at} = ")
        lines += _with_forks(body, locations, symbols)
    return lines


def node_texts(function: FuncOp) -> list[tuple[Operation, str]]:
    """The first line of each node of the graph, inner blocks' too, without indentation."""
    printer = _printed(function, True, "")
    return [(op, printer.lines[at].strip()) for op, at in printer.starts]

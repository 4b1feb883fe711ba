"""Graphs from text, and functions of graphs: `torch._C.parse_ir`, `_create_function_from_graph`."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tensorscript.compiler.convert import schema_of
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.graph_parser import parse_graph
from tensorscript.dialects.walks import walk_ops
from tensorscript.frontends.script.link import Linkable
from tensorscript.frontends.script.signature import NO_DEFAULT
from tensorscript.runtime.interpreter import Interpreter

from .callables import Entry, ScriptFunction
from .graph import Graph

_CALLS = ts.CallOp | ts.CallMethodOp | ts.TaskOp | ts.EnterOp | ts.ExitOp


def parse_ir(input: str, parse_tensor_constants: bool = False) -> Graph:
    """The graph that a text of TorchScript's IR spells.

    Args:
        parse_tensor_constants: also read constant tensors, of which texts do not hold everything:
            elements are rounded, and a `<Tensor>` is read as zeros.

    Raises:
        CompileError: the text is no graph.
    """
    parsed = parse_graph(input, tensors=parse_tensor_constants)
    module = ModuleOp([parsed.function, *parsed.forked])
    made = Graph(parsed.function, Interpreter(module))
    made.state.names = parsed.names
    return made


def create_function_from_graph(qualname: str, graph: Graph) -> ScriptFunction:
    """A function that runs a copy of a graph.

    Raises:
        GuardError: the graph has not one output.
    """
    graph.require_one_output()
    copy = graph.copy()
    copied = copy.op
    copied.properties["sym_name"] = StringAttr(qualname)
    interpreter, classes = graph.interpreter, graph.state.classes
    kept = ts.FuncOp | ts.ClassOp if _calls(copied) else ts.ClassOp
    others = [
        op.clone()
        for op in interpreter.module.body.block.ops
        if isinstance(op, kept) and op is not graph.op
    ]
    module = ModuleOp([*others, copied])
    linked = replace(classes, linkable=lambda: Linkable(module, {}))
    found = schema_of(copied, qualname, 0)
    formals = (replace(formal, default=NO_DEFAULT) for formal in found.arguments)
    signature = replace(found, arguments=tuple(formals))
    entry = Entry(qualname, signature, Interpreter(module, interpreter.python_calls), linked)
    made = ScriptFunction(entry)
    made.graph.state.names = copy.state.names
    return made


def _calls(function: ts.FuncOp) -> bool:
    return any(isinstance(op, _CALLS) for op in walk_ops(function))

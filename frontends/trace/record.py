"""Recording one call: of a function, or of a method of a module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorscript.dialects.ts.types import ClassType
from tensorscript.eager.tracing import traced_by
from tensorscript.frontends.script.draft import Block
from tensorscript.frontends.script.link import Linker
from tensorscript.frontends.script.program import Compiled

from .function import compiled_block
from .modules import ModuleTree
from .nesting import add_input, check_inputs, input_type, output_of
from .scopes import Scopes
from .sweep import sweep
from .tracer import Tracer


@dataclass(frozen=True)
class Example:
    """The call to record.

    Attributes:
        values: example inputs; tensors are eager tensors.
        names: of the function's parameters, in order.
        keywords: the parameters that `values` are for, if it is called by keyword.
        strict: whether containers that may change size are refused as outputs.
    """

    values: Sequence[Any]
    names: Sequence[str]
    keywords: Sequence[str] | None = None
    strict: bool = True

    def parameter(self, at: int) -> str:
        """The name of an input; "" if the function has no name for it."""
        if self.keywords is not None:
            return self.keywords[at]
        return self.names[at] if len(self.names) >= len(self.values) else ""

    def call(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        if self.keywords is None:
            return function(*values)
        return function(**dict(zip(self.keywords, values, strict=True)))


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """The parameters of a callable that have one name each; none if it has no signature."""
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:
        return []
    return [p.name for p in found if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]


def keyword_example(given: Mapping[str, Any], names: Sequence[str], strict: bool = True) -> Example:
    """The call by keyword, in the order of the parameters."""
    keywords = [name for name in names if name in given]
    keywords += [name for name in given if name not in names]
    return Example([given[k] for k in keywords], names, keywords, strict)


def record_function(
    linker: Linker, name: str, function: Callable[..., Any], example: Example
) -> Compiled:
    """Record a call of a function, as a function of the linker's program.

    Raises:
        TracingError: an input or output that cannot be traced.
    """
    tracer = Tracer(linker, example.strict)
    trace_entry(tracer, function, example)
    body = tracer.finish()
    sweep(body, tracer.memory)
    made = compiled_block(linker.program.unique(name), body)
    linker.program.add(made)
    return made


def record_method(
    tree: ModuleTree, name: str, function: Callable[..., Any], example: Example
) -> Compiled:
    """Record a call of a method of the module of `tree`; calls of submodules become methods.

    Raises:
        TracingError: an input or output that cannot be traced.
    """
    tracer = Tracer(tree.linker, example.strict)
    tracer.block.add_param(tree.types[()], "self")
    tree.introduce(tracer)
    with tree.observed(tracer):
        trace_entry(tracer, function, example)
    body = tracer.finish()

    def define(module: ClassType, block: Block) -> str:
        sweep(block, tracer.memory)
        return tree.add_method(module, block)

    Scopes(tree.types, tracer.attributes, tracer.memory).to_methods(body, define)
    sweep(body, tracer.memory)
    return tree.define(tree.root, name, body)


def trace_entry(tracer: Tracer, function: Callable[..., Any], example: Example) -> None:
    """Run the function under the tracer. Frames below this one are the traced program's."""
    check_inputs(example.values)
    values = []
    for at, value in enumerate(example.values):
        made = tracer.block.add_param(input_type(value), example.parameter(at))
        values.append(add_input(tracer, value, made))
    with traced_by(tracer):
        result = example.call(function, values)
    tracer.body.outputs = [output_of(tracer, result)]

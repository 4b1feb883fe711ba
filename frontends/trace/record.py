"""Recording one call: of a function, or of a method of a module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.types import ClassType
from tensorscript.eager.tracing import active_tracer, traced_by
from tensorscript.frontends.script.dead_code import drop_dead
from tensorscript.frontends.script.draft import Block
from tensorscript.frontends.script.link import Linker
from tensorscript.frontends.script.program import Compiled

from .cautions import TracingError
from .forks import outline_forks, settle_forks
from .function import compiled_block
from .modules import ModuleTree
from .nesting import add_input, check_inputs, input_type, output_of
from .scopes import Scopes
from .tracer import Manner, Tracer


@dataclass(frozen=True)
class Example:
    """The call to record.

    Attributes:
        values: example inputs; tensors are eager tensors.
        names: of the function's parameters, in order.
        keywords: the parameters that `values` are for, if it is called by keyword.
        manner: how to record.
    """

    values: Sequence[Any]
    names: Sequence[str]
    keywords: Sequence[str] | None = None
    manner: Manner = field(default_factory=Manner)

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


def keyword_example(given: Mapping[str, Any], names: Sequence[str], manner: Manner) -> Example:
    """The call by keyword, in the order of the parameters."""
    keywords = [name for name in names if name in given]
    keywords += [name for name in given if name not in names]
    return Example([given[k] for k in keywords], names, keywords, manner)


def record_function(
    linker: Linker, name: str, function: Callable[..., Any], example: Example
) -> Compiled:
    """Record a call of a function, as a function of the linker's program.

    Raises:
        TracingError: an input or output that cannot be traced.
    """
    tracer = Tracer(linker, example.manner)
    trace_entry(tracer, function, example)
    body = tracer.finish()
    settle_forks(body)
    unique = linker.program.unique(name)
    outline_forks(linker.program, unique, body)
    _clean(body)
    made = compiled_block(unique, body)
    linker.program.add(made)
    return made


def record_method(
    tree: ModuleTree, name: str, function: Callable[..., Any], example: Example
) -> Compiled:
    """Record a call of a method of the module of `tree`; calls of submodules become methods.

    Raises:
        TracingError: an input or output that cannot be traced.
    """
    tracer = Tracer(tree.linker, example.manner)
    tracer.block.add_param(tree.types[()], "self")
    tree.introduce(tracer)
    with tree.observed(tracer):
        trace_entry(tracer, function, example)
    body = tracer.finish()
    settle_forks(body)

    def cleaned(owner: str, block: Block) -> None:
        outline_forks(tree.linker.program, owner, block)
        _clean(block)

    def define(module: ClassType, block: Block) -> str:
        cleaned(module.class_name.data, block)
        return tree.add_method(module, block)

    Scopes(tree.types, tracer.attributes, tree.complete_types()).to_methods(body, define)
    cleaned(f"{tree.root.name}.{name}", body)
    return tree.define(tree.root, name, body)


def _clean(block: Block) -> None:
    """Drop dead code as PyTorch does, twice: what a dead node put into lists is seen by nobody in
    the second round."""
    drop_dead(block)
    drop_dead(block)


def trace_entry(tracer: Tracer, function: Callable[..., Any], example: Example) -> None:
    """Run the function under the tracer. Frames below this one are the traced program's.

    Raises:
        TracingError: another trace is being recorded, or an input or output cannot be traced.
    """
    if active_tracer() is not None:
        raise TracingError("Tracing can't be nested")
    check_inputs(example.values)
    values = []
    for at, value in enumerate(example.values):
        made = tracer.block.add_param(input_type(value), example.parameter(at))
        values.append(add_input(tracer, value, made))
    with traced_by(tracer):
        result = example.call(function, values)
    tracer.body.outputs = [output_of(tracer, result)]

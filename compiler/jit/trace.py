"""`tensorscript.jit.trace` and `trace_module`: Python recorded while it runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorscript.compiler.arguments import is_array, tensor_of
from tensorscript.frontends.script.modules import is_module
from tensorscript.frontends.script.program import Program
from tensorscript.frontends.script.python_names import qualified_name
from tensorscript.frontends.trace.nesting import mapped
from tensorscript.frontends.trace.record import (
    Example,
    keyword_example,
    parameter_names,
    record_function,
)

from .callables import ScriptFunction
from .module import RecursiveScriptModule
from .script import ProgramHome, jit_enabled


def _tensors(value: Any) -> Any:
    """Example inputs with every array-like as an eager tensor."""
    return mapped(value, lambda v: tensor_of(v) if is_array(v) else v)


def _positional(inputs: Any) -> tuple[Any, ...]:
    """Example inputs as a tuple of arguments."""
    if is_array(inputs) or isinstance(inputs, dict):
        return (inputs,)
    return tuple(inputs)


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Sequence[Any] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    if isinstance(func, RecursiveScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the "
            "object as is.",
            stacklevel=2,
        )
        return func
    example = _function_example(func, example_inputs, example_kwarg_inputs, strict)
    return _traced_function(func, example)


def _function_example(
    func: Callable[..., Any], inputs: Any, keywords: Mapping[str, Any] | None, strict: bool
) -> Example:
    names = parameter_names(func)
    if keywords is not None:
        return keyword_example(_tensors(dict(keywords)), names, strict)
    return Example(_tensors(_positional(inputs)), names, None, strict)


def _function_name(func: Callable[..., Any]) -> str:
    if not hasattr(func, "__name__"):
        return f"__torch__.{type(func).__name__}"
    return qualified_name(func).replace("<lambda>", "_lambda")


def _traced_function(func: Callable[..., Any], example: Example) -> ScriptFunction:
    program = Program()
    compiled = record_function(program, _function_name(func), func, example)
    return ScriptFunction(ProgramHome(program).function(compiled.name))

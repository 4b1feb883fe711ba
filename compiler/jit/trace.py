"""`tensorscript.jit.trace` and `trace_module`: Python recorded while it runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tensorscript.base.errors import GuardError
from tensorscript.base.records import dataclass
from tensorscript.compiler.arguments import is_array, tensor_of
from tensorscript.eager.modes import no_grad
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.live import World
from tensorscript.frontends.script.module_attributes import is_module
from tensorscript.frontends.script.program import Program
from tensorscript.frontends.script.python_names import qualified_name
from tensorscript.frontends.trace.check import Recording, check
from tensorscript.frontends.trace.modules import ModuleTree
from tensorscript.frontends.trace.nesting import mapped
from tensorscript.frontends.trace.pytorch import spoken_for
from tensorscript.frontends.trace.record import (
    Example,
    keyword_example,
    parameter_names,
    record_function,
    record_method,
)
from tensorscript.frontends.trace.tracer import Manner
from tensorscript.lowering.ts.inline import inline_calls

from .callables import ScriptFunction, ScriptMethod
from .enabled import jit_enabled
from .home import ProgramHome
from .module import RecursiveScriptModule, face_of
from .traced import TopLevelTracedModule, TracedHome


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
    """Run a function or module once, and keep what it did as TorchScript.

    Control flow is not recorded: branches are those of this run, loops are unrolled. Sizes that the
    program computes with stay symbolic.

    Args:
        func: a function, a module, or the `forward` of a module.
        example_inputs: a tuple of arguments, or the only one: tensors, and tuples, lists and dicts
            of tensors; NumPy arrays and PyTorch tensors do for tensors.
        check_trace: trace again, run both, and compare.
        check_inputs: tuples of arguments to check with, instead of `example_inputs`.
        check_tolerance: relative tolerance of the check.
        strict: refuse dicts as outputs and warn of lists.
        _force_outplace: record in-place operators as those that make new tensors; a view that is
            written through is warned of, as what it is a view of does not change in the trace.
        example_kwarg_inputs: arguments by keyword, instead of `example_inputs`.
        _store_inputs: keep the example inputs of a module: `_c._retrieve_traced_inputs()`.

    Returns:
        A ScriptFunction, or for a module a TopLevelTracedModule that shares its tensors.

    Raises:
        TracingError: an input or output that cannot be traced, or a tensor from outside that
            requires a gradient.
        TracingCheckError: the check found another program or other constants.
        NameError: a keyword that is no parameter.
        AttributeError: a method other than `forward`.
    """
    if not jit_enabled():
        return func
    _note_optimize(optimize)
    if isinstance(face_of(func), RecursiveScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the "
            "object as is.",
            stacklevel=2,
        )
        return func
    owner = getattr(func, "__self__", None)
    module = func if is_module(func) else owner if _is_forward(func, owner) else None
    manner = Manner(strict, _force_outplace)
    options = Options(manner, check_trace, check_tolerance, _store_inputs)
    if module is not None:
        given = _given_inputs(example_inputs, example_kwarg_inputs)
        checks = None if check_inputs is None else [{"forward": c} for c in check_inputs]
        by_keyword = example_kwarg_inputs is not None
        return _trace_module(module, {"forward": given}, checks, by_keyword, options)
    if is_module(owner):
        raise AttributeError(
            "trace doesn't support compiling individual module's functions.\n"
            "Please use trace_module"
        )
    by_keyword = isinstance(example_kwarg_inputs, dict)
    given = example_kwarg_inputs if by_keyword else example_inputs
    return _traced_function(func, given, check_inputs, by_keyword, options)


def trace_module(
    mod: Any,
    inputs: Mapping[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Sequence[Mapping[str, Any]] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """Trace several methods of a module, each with its own inputs.

    Args:
        mod: a module.
        inputs: example inputs by the method's name.
        check_inputs: such dictionaries to check with, instead of `inputs`.
        example_inputs_is_kwarg: the inputs are dictionaries of keyword arguments.

    Other arguments, the result and errors are as of `trace`.

    Raises:
        AttributeError: `mod` is no module, or `inputs` no dictionary.
    """
    if not jit_enabled():
        return mod
    _note_optimize(optimize)
    if not is_module(mod):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    manner = Manner(strict, _force_outplace)
    options = Options(manner, check_trace, check_tolerance, _store_inputs)
    return _trace_module(mod, inputs, check_inputs, example_inputs_is_kwarg, options)


@dataclass(frozen=True)
class Options:
    """How to trace and check."""

    manner: Manner
    check: bool
    tolerance: float
    keeps_inputs: bool


def _note_optimize(optimize: Any) -> None:
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with "
            "torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=3,
        )


def _is_forward(func: Any, owner: Any) -> bool:
    return is_module(owner) and getattr(func, "__name__", "") == "forward"


def _given_inputs(inputs: Any, keywords: Any) -> Any:
    """Inputs of a module: positional ones, or else those by keyword."""
    if inputs is not None:
        return inputs
    if not isinstance(keywords, dict):
        raise GuardError("example_kwarg_inputs should be a dict")
    return keywords


def _example(func: Callable[..., Any], inputs: Any, by_keyword: bool, manner: Manner) -> Example:
    names = parameter_names(func)
    if by_keyword and isinstance(inputs, dict):
        return keyword_example(_tensors(dict(inputs)), names, manner)
    return Example(_tensors(_positional(inputs)), names, None, manner)


def _method_example(
    method: Callable[..., Any], inputs: Any, by_keyword: bool, manner: Manner
) -> Example:
    """As `_example`; every keyword must be a parameter."""
    example = _example(method, inputs, by_keyword, manner)
    for key in example.keywords or ():
        if key not in example.names:
            raise NameError(
                f"'{key}' is not in forward() method's arguments,\n"
                f"                         valid arguments name are [{','.join(example.names)}]"
            )
    return example


def _function_name(func: Callable[..., Any]) -> str:
    if not hasattr(func, "__name__"):
        return f"__torch__.{type(func).__name__}"
    name = qualified_name(func)
    return name.removesuffix("_lambda_") + "_lambda" if func.__name__ == "<lambda>" else name


def _recorded_function(func: Callable[..., Any], example: Example) -> ScriptFunction:
    world = World(Program())
    compiled = record_function(world.linker, _function_name(func), func, example)
    made = ScriptFunction(ProgramHome(world.program, world).function(compiled.name))
    made.__doc__ = func.__doc__
    return made


def _traced_function(
    func: Callable[..., Any], given: Any, checks: Sequence[Any] | None, by_keyword: bool,
    options: Options,
) -> ScriptFunction:  # fmt: skip
    made = _recorded_function(func, _example(func, given, by_keyword, options.manner))
    for inputs in ([given] if checks is None else checks) if options.check else ():
        example = _example(func, inputs, by_keyword, options.manner)
        again = _recorded_function(func, replace(example, values=_copied(example.values)))
        _check((_recording(made), _recording(again)), func, example, options)
    return made


def _copied(inputs: Any) -> Any:
    """Inputs with a copy of every tensor."""
    return mapped(inputs, lambda v: v.clone() if isinstance(v, Tensor) else v)


def _recording(function: ScriptFunction | ScriptMethod) -> Recording:
    entry = function._entry
    flat = inline_calls(entry.op, entry.interpreter.functions)
    return Recording(function, entry.op, flat, entry.interpreter.functions)


def _check(
    recordings: tuple[Recording, Recording],
    python: Callable[..., Any],
    example: Example,
    options: Options,
) -> None:
    def call(function: Callable[..., Any]) -> Any:
        return example.call(function, [_copied(v) for v in example.values])

    with no_grad():
        check(*recordings, python, call, options.tolerance)


class _Conversions:
    """Parameters and buffers as eager tensors; one that occurs twice is one tensor."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Tensor]] = {}

    def __call__(self, tensor: Any) -> Tensor:
        if id(tensor) not in self._made:
            self._made[id(tensor)] = tensor, tensor_of(tensor)
        return self._made[id(tensor)][1]


def _recorded_module(
    module: Any,
    inputs: Mapping[str, Any],
    by_keyword: bool,
    manner: Manner,
    kept: dict[str, list[Any]] | None = None,
) -> TopLevelTracedModule:
    world = World(Program())
    tree = ModuleTree(world, module, _Conversions())
    tree.script_exports()
    for name, given in inputs.items():
        method = getattr(module, name)
        example = _method_example(method, given, by_keyword, manner)
        record_method(tree, name, module if name == "forward" else method, example)
    world.program.declare_classes()
    home = TracedHome(world, tree, kept or {})
    made: TopLevelTracedModule = home.wrap(home.root)
    return made


def _stored(inputs: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Example inputs by method, as `_c._retrieve_traced_inputs()` shows them."""
    return {name: list(_positional(_tensors(given))) for name, given in inputs.items()}


def _trace_module(
    module: Any,
    inputs: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]] | None,
    by_keyword: bool,
    options: Options,
) -> TopLevelTracedModule:
    kept = _stored(inputs) if options.keeps_inputs else {}
    made = _recorded_module(module, inputs, by_keyword, options.manner, kept)
    for given in ([inputs] if checks is None else checks) if options.check else ():
        copied = _copied(_tensors(dict(given)))
        again = _recorded_module(module, copied, by_keyword, options.manner)
        for name, example in given.items():
            method = getattr(module, name)
            recordings = _recording(getattr(made, name)), _recording(getattr(again, name))
            values = _example(method, example, by_keyword, options.manner)
            with spoken_for(module.modules()):
                _check(recordings, module if name == "forward" else method, values, options)
    return made

"""`tensorscript.jit._get_trace_graph`: the flat graph of a call, for exporters.

The graph knows no modules: its inputs are the tensors of the arguments, taken out of containers,
and then the parameters and buffers of the module, as its `state_dict` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tensorscript.base.errors import GuardError
from tensorscript.base.named_tuples import remade
from tensorscript.compiler.arguments import is_array, tensor_of
from tensorscript.eager.data import tensor
from tensorscript.eager.nn.module import Module
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.live import World
from tensorscript.frontends.script.program import Program
from tensorscript.frontends.trace.record import Example, record_function
from tensorscript.frontends.trace.tracer import Manner

from .graph import Graph
from .home import ProgramHome


def get_trace_graph(
    f: Callable[..., Any],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:
    """Trace a call of a function or module as one graph without submodules.

    Args:
        f: the function or module.
        args: its arguments, or the only one.
        kwargs: as in PyTorch there may be none.
        strict: accepted; outputs are taken out of their containers anyway.
        _force_outplace: record in-place operators as those that make new tensors.
        return_inputs: also give the tensors that are the inputs of the graph, as copies.
        _return_inputs_states: also give the arguments before and after the call.

    Returns:
        The graph, what the call gave, and what was asked for besides.

    Raises:
        TypeError: arguments by keyword.
        TracingError: an output that cannot be traced.
    """
    if kwargs:
        raise TypeError(f"a call is traced without keywords, but got '{next(iter(kwargs))}'")
    args = args if isinstance(args, tuple) else (args,)
    flat = list(_tensors(args))
    # A module's own tensors, each once; the call finds them by their identity.
    held = f.state_dict(keep_vars=True) if isinstance(f, Module) else {}
    state = {id(each): each for each in held.values()}
    call = _Call(f, args, len(flat))
    inputs = [*flat, *state.values()]
    copies = tuple(each.clone() for each in inputs) if return_inputs else ()
    example = Example(inputs, [], None, Manner(strict, _force_outplace))
    world = World(Program())
    made = record_function(world.linker, "__torch__.traced", call, example)
    home = ProgramHome(world.program, world)
    graph = Graph(made.op, home.interpreter, home.classes)
    if return_inputs:
        return graph, call.result, copies
    if _return_inputs_states:
        return graph, call.result, call.states
    return graph, call.result


class _Call:
    """The call as a function of flat tensors.

    Attributes:
        result: what it gave.
        states: the arguments before and after.
    """

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], count: int) -> None:
        self._f = f
        self._args = args
        self._count = count
        self.result: Any = None
        self.states: tuple[Any, ...] = ()

    def __call__(self, *flat: Tensor) -> Any:
        own = flat[: self._count]
        before, given = _filled(self._args, iter(own)), _filled(self._args, iter(own))
        self.result = self._f(*given)
        self.states = (before, given)
        found = tuple(_tensors(self.result))
        return found[0] if len(found) == 1 else found


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of nested containers in order; numbers become tensors, other things stay."""
    match value:
        case Tensor():
            yield value
        case tuple() | list():
            for each in value:
                yield from _tensors(each)
        case dict():
            for each in value.values():
                yield from _tensors(each)
        case bool() | int() | float():
            yield tensor(value)
        case None | str():
            pass
        case _ if is_array(value):
            yield tensor_of(value)
        case _:
            raise GuardError(
                "Only tuples, lists and Variables are supported as JIT inputs/outputs. "
                "Dictionaries and strings are also accepted, but their usage is not recommended. "
                f"Here, received an input of unsupported type: {type(value).__name__}"
            )


def _filled(value: Any, flat: Iterator[Tensor]) -> Any:
    """Nested containers with the tensors of `flat` where `_tensors` found some."""
    match value:
        case tuple() if hasattr(value, "_fields"):
            return remade(value, (_filled(each, flat) for each in value))
        case tuple() | list():
            return type(value)(_filled(each, flat) for each in value)
        case dict():
            return {key: _filled(each, flat) for key, each in value.items()}
        case None | str():
            return value
    return next(flat)

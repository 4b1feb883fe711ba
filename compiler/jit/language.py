"""Names of the TorchScript language while the program is still Python.

The script frontend knows them by name; here is what they do when Python runs them.
"""

from __future__ import annotations

import types
import typing as python
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeGuard, TypeVar

from tensorscript.base.errors import GuardError, ScriptError
from tensorscript.eager.executor_flags import is_scripting as is_scripting
from tensorscript.eager.executor_flags import is_tracing as is_tracing
from tensorscript.eager.tracing import active_tracer
from tensorscript.frontends.script.annotations import without_contained
from tensorscript.frontends.script.overloads import add_overload
from tensorscript.runtime.awaits import Await
from tensorscript.runtime.tasks import pending
from tensorscript.runtime.values import Future

from . import late_graph
from .enabled import jit_enabled

if TYPE_CHECKING:
    from tensorscript.frontends.trace.tracer import Tracer

T = TypeVar("T")
P = ParamSpec("P")
Error = ScriptError

IGNORE = "ignore (leave as a call to Python)"
UNUSED = "unused (replaced by raising an error)"
EXPORT = "export (compiled even if nothing calls it)"
"""What a function's `_torchscript_modifier` may say."""


class _TypedValue(NamedTuple):
    value: Any
    type: Any


_TypedValue.__name__ = _TypedValue.__qualname__ = "Attribute"


def _plain_value(value: Any, type: Any) -> Any:
    """The value: there are no script types where scripting is off."""
    return value


Attribute: Any = _TypedValue if jit_enabled() else _plain_value
"""`Attribute(value, type)`: a value and the script type that a module attribute has."""


def annotate(the_type: Any, the_value: T) -> T:
    """In script: `the_value` as `the_type`. In Python: `the_value`."""
    return the_value


def _marked(fn: T, modifier: str) -> T:
    fn._torchscript_modifier = modifier  # type: ignore[attr-defined]  # functions take attributes
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Leave a function as a call to Python; `@ignore(drop=True)` is `@unused`, as is its older
    name `drop_on_export`."""
    if callable(drop):
        return _marked(drop, IGNORE)
    if not isinstance(drop, bool):
        raise GuardError(
            f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}"
        )
    older = bool(kwargs.get("drop_on_export"))
    if drop or older:
        warnings.warn(
            f"ignore({'drop_on_export=' if older else ''}True) has been deprecated. TorchScript "
            "will now drop the function call on compilation. Use torch.jit.unused now. {}",
            FutureWarning,
            stacklevel=2,
        )
    return lambda fn: _marked(fn, UNUSED if drop or older else IGNORE)


class IgnoreContextManager(AbstractContextManager[None]):
    """Leaves the statements of a `with` in Python; each argument says which way a variable goes and
    its type: `with IgnoreContextManager(x="inp:int", y="out:int"):`. In Python it does nothing."""

    def __init__(self, **kwargs: str) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        pass


def unused(fn: Any) -> Any:
    """Replace a method or property by an error when it is called in script."""
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            if part is not None:
                _marked(part, UNUSED)
        return fn
    return _marked(fn, UNUSED)


def drop(fn: Callable[P, T]) -> Callable[P, T]:
    """As `unused`; the module's code then has no trace of the function at all."""
    return _marked(fn, UNUSED)


def export(fn: Callable[P, T]) -> Callable[P, T]:
    """Compile a method of a module even if `forward` does not call it."""
    return _marked(fn, EXPORT)


def interface(obj: type) -> type:
    """Mark a class as an interface.

    Raises:
        GuardError: not a class, or a class with bases.
    """
    if not isinstance(obj, type):
        raise GuardError("interface must be applied to a class")
    if obj.__module__ == "builtins":
        raise GuardError("TorchScript interfaces must inherit from 'object'")
    of_module = len(obj.__bases__) == 1 and obj.__bases__[0].__name__ == "Module"
    if len(obj.__mro__) > 2 and not of_module:
        raise GuardError(
            "TorchScript interface does not support inheritance yet. Please directly inherit from "
            "'object' or 'nn.Module'."
        )
    obj.__torch_script_interface__ = True  # type: ignore[attr-defined]  # a mark
    return obj


def overload(func: Callable[P, T]) -> Callable[P, T]:
    """Note an annotated stub: the function of that name behind the stubs is compiled for each."""
    add_overload(func)
    return func


def unwrap_optional(x: T | None) -> T:
    """The value, which must not be None."""
    assert x is not None, "Unwrapping null optional"
    return x


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """In script: start a task. In Python: call now, and give a completed future. While traced, too,
    and a task is recorded."""
    made = pending()
    future = Future(made)
    if is_recorded(tracer := active_tracer()):
        result, value = late_graph.record_fork(tracer, lambda: func(*args, **kwargs))
        if value is not None:
            tracer.futures[id(future)] = future, value
    else:
        result = func(*args, **kwargs)
    made.set_result(result)
    return future


def awaitable(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Await:
    """A call that is made when somebody waits for it first."""
    if not isinstance(func, FunctionType):
        raise TypeError(f"Object of type {type(func).__name__!r} is not an instance of 'function'")
    return Await(lambda: func(*args, **kwargs), func, args)


def awaitable_wait(aw: Await) -> Any:
    """The result of a call that waits to be made; the first who asks makes it."""
    if not isinstance(aw, Await):
        raise TypeError(f"_awaitable_wait(): incompatible function arguments: {aw!r}")
    return aw.wait()


def awaitable_nowait(o: Any) -> Await:
    """A lazy value that is there."""
    return Await.done(o, (o,))


def is_recorded(tracer: object) -> TypeGuard[Tracer]:
    """Whether a trace is made. The first question spares others the import of the tracer."""
    return tracer is not None and isinstance(tracer, late_graph.Tracer)


def wait(future: Future) -> Any:
    """The result of a forked task."""
    result = future.wait()
    tracer = active_tracer()
    if is_recorded(tracer) and (known := tracer.futures.get(id(future))) is not None:
        late_graph.record_wait(tracer, result, known[1])
    return result


def _bare_name(kind: Any) -> str:
    """The name of a container type that does not say what it contains; else nothing."""
    if kind in (list, dict, tuple):
        return str(kind.__name__)
    shown = str(kind).removeprefix("typing.")
    return shown if shown in ("List", "Dict", "Tuple", "Optional") else ""


def isinstance_of(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type, containers element by element (`jit.isinstance`).

    Raises:
        GuardError: a container type without what it contains, or a list of types.
    """
    if isinstance(target_type, tuple):
        return any(isinstance_of(obj, t) for t in target_type)
    if isinstance(target_type, list | dict | set):
        raise GuardError(
            "The second argument to `torch.jit.isinstance` must be a type or a tuple of types"
        )
    origin, inside = python.get_origin(target_type), python.get_args(target_type)
    if bare := _bare_name(target_type):
        raise GuardError(without_contained(bare))
    if origin in (python.Union, types.UnionType):
        return any(obj is None if t is type(None) else isinstance_of(obj, t) for t in inside)
    if origin is list:
        _warn_if_empty(obj, list)
        return isinstance(obj, list) and all(isinstance_of(v, inside[0]) for v in obj)
    if origin is dict:
        _warn_if_empty(obj, dict)
        return isinstance(obj, dict) and all(
            isinstance_of(k, inside[0]) and isinstance_of(v, inside[1]) for k, v in obj.items()
        )
    if origin is tuple:
        parts = () if inside == ((),) else inside
        return (
            isinstance(obj, tuple)
            and len(obj) == len(parts)
            and all(isinstance_of(v, t) for v, t in zip(obj, parts, strict=True))
        )
    if target_type is int and isinstance(obj, bool):
        return False
    return isinstance(obj, origin or target_type)


def _warn_if_empty(obj: Any, kind: type) -> None:
    if isinstance(obj, kind) and not obj:
        warnings.warn(
            f"The inner type of a container is lost when calling torch.jit.isinstance in eager "
            f"mode. For an empty {kind.__name__}, the check says True whatever is asked.",
            stacklevel=3,
        )

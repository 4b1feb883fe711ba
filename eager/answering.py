"""Classes of users that answer functions by `__torch_function__`: who is asked, and in which order.

Public functions and methods of tensors ask before they look at their arguments, so the outermost
one is answered. Subclasses of Tensor that say nothing of their own take the function and give its
tensors their class (`answer_by_default`), as PyTorch's do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, TypeVar

from tensorscript.base.dtypes import DType
from tensorscript.base.named_tuples import remade

from .foreign import is_foreign
from .storage import TensorBase

T = TypeVar("T")
_NAME, _TENSORS = "__torch_function__", "tensorscript.eager.tensor"
_PLAIN: set[type] = {bool, int, float, complex, str, type(None), slice, DType}
"""Classes that never answer: of numbers, and of our own tensors."""


class NoAnswer(TypeError):
    """All that were asked returned NotImplemented."""


class _State(threading.local):
    is_silent = False


_STATE = _State()


def never_answers(kind: type[T]) -> type[T]:
    """A class of our own tensors (a decorator): none of its instances is asked."""
    _PLAIN.add(kind)
    return kind


def answers(value: object) -> bool:
    """Whether the class of `value` has a `__torch_function__` to ask: PyTorch's own values are
    converted, and subclasses of parameters are parameters."""
    kind = type(value)
    if kind in _PLAIN or not hasattr(kind, _NAME) or is_foreign(value):
        return False
    return not getattr(kind, "_is_parameter", False)


def who_answers(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
    """Those of the arguments, and of what lists of them hold, that are to be asked."""
    for value in args:
        if type(value) not in _PLAIN:
            break
    else:
        if not kwargs:
            return ()
    if _STATE.is_silent:
        return ()
    return in_order(one for value in (*args, *kwargs.values()) for one in _each(value))


def _each(value: Any) -> Iterable[Any]:
    return value if type(value) in (tuple, list) else (value,)


def in_order(values: Iterable[Any], counts: Callable[[Any], bool] = answers) -> list[Any]:
    """One value of each class that `counts`, subclasses before what they derive from."""
    found: list[Any] = []
    for value in values:
        if counts(value) and type(value) not in map(type, found):
            later = (i for i, other in enumerate(found) if isinstance(value, type(other)))
            found.insert(next(later, len(found)), value)
    return found


def answer(
    function: Any, asked: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """What the first of `asked` that has an answer says of `function(*args, **kwargs)`.

    Raises:
        NoAnswer: none has.
    """
    types = tuple(map(type, asked))
    for one in asked:
        result = one.__torch_function__(function, types, tuple(args), dict(kwargs))
        if result is not NotImplemented:
            return result
    said = "\n".join(f"  - tensor subclass {kind}" for kind in types)
    raise NoAnswer(
        f"Multiple dispatch failed for 'torch.{function.__qualname__}'; all __torch_function__ "
        f"handlers returned NotImplemented:\n\n{said}\n\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented"
    )


def asking(run: Callable[..., Any], function: Any = None) -> Callable[..., Any]:
    """`run`, which its arguments may answer first; they are told of `function`, if that is not the
    result of this."""

    @wraps(run)
    def ask(*args: Any, **kwargs: Any) -> Any:
        if asked := who_answers(args, kwargs):
            return answer(function or ask, asked, args, kwargs)
        return run(*args, **kwargs)

    return ask


_ASK_CODE = asking(len).__code__


def behind(function: Any) -> Any:
    """The function that `asking` made this one of; any other as it is."""
    is_asking = getattr(function, "__code__", None) is _ASK_CODE
    return function.__wrapped__ if is_asking else function


def demand_tensor(value: Any, method: str) -> Any:
    """`value`, of which a method taken from the class Tensor is asked.

    Raises:
        TypeError: it is no tensor.
    """
    if isinstance(value, TensorBase):
        return value
    raise TypeError(
        f"descriptor '{method}' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type(value).__name__}' object"
    )


@cache
def method_of(name: str) -> Callable[..., Any]:
    """A tensor's method as a function; one object a name, as programs compare them by identity."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(demand_tensor(self, name), name)(*args, **kwargs)

    run.__name__, run.__qualname__, run.__module__ = name, f"Tensor.{name}", _TENSORS
    return run


@contextmanager
def silence() -> Iterator[None]:
    """Within, nobody is asked: functions compute."""
    before, _STATE.is_silent = _STATE.is_silent, True
    try:
        yield
    finally:
        _STATE.is_silent = before


def answer_by_default(
    kind: type[Any], function: Any, types: Iterable[type], args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:  # fmt: skip
    """The function's results, the tensors among them of the class `kind`.

    Returns:
        NotImplemented where one of `types` is no base of `kind`.
    """
    if not all(issubclass(kind, t) for t in types):
        return NotImplemented
    with silence():
        return _in_class(kind, function(*args, **kwargs))


def _in_class(kind: type[Any], result: Any) -> Any:
    if isinstance(result, TensorBase):
        return result if isinstance(result, kind) else result.as_subclass(kind)  # type: ignore[attr-defined]
    if type(result) in (tuple, list):
        return type(result)(_in_class(kind, part) for part in result)
    if isinstance(result, tuple) and hasattr(result, "n_fields"):
        return remade(result, (_in_class(kind, part) for part in result))
    return result


def ask_for_subclass(kind: type[Any], base: type[Any], methods: Iterable[str]) -> None:
    """Let those methods and properties of `base` that the subclass `kind` has inherited ask."""
    for name in methods:
        found = getattr(base, name)
        if getattr(kind, name) is not found:
            continue
        if isinstance(found, property):
            setattr(kind, name, _asking_property(found))
        else:
            setattr(kind, name, asking(found, found))


def _asking_property(found: property) -> property:
    def get(self: Any) -> Any:
        return found.__get__(self)

    get.__name__ = "__get__"
    return property(asking(get), found.fset, found.fdel, found.__doc__)

"""PyTorch's modules while they are traced: their tensors are ours, and so are PyTorch's functions.

PyTorch's C++ takes no size, dtype or device of ours, and what it makes without a tensor of ours
(`torch.arange(n)`) no trace sees. So for the time of a trace the tables of a module hold the
tensors that the trace knows, and PyTorch's namespace our functions; both are put back whatever
happens. Other threads go on with PyTorch's functions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

from tensorscript.eager import namespace
from tensorscript.eager.foreign import converted, is_foreign_tensor
from tensorscript.eager.limits import finfo, iinfo
from tensorscript.eager.storage import TensorBase
from tensorscript.eager.tracing import active_tracer

_LIMITS: Mapping[str, Callable[..., Any]] = {"finfo": finfo, "iinfo": iinfo}
_NOTHING: Mapping[int, TensorBase] = {}

Table = dict[str, Any]


class _Speaking(threading.local):
    """Whether PyTorch's functions are ours in this thread."""

    here: bool = False


_speaking = _Speaking()


def is_pytorchs(module: object) -> bool:
    """Whether a module is of a class of PyTorch's, or of one made from it."""
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(module).__mro__)


@contextmanager
def spoken_for(
    modules: Iterable[Any], known: Mapping[int, TensorBase] = _NOTHING
) -> Iterator[None]:
    """Within, PyTorch's modules and functions work with our tensors in this thread.

    Args:
        modules: modules that are called; ours are left alone.
        known: the tensors of the trace by the `id` of PyTorch's; others are made as needed.
    """
    theirs = [module for module in modules if is_pytorchs(module)]
    torch = sys.modules.get("torch")
    if not theirs or torch is None:
        yield
        return
    changed: list[tuple[Table, str, Any, Any]] = []
    for table, key, value in list(_tensors(theirs)):
        ours = known.get(id(value))
        _put(changed, table, key, converted(value) if ours is None else ours)
    for table, key, function in _functions(torch):
        _put(changed, table, key, function)
    before_here, _speaking.here = _speaking.here, True
    try:
        yield
    finally:
        _speaking.here = before_here
        for table, key, before, ours in reversed(changed):
            if table.get(key) is ours:  # else the program has set it itself
                table[key] = before


def _put(changed: list[tuple[Table, str, Any, Any]], table: Table, key: str, ours: Any) -> None:
    changed.append((table, key, table[key], ours))
    table[key] = ours


def _tensors(modules: Iterable[Any]) -> Iterator[tuple[Table, str, Any]]:
    """The tensors that PyTorch's modules hold, by table and key: also those in plain attributes."""
    seen: set[int] = set()
    for module in modules:
        for table in (module._parameters, module._buffers, vars(module)):
            if id(table) not in seen:
                seen.add(id(table))
                yield from ((table, k, v) for k, v in table.items() if is_foreign_tensor(v))


@cache
def _functions(torch: Any) -> list[tuple[Table, str, Callable[..., Any]]]:
    """PyTorch's functions of tensors, each with one of ours in its place."""
    space = vars(torch)
    made = [
        (space, name, _ours(space[name], namespace.lookup(name)))
        for name in (*dir(torch._C._VariableFunctions), "is_tensor")
        if not name.startswith("_") and callable(space.get(name)) and _has(name)
    ]
    made += [(space, name, _ours(space[name], limits)) for name, limits in _LIMITS.items()]
    tracing = vars(torch._C)
    return [*made, (tracing, "_is_tracing", _is_tracing(tracing["_is_tracing"]))]


def _has(name: str) -> bool:
    try:
        namespace.lookup(name)
    except AttributeError:
        return False
    return True


def _ours(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """What calls our function where this thread speaks ours, and PyTorch's otherwise."""

    @wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _speaking.here:
            return theirs(*args, **kwargs)
        return ours(*map(converted, args), **{k: converted(v) for k, v in kwargs.items()})

    return call


def _is_tracing(theirs: Callable[[], bool]) -> Callable[[], bool]:
    """What `torch.jit.is_tracing` asks: libraries go another way if they are traced."""

    def asked() -> bool:
        return active_tracer() is not None or theirs()

    return asked

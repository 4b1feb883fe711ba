"""Overloaded functions and methods: the stubs that `jit._overload` has seen, by qualified name.

A decorator runs long before its function is scripted, and only the name ties the stubs to the body
that follows them; so this table belongs to the process, as the functions do.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping

Stub = Callable[..., object]
_STUBS: dict[str, list[Stub]] = {}


def _key(fn: Stub) -> str:
    return f"{fn.__module__}.{fn.__qualname__}"


def add_overload(fn: Stub) -> None:
    """Note one annotated stub; a stub written again (a reloaded module) starts a new list."""
    stubs = _STUBS.setdefault(_key(fn), [])
    if stubs and stubs[0].__code__.co_firstlineno >= fn.__code__.co_firstlineno:
        stubs.clear()
    stubs.append(fn)


def stubs_of(fn: Stub) -> list[Stub]:
    """The stubs in front of `fn`; none if it is not overloaded, or is a stub itself."""
    if not hasattr(fn, "__qualname__"):
        return []
    found = _STUBS.get(_key(fn), []) or _torch_stubs(fn)
    if not found and fn.__module__.startswith("tensorscript."):
        found = list(typing.get_overloads(fn))
    return [] if fn in found else list(found)


def _torch_stubs(fn: Stub) -> list[Stub]:
    """The stubs that PyTorch's decorators have seen, where the program imported PyTorch."""
    internal = sys.modules.get("torch._jit_internal")
    if internal is None or not hasattr(fn, "__code__"):
        return []
    name = internal._qualified_name(fn)
    if (functions := internal._overloaded_fns.get(name)) is not None:
        return list(functions)
    by_class = internal._overloaded_methods.get(name, {})
    return list(by_class.get(fn.__qualname__.rpartition(".")[0].rpartition(".")[2], ()))


def merged(stub: Mapping[str, object], body: Mapping[str, object]) -> dict[str, object]:
    """Defaults of an overload: the stub's come before the body's."""
    return {**body, **stub}

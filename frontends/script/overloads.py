"""Overloaded functions and methods: the stubs that `jit._overload` has seen, by qualified name.

A decorator runs long before its function is scripted, and only the name ties the stubs to the body
that follows them; so this table belongs to the process, as the functions do.
"""

from __future__ import annotations

import ast
import sys
import typing
from collections.abc import Callable
from dataclasses import replace

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, FrontendError
from tensorscript.base.importing import imported
from tensorscript.dialects.ts.typing import is_subtype

from .function import Definition
from .signature import NO_DEFAULT, constant_type
from .source import function_source

Stub = Callable[..., object]
_STUBS: dict[str, list[Stub]] = {}
_FUNCTIONAL = "torch.nn.functional"
_OVERLOADED = frozenset(("interpolate", "upsample", "upsample_nearest", "upsample_bilinear"))


def lasting(value: object) -> object:
    """Ours for an overloaded function of PyTorch's `nn.functional`: once PyTorch has compiled such
    a function it forgets the stubs."""
    name = getattr(value, "__name__", None)
    if getattr(value, "__module__", None) == _FUNCTIONAL and name in _OVERLOADED:
        return getattr(imported("tensorscript.nn.functional"), name)
    return value


def _key(fn: Stub) -> str:
    return f"{fn.__module__}.{fn.__qualname__}"


def has_stubs(fn: Stub) -> bool:
    """Whether a function is overloaded, or is one of the stubs."""
    return bool(_STUBS.get(_key(fn)) or _torch_stubs(fn))


def add_overload(fn: Stub) -> None:
    """Note one annotated stub; a stub written again (a reloaded module) starts a new list.

    Raises:
        CompileError: it does something.
    """
    _refuse_body(fn)
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
    if internal is None or not hasattr(fn, "__code__") or fn.__module__ is None:
        return []
    name = internal._qualified_name(fn)
    if (functions := internal._overloaded_fns.get(name)) is not None:
        return list(functions)
    by_class = internal._overloaded_methods.get(name, {})
    return list(by_class.get(fn.__qualname__.rpartition(".")[0].rpartition(".")[2], ()))


def is_stub(fn: Stub) -> bool:
    """Whether a function is one of the stubs itself: no body followed them."""
    return hasattr(fn, "__qualname__") and fn in (_STUBS.get(_key(fn), []) or _torch_stubs(fn))


def _refuse_body(fn: Stub) -> None:
    """A stub may only be `pass` or `...`."""
    try:
        source = function_source(fn)
    except OSError:
        return  # Without a source nothing can be said; compiling will.
    match source.tree.body:
        case [ast.Pass()]:
            return
        case [ast.Expr(ast.Constant(value=value))] if value is ...:
            return
    raise CompileError(
        "Only `pass` statement or `...` can be the body of overload declaration",
        source.text.span(source.tree),
    )


def overloaded_body(declared: Definition, body: Definition) -> Definition:
    """What is compiled for one stub: the body with the stub's types.

    Raises:
        CompileError: the parameters of the two do not go together.
        FrontendError: a default of the stub is not that of the body.
    """
    where = declared.source.text.span(declared.source.tree)
    for name, value in declared.defaults.items():
        if body.defaults.get(name, NO_DEFAULT) != value:
            raise FrontendError(
                "Default parameters on overloads do not affect the runtime so they must equal to "
                f"the default parameter on the implementation function. Found on parameter {name}",
                where,
            )
    stub, full = (_parameters(d) for d in (declared, body))
    if len(stub) > len(full):
        raise CompileError(
            "Overload should not have more parameters than implementation function", where
        )
    if stub != full[: len(stub)]:
        raise CompileError("Overload parameters must have the same names", where)
    for name in full[len(stub) :]:
        if name not in body.defaults:
            raise CompileError(
                f"Expected to find default parameter on argument {name} because it is not defined "
                "on the overloaded declaration",
                body.source.text.span(body.source.tree),
            )
    types = {**body.annotations, **declared.annotations}
    kept = {name: value for name, value in body.defaults.items() if _fits(value, types.get(name))}
    return replace(body, annotations=types, defaults=kept)


def _fits(default: object, type: Attribute | None) -> bool:
    """Whether a default of the body is one where a stub gives its parameter a type."""
    return type is None or default is None or is_subtype(constant_type(default, type), type)


def _parameters(definition: Definition) -> list[str]:
    found = definition.source.tree.args
    return [a.arg for a in (*found.posonlyargs, *found.args, *found.kwonlyargs)]

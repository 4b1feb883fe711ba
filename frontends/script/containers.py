"""Module containers: ModuleList, ModuleDict, Sequential, ParameterList and ParameterDict.

Their children are attributes known while compiling: loops over them unroll, and subscripts are
literal. Only an annotation with a module interface lets a variable choose among them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tensorscript.base.source import Span
from tensorscript.dialects.ts.types import InterfaceType

from .callables import Listing
from .draft import Value
from .emission import Children, Emission
from .values import Parts, Simple, Sugared, held

KINDS = {"ModuleList": "list", "Sequential": "list", "ModuleDict": "dict",
         "ParameterList": "list", "ParameterDict": "dict"}  # fmt: skip
"""Class name to how its children are found."""

LISTINGS = ("items", "keys", "values")

MODULE_LISTINGS = ("children", "named_children", "modules", "named_modules", "named_buffers")

_DYNAMIC_INDEX = (
    "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential "
    "indexing is only supported with integer literals. For example, 'i = 4; self.layers[i](x)' "
    "will fail because i is not a literal. Enumeration is supported, e.g. 'for index, v in "
    "enumerate(self): out = v(inp)'"
)
_DYNAMIC_KEY = (
    "Unable to extract string literal index. ModuleDict indexing is only supported with string "
    "literals. For example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. "
    "Enumeration of ModuleDict is supported, e.g. 'for k, v in self.items(): out = v(inp)'"
)


def generated_methods(kind: str, keys: list[str]) -> dict[str, str]:
    """Texts of the methods that containers of a kind answer script with, by name."""
    out: dict[str, str] = {}
    if kind:
        out["__len__"] = f"def __len__(self):\n   return {len(keys)}\n"
    if kind == "dict":
        test = f"key in {keys!r}" if keys else "False"
        out["__contains__"] = f"def __contains__(self, key: str):\n   return {test}\n"
    return out


def listing(em: Emission, found: Children, name: str, span: Span | None) -> Sugared:
    """`items`, `keys` or `values` of a container with names."""
    keys: list[Sugared] = [Simple(em.constant(key, span)) for key in found.parts]
    values: list[Sugared] = [held(em, v) for v in found.parts.values()]
    pairs: list[Sugared] = [Parts([k, v]) for k, v in zip(keys, values, strict=True)]
    return Listing(Parts({"items": pairs, "keys": keys, "values": values}[name]))


def named_listing(em: Emission, named: dict[str, Value], name: str, span: Span | None) -> Sugared:
    """What `named_children` and the like give: pairs of names and values, or the values alone."""
    values: list[Sugared] = [held(em, v) for v in named.values()]
    if not name.startswith("named_"):
        return Listing(Parts(values))
    keys: list[Sugared] = [Simple(em.constant(key, span)) for key in named]
    return Listing(Parts([Parts([k, v]) for k, v in zip(keys, values, strict=True)]))


def child(
    em: Emission,
    found: Children,
    index: ast.expr,
    literal: Callable[[ast.expr], int | None],
    chosen: InterfaceType | None,
    span: Span,
) -> Sugared | None:
    """A child by literal index, slice or key; None where a variable may choose it.

    Args:
        literal: the value of an integer literal, else None.
        chosen: the interface that an annotation promises of every child.

    Raises:
        CompileError: no such child, or a variable without the promise.
    """
    values = list(found.parts.values())
    if found.keyed:
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            if index.value not in found.parts:
                raise em.error(f"Key Error, {index.value}", span)
            return held(em, found.parts[index.value])
        if chosen is None:
            raise em.error(_DYNAMIC_KEY, span)
        return None
    if isinstance(index, ast.Slice):
        ends = (index.lower, index.upper, index.step)
        bounds = [literal(b) if b is not None else None for b in ends]
        return Parts([held(em, v) for v in values[slice(*bounds)]])
    if chosen is not None:
        return None
    at = literal(index)
    if at is None:
        raise em.error(_DYNAMIC_INDEX, span)
    if not -len(values) <= at < len(values):
        raise em.error(f"Index {at} out of range of length {len(values)}", span)
    return held(em, values[at])

"""Functions that stand for operators which PyTorch has in C++ and no graph of ours.

`__torch__.ops.quantized.linear` is called as any function, and written as the operator that it is,
`ops.quantized.linear(x, ...)`. What comes behind `__` in its name tells overloads apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.schema import has_operator, schema

from .code_calls import value_list

OPERATOR_FUNCTIONS = "__torch__.ops."
"""How the names of such functions begin."""


def shown_callee(name: str) -> str:
    """How a function is written that is called."""
    if not name.startswith(OPERATOR_FUNCTIONS):
        return name
    return name.removeprefix("__torch__.").partition("__")[0]


def call_arguments(name: str, texts: Sequence[str]) -> str:
    """The arguments of a call of the function `name`; an operator may want some by keyword."""
    space, _, operator = name.removeprefix(OPERATOR_FUNCTIONS).partition(".")
    base, _, overload = operator.partition("__")
    if not name.startswith(OPERATOR_FUNCTIONS) or not has_operator(f"{space}::{base}"):
        return value_list(texts)
    formals = schema(f"{space}::{base}.{overload}".removesuffix(".")).arguments
    return value_list(
        [
            f"{a.name}={text}" if a.kwarg_only else text
            for a, text in zip(formals, texts, strict=True)
        ]
    )

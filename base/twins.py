"""Overloads that are another form of one that only computes: `add_`, `add.out`, `special_expit`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from tensorscript.base.schema import Schema, has_operator, overloads

_SPECIAL_TWINS = {"expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma"}


MADE_OF = frozenset(("dtype", "layout", "device", "pin_memory"))
"""What operators that make tensors ask for, and their forms with `out=` take from that."""


class Form(Enum):
    """How an overload differs from the one that computes the same."""

    OUT = auto()
    IN_PLACE = auto()
    SPELLING = auto()
    COPY = auto()


def form_of(wanted: Schema) -> tuple[Form, str] | None:
    """The form of an overload, and the operator whose overload computes; None if it is that one."""
    if wanted.is_out:
        return Form.OUT, wanted.name
    if wanted.is_mutable and (name := _functional_name(wanted)) is not None:
        return Form.IN_PLACE, name
    if (name := plain_name(wanted.base_name)) is not None:
        return Form.SPELLING, name
    if wanted.base_name.endswith("_copy"):
        return Form.COPY, wanted.name.removesuffix("_copy")
    return None


def counterparts(wanted: Schema, name: str) -> Iterator[Schema]:
    """The overloads of operator `name` with the arguments of `wanted` that are not written."""
    if not has_operator(name):
        return
    signature = _signature(wanted)
    for s in overloads(name):
        if s is not wanted and not s.is_out and _signature(s) == signature:
            yield s


def maker_of(wanted: Schema) -> Schema | None:
    """The overload that makes a tensor of a dtype, of which `wanted` is the form with `out=`."""
    if not wanted.is_out:
        return None
    signature = _signature(wanted)
    for s in overloads(wanted.name):
        asked = [a for a in _signature(s) if a[0] in MADE_OF]
        if asked and [a for a in _signature(s) if a not in asked] == signature:
            return s
    return None


def plain_name(base: str) -> str | None:
    """The operator that `special_<name>` is another spelling of."""
    plain = base.removeprefix("special_")
    return None if plain == base else f"aten::{_SPECIAL_TWINS.get(plain, plain)}"


def in_place_name(wanted: Schema) -> str:
    """The overload that writes what `wanted` gives; there may be none of that name."""
    return wanted.full_name.replace(wanted.name, f"{wanted.name}_", 1)


def is_result(wanted: Schema, at: int) -> bool:
    """Whether argument `at` is an `out=` tensor."""
    return wanted.arguments[at].is_write and wanted.arguments[at].kwarg_only


def _functional_name(wanted: Schema) -> str | None:
    """`add_` to `add`, `__iand__` to `__and__`."""
    base = wanted.base_name
    if base.startswith("__i") and base.endswith("__"):
        return f"aten::__{base[3:]}"
    return wanted.name[:-1] if base.endswith("_") else None


def _signature(s: Schema) -> list[tuple[str, str]]:
    """Names and types of what is not written into; the first argument may be called either way."""
    pure = [a for at, a in enumerate(s.arguments) if not is_result(s, at)]
    found = [(a.name, str(a.type).partition("(")[0]) for a in pure]
    return [("self", kind) if k == 0 and name == "input" else (name, kind)
            for k, (name, kind) in enumerate(found)]  # fmt: skip

"""What is done with a variant: the same with each option, under a branch over its tag."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.te.expr import Expr, binary

from .branches import branch
from .builder import Builder
from .elements import known
from .kinds import narrowed
from .values import ABSENT, Value, Variant


def each_option(b: Builder, value: Variant, run: Callable[[Value], Sequence[Value]]) -> list[Value]:
    """The results of `run` with the option that the variant is."""

    def among(at: int) -> list[Value]:
        option = value.options[at]
        if at == len(value.options) - 1:
            return list(run(option))
        here = known(binary("eq", value.tag, at))
        if not isinstance(here, Expr):
            return list(run(option)) if here else among(at + 1)
        return branch(b, here, lambda _: list(run(option)), lambda _: among(at + 1))

    return among(0)


def present(value: Value) -> Value:
    """Whether a dict has what it holds under a key: a bool or an expression."""
    if not isinstance(value, Variant):
        return value is not ABSENT
    if ABSENT not in value.options:
        return True
    return known(binary("ne", value.tag, value.options.index(ABSENT)))


def held(value: Value) -> Value:
    """What a dict holds under a key that it has."""
    if not isinstance(value, Variant):
        return value
    return narrowed(value, [k for k, v in enumerate(value.options) if v is not ABSENT])

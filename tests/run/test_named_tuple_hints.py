"""NamedTuples whose types are text, as `from __future__ import annotations` makes them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import tensorscript as ts


class Shift(NamedTuple):
    by: int


class Pair(NamedTuple):
    x: ts.Tensor
    shift: Shift
    more: list[Shift]


class Endless(NamedTuple):
    x: ts.Tensor
    rest: list[Endless]


class Unknown(NamedTuple):
    x: ts.Tensor
    rest: Nowhere  # type: ignore[name-defined]  # noqa: F821 - the mistake this is about


def shifted(p: Pair) -> ts.Tensor:
    return p.x + p.shift.by + p.more[0].by


def of_endless(p: Endless) -> ts.Tensor:
    return p.x


def of_unknown(p: Unknown) -> ts.Tensor:
    return p.x


def made(x: ts.Tensor) -> Pair:
    return Pair(x, Shift(2), [Shift(3)])


def test_names_are_looked_up_where_the_class_is() -> None:
    pair = ts.jit.script(made)(ts.ones(2))
    assert ts.jit.script(shifted)(pair).tolist() == [6.0, 6.0]


def test_a_tuple_that_holds_itself_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Unknown type name 'Endless'"):
        ts.jit.script(of_endless)


def test_a_name_that_nothing_has_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Unknown type name 'Nowhere'"):
        ts.jit.script(of_unknown)

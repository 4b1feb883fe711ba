"""What Python may pass for a parameter that is a class or an interface."""

from types import SimpleNamespace
from typing import Optional

import pytest

import tensorscript as ts
from tensorscript.base.errors import FrontendError, GuardError


@ts.jit.script
class Held:
    count: int
    name: str

    def __init__(self, count: int) -> None:
        self.count = count
        self.name = "a"


@ts.jit.interface
class Doubling:
    def double(self, x: int) -> int:  # type: ignore[empty-body]  # an interface
        pass


@ts.jit.script
class Doubler:
    def double(self, x: int) -> int:
        return x * 2


@ts.jit.script
class Tripler:
    def triple(self, x: int) -> int:
        return x * 3


def count_of(held: Optional[Held]) -> int:  # noqa: UP045
    return 0 if held is None else held.count


def doubled(by: Doubling, x: int) -> int:
    return by.double(x)


def test_an_object_of_any_class_is_one_if_it_has_the_attributes() -> None:
    f = ts.jit.script(count_of)
    assert (f(Held(3)), f(SimpleNamespace(count=4, name="b", more=0)), f(None)) == (3, 4, 0)
    with pytest.raises(GuardError, match=r"__torch__.*Held but object was missing attribute name"):
        f(SimpleNamespace(count=4))
    with pytest.raises(GuardError, match="Could not cast attribute 'name' to type str"):
        f(SimpleNamespace(count=4, name=4))


def test_objects_of_scripted_classes_stand_behind_interfaces() -> None:
    f = ts.jit.script(doubled)
    assert f(Doubler(), 4) == 8
    with pytest.raises(GuardError, match=r"does not have method 'double' but '.*Doubling' does"):
        f(Tripler(), 4)
    with pytest.raises(GuardError, match="Expected a value of type"):
        f(3, 4)


def test_interfaces_have_one_base_at_most() -> None:
    with pytest.raises(GuardError, match="does not support inheritance yet"):
        ts.jit.interface(type("Odd", (ts.nn.ReLU,), {}))


def test_string_literals_of_texts_are_underlined_whole() -> None:
    text = 'def f(x: int):\n    with "no object" as y:\n        pass\n'
    with pytest.raises((RuntimeError, FrontendError)) as caught:
        ts.jit.CompilationUnit(text)
    assert "\n         " + "~" * len('"no object"') + " <--- HERE" in str(caught.value)

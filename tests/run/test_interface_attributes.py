"""Attributes behind an interface that hold objects of plain script classes."""

from __future__ import annotations

import pytest

import tensorscript as ts
from tensorscript import nn


@ts.jit.interface
class Step:
    def run(self, x: ts.Tensor) -> ts.Tensor:  # type: ignore[empty-body]  # declared only
        pass


@ts.jit.script
class Doubling:
    def run(self, x: ts.Tensor) -> ts.Tensor:
        return x * 2


@ts.jit.script
class Walking:
    def walk(self, x: ts.Tensor) -> ts.Tensor:
        return x


class Uses(nn.Module):
    step: Step

    def __init__(self, step: object) -> None:
        super().__init__()
        self.step = step  # type: ignore[assignment]  # interfaces are none of Python's types

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return self.step.run(x)


def test_the_class_is_compiled_for_the_attribute() -> None:
    module = ts.jit.script(Uses(Doubling()))
    assert module(ts.ones(2)).tolist() == [2.0, 2.0]
    assert ts.jit.load(module.save_to_buffer())(ts.ones(2)).tolist() == [2.0, 2.0]
    native = ts.compile(module)
    assert native(ts.ones(2)).tolist() == [2.0, 2.0] and native.stats.is_native


def test_a_class_that_does_not_fulfil_it_is_refused() -> None:
    with pytest.raises(RuntimeError, match="is not compatible with interface"):
        ts.jit.script(Uses(Walking()))


class Unscriptable:
    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def __str__(self) -> str:
        return "unscriptable"

    def run(self, x: ts.Tensor) -> ts.Tensor:
        return x


@pytest.mark.parametrize("value", [3, "three", None, [1], Unscriptable()], ids=str)
def test_what_no_script_can_have_is_refused(value: object) -> None:
    why = f"attribute 'step' to type .*Step: Assigning the object {value} to an interface fails"
    why = why.replace("[", r"\[").replace("]", r"\]")
    with pytest.raises(RuntimeError, match=why):
        ts.jit.script(Uses(value))
    module = ts.jit.script(Uses(Doubling()))
    with pytest.raises(RuntimeError, match=why):
        module.step = value

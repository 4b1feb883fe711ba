"""`with jit._IgnoreContextManager(...)` leaves statements of a script in Python."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as torch
from tensorscript import Tensor, jit, ones
from tensorscript.base.errors import CompileError, NotSupportedError


def listed(n: int) -> tuple[list[int], int]:
    a = 3
    b: list[int] = []
    with torch.jit._IgnoreContextManager(a="inp:int", n="inp:int", b="out:List[int]"):
        try:
            b = [i * n for i in range(a) if i != 1]
        except ValueError:
            b = []
    return b, a


def several(x: Tensor, n: int) -> Any:
    a = 0
    b = 1.0
    with torch.jit._IgnoreContextManager(n="inp:int", a="out:int", b="out:float"):
        a = sum(range(n))
        b = a / 4
    return x + a, b


def nothing(n: int) -> int:
    with torch.jit._IgnoreContextManager(n="inp:int"):
        seen.append(n)
    return n


def misdeclared(n: int) -> int:
    with torch.jit._IgnoreContextManager(n="int"):
        n = n + 1
    return n


seen: list[int] = []


@pytest.mark.parametrize("mode", ["interpreter", "native"])
def test_the_body_runs_in_python(mode: Any) -> None:
    with jit.executor(mode):
        assert jit.script(listed)(2) == listed(2) == ([0, 4], 3)


def test_several_results_are_unpacked() -> None:
    function = jit.script(several)
    result, number = function(ones(2), 4)
    assert (result.tolist(), number) == ([7.0, 7.0], 1.5)
    assert "(int, float) = ^func_ignore_" in str(function.graph)


def test_a_body_without_results() -> None:
    assert jit.script(nothing)(5) == 5
    assert seen == [5]


def test_it_is_not_saved() -> None:
    with pytest.raises(CompileError, match="Could not export Python function call"):
        jit.script(listed).save_to_buffer()


def test_a_variable_without_a_way() -> None:
    with pytest.raises(NotSupportedError, match="needs 'inp:<type>' or 'out:<type>' for 'n'"):
        jit.script(misdeclared)


class Described:
    @jit.ignore  # type: ignore[misc]  # its types are for scripts
    def __call__(self, *args: Any) -> str:
        return f"{len(args)} of {type(args[0]).__name__}"


class Scaled:
    def __call__(self, n: int, by: float) -> float:
        return n * by


described, scaled = Described(), Scaled()


def called(x: Tensor, n: int) -> Any:
    return described(x, x) + "!", scaled(n, 0.5) + 1


@pytest.mark.parametrize("mode", ["interpreter", "native"])
def test_annotations_of_an_object_are_the_types_of_its_call(mode: Any) -> None:
    with jit.executor(mode):
        function = jit.script(called)
        text, number = function(ones(2), 3)
    assert (text, number) == ("2 of Tensor!", 2.5)
    assert "str = ^Described" in str(function.graph)


class Layer(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 3


layer = Layer()


def test_a_module_that_a_function_calls_takes_and_gives_tensors() -> None:
    def calls(x: Tensor) -> Any:
        return layer(x) + 1

    function = jit.script(calls)
    assert function(ones(2)).tolist() == [4.0, 4.0]
    assert "Tensor = ^Layer" in str(function.graph)


def test_an_object_refuses_what_its_call_does_not_take() -> None:
    def refused(x: str) -> float:
        return scaled(x, 0.5)  # type: ignore[arg-type]  # what is refused

    with pytest.raises(CompileError, match="Expected a value of type 'int' for argument 'n'"):
        jit.script(refused)

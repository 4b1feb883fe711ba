"""`warnings.warn` of scripts: the script's file and line, once a run, interpreted and native."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tensorscript
from tensorscript import Tensor, compile, jit, ones


def warned(x: Tensor) -> Tensor:
    warnings.warn("careful", stacklevel=2)
    return x + 1


def repeated(x: Tensor) -> Tensor:
    for _ in range(3):
        x = warned(warned(x))
    return x


def only_below(x: Tensor, n: int) -> Tensor:
    if n < 0:
        warnings.warn("negative", stacklevel=2)
    return x + n


LINE = warned.__code__.co_firstlineno + 1


def told(fn: Any, *arguments: Any) -> list[tuple[type[Warning], str, str, int]]:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        fn(*arguments)
        fn(*arguments)
    return [(w.category, str(w.message), w.filename, w.lineno) for w in shown]


@pytest.mark.parametrize("program", [warned, repeated])
def test_each_run_warns_once(program: Any) -> None:
    expected = (UserWarning, "careful", __file__, LINE)
    assert told(jit.script(program), ones(2)) == [expected, expected]


def test_equals_torch() -> None:
    torch = pytest.importorskip("torch")
    text = """
def f(x, n: int):
    warnings.warn("first")
    for _ in range(n):
        warnings.warn("again")
    return x
"""
    units = [(m, m.jit.CompilationUnit(text)) for m in (torch, tensorscript)]
    theirs, ours = [told(unit.f, m.ones(2), 2) for m, unit in units]
    assert ours == theirs
    assert [message for _, message, *_ in ours] == ["first", "again"] * 2


def test_a_warning_as_an_error() -> None:
    scripted = jit.script(repeated)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="careful"):
            scripted(ones(2))
    assert len(told(scripted, ones(2))) == 2


@pytest.mark.parametrize("program", [warned, repeated])
def test_native_code_does_not_drop_it(program: Any) -> None:
    expected = (UserWarning, "careful", __file__, LINE)
    assert told(compile(jit.script(program), fallback="error"), ones(2)) == [expected, expected]


def test_a_warning_that_is_not_reached_stays_out_of_the_way() -> None:
    compiled = compile(jit.script(only_below), example_inputs=(ones(2), 3), fallback="error")
    assert compiled(ones(2), 3).tolist() == [4.0, 4.0]

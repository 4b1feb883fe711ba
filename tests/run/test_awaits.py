"""Calls that are made when somebody waits for them, outside of scripts and across their border."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor
from tensorscript._awaits import Await
from tensorscript.base.errors import GuardError


def twice(x: Tensor) -> Tensor:
    return x * 2


def delayed(x: Tensor) -> Await[Tensor]:  # type: ignore[type-arg]
    return ts.jit._awaitable(twice, x)


def waited(aw: Await[Tensor]) -> Tensor:  # type: ignore[type-arg]
    made: Tensor = ts.jit._awaitable_wait(aw)
    return made + 1


class Held:
    def __init__(self, x: Tensor) -> None:
        self.x = x


def held(x: Tensor) -> Await[Held]:  # type: ignore[type-arg]
    return ts.jit._awaitable_nowait(Held(x))


def test_made_once() -> None:
    calls: list[int] = []

    def noted(x: int, plus: int = 0) -> int:
        calls.append(x)
        return x + plus

    aw = ts.jit._awaitable(noted, 3, plus=1)
    assert not calls and not aw.is_nowait()
    assert aw.fn() is noted and aw.args() == (3,)
    assert [ts.jit._awaitable_wait(aw), ts.jit._awaitable_wait(aw), aw.real] == [4, 4, 4]
    assert calls == [3]


def test_failing_call_is_made_again() -> None:
    left = [ValueError("first")]

    def sometimes() -> int:
        if left:
            raise left.pop()
        return 5

    aw = ts.jit._awaitable(sometimes)
    with pytest.raises(ValueError, match="first"):
        ts.jit._awaitable_wait(aw)
    assert ts.jit._awaitable_wait(aw) == 5


def test_there_already() -> None:
    aw = ts.jit._awaitable_nowait(33)
    assert aw.is_nowait() and aw.args() == (33,) and ts.jit._awaitable_wait(aw) == 33
    with pytest.raises(GuardError, match="Await constructed as awaitable_nowait does not have fn"):
        aw.fn()


def test_attributes_of_the_result() -> None:
    aw = ts.jit._awaitable(twice, ts.ones(2))
    assert aw.dtype is ts.float32 and aw.missing is None
    assert isinstance(aw, ts.jit._Await) and isinstance(aw, ts._C._Await)


@pytest.mark.parametrize("given", [3, len, Held])
def test_only_functions_of_python(given: Any) -> None:
    with pytest.raises(TypeError, match="is not an instance of 'function'"):
        ts.jit._awaitable(given)


def test_only_awaits_are_waited_for() -> None:
    with pytest.raises(TypeError, match="_awaitable_wait"):
        ts.jit._awaitable_wait(3)


def test_across_the_border() -> None:
    """A script gives and takes them; what Python made is checked when the script waits for it."""
    x = ts.ones(2)
    aw = ts.jit.script(delayed)(x)
    assert isinstance(aw, Await) and aw.is_nowait() and aw.args() == ()
    take = ts.jit.script(waited)
    for given in (aw, ts.jit._awaitable(twice, x), ts.jit._awaitable_nowait(x * 2)):
        np.testing.assert_array_equal(take(given).numpy(), np.full(2, 3.0, np.float32))
    with pytest.raises(GuardError, match="Unable to cast"):
        take(ts.jit._awaitable(lambda: 3))
    with pytest.raises(GuardError, match=r"Expected a value of type 'Await\[Tensor\]'"):
        take(x)


def test_objects_of_scripts_are_seen_by_python() -> None:
    found = ts.jit.script(held)(ts.ones(2))
    np.testing.assert_array_equal(found.x.numpy(), np.ones(2, np.float32))


def test_archive_gives_them() -> None:
    data = io.BytesIO()
    ts.jit.save(ts.jit.script(delayed), data)
    loaded = ts.jit.load(io.BytesIO(data.getvalue()))
    made = ts.jit._awaitable_wait(loaded(ts.ones(2)))
    np.testing.assert_array_equal(made.numpy(), np.full(2, 2.0, np.float32))


def test_graph_text_is_read_back() -> None:
    graph = ts.jit.script(delayed).graph
    text = str(graph)
    assert "prim::awaitable_0(" in text and "with prim::awaitable_0 = graph(" in text
    parsed = ts._C.parse_ir(text)
    assert "prim::awaitable_0(" in str(parsed)
    assert next(parsed.outputs()).type().kind() == "AwaitType"

"""Errors in Python functions that scripts call: failures of the script, in TorchScript's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts
from tensorscript import jit


class OwnError(Exception):
    """A kind of error that neither Python nor TensorScript knows."""


@jit.ignore
def own(x: ts.Tensor) -> ts.Tensor:
    raise OwnError("bad!")


@jit.ignore
def key(x: ts.Tensor) -> ts.Tensor:
    raise KeyError("k")


@jit.ignore
def shapes(x: ts.Tensor) -> ts.Tensor:
    return x + ts.ones(3)


def calls_own(x: ts.Tensor) -> ts.Tensor:
    with ts.no_grad():
        y = own(x)
    return y


def calls_key(x: ts.Tensor) -> ts.Tensor:
    return key(x)


def calls_shapes(x: ts.Tensor) -> ts.Tensor:
    return shapes(x)


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (calls_own, "RuntimeError: OwnError: bad!\n\nAt:\n"),
        (calls_key, "RuntimeError: KeyError: 'k'\n\nAt:\n"),
        (calls_shapes, "RuntimeError: RuntimeError: The size of tensor a (2) must match"),
    ],
)
def test_the_script_fails_with_its_stack(fn: Callable[..., Any], said: str) -> None:
    called = fn.__name__.removeprefix("calls_")
    with pytest.raises(RuntimeError, match="The following operation failed in the") as caught:
        jit.script(fn)(ts.ones(2))
    text = str(caught.value)
    assert said in text
    assert f"{called}(x)\n" in text.split(said)[0]  # the line of the script, underlined
    assert f"): {called}\n" in text.split("\nAt:\n")[1]  # the line of Python
    assert caught.value.__cause__ is not None


def test_contexts_are_left() -> None:
    assert ts.is_grad_enabled()
    with pytest.raises(RuntimeError):
        jit.script(calls_own)(ts.ones(2))
    assert ts.is_grad_enabled()


def test_what_ends_a_process_passes() -> None:
    @jit.ignore
    def stop(x: ts.Tensor) -> ts.Tensor:
        raise KeyboardInterrupt

    def f(x: ts.Tensor) -> None:
        stop(x)

    with pytest.raises(KeyboardInterrupt):
        jit.script(f)(ts.ones(1))

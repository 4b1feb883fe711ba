"""Classes of users that answer functions by `__torch_function__`, next to PyTorch's."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "first": lambda m, t, x: m.add(t, x),
    "second": lambda m, t, x: m.add(x, t),
    "by_name": lambda m, t, x: m.mean(input=t),
    "in_a_list": lambda m, t, x: m.cat([x, t]),
    "out": lambda m, t, x: m.add(x, x, out=t),
    "method": lambda m, t, x: x.add(t),
    "in_place": lambda m, t, x: x.copy_(t),
    "operator": lambda m, t, x: x + t,
    "in_place_operator": lambda m, t, x: x.__iadd__(t),
    "product": lambda m, t, x: x @ t,
    "comparison": lambda m, t, x: x == t,
    "several_operators": lambda m, t, x: m.einsum("i,i", x, t),
    "several_results": lambda m, t, x: m.split(t, 2),
    "namespace": lambda m, t, x: m.linalg.svd(t),
    "functional": lambda m, t, x: m.nn.functional.relu(t),
    "functional_loss": lambda m, t, x: m.nn.functional.mse_loss(t, x),
    "functional_built_in": lambda m, t, x: m.nn.functional.scaled_dot_product_attention(t, x, x),
    "layer": lambda m, t, x: m.nn.Linear(2, 2)(t),
    "no_tensor": lambda m, t, x: m.is_tensor(t),
}


def _answers(m: Any, program: Callable[[Any, Any, Any], Any]) -> tuple[Any, list[Any]]:
    """What a program gives, and the functions that a class was asked about."""
    asked: list[Any] = []

    class Answering:
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Any = (), named: Any = None
        ) -> Any:
            asked.append((function.__name__.strip("_"), cls in types))
            return "answered"

    return program(m, Answering(), m.ones(2)), asked


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_outermost_function_is_answered(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert _answers(ts, PROGRAMS[name]) == _answers(torch, PROGRAMS[name])


def test_a_class_is_told_the_public_function() -> None:
    """So that it may look it up in a table of its own."""
    told: list[Any] = []

    class Listening:
        @classmethod
        def __torch_function__(cls, function: Any, *rest: Any) -> Any:
            told.append(function)

    for function in (ts.add, ts.einsum, ts.linalg.svd, ts.nn.functional.relu, ts.Tensor.add):
        function(ts.ones(1), Listening())
        assert told.pop() is function
        assert not told


SUBCLASS: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda m, x: x + 1, "reflected": lambda m, x: m.ones(2, 2) - x,
    "function": lambda m, x: m.add(1, x), "method": lambda m, x: x.sum(),
    "property": lambda m, x: x.T, "index": lambda m, x: x[0],
    "named_results": lambda m, x: x.max(1), "results": lambda m, x: x.split(1),
    "list": lambda m, x: m.stack([x, x]), "layer": lambda m, x: m.nn.Linear(2, 2)(x),
    "functional": lambda m, x: m.nn.functional.softmax(x, 0), "numbers": lambda m, x: x.tolist(),
    "shape": lambda m, x: x.shape, "unary": lambda m, x: -x, "as_dtype": lambda m, x: x.double(),
}  # fmt: skip


def _kinds(m: Any, program: Callable[[Any, Any], Any]) -> Any:
    """Whether the results are of the subclass."""

    class Plain(m.Tensor):  # type: ignore[misc, name-defined]  # of either library
        pass

    found = program(m, m.ones(2, 2).as_subclass(Plain))
    parts = found if isinstance(found, tuple) else (found,)
    return type(found).__name__, [type(p).__name__ for p in parts]


@pytest.mark.torch
@pytest.mark.parametrize("name", SUBCLASS)
def test_results_of_a_subclass_are_of_it(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert _kinds(ts, SUBCLASS[name]) == _kinds(torch, SUBCLASS[name])


def test_a_subclass_that_listens_may_leave_the_answer_to_tensors() -> None:
    heard: list[str] = []

    class Logged(ts.Tensor):
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Any = (), named: Any = None
        ) -> Any:
            heard.append(function.__name__)
            return super().__torch_function__(function, types, args, named)

    x = ts.ones(2).as_subclass(Logged)
    y = ts.nn.functional.softmax(x * 2, dim=0)
    assert type(y) is Logged and y.add_(1) is y
    assert heard == ["mul", "softmax", "add_"]


def test_where_nobody_answers() -> None:
    class Silent:
        @classmethod
        def __torch_function__(cls, *_: Any) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.add'; all __torch"):
        ts.add(Silent(), 1)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        ts.ones(1) + Silent()


@pytest.mark.parametrize(
    "function", [ts.einsum, ts.split, ts.add, ts.nn.functional.relu, ts.nn.functional.pad]
)
def test_functions_are_pickled_by_name(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function

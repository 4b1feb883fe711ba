"""`jit.script(.., example_inputs=..)`: types of parameters from what examples call them with.

The expected types are those that PyTorch with MonkeyType declares.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import pytest

from tensorscript import Tensor, jit, nn, ones

X = ones(2)


class Pair(NamedTuple):
    first: int
    second: Tensor


def add(a, b):  # type: ignore[no-untyped-def]
    return a + b


def same(a):  # type: ignore[no-untyped-def]
    return a


def scaled(x, n):  # type: ignore[no-untyped-def]
    return x * n


def calls(x, n):  # type: ignore[no-untyped-def]
    return scaled(x, n) + scaled(x, 2)


def maybe(x, y=None):  # type: ignore[no-untyped-def]
    if y is None:
        return x
    return x + 1


def half_annotated(a: float, b):  # type: ignore[no-untyped-def]
    return a + b


def commented(a, b):  # type: ignore[no-untyped-def]
    # type: (float, float) -> float
    return a + b


class Counter:
    def __init__(self, start):  # type: ignore[no-untyped-def]
        self.start = start

    def after(self, steps):  # type: ignore[no-untyped-def]
        return self.start + steps


def counted(n):  # type: ignore[no-untyped-def]
    return Counter(n).after(n)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, n):  # type: ignore[no-untyped-def]
        return self.linear(x) * self.scale(n)

    def scale(self, n):  # type: ignore[no-untyped-def]
        return n + 1

    @jit.export
    def named(self, text):  # type: ignore[no-untyped-def]
        return text + "."


def fresh(fn: Any) -> Any:
    """A function is scripted once: a copy of it, with other types."""
    return type(fn)(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__)


@pytest.mark.parametrize(
    ("fn", "examples", "schema"),
    [
        (add, [(3, 4)], "add(int a, int b) -> int"),
        (add, [(3.0, 4), (2.0, 1)], "add(float a, int b) -> float"),
        (add, [(X, 2)], "add(Tensor a, int b) -> Tensor"),
        (same, [(True,)], "same(bool a) -> bool"),
        (same, [([1, 2],)], "same(int[] a) -> int[]"),
        (same, [([],)], "same(Any[] a) -> Any[]"),
        (same, [([None, 1],)], "same(int?[] a) -> int?[]"),
        (same, [([1, "a"],)], "same(Union(int, str)[] a) -> Union(int, str)[]"),
        (
            same,
            [({"a": (1, 2.0)},)],
            "same(Dict(str, (int, float)) a) -> Dict(str, (int, float))",
        ),
        (same, [(1,), ("a",)], "same(Any a) -> Any"),
        (same, [(1,), (None,)], "same(int? a) -> int?"),
        (same, [((),)], "same(() a) -> (())"),
        (calls, [(X, 2)], "calls(Tensor x, int n) -> Tensor"),
        (maybe, [(X,), (X, 3)], "maybe(Tensor x, int? y=None) -> Tensor"),
        (counted, [(4,)], "counted(int n) -> int"),
    ],
)
def test_types(fn: Any, examples: Any, schema: str) -> None:
    assert str(jit.script(fresh(fn), example_inputs=examples).schema) == schema


def test_named_tuples_keep_their_class() -> None:
    scripted = jit.script(fresh(same), example_inputs=[(Pair(1, X),)])
    assert str(scripted.schema).endswith("Pair")
    assert scripted(Pair(2, X)).first == 2


def test_annotations_and_comments_come_first() -> None:
    scripted = jit.script(half_annotated, example_inputs=[(1, 2)])
    assert str(scripted.schema) == "half_annotated(float a, int b) -> float"
    scripted = jit.script(commented, example_inputs=[(1, 2)])
    assert str(scripted.schema) == "commented(float a, float b) -> float"


def test_methods_of_modules() -> None:
    layer = Layer()
    examples = {layer: [(ones(1, 2), 2)], layer.named: [("a",)]}
    scripted = jit.script(layer, example_inputs=examples)
    assert str(scripted.forward.schema).endswith("Tensor x, int n) -> Tensor")
    assert scripted.named("b") == "b."
    assert scripted(ones(1, 2), 2).equal(layer(ones(1, 2), 2))


def test_the_profile_of_before_is_back() -> None:
    before = sys.getprofile()
    with pytest.raises(TypeError, match="unsupported operand"):
        jit.script(fresh(add), example_inputs=[(1, "a")])
    assert sys.getprofile() is before


def test_other_forms_are_refused() -> None:
    with pytest.raises(ValueError, match="Unable to infer types"):
        jit.script(fresh(add), example_inputs=(1, 2))

"""Lists and dicts that scripts and Python share."""

from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import GuardError


@ts.jit.script
def append(x: list[int], n: int) -> list[int]:
    x.append(n)
    return x


@ts.jit.script
def put(d: dict[str, int], n: int) -> dict[str, int]:
    d["n"] = n
    return d


@ts.jit.script
def first(x: list[list[int]]) -> int:
    x[0].append(7)
    return len(x[0])


def test_a_script_changes_a_shared_list() -> None:
    shared = ts.jit.script([1, 2])
    result = append(shared, 3)
    assert list(shared) == [1, 2, 3]
    assert result == [1, 2, 3] and type(result) is list
    result.append(9)
    assert list(shared) == [1, 2, 3]


def test_a_plain_list_is_copied() -> None:
    plain = [1, 2]
    append(plain, 3)
    assert plain == [1, 2]


def test_the_list_given_to_script_is_copied_once() -> None:
    plain = [1]
    shared = ts.jit.script(plain)
    shared.append(2)
    assert plain == [1] and ts.jit.script(shared) is shared


def test_nested_lists_are_shared() -> None:
    shared = ts.jit.script([[1], [2]])
    assert first(shared) == 2
    assert shared[0] == [1, 7]


def test_a_script_changes_a_shared_dict() -> None:
    shared = ts.jit.script({"a": 1})
    assert put(shared, 4) == {"a": 1, "n": 4}
    assert dict(shared.items()) == {"a": 1, "n": 4}
    assert list(shared) == list(shared.keys()) == ["a", "n"]
    assert "n" in shared and "z" not in shared
    assert repr(shared) == "{a: 1, n: 4}"


def test_methods_of_a_list() -> None:
    x: Any = ts.jit.script([1, 2, 3])
    x.extend([4, 5])
    x.insert(0, 9)
    assert (x.pop(), x.pop(0), x.count(2)) == (5, 9, 1)
    x.remove(2)
    del x[0]
    x[0] = 8
    assert repr(x) == "[8, 4]" and len(x) == 2 and 8 in x and bool(x)
    assert list(x[1:]) == [4] and type(x[1:]) is type(x)
    x.clear()
    assert not x


def test_values_of_another_type_are_refused() -> None:
    x, d = ts.jit.script([1]), ts.jit.script({"a": 1})
    with pytest.raises(TypeError, match="Unable to cast 'a' to int"):
        x.append("a")
    with pytest.raises(TypeError):
        d["b"] = "c"
    with pytest.raises(IndexError):
        x[5]
    with pytest.raises(KeyError):
        d["zz"]


@pytest.mark.parametrize("asked", ["s", 1.0, None])
def test_a_list_is_asked_for_values_of_its_type_alone(asked: Any) -> None:
    x: Any = ts.jit.script([1, 2])
    for ask in (x.__contains__, x.count, x.remove):
        with pytest.raises(TypeError, match=f"Unable to cast {asked!r} to int"):
            ask(asked)
    assert list(x) == [1, 2]


def test_keys_of_another_type_are_no_keys() -> None:
    d: Any = ts.jit.script({1: "a"})
    for ask in (d.__contains__, d.__getitem__):
        with pytest.raises(KeyError):
            ask(1.0)
    with pytest.raises(TypeError):
        del d[1.0]
    assert dict(d.items()) == {1: "a"}


def test_a_slice_takes_as_many_elements_as_it_has() -> None:
    x: Any = ts.jit.script([1, 2, 3])
    x[:2] = [7, 8]
    assert list(x) == [7, 8, 3]
    with pytest.raises(RuntimeError, match="slice assignment have different sizes"):
        x[:2] = [1]
    with pytest.raises(TypeError):
        x[:1] = ["a"]
    assert list(x) == [7, 8, 3]


def test_a_list_of_another_type_does_not_convert() -> None:
    with pytest.raises(GuardError, match="Expected a value of type 'List\\[int\\]'"):
        append(ts.jit.script([1.5]), 1)


def test_elements_of_two_types_are_refused() -> None:
    with pytest.raises(GuardError, match=r"consistent element type\. Found int and str"):
        ts.jit.script([1, "a"])


def test_empty_containers_hold_tensors() -> None:
    x = ts.jit.script([])
    x.append(ts.ones(1))
    assert len(x) == 1
    with pytest.raises(TypeError):
        x.append(1)


class Holder(ts.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.held = ts.jit.script([1])

    def forward(self) -> int:
        return len(self.held)


def test_a_shared_list_is_no_attribute() -> None:
    with pytest.raises(RuntimeError, match="Module 'Holder' has no attribute 'held'"):
        ts.jit.script(Holder())


@pytest.mark.parametrize("thing", [3, "x", len, (1, 2)])
def test_builtin_objects_are_refused(thing: object) -> None:
    with pytest.raises(TypeError, match="is a built-in class"):
        ts.jit.script(thing)


def test_a_lambda_is_refused_with_a_hint() -> None:
    with pytest.raises(RuntimeError, match="Expected a single top-level function") as caught:
        ts.jit.script(lambda x: x + 1)
    assert "write it as a function with def" in str(caught.value)

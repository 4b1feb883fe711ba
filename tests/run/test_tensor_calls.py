"""Compiled functions called with eager tensors: the second call needs no dispatch, and tells apart
what arrays alone do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable, UserError
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.jit.callables import executor
from tensorscript.eager.modes import MODES


def doubled(x: ts.Tensor) -> ts.Tensor:
    return x * 2


def both(x: ts.Tensor, scale: float = 3.0) -> tuple[ts.Tensor, ts.Tensor]:
    return x * scale, x.sum()


def total(x: ts.Tensor) -> float:
    return x.sum().item()


def positive(x: ts.Tensor) -> ts.Tensor:
    assert x.size(0) > 1 and bool((x > 0).all()), "all must be positive"
    return x + 1


def compiled(program: Callable[..., Any]) -> Callable[..., Any]:
    return ts.compile(program, fallback="error", cache=False)


def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    pytest.fail("a call was dispatched")


def test_a_second_call_is_not_dispatched(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ts.tensor([1.0, 2.0, 3.0])
    calls = [compiled(doubled), compiled(both), compiled(total)]
    monkeypatch.setattr(MODES, "has_gpus", False)  # of tests that ran before
    first = [call(x) for call in calls]
    monkeypatch.setattr(CompiledFunction, "dispatch", refuse)
    second = [call(x) for call in calls]
    assert type(second[0]) is ts.Tensor and second[0].tolist() == [2.0, 4.0, 6.0]
    assert type(second[1]) is tuple and [type(t) for t in second[1]] == [ts.Tensor] * 2
    assert [t.tolist() for t in second[1]] == [t.tolist() for t in first[1]] == [[3, 6, 9], 6.0]
    assert second[2] == first[2] == 6.0 and type(second[2]) is float
    assert calls[1](x, 2.0)[0].tolist() == [2.0, 4.0, 6.0]


def ordered(x: ts.Tensor):  # type: ignore[no-untyped-def]  # a named tuple, which has no name here
    return ts.sort(x, 0)


def named_parts(x: ts.Tensor) -> dict[str, list[ts.Tensor]]:
    return {"sums": [x.sum(), x + x], "parts": [x * 0.5]}


def parts_of_all_kinds(x: ts.Tensor) -> tuple[ts.Tensor, int, tuple[str, float], None]:
    return x + 1, x.size(0), ("sum", x.sum().item()), None


@pytest.mark.parametrize("kind", [ts.tensor, np.array])
@pytest.mark.parametrize("program", [ordered, named_parts, parts_of_all_kinds])
def test_results_of_other_shapes_are_not_dispatched_either(
    program: Callable[..., Any], kind: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    call, x = compiled(program), kind([2.0, 1.0, 3.0])
    monkeypatch.setattr(MODES, "has_gpus", False)  # of tests that ran before
    first = call(x)
    with monkeypatch.context() as patch:
        patch.setattr(CompiledFunction, "dispatch", refuse)
        second = call(x)
    assert type(second) is type(first) and str(second) == str(first)
    third = call(kind([[2.0, 1.0], [3.0, 0.0]]))  # other sizes, of another rank
    assert type(third) is type(first) and str(third) != str(first)
    assert str(call(x)) == str(first)


def test_what_arrays_do_not_tell() -> None:
    call = compiled(doubled)
    bits = ts.tensor([1, 2, 3], dtype=ts.uint16)
    assert call(bits).tolist() == call(bits).tolist() == [2, 4, 6]
    halves = ts.tensor([1.0, 2.0, 3.0], dtype=ts.bfloat16)  # stored as the same array would be
    for _ in range(2):
        assert call(halves).dtype is ts.bfloat16
        assert call(halves).tolist() == [2.0, 4.0, 6.0]
    assert type(call) is not CompiledFunction  # a builtin answered
    assert call(bits.numpy()).tolist() == [2, 4, 6]
    numbers = ts.tensor([1 + 1j, 2 - 1j])
    assert call(numbers).tolist() == call(numbers).tolist() == [2 + 2j, 4 - 2j]
    for _ in range(2):
        assert call(numbers.conj()).tolist() == [2 - 2j, 4 + 2j]
    dense = ts.tensor([0.0, 1.0])
    assert call(dense).tolist() == call(dense).tolist() == [0.0, 2.0]
    with pytest.raises(NotCompilable, match="a sparse tensor"):
        call(dense.to_sparse())


def test_kinds_of_arguments_take_turns() -> None:
    call = compiled(doubled)
    x = np.arange(3, dtype=np.float32)
    wide = ts.arange(12.0).reshape(3, 4)
    for _ in range(3):
        assert type(call(x)) is np.ndarray
        assert type(call(ts.tensor(x))) is ts.Tensor
        assert call(wide.t()).tolist() == (wide.t() * 2).tolist()
        assert call(x=ts.tensor(x)).tolist() == [0.0, 2.0, 4.0]
        parameter = ts.nn.Parameter(ts.tensor(x))
        assert call(parameter).tolist() == [0.0, 2.0, 4.0]


def test_errors_of_native_code_are_explained() -> None:
    call = compiled(positive)
    assert call(ts.ones(2)).tolist() == call(ts.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(UserError, match="all must be positive"):
        call(ts.zeros(2))
    with pytest.raises(UserError):
        call(ts.ones(2), 1)


class Counting(ts.nn.Module):
    """Of vectors, its state is a constant of native code; matrices change it."""

    count: ts.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", ts.ones(3))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        if x.dim() == 2:
            self.count.add_(1.0)
        return x * self.count


VECTOR, MATRIX = np.ones(3, np.float32), np.ones((2, 3), np.float32)
TURNS = (VECTOR, VECTOR, MATRIX, VECTOR, VECTOR, MATRIX, MATRIX, VECTOR, VECTOR)
COUNTS = [1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0, 4.0]


@pytest.mark.parametrize("kind", [np.asarray, ts.tensor])
def test_state_that_other_calls_change_is_no_constant(kind: Callable[..., Any]) -> None:
    call = ts.compile(Counting(), cache=False)
    assert [np.asarray(call(kind(x))).max() for x in TURNS] == COUNTS


def test_state_that_scripted_calls_change_is_no_constant() -> None:
    with executor("native"):
        scripted = ts.jit.script(Counting())
        assert [scripted(ts.tensor(x)).max().item() for x in TURNS] == COUNTS
        found = []
        for _ in range(4):
            found += [scripted(ts.tensor(VECTOR)).max().item() for _ in range(2)]
            scripted.count.add_(1.0)
        assert found == [4.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0, 7.0]

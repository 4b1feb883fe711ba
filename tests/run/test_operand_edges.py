"""Operands at the edge of what an operator takes: no dimensions, no elements, NaNs among them."""

from __future__ import annotations

import pytest

import tensorscript as ts


def test_an_index_of_tensors_without_dimensions_selects_one_number() -> None:
    text = "def program(x, i):\n    return x[i, i], x[i]\n"
    program = ts.jit.CompilationUnit(text).program
    x, i = ts.arange(6.0).reshape(2, 3), ts.tensor(1)
    one, row = program(x, i)
    assert one.shape == () and one.item() == 4.0 and row.shape == (3,)


def test_the_mode_of_numbers_beside_nans() -> None:
    values, places = ts.mode(ts.tensor([[float("nan"), 2.0, float("nan"), 2.0, 2.0]]))
    assert values.tolist() == [2.0] and places.tolist() == [4]


@pytest.mark.parametrize("call", ["x % 0", "x // 0", "torch.fmod(x, 0)"])
def test_no_integers_are_divided_by_zero(call: str) -> None:
    empty = ts.zeros(0, 3, dtype=ts.int64)
    assert eval(call, {"x": empty, "torch": ts}).shape == (0, 3)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        eval(call, {"x": ts.ones(1, dtype=ts.int64), "torch": ts})


def test_a_mask_without_dimensions_writes_a_tensor_without_dimensions() -> None:
    text = "def program(x):\n    x[x > 0] = -1\n    return x\n"
    program = ts.jit.CompilationUnit(text).program
    for run in (program, ts.compile(program, fallback="error", cache=False)):
        assert run(ts.tensor(3.0)).item() == -1.0 and run(ts.tensor(-3.0)).item() == -3.0


def test_every_nan_is_a_value_of_its_own() -> None:
    text = "def program(x):\n    return torch._unique2(x, True, True, True)\n"
    program = ts.jit.CompilationUnit(text).program
    nan = float("nan")
    for run in (program, ts.compile(program, fallback="error", cache=False)):
        found, places, counts = run(ts.tensor([nan, 1.0, nan, 1.0]))
        assert found[0] == 1.0 and found[1:].isnan().all() and len(found) == 3
        assert places.tolist() == [1, 0, 2, 0] and counts.tolist() == [2, 1, 1]

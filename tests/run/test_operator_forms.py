"""Operators whose overloads are derived: creation into `out=`, random numbers on a copy."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

torch: Any = pytest.importorskip("torch")

CREATED = {
    "linspace": lambda lib: lib.linspace(0, 3, 4, out=lib.empty(0)),
    "logspace": lambda lib: lib.logspace(0, 2, 3, out=lib.empty(3)),
    "full": lambda lib: lib.full([2, 2], 3, out=lib.empty(1, dtype=lib.float64)),
    "arange": lambda lib: lib.arange(1, 7, 2, out=lib.empty(0, dtype=lib.int64)),
    "eye": lambda lib: lib.eye(2, out=lib.ones(2, 2)),
    "zeros": lambda lib: lib.zeros(2, 3, out=lib.ones(2, 3, dtype=lib.int8)),
    "randn": lambda lib: lib.randn(3, out=lib.empty(0)),
    "randint": lambda lib: lib.randint(2, 9, (3,), out=lib.empty(0)),
    "random": lambda lib: lib.ops.aten.random(lib.zeros(3), 2, 9),
    "uniform": lambda lib: lib.ops.aten.uniform(lib.zeros(3, dtype=lib.float64), 1.0, 2.0),
}


@pytest.mark.parametrize("name", CREATED)
def test_forms_agree_with_pytorch(name: str) -> None:
    found: list[object] = []
    wanted: list[object] = []
    for lib, out in ((ts, found), (torch, wanted)):
        lib.manual_seed(3)
        made = CREATED[name](lib)
        out += [str(made.dtype), made.tolist()]
    assert found == wanted


def test_what_is_copied_stays() -> None:
    x = ts.zeros(3)
    assert ts.ops.aten.random(x, 5, 6).tolist() == [5.0, 5.0, 5.0]
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_normal_numbers_are_drawn_into_a_tensor_of_their_dtype() -> None:
    out = ts.empty(0)
    assert ts.normal(0.0, 1.0, (2, 3), dtype=ts.float32, device="cpu", out=out) is out
    assert out.shape == (2, 3) and len(set(out.flatten().tolist())) == 6
    with pytest.raises(OperatorError, match="dtype Double does not match dtype of out parameter"):
        ts.normal(0.0, 1.0, (2,), dtype=ts.float64, out=out)
    assert ts.normal(0.0, 1.0, (2,), requires_grad=True).requires_grad
    assert ts.normal(ts.zeros(2, 3), 2.0, out=out) is out


def test_older_lu_writes_into_tensors() -> None:
    x = ts.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = ts.empty(0), ts.empty(0, dtype=ts.int32)
    assert ts.lu(x, out=out) is out
    assert [t.tolist() for t in out] == [t.tolist() for t in ts.lu(x)]
    with pytest.raises(TypeError, match="expected tuple of 3 elements but got 2"):
        ts.lu(x, get_infos=True, out=out)

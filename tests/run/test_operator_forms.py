"""Operators whose overloads are derived: creation into `out=`, random numbers on a copy."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as ts

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

"""Old constructors, `new_tensor`, parameters and `out=` in traces: what they make is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "FloatTensor": lambda m, x: (x + 1, m.FloatTensor([0])),
    "Tensor": lambda m, x: x + m.Tensor([0.0, 1.0]),
    "Tensor of a tensor": lambda m, x: m.Tensor(x),
    "LongTensor": lambda m, x: x[m.LongTensor([0])],
    "new_tensor": lambda m, x: x + x.new_tensor([1.0, 2.0]),
    "new_tensor of a number": lambda m, x: (x, x.new_tensor(2.0)),
    "new_tensor of a tensor": lambda m, x: x.new_tensor(x),
    "new": lambda m, x: x.new([1.0, 2.0]) + x,
    "as_subclass": lambda m, x: x.as_subclass(m.Tensor) + 1,
    "tensor of an array": lambda m, x: x + m.tensor(np.ones(2)),
    "tensor of an array, of a dtype": lambda m, x: x + m.tensor(np.arange(2), dtype=m.float32),
    "as_tensor of an array": lambda m, x: x + m.as_tensor(np.arange(2)),
    "as_tensor of a tensor": lambda m, x: m.as_tensor(x) + m.as_tensor(x.shape[0]),
    "new_tensor of an array": lambda m, x: x + x.new_tensor(np.arange(2)),
    "FloatTensor of an array": lambda m, x: x + m.FloatTensor(np.arange(2)),
    "indexed by an array": lambda m, x: x[np.array([0, 0])],
    "indexed by an array of floats": lambda m, x: x[:, np.array([1.0, 0.0])],
    "indexed by a mask": lambda m, x: x[np.array([[True, False]])],
    "type by a name": lambda m, x: (x.type("torch.DoubleTensor"), x.type(m.float16)),
    "from_numpy": lambda m, x: m.from_numpy(np.ones(2, np.float32)) + x,
}
VALUES_ONLY: dict[str, Callable[[Any, Any], Any]] = {
    "Variable": lambda m, x: m.autograd.Variable(m.autograd.Variable(x) + 1.0),
    "Parameter": lambda m, x: m.nn.Parameter(x) + 1,
    "sizes": lambda m, x: m.Tensor(1, 2).fill_(3.0) + x,
    "new of sizes": lambda m, x: x.new(x.size(0), 2).fill_(3.0) + x,
    "out": lambda m, x: x + m.ones(1, 2, out=m.empty(0)),
}

pytestmark = pytest.mark.filterwarnings("ignore")


def traced(library: Any, program: Callable[[Any, Any], Any]) -> Any:
    example = library.ones(1, 2)
    return library.jit.trace(lambda x: program(library, x), example, check_trace=False)


def text(library: Any, program: Callable[[Any, Any], Any]) -> str:
    """The graph without the names of its values and places."""
    graph = str(traced(library, program).graph)
    return re.sub(r"%[\w.]+", "%", re.sub(r" # \S*", "", graph))


@pytest.mark.parametrize("name", [*PROGRAMS, *VALUES_ONLY])
def test_values_at_another_input(name: str) -> None:
    program = {**PROGRAMS, **VALUES_ONLY}[name]
    found = traced(ts, program)(ts.full((1, 2), 3.0))
    expected = program(ts, ts.full((1, 2), 3.0))
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_graph_is_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert text(ts, PROGRAMS[name]) == text(torch, PROGRAMS[name])


def test_subclass_shares_memory() -> None:
    class Named(ts.Tensor):
        pass

    x = ts.zeros(3)
    y = x.as_subclass(Named)
    y[0] = 2.0
    assert type(y) is Named and x.tolist() == [2.0, 0.0, 0.0]

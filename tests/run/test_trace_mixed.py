"""Tracing and scripting together: calls of what is compiled stay calls, both ways."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn

ONES = ts.ones(3)


@ts.jit.script
def larger(x, y):
    if x.max() > y.max():
        r = x
    else:
        r = y
    return r


def twice(x, y):
    return 2 * x + y


@ts.jit.script_if_tracing
def counted(x, n: int):
    for i in range(n):
        x = x + i
    return x


class Sign(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            return x
        return -x


class Around(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.s = ts.jit.script(Sign())

    def forward(self, x):
        return self.s(x) + 1


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.t = ts.jit.trace(Around(), ONES)
        self.w = nn.Parameter(ts.ones(3))

    def forward(self, x):
        if bool(x.sum() > 5):
            return self.t(x)
        return self.t(x * self.w)


def lines(graph: object) -> list[str]:
    text = re.sub(r"(, scope: \S+)? # .*", "", str(graph))
    return [line.strip() for line in re.sub(r"%[\w.]+", "%", text).splitlines()]


def test_a_scripted_function_in_a_trace_keeps_its_control_flow() -> None:
    def bar(x, y, z):
        return larger(x, y) + z

    traced = ts.jit.trace(bar, (2 * ONES, ONES, ONES))
    assert re.sub(r"__torch__[\w.]*\.larger", "larger", traced.code) == (
        "def bar(x: Tensor,\n    y: Tensor,\n    z: Tensor) -> Tensor:\n"
        "  x0 = larger(x, y, )\n"
        "  return torch.add(x0, z)\n"
    )
    assert '% : Function = prim::Constant[name="larger"]()' in lines(traced.graph)
    assert "% : Tensor = prim::If(%)" in lines(traced.inlined_graph)
    np.testing.assert_array_equal(traced(ONES, 2 * ONES, ONES).numpy(), 3 * np.ones(3))
    np.testing.assert_array_equal(traced(3 * ONES, 2 * ONES, ONES).numpy(), 4 * np.ones(3))


def test_a_traced_function_in_script() -> None:
    traced_twice = ts.jit.trace(twice, (ts.rand(3), ts.rand(3)))

    @ts.jit.script
    def scripted(x):
        return traced_twice(x, x)

    assert '% : Function = prim::Constant[name="twice"]()' in lines(scripted.graph)
    np.testing.assert_array_equal(scripted(ONES).numpy(), 3 * np.ones(3))


def test_a_traced_function_in_a_trace() -> None:
    inner = ts.jit.trace(twice, (ONES, ONES))
    traced = ts.jit.trace(lambda x: inner(x, x) * 2, ONES)
    assert "prim::CallFunction" in str(traced.graph)
    np.testing.assert_array_equal(traced(ONES).numpy(), 6 * np.ones(3))


def test_a_scripted_submodule_is_called_as_a_method() -> None:
    traced = ts.jit.trace(Around(), ONES)
    assert "(s).forward(x, )" in traced.code
    assert "if bool" in traced.s.code
    np.testing.assert_array_equal(traced(-ONES).numpy(), 2 * np.ones(3))


def test_a_traced_module_inside_a_scripted_and_a_traced_one() -> None:
    scripted = ts.jit.script(Outer())
    np.testing.assert_array_equal(scripted(ONES).numpy(), 2 * np.ones(3))
    assert [n for n, _ in scripted.named_parameters()] == ["w"]


@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_a_traced_module_inside_a_traced_one() -> None:
    traced = ts.jit.trace(Outer(), ONES)
    np.testing.assert_array_equal(traced(ONES).numpy(), 2 * np.ones(3))
    assert "prim::CallMethod" in str(traced.graph)


def test_script_if_tracing_is_script_in_a_trace_only() -> None:
    np.testing.assert_array_equal(counted(ONES, 3).numpy(), 4 * np.ones(3))
    traced = ts.jit.trace(lambda x: counted(x, 3), ONES)
    assert "prim::CallFunction" in str(traced.graph)
    assert "prim::Loop" in str(traced.inlined_graph)


def test_a_call_gives_tensors() -> None:
    @ts.jit.script
    def rows(x):
        return x.size(0)

    with pytest.raises(RuntimeError, match="Tracer cannot set value trace for type Int"):
        ts.jit.trace(lambda x: x + rows(x), ONES)


def test_mixed_programs_compile() -> None:
    traced = ts.jit.trace(lambda x: larger(x, -x) * 2, ONES)
    native = ts.compile(traced, (ONES,), fallback="error")
    np.testing.assert_array_equal(native(-ONES).numpy(), 2 * np.ones(3))


def test_containers_that_a_call_gives_are_taken_apart() -> None:
    @ts.jit.script
    def table(x) -> dict[str, tuple[ts.Tensor, ts.Tensor]]:
        return {"a": (x, x + 1), "b": (x * 2, x)}

    @ts.jit.script
    def pairs(x) -> list[tuple[ts.Tensor, ts.Tensor]]:
        return [(x, x + 1)]

    traced = ts.jit.trace(lambda x: table(x)["b"][0] + pairs(x)[0][1], ONES)
    assert "aten::__getitem__" in str(traced.graph)
    np.testing.assert_array_equal(traced(2 * ONES).numpy(), 7 * np.ones(3))

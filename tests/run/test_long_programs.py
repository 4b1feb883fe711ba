"""Programs of very many operations: kernels stay small, and nothing is done once for each pair."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.dialects.te.expr import Expr, call, load, var
from tensorscript.lowering.te.names import unused
from tensorscript.lowering.tg.bodies import at_indices, node_count, rename_operands
from tensorscript.lowering.tg_to_te.module_parts import identifier


def chain(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    for k in range(700):
        x = ts.tanh(x * 1.25) + w * k
    return x


def sums(x: ts.Tensor) -> ts.Tensor:
    for k in range(2000):
        x = x * 0.5 + k
    return x


def products(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    for _ in range(150):
        x = ts.relu(x @ w)
    return x


def body_of(count: int) -> Expr:
    body = load("a0", [var("i0"), var("i1")], ts.float32)
    for _ in range(count):
        body = call("tanh", body)
    return body


def test_a_long_chain_becomes_several_kernels() -> None:
    x, w = np.random.default_rng(0).standard_normal((2, 3, 5)).astype(np.float32)
    written_out = ts.jit.trace(chain, (ts.from_numpy(x), ts.from_numpy(w)))
    compiled = ts.compile(written_out, [x, w], fallback="error")
    assert 2 <= len(compiled.kernels) <= 6
    want = x
    for k in range(700):
        want = np.tanh(want * np.float32(1.25)) + w * np.float32(k)
    np.testing.assert_allclose(compiled(x, w), want, rtol=1e-5, atol=1e-5)


def test_a_kernel_is_deeper_than_the_stack() -> None:
    x = np.linspace(0, 1, 7, dtype=np.float32)
    want = x
    for k in range(2000):
        want = want * np.float32(0.5) + np.float32(k)
    written_out = ts.jit.trace(sums, (ts.from_numpy(x),))
    for program in (written_out, sums):
        compiled = ts.compile(program, [x], fallback="error")
        np.testing.assert_allclose(compiled(x), want, rtol=1e-5)


def test_a_weight_of_many_kernels() -> None:
    x = np.random.default_rng(0).uniform(0, 0.5, (4, 4)).astype(np.float32)
    want = x
    for _ in range(150):
        want = np.maximum(want @ x, 0)
    compiled = ts.compile(products, [x, x], fallback="error")
    np.testing.assert_allclose(compiled(x, x), want, rtol=1e-4, atol=1e-30)


def test_what_changes_nothing_walks_nothing() -> None:
    body = body_of(50)
    assert rename_operands(body, ["a0"]) is body
    assert at_indices(body, [var("i0"), var("i1")]) is body
    assert rename_operands(body, ["a3"]) is not body
    assert at_indices(body, [var("i1"), var("i0")]) is not body


@pytest.mark.parametrize(("limit", "count"), [(None, 53), (10, 11), (52, 53), (53, 53), (60, 53)])
def test_nodes_are_counted_no_further_than_asked(limit: int | None, count: int) -> None:
    assert node_count(body_of(50), limit) == count


def test_fresh_names_are_the_next_ones() -> None:
    taken: set[str] = set()
    names = [identifier("x", taken) for _ in range(100)]
    assert names == ["x", *(f"x_{k}" for k in range(1, 100))]
    holes = {"y", "y_1", "y_3"}
    assert identifier("y", holes) == "y_2"
    assert len({identifier("y", holes) for _ in range(20)}) == 20
    copies: set[str] = set()
    assert [unused("z", copies, first=2) for _ in range(4)] == ["z", "z_2", "z_3", "z_4"]
    assert unused("z", {"z", "z_3"}, first=2) == "z_2"

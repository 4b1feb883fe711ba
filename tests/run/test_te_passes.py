"""Passes over te: simplify, flatten, storage, verify."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import float32, int64
from tensorscript.dialects.te.buffers import Buffer, Scalar, make_buffer
from tensorscript.dialects.te.expr import const, load, var
from tensorscript.dialects.te.expr_parse import parse
from tensorscript.dialects.te.ops import (
    AllocOp,
    CallOp,
    ForOp,
    FuncOp,
    IfOp,
    StoreOp,
    UpdateOp,
    WhileOp,
    statements,
)
from tensorscript.dialects.te.schedule import step
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.schedule import apply
from tensorscript.lowering.te.dead_stores import remove_dead_stores
from tensorscript.lowering.te.evaluate import EvaluationError, evaluate
from tensorscript.lowering.te.flatten import flatten
from tensorscript.lowering.te.simplify import simplify_function
from tensorscript.lowering.te.storage import plan_storage
from tensorscript.lowering.te.verify import verify_function

II, JJ, N = var("i"), var("j"), var("N")


def scale() -> FuncOp:
    x, y = make_buffer("x", float32, [N, 6]), make_buffer("y", float32, [N, 6], "out")
    body = StoreOp("y", [II, JJ], load("x", [II, JJ], float32) * 2.0)
    return FuncOp("f", [x, Scalar("N", int64), y], [ForOp("i", N, [ForOp("j", 6, [body])])])


def lines(func: FuncOp) -> list[str]:
    return [f"{op.name} {op.head()}" for op in walk_ops(func)]  # type: ignore[attr-defined]


def test_simplify_removes_what_is_trivial() -> None:
    y = make_buffer("y", float32, [8], "out")
    one = const(1.0, float32)
    func = FuncOp(
        "f",
        [y, Scalar("N", int64)],
        [
            ForOp("i", 1, [IfOp(II < 3, [StoreOp("y", [II * 4 // 4], one)])]),
            ForOp("j", 0, [StoreOp("y", [JJ], one)]),
            ForOp("k", 4, [IfOp(N < 3, [IfOp(var("k") > 1, [StoreOp("y", [var("k")], one)])])]),
            IfOp(const(False, (II < 1).dtype), [], [StoreOp("y", [const(7)], one)]),
        ],
    )
    simplify_function(func)
    assert lines(func) == [
        "te.store y[0] = (1.0).f32",
        "te.if N < 3",
        "te.for k in 0 .. 4 serial",
        "te.if 1 < k",
        "te.store y[k] = (1.0).f32",
        "te.store y[7] = (1.0).f32",
    ]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 7), st.integers(1, 4), st.sampled_from(["guard", "loop"]))
def test_passes_keep_results(n: int, factor: int, tail: str) -> None:
    func = scale()
    apply(func, (step("fuse", "i", "j"), step("split", "i_f", factor, tail)))
    func.properties["level"] = type(func.level)("scheduled")
    simplify_function(func)
    verify_function(func)
    flatten(func)
    simplify_function(func)
    verify_function(func)
    x = np.arange(n * 6, dtype=np.float32).reshape(n, 6)
    y = np.zeros_like(x)
    evaluate(func, {"x": x, "y": y, "N": n}, 3)
    np.testing.assert_array_equal(y, x * 2)


def test_fused_loops_flatten_to_one_index() -> None:
    func = scale()
    apply(func, (step("fuse", "i", "j"),))
    simplify_function(flatten(func))
    assert lines(func)[-1] == "te.store y[i_f] = x.f32[i_f] * (2.0).f32"


def test_strides_count() -> None:
    x = Buffer("x", float32, (const(3), const(4)), (const(1), const(3)))
    y = make_buffer("y", float32, [3, 4], "out")
    nest = ForOp("i", 3, [ForOp("j", 4, [StoreOp("y", [II, JJ], load("x", [II, JJ], float32))])])
    func = flatten(FuncOp("f", [x, y], [nest]))
    simplify_function(func)
    assert lines(func)[-1] == "te.store y[i * 4 + j] = x.f32[j * 3 + i]"


def test_dead_stores_vanish() -> None:
    x, y = make_buffer("x", float32, [8]), make_buffer("y", float32, [8], "out")
    t, u, v = (make_buffer(n, float32, [8]) for n in "tuv")
    at = [var(n) for n in "abcd"]
    loops = [
        ForOp("a", 8, [StoreOp("t", [at[0]], load("x", [at[0]], float32))]),
        ForOp("b", 8, [IfOp(at[1] < 3, [StoreOp("u", [at[1]], load("t", [at[1]], float32))])]),
        ForOp("c", 8, [StoreOp("y", [at[2]], load("x", [at[2]], float32))]),
        ForOp("d", 8, [StoreOp("v", [at[3]], load("x", [at[3]], float32))]),
    ]
    func = FuncOp("f", [x, y], [AllocOp(t), AllocOp(u), AllocOp(v), *loops, CallOp("g", ["v"])])
    remove_dead_stores(func)
    assert lines(func) == [
        "te.alloc arena v: f32[8]",
        "te.for c in 0 .. 8 serial",
        "te.store y[c] = x.f32[c]",
        "te.for d in 0 .. 8 serial",
        "te.store v[d] = x.f32[d]",
        "te.call @g(v)",
    ]


def _alloc(name: str, size: int) -> AllocOp:
    return AllocOp(make_buffer(name, float32, [size]))


def _offsets(func: FuncOp) -> dict[str, str]:
    return {o.buffer.name: str(o.offset) for o in walk_ops(func) if isinstance(o, AllocOp)}


def test_storage_is_shared() -> None:
    x = make_buffer("x", float32, [16])
    func = FuncOp(
        "f",
        [x, Scalar("N", int64)],
        [
            _alloc("a", 16), CallOp("g", ["x", "a"]), _alloc("b", 32), CallOp("g", ["a", "b"]),
            _alloc("c", 8), CallOp("g", ["b", "c"]),
            AllocOp(make_buffer("d", float32, [N])), CallOp("g", ["c", "d"]),
        ],
        role="host",
    )  # fmt: skip
    plan = plan_storage(func)
    assert _offsets(func) == {"a": "0", "b": "64", "c": "0", "d": "192"}
    assert plan.total == 192 and not plan.unplanned


def test_storage_lives_from_its_first_use() -> None:
    """Host code allocates everything at the start of a block."""
    calls = [CallOp("g", ["x", "a"]), CallOp("g", ["a", "b"]), CallOp("g", ["b", "c"])]
    allocs = [_alloc(name, 16) for name in "abc"]
    func = FuncOp("f", [make_buffer("x", float32, [16])], [*allocs, *calls], role="host")
    assert plan_storage(func).total == 128
    assert _offsets(func) == {"a": "0", "b": "64", "c": "0"}


def test_storage_that_a_loop_carries_is_its_own() -> None:
    """First used at the end of the loop's body, read at its start the next time."""
    body = [CallOp("g", ["t"]), IfOp(parse("N < 2"), [CallOp("g", ["a"])]), CallOp("g", ["a"])]
    loop = WhileOp(parse("N < 3"), [_alloc("t", 16), *body])
    func = FuncOp("f", [Scalar("N", int64)], [_alloc("a", 16), loop], role="host")
    plan_storage(func)
    assert _offsets(func) == {"a": "0", "t": "64"}


def test_storage_lives_through_loops() -> None:
    loop = WhileOp(parse("N < 3"), [CallOp("g", ["a"]), _alloc("t", 16), CallOp("g", ["t"])])
    after = [_alloc("u", 16), CallOp("g", ["u"])]
    func = FuncOp("f", [Scalar("N", int64)], [_alloc("a", 16), loop, *after], role="host")
    plan_storage(func)
    assert _offsets(func) == {"a": "0", "t": "64", "u": "0"}


def test_evaluator_refuses() -> None:
    y = make_buffer("y", float32, [4], "out")
    with pytest.raises(EvaluationError, match="outside"):
        evaluate(FuncOp("f", [y], [StoreOp("y", [4], const(0, float32))]), {"y": np.zeros(4)})
    with pytest.raises(EvaluationError, match="before it is written"):
        update = UpdateOp("y", [0], "add", const(1, float32))
        evaluate(FuncOp("f", [y], [update]), {"y": np.zeros(4)})
    twice = ForOp("i", 2, [StoreOp("y", [0], const(1, float32))])
    with pytest.raises(EvaluationError, match="stored twice"):
        evaluate(FuncOp("f", [y], [twice]), {"y": np.zeros(4)})


def test_verifier_refuses() -> None:
    y = make_buffer("y", float32, [4, 4], "out")
    zero = const(0, float32)
    bad = {
        "1 indices": [StoreOp("y", [0], zero)],
        "q is not defined": [StoreOp("y", [0, var("q")], zero)],
        "no buffer z": [StoreOp("z", [0], zero)],
        "torch.float64 into y|int64 into y": [StoreOp("y", [0, 0], const(0))],
        "declared twice": [ForOp("i", 2), ForOp("i", 2)],
        "is parallel": [ForOp("i", 2, kind="parallel")],
    }
    body: Any
    for message, body in bad.items():
        with pytest.raises(VerifyException, match=message):
            verify_function(FuncOp("f", [y], body))
    assert not list(statements(FuncOp("f", [y])))

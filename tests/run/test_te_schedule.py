"""Do schedules keep results? Random legal steps on several nests, run by the strict evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscript.base.dtypes import float32, int64
from tensorscript.dialects.te.buffers import Scalar, make_buffer
from tensorscript.dialects.te.expr import binary, call, const, load, select, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.schedule import (
    Schedule,
    ScheduleError,
    from_json,
    pseudo_code,
    step,
    to_json,
)
from tensorscript.lowering.schedule import Scheduler, apply, check_step
from tensorscript.lowering.te.evaluate import EvaluationError, evaluate
from tensorscript.lowering.te.flatten import flatten
from tensorscript.lowering.te.nest import Nest
from tensorscript.lowering.te.simplify import simplify_function
from tensorscript.lowering.te.verify import verify_function

II, JJ, KK, N = (var(n) for n in "ijkN")
ZERO = const(0, float32)


def pointwise() -> FuncOp:
    x, y = make_buffer("x", float32, [N, 5]), make_buffer("y", float32, [N, 5], "out")
    body = StoreOp("y", [II, JJ], load("x", [II, JJ], float32) * 2.0 + 1.0)
    return FuncOp("f", [x, Scalar("N", int64), y], [ForOp("i", N, [ForOp("j", 5, [body])])])


def matmul() -> FuncOp:
    a, b = make_buffer("a", float32, [N, 6]), make_buffer("b", float32, [6, 4])
    c = make_buffer("c", float32, [N, 4], "out")
    value = load("a", [II, KK], float32) * load("b", [KK, JJ], float32)
    inner = ForOp("k", 6, [UpdateOp("c", [II, JJ], "add", value)], reduction=True)
    nest = ForOp("i", N, [ForOp("j", 4, [StoreOp("c", [II, JJ], ZERO), inner])])
    return FuncOp("f", [a, b, Scalar("N", int64), c], [nest])


def softmax() -> FuncOp:
    x, y = make_buffer("x", float32, [N, 6]), make_buffer("y", float32, [N, 6], "out")
    m, s = make_buffer("m", float32, [N]), make_buffer("s", float32, [N])
    i2, j2, i3, j3 = (var(n) for n in ("i2", "j2", "i3", "j3"))
    low = const(float("-inf"), float32)
    top = ForOp("j", 6, [UpdateOp("m", [II], "max", load("x", [II, JJ], float32))], reduction=True)
    exp = call("exp", load("x", [i2, j2], float32) - load("m", [i2], float32))
    total = ForOp("j2", 6, [UpdateOp("s", [i2], "add", exp)], reduction=True)
    exp3 = call("exp", load("x", [i3, j3], float32) - load("m", [i3], float32))
    out = StoreOp("y", [i3, j3], exp3 / load("s", [i3], float32))
    return FuncOp(
        "f",
        [x, Scalar("N", int64), y],
        [
            AllocOp(m),
            AllocOp(s),
            ForOp("i", N, [StoreOp("m", [II], low), top]),
            ForOp("i2", N, [StoreOp("s", [i2], ZERO), total]),
            ForOp("i3", N, [ForOp("j3", 6, [out])]),
        ],
    )


def transpose() -> FuncOp:
    x, y = make_buffer("x", float32, [N, 6]), make_buffer("y", float32, [6, N], "out")
    body = StoreOp("y", [JJ, II], load("x", [II, JJ], float32))
    return FuncOp("f", [x, Scalar("N", int64), y], [ForOp("i", N, [ForOp("j", 6, [body])])])


def padded() -> FuncOp:
    x, y = make_buffer("x", float32, [N]), make_buffer("y", float32, [N + 4], "out")
    inside = binary("and", II >= 2, II < N + 2)
    body = StoreOp("y", [II], select(inside, load("x", [II - 2], float32), ZERO))
    return FuncOp("f", [x, Scalar("N", int64), y], [ForOp("i", N + 4, [body])])


def running_sum() -> FuncOp:
    x, y = make_buffer("x", float32, [N, 3]), make_buffer("y", float32, [N, 3], "out")
    before = load("y", [II - 1, JJ], float32)
    body = StoreOp("y", [II, JJ], load("x", [II, JJ], float32) + select(II < 1, ZERO, before))
    return FuncOp("f", [x, Scalar("N", int64), y], [ForOp("i", N, [ForOp("j", 3, [body])])])


def blur() -> FuncOp:
    """A producer read at three places, a consumer after it."""
    x, y = make_buffer("x", float32, [N + 4]), make_buffer("y", float32, [N], "out")
    t = make_buffer("t", float32, [N + 4])
    first = StoreOp("t", [II], load("x", [II], float32) * 2.0)
    at = [load("t", [JJ + k], float32) for k in (0, 1, 4)]
    second = StoreOp("y", [JJ], at[0] + at[1] * at[2])
    loops = [ForOp("i", N + 4, [first]), ForOp("j", N, [second])]
    return FuncOp("f", [x, Scalar("N", int64), y], [AllocOp(t), *loops])


def rows() -> FuncOp:
    """A row-wise producer and consumer under loops of equal bounds."""
    x, y = make_buffer("x", float32, [N, 6]), make_buffer("y", float32, [N, 6], "out")
    t = make_buffer("t", float32, [N, 6])
    i2, j2 = var("i2"), var("j2")
    first = StoreOp("t", [II, JJ], load("x", [II, JJ], float32) * 2.0)
    second = StoreOp("y", [i2, j2], load("t", [i2, 5 - j2], float32) + 1.0)
    loops = [ForOp("i", N, [ForOp("j", 6, [first])]), ForOp("i2", N, [ForOp("j2", 6, [second])])]
    return FuncOp("f", [x, Scalar("N", int64), y], [AllocOp(t), *loops])


def accumulated() -> FuncOp:
    """A matrix product with a private accumulator, as lowering makes it."""
    a, b = make_buffer("a", float32, [N, 6]), make_buffer("b", float32, [6, 4])
    c, t = make_buffer("c", float32, [N, 4], "out"), make_buffer("t", float32, [])
    value = load("a", [II, KK], float32) * load("b", [KK, JJ], float32)
    inner = ForOp("k", 6, [UpdateOp("t", [], "add", value)], reduction=True)
    store = StoreOp("c", [II, JJ], load("t", [], float32) * 2.0)
    body = [AllocOp(t, "stack"), StoreOp("t", [], ZERO), inner, store]
    nest = ForOp("i", N, [ForOp("j", 4, body)])
    return FuncOp("f", [a, b, Scalar("N", int64), c], [nest])


def total() -> FuncOp:
    """A reduction to one element, over a size of the call."""
    x, y = make_buffer("x", float32, [N]), make_buffer("y", float32, [], "out")
    add = UpdateOp("y", [], "add", load("x", [KK], float32))
    body = [StoreOp("y", [], ZERO), ForOp("k", N, [add], reduction=True)]
    return FuncOp("f", [x, Scalar("N", int64), y], body)


def triangle() -> FuncOp:
    """A reduction whose inner loop ends where its outer one is."""
    x, y = make_buffer("x", float32, [N, N]), make_buffer("y", float32, [], "out")
    add = UpdateOp("y", [], "add", load("x", [II, KK], float32))
    inner = ForOp("k", II + 1, [add], reduction=True)
    body = [StoreOp("y", [], ZERO), ForOp("i", N, [inner], reduction=True)]
    return FuncOp("f", [x, Scalar("N", int64), y], body)


NESTS: dict[str, Callable[[], FuncOp]] = {
    "pointwise": pointwise, "matmul": matmul, "softmax": softmax, "transpose": transpose,
    "padded": padded, "running_sum": running_sum, "blur": blur,
    "rows": rows, "accumulated": accumulated, "total": total, "triangle": triangle,
}  # fmt: skip


def results(func: FuncOp, n: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    arguments: dict[str, object] = {"N": n}
    outs = []
    for b in func.buffers:
        shape = tuple({"N": n, "N + 4": n + 4}.get(str(s)) or int(str(s)) for s in b.shape)
        if b.mode == "in":
            arguments[b.name] = rng.integers(-4, 5, shape).astype(np.float32)
        else:
            outs.append(np.zeros(shape, np.float32))
            arguments[b.name] = outs[-1]
    evaluate(func, arguments, seed)
    return outs


def _buffer(draw: st.DrawFn, nest: Nest) -> str:
    return draw(st.sampled_from(sorted(nest.buffers)))


EXTRA: dict[str, Callable[..., object]] = {
    "tile": lambda d, n, name: step(
        "tile", name, d(st.sampled_from(sorted(n.loops))), 2, d(st.integers(1, 3)), "guard"
    ),
    "slice_head": lambda d, n, name: step("slice_head", name, d(st.integers(1, 3))),
    "slice_tail": lambda d, n, name: step("slice_tail", name, d(st.integers(1, 3))),
    "normalize": lambda d, n, name: step("normalize", name),
    "cache": lambda d, n, name: step("cache", _buffer(d, n), name, "stack"),
    "compute_at": lambda d, n, name: step("compute_at", _buffer(d, n), name),
    "expand": lambda d, n, name: step("expand", _buffer(d, n), name),
    "permute": lambda d, n, name: step("permute", _buffer(d, n), *d(st.permutations([0, 1]))),
    "inline": lambda d, n, name: step("inline", _buffer(d, n)),
    "compress_buffer": lambda d, n, name: step("compress_buffer", _buffer(d, n)),
}


@st.composite
def steps(draw: st.DrawFn, nest: Nest) -> object:
    loops = sorted(nest.loops)
    loop = st.sampled_from(loops)
    name, other = draw(loop), draw(loop)
    kind = draw(
        st.sampled_from(
            ["split", "split", "reorder", "fuse", "vectorize", "unroll", "parallel", "bind",
             "rfactor", "distribute", "fuse_loops", *EXTRA]
        )
    )  # fmt: skip
    match kind:
        case "split":
            tail = draw(st.sampled_from(["exact", "guard", "loop", "short"]))
            return step("split", name, draw(st.integers(1, 4)), tail)
        case "reorder":
            order = draw(st.permutations(loops))
            return step("reorder", *order[: draw(st.integers(2, 3))]) if len(loops) > 1 else None
        case "fuse" | "fuse_loops":
            return step(kind, name, other)
        case "parallel":
            return step(kind, name, 2)
        case "bind":
            return step(kind, name, draw(st.sampled_from(["bx", "tx"])))
    return EXTRA[kind](draw, nest, name) if kind in EXTRA else step(kind, name)


@pytest.mark.parametrize("name", NESTS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_legal_steps_keep_results(name: str, data: st.DataObject) -> None:
    func = NESTS[name]()
    func.verify()
    n = data.draw(st.sampled_from([1, 3, 4, 7]))
    expected = results(NESTS[name](), n, 0)
    func.properties["level"] = type(func.level)("scheduled")
    scheduler = Scheduler(func)
    nest = scheduler.nest
    for _ in range(data.draw(st.integers(1, 7))):
        item: Any = data.draw(steps(nest))
        if item is not None and check_step(nest, item) is None:
            scheduler.apply(item)
    done: Schedule = scheduler.schedule
    verify_function(func)
    if data.draw(st.booleans()):
        simplify_function(func)
        verify_function(func)
    if data.draw(st.booleans()):
        verify_function(simplify_function(flatten(func)))
    assert from_json(to_json(done)) == done
    for seed in (1, 2):
        try:
            got = results(func, n, seed)
        except EvaluationError as error:
            raise AssertionError(f"{error}\n{pseudo_code(done)}") from error
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5, err_msg=pseudo_code(done))


@pytest.mark.parametrize(
    ("make", "item", "reason"),
    [
        (running_sum, step("parallel", "i"), "may meet in different iterations of i"),
        (running_sum, step("reorder", "j", "q"), "no loop q"),
        (matmul, step("parallel", "k"), "may meet in different iterations of k"),
        (matmul, step("reorder", "j", "k"), "not perfectly nested"),
        (matmul, step("vectorize", "i"), "not constant"),
        (pointwise, step("split", "j", 2), "not known to be a multiple"),
        (pointwise, step("split", "q", 2), "there is no loop q"),
        (pointwise, step("split", "j"), 'it takes .factor, tail="exact"., got 0'),
        (softmax, step("fuse_loops", "i", "i3"), "does not follow"),
        (pointwise, step("melt", "i"), "no such primitive; there are split"),
        (pointwise, step("parallel", "i", "a"), "grain is of type int"),
        (pointwise, step("distribute", "i", "a"), "cuts is of type int"),
        (pointwise, step("cache", "x", "i", "attic"), "no local scope attic"),
        (blur, step("inline", "x"), "x is a parameter"),
        (matmul, step("rfactor", "i"), "not a reduction"),
        (triangle, step("rfactor", "k"), "the extent i [+] 1 of k is not known before i"),
        (total, step("parallel", "k"), "may meet in different iterations of k"),
        (pointwise, step("vectorize", "x"), "there is no loop x"),
    ],
)
def test_illegal_steps_say_why(make: Callable[[], FuncOp], item: object, reason: str) -> None:
    func = make()
    with pytest.raises(ScheduleError, match=reason):
        apply(func, (item,))  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["", "[1]", '[["split", "i", [1]]]', "{}x"])
def test_malformed_json_is_refused(source: str) -> None:
    with pytest.raises(ScheduleError, match=r"not a (schedule|step of a schedule)"):
        from_json(source)


def test_what_must_be_legal_is() -> None:
    apply(blur(), (step("split", "j", 4, "guard"), step("compute_at", "t", "j_o")))
    apply(blur(), (step("inline", "t"),))
    tiled = (
        step("expand", "t", "j"), step("distribute", "j"), step("reorder", "k", "j_d"),
        step("vectorize", "j"), step("vectorize", "j_d"), step("vectorize", "j_d_2"),
        step("set_scope", "t", "reg"), step("parallel", "i", 4),
    )  # fmt: skip
    apply(accumulated(), tiled)
    compressed = (step("fuse_loops", "i", "i2"), step("compress_buffer", "t"))
    apply(rows(), (*compressed, step("set_scope", "t", "reg")))
    apply(running_sum(), (step("vectorize", "j"),))
    apply(running_sum(), (step("reorder", "j", "i"), step("parallel", "j")))
    apply(softmax(), (step("fuse_loops", "i", "i2"), step("parallel", "i", 4)))
    apply(total(), (step("split", "k", 2, "short"), step("rfactor", "k_i")))
    blocks = (step("split", "k", 2, "short"), step("rfactor", "k_o"))
    apply(total(), (*blocks, step("fuse_loops", "k_o_z", "k_o"), step("parallel", "k_o_z")))
    apply(
        transpose(),
        (
            step("fuse", "i", "j"),
            step("parallel", "i_f"),
        ),
    )
    apply(
        matmul(),
        (
            step("split", "k", 2),
            step("rfactor", "k_i"),
            step("vectorize", "k_i"),
            step("parallel", "i"),
        ),
    )

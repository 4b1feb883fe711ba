"""Slots of the arena: buffers of sizes that a program is called with share memory, and none that
are live together overlap, whatever the sizes are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir import Operation

import tensorscript as ts
from tensorscript.base.dtypes import float32, int64
from tensorscript.dialects.te.buffers import Scalar, make_buffer
from tensorscript.dialects.te.expr import const
from tensorscript.dialects.te.expr_parse import parse
from tensorscript.dialects.te.ops import AllocOp, CallOp, ForOp, FuncOp, LetOp
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.te.affine import known
from tensorscript.lowering.te.lifetimes import Liveness
from tensorscript.lowering.te.storage import plan_storage

SIZES = ("N", "M", "N * M", "3", "16", "(N + 1) // 2", "N * 16", "M - 4", "max(N, 5)", "N + M")
NAMES = [Scalar("N", int64), Scalar("M", int64)]


def function(*body: Operation) -> FuncOp:
    return FuncOp("f", [make_buffer("x", float32, [16]), *NAMES], list(body), role="host")


def alloc(name: str, *sizes: str) -> AllocOp:
    return AllocOp(make_buffer(name, float32, [parse(size) for size in sizes]))


def offsets(func: FuncOp) -> dict[str, str]:
    return {o.buffer.name: str(o.offset) for o in walk_ops(func) if isinstance(o, AllocOp)}


def test_a_slot_is_as_long_as_the_longest() -> None:
    func = function(
        alloc("a", "N", "16"), CallOp("g", ["x", "a"]),
        alloc("b", "N", "M", "16"), CallOp("g", ["a", "b"]),
        alloc("c", "N", "32"), CallOp("g", ["b", "c"]),
        alloc("d", "5"), CallOp("g", ["c", "d"]),
    )  # fmt: skip
    assert not plan_storage(func).unplanned
    assert offsets(func) == {"a": "64", "b": "64 + max(0, N * 128)", "c": "64", "d": "0"}


def test_sizes_that_are_no_multiples_are_rounded_up() -> None:
    func = function(alloc("a", "N"), alloc("b", "M"), CallOp("g", ["a", "b"]))
    plan_storage(func)
    assert offsets(func) == {"a": "0", "b": "(max(0, N * 4) + 63) // 64 * 64"}


def test_what_the_function_finds_or_threads_have_stays_unplanned() -> None:
    body = [alloc("t", "N"), CallOp("g", ["t"])]
    func = function(
        LetOp("k", parse("N // 2")), alloc("a", "k"), CallOp("g", ["a"]),
        ForOp("i", 4, body, "parallel"),
    )  # fmt: skip
    assert [b.name for b in plan_storage(func).unplanned] == ["a", "t"]


@given(
    st.lists(st.lists(st.sampled_from(SIZES), min_size=1, max_size=3), min_size=1, max_size=9),
    st.lists(st.integers(0, 8), min_size=1, max_size=14),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=4),
)
def test_nothing_that_is_live_overlaps(
    shapes: list[list[str]], uses: list[int], values: list[tuple[int, int]]
) -> None:
    allocs = [alloc(f"b{k}", *sizes) for k, sizes in enumerate(shapes)]
    calls = [CallOp("g", [f"b{k % len(shapes)}", "x"]) for k in uses]
    func = function(*allocs, *calls)
    lives = list(Liveness(func).lifetimes.values())
    plan_storage(func)
    for n, m in values:
        given_ = {"N": const(n), "M": const(m)}
        spans = []
        for life in lives:
            assert life.alloc.offset is not None
            start = known(substitute(life.alloc.offset, given_))
            dims = [known(substitute(size, given_)) for size in life.alloc.buffer.shape]
            assert start is not None and start >= 0 and start % 64 == 0
            length = 4 * int(np.prod([max(d or 0, 0) for d in dims]))
            spans.append((life.first, life.last, start, start + length))
        for a in range(len(spans)):
            for b in range(a):
                (first, last, start, end), (first2, last2, start2, end2) = spans[a], spans[b]
                if first <= last2 and first2 <= last:
                    assert end <= start2 or end2 <= start or start == end or start2 == end2


def test_sizes_whose_product_has_no_64_bits_are_refused() -> None:
    def outer(x: ts.Tensor, y: ts.Tensor, z: ts.Tensor) -> ts.Tensor:
        return (x[:, None, None] + y[:, None] + z).cumsum(0).cumsum(1).sum()

    specs = [ts.TensorSpec((name,)) for name in "NMK"]
    native = ts.compile(outer, specs, fallback="error")
    assert native(*[ts.ones(2)] * 3).item() == 54.0
    long = ts.ones(1 << 22)  # whose cube, in bytes, is 0 in 64 bits
    with pytest.raises(RuntimeError, match="allocate memory"):
        native(long, long, long)

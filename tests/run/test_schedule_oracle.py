"""Random legal schedules beside PyTorch's NNC: the same loops are left, and the same numbers.

Each step is asked of our nest first. What is legal there is done by the live `torch._C._te` too, on
the loops at the same places in program order; then both print and run what they have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tensorscript.base.dtypes import float32
from tensorscript.compiler.loop_nest import LoopNest
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.schedule import ScheduleError
from tensorscript.lowering.te.evaluate import evaluate

torch = pytest.importorskip("torch")
te = torch._C._te

II, JJ, KK, PP, QQ = (var(n) for n in "ijkpq")
ROWS, COLUMNS, DEPTH = 6, 10, 4
Pair = tuple[FuncOp, Any, list[Any]]
"""Our function, NNC's nest, and its buffers."""


def _inputs(*sizes: tuple[int, int]) -> list[Any]:
    names = "xw"
    return [
        te.BufHandle(names[k], [te.ExprHandle.int(n) for n in shape], te.Dtype.Float)
        for k, shape in enumerate(sizes)
    ]


def _sizes(*shape: int) -> list[Any]:
    return [te.ExprHandle.int(n) for n in shape]


def one_map() -> Pair:
    x, z = (
        make_buffer(n, float32, [ROWS, COLUMNS], mode) for n, mode in (("x", "in"), ("z", "out"))
    )
    body = StoreOp("z", [II, JJ], load("x", [II, JJ], float32) * 2.0)
    func = FuncOp("f", [x, z], [ForOp("i", ROWS, [ForOp("j", COLUMNS, [body])])])
    (source,), two = _inputs((ROWS, COLUMNS)), te.ExprHandle.float(2.0)
    made = te.Compute("z", _sizes(ROWS, COLUMNS), lambda i, j: source.load([i, j]) * two)
    return func, te.LoopNest([made]), [source, made]


def two_maps() -> Pair:
    x, z = (
        make_buffer(n, float32, [ROWS, COLUMNS], mode) for n, mode in (("x", "in"), ("z", "out"))
    )
    first = StoreOp("y", [II, JJ], load("x", [II, JJ], float32) * 2.0)
    second = StoreOp("z", [PP, QQ], load("y", [PP, QQ], float32) + load("x", [PP, QQ], float32))
    loops = [
        AllocOp(make_buffer("y", float32, [ROWS, COLUMNS])),
        ForOp("i", ROWS, [ForOp("j", COLUMNS, [first])]),
        ForOp("p", ROWS, [ForOp("q", COLUMNS, [second])]),
    ]
    func = FuncOp("f", [x, z], loops)
    (source,), two = _inputs((ROWS, COLUMNS)), te.ExprHandle.float(2.0)
    sizes = _sizes(ROWS, COLUMNS)
    half = te.Compute("y", sizes, lambda i, j: source.load([i, j]) * two)
    made = te.Compute("z", sizes, lambda i, j: half.load([i, j]) + source.load([i, j]))
    return func, te.LoopNest([made], [half, made]), [source, made]


def product() -> Pair:
    x, w = make_buffer("x", float32, [ROWS, DEPTH]), make_buffer("w", float32, [DEPTH, COLUMNS])
    z = make_buffer("z", float32, [ROWS, COLUMNS], "out")
    term = load("x", [II, KK], float32) * load("w", [KK, JJ], float32)
    depth = ForOp("k", DEPTH, [UpdateOp("z", [II, JJ], "add", term)], reduction=True)
    inner = ForOp("j", COLUMNS, [StoreOp("z", [II, JJ], const(0, float32)), depth])
    func = FuncOp("f", [x, w, z], [ForOp("i", ROWS, [inner])])
    left, right = _inputs((ROWS, DEPTH), (DEPTH, COLUMNS))
    made = te.Reduce(
        "z", _sizes(ROWS, COLUMNS), te.Sum(),
        lambda at: left.load([at[0], at[2]]) * right.load([at[2], at[1]]), _sizes(DEPTH),
    )  # fmt: skip
    return func, te.LoopNest([made]), [left, right, made]


NESTS: dict[str, Callable[[], Pair]] = {
    "one map": one_map, "two maps": two_maps, "product": product,
}  # fmt: skip


def their_loops(statement: Any) -> Iterator[Any]:
    """In program order."""
    if isinstance(statement, te.Block):
        for inner in statement.stmts():
            yield from their_loops(inner)
    elif isinstance(statement, te.For):
        yield statement
        yield from their_loops(statement.body())
    elif isinstance(statement, te.Cond):
        yield from their_loops(statement.true_stmt())


class Both:
    """The same nest twice; a step is done by both, or by none."""

    def __init__(self, pair: Pair) -> None:
        self.func, self.theirs, self.buffers = pair
        self.ours = LoopNest(self.func)
        self.done: list[str] = []

    def step(self, kind: str, places: list[int], factor: int) -> bool:
        """Whether the step was legal; places of loops wrap around."""
        if not self.ours.loops:
            return False
        own = [self.ours.loops[p % len(self.ours.loops)] for p in places]
        loops = list(their_loops(self.theirs.root_stmt()))
        assert len(loops) == len(self.ours.loops), self.done
        other = [loops[p % len(loops)] for p in places]
        if kind.startswith("slice") and own[0].extent.isdigit() and int(own[0].extent) <= factor:
            return False  # NNC leaves such a loop as it is
        try:
            STEPS[kind][0](self.ours, own, factor)
        except ScheduleError:
            return False
        self.done.append(f"{kind} {[loop.name for loop in own]} {factor}")
        STEPS[kind][1](self.theirs, other, factor)
        # Loops of one iteration, or of none, are left by one of the two.
        self.ours.simplify()
        self.theirs.simplify()
        return True

    def compare(self) -> None:
        """Their iteration counts, and their results."""
        said = "; ".join(self.done)
        arrays = [np.random.default_rng(k).integers(-4, 5, shape).astype(np.float32)
                  for k, shape in enumerate(self._shapes())]  # fmt: skip
        names = [b.name for b in self.func.buffers]
        evaluate(self.func, dict(zip(names, arrays, strict=True)))
        tensors = [torch.from_numpy(a.copy()) for a in arrays]
        tensors[-1].zero_()
        found = [int(loop.extent) for loop in self.ours.loops]
        bounds = re.findall(r"for \(int \w+ = (\d+); \w+ < (\d+);", str(self.theirs))
        assert found == [int(stop) - int(start) for start, stop in bounds], said
        self.theirs.prepare_for_codegen()
        statement = self.theirs.root_stmt()
        te.construct_codegen("ir_eval", statement, self.buffers).call(tensors)
        np.testing.assert_array_equal(arrays[-1], tensors[-1].numpy(), err_msg=said)

    def _shapes(self) -> list[tuple[int, ...]]:
        return [tuple(int(str(n)) for n in b.shape) for b in self.func.buffers]


def masked_from_zero(loop: Any, factor: int) -> None:
    """NNC's masks leave iterations out where a loop does not start at 0."""
    te.LoopNest.normalize(loop)
    te.LoopNest.split_with_mask(loop, factor)


Ours = Callable[[LoopNest, list[Any], int], object]
Theirs = Callable[[Any, list[Any], int], object]
STEPS: dict[str, tuple[Ours, Theirs]] = {
    "split_with_tail": (
        lambda n, at, f: n.split_with_tail(at[0], f),
        lambda n, at, f: te.LoopNest.split_with_tail(at[0], f),
    ),
    "split_with_mask": (
        lambda n, at, f: n.split_with_mask(at[0], f),
        lambda n, at, f: masked_from_zero(at[0], f),
    ),
    "slice_head": (
        lambda n, at, f: n.slice_head(at[0], f),
        lambda n, at, f: te.LoopNest.slice_head(at[0], f),
    ),
    "slice_tail": (
        lambda n, at, f: n.slice_tail(at[0], f),
        lambda n, at, f: te.LoopNest.slice_tail(at[0], f),
    ),
    "normalize": (
        lambda n, at, f: n.normalize(at[0]), lambda n, at, f: te.LoopNest.normalize(at[0]),
    ),
    "reorder_axis": (
        lambda n, at, f: n.reorder_axis(*at), lambda n, at, f: te.LoopNest.reorder_axis(*at),
    ),
    "fuse_loops": (
        lambda n, at, f: n.fuse_loops(at), lambda n, at, f: te.LoopNest.fuse_loops(at),
    ),
    "flatten": (lambda n, at, f: n.flatten(at), lambda n, at, f: n.flatten(at)),
    "full_unroll": (
        lambda n, at, f: n.full_unroll(at[0]), lambda n, at, f: te.LoopNest.fullUnroll(at[0]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTS)
def test_random_schedules(name: str) -> None:
    random = np.random.default_rng(1)
    legal: Counter[str] = Counter()
    for _ in range(100):
        both = Both(NESTS[name]())
        for _ in range(random.integers(1, 5)):
            kind = list(STEPS)[random.integers(len(STEPS))]
            places = [int(p) for p in random.integers(0, 8, 2)]
            legal[kind] += both.step(kind, places, int(random.integers(2, 5)))
        both.compare()
    wanted = set(STEPS) if name == "two maps" else set(STEPS) - {"fuse_loops"}
    assert {kind for kind, count in legal.items() if count} >= wanted

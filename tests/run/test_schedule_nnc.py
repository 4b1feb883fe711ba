"""Our loop nests beside the live ones of PyTorch: the same names, the same loops after a step."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.loop_nest import LoopNest

torch = pytest.importorskip("torch")
te = torch._C._te

SPELLED = {"fullUnroll": "full_unroll", "get_innermost_loops_for": "get_innermost_loops"}
ABSENT = {
    "unsafe_fuse_loops": "nothing is unchecked",
    "prepare_for_codegen": "compilation does it",
    "sanitize_names": "names are unique from the start",
    "root_stmt": "a nest prints itself",
    "get_all_loopnests_for": "`loops`", "get_enclosing_loopnest": "`Loop.path`",
    "get_loop_body_for": "`loops`", "get_loop_stmts_in_loopnest": "`loops`",
    "get_parent_loop": "`Loop.path`", "get_writes_for": "steps name buffers, not statements",
}  # fmt: skip


def test_every_name_is_here_or_has_a_reason() -> None:
    theirs = {name for name in dir(te.LoopNest) if not name.startswith("_")}
    missing = {n for n in theirs if not hasattr(LoopNest, SPELLED.get(n, n))}
    assert missing == ABSENT.keys() & theirs


def double(x: ts.Tensor) -> ts.Tensor:
    return x * 2


def nests(rows: int, columns: int) -> tuple[LoopNest, Any, list[Any]]:
    """The same map as our nest and as NNC's, with NNC's loops."""
    ours = ts.schedule(double, (np.ones((rows, columns), np.float32),)).kernel
    source = te.BufHandle("x", [te.ExprHandle.int(n) for n in (rows, columns)], te.Dtype.Float)
    two = te.ExprHandle.float(2.0)
    sizes = [te.ExprHandle.int(n) for n in (rows, columns)]
    result = te.Compute("y", sizes, lambda i, j: source.load([i, j]) * two)
    theirs = te.LoopNest([result])
    return ours, theirs, theirs.get_loops_for(result)


def trips(nest: LoopNest) -> list[int]:
    return [int(loop.extent) for loop in nest.loops]


def their_trips(nest: Any) -> list[int]:
    """Iteration counts in program order, from the printed statement."""
    nest.simplify()
    return [int(n) for n in re.findall(r"; \w+ < (\d+)", str(nest))]


@pytest.mark.parametrize(("size", "factor"), [(24, 8), (20, 8), (7, 4)])
def test_split_with_tail(size: int, factor: int) -> None:
    ours, theirs, loops = nests(3, size)
    ours.split_with_tail("i1", factor)
    te.LoopNest.split_with_tail(loops[1], factor)
    ours.simplify()
    assert trips(ours) == their_trips(theirs)

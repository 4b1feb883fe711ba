"""Rows that are copied and then changed where data says, by one thread and by several, as NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.cpu.runtime import get_num_threads, set_num_threads
from tensorscript.compiler.entry import StagedFunction
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.stages import BY_NAME

Program = Callable[[ts.Tensor, ts.Tensor, ts.Tensor], ts.Tensor]
Array = np.ndarray


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = get_num_threads()
    set_num_threads(request.param)
    yield request.param
    set_num_threads(before)


def added(x: ts.Tensor, i: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.index_add(0, i, y)


def added_in_rows(x: ts.Tensor, i: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.index_add(1, i, y)


def summed(x: ts.Tensor, i: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.index_put((i,), y, accumulate=True)


def put(x: ts.Tensor, i: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.index_put((i,), y)


def copied(x: ts.Tensor, i: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.index_copy(0, i, y)


def scattered(x: ts.Tensor, i: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.scatter_add(1, i.expand(x.shape[0], i.shape[0]), y.t()[: x.shape[0]])


def _numpy_sums(x: Array, i: Array, y: Array) -> Array:
    made = x.copy()
    np.add.at(made, i, y)
    return made


def _numpy_put(x: Array, i: Array, y: Array) -> Array:
    made = x.copy()
    for place, row in zip(i, y, strict=True):  # the last one stays
        made[place] = row
    return made


def _numpy_columns(x: Array, i: Array, y: Array) -> Array:
    return _numpy_sums(x.T, i, y[:, : x.shape[0]]).T


CASES: dict[str, tuple[Program, Callable[[Array, Array, Array], Array], bool]] = {
    "index_add": (added, _numpy_sums, False),
    "index_put, summed": (summed, _numpy_sums, True),
    "index_put": (put, _numpy_put, True),
    "index_copy": (copied, _numpy_put, False),
    "scatter_add": (scattered, _numpy_columns, False),
}
"""Programs, what NumPy makes of them, and whether places count from the end, too."""


def _arguments(rows: int, places: int, signed: bool, same: bool) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(rows + places)
    x, y = (random.standard_normal((n, 512)).astype("f4") for n in (rows, places))
    at = random.integers(-rows if signed else 0, rows, places)
    return x, np.full_like(at, rows - 1) if same else at, y


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("same", [False, True], ids=["any places", "one place"])
def test_known_sizes(case: str, same: bool, threads: int) -> None:
    run, wanted, signed = CASES[case]
    for rows, places in ((512, 200), (509, 64), (300, 0)):
        given = _arguments(rows, places, signed, same)
        native = ts.compile(run, given, fallback="error", cache=False)
        np.testing.assert_array_equal(native(*given), wanted(*given))


@pytest.mark.parametrize("case", [name for name in CASES if name != "scatter_add"])
def test_sizes_of_each_call(case: str, threads: int) -> None:
    run, wanted, signed = CASES[case]
    specs = (
        ts.TensorSpec(("N", 512), ts.float32),
        ts.TensorSpec(("M",), ts.int64),
        ts.TensorSpec(("M", 512), ts.float32),
    )
    native = ts.compile(run, specs, fallback="error", cache=False)
    assert "allot" in native.ir("schedule")
    for rows, places in ((700, 300), (3, 100), (1, 1), (400, 0), (0, 0)):
        given = _arguments(rows, places, signed, False) if rows else _empty()
        np.testing.assert_array_equal(native(*given), wanted(*given))


def _empty() -> tuple[Array, Array, Array]:
    return np.empty((0, 512), "f4"), np.empty(0, "i8"), np.empty((0, 512), "f4")


def test_rows_of_each_batch(threads: int) -> None:
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((16, n, 128)).astype("f4") for n in (256, 100))
    at = random.integers(0, 256, 100)
    wanted = x.copy()
    for rows, added in zip(wanted, y, strict=True):
        np.add.at(rows, at, added)
    native = ts.compile(added_in_rows, (x, at, y), fallback="error", cache=False)
    assert "fuse_loops" in native.ir("schedule")
    np.testing.assert_array_equal(native(x, at, y), wanted)


@pytest.mark.parametrize("case", CASES)
def test_places_beyond_are_refused(case: str, threads: int) -> None:
    run, _, signed = CASES[case]
    x, at, y = _arguments(512, 200, signed, False)
    native = ts.compile(run, (x, at, y), fallback="error", cache=False)
    for place in (512, -513):
        at[-1] = place
        with pytest.raises((RuntimeError, IndexError)):
            native(x, at, y)


INSIDE = """builtin.module attributes {ts.results = "tensor(0)"} {
  te.func @k kernel scheduled scatter (x: f32[3, 9], out y: f32[3, 9]) {
    te.for b in 0 .. 3 parallel grain 1 {
      te.for i in 0 .. 9 parallel grain 2 chunk n {
        te.for j in 0 .. n serial {
          te.store y[b, i + j] = x.f32[b, i + j] + f32(n)
        }
      }
    }
  }
  te.func @f host scheduled (x: f32[3, 9], out out0: f32[3, 9]) {
    te.call @k(x, out0)
  }
}
"""


def test_a_chunk_inside_of_what_a_thread_runs_is_whole(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "f.scheduled.mlir"
    path.write_text(INSIDE)
    x = np.arange(27, dtype="f4").reshape(3, 9)
    run = StagedFunction(path, BY_NAME["scheduled"], CompileOptions(cache=False))
    np.testing.assert_array_equal(run(x), x + 9)

"""Products whose columns are read by equal parts, as the gates of a cell, are one kernel with what
reads them."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

import tensorscript as ts
from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.te.ops import functions
from tensorscript.lowering.schedule import Scheduler
from tensorscript.lowering.schedules.product_parts import (
    PartsBlocking,
    parts_blocking,
    product_in_parts,
)
from tensorscript.lowering.te.evaluate import evaluate

LOGICAL = """
te.func @k kernel logical contraction (x: f32[{m}, {k}], y: f32[{n}, {k}], out o: f32[{m}, {w}]) {{
  te.for i0 in 0 .. {m} serial {{
    te.alloc stack t: f32[{n}]
    te.for c in 0 .. {n} serial {{
      te.store t[c] = (0.0).f32
      te.for r in 0 .. {k} serial reduce {{
        te.update t[c] add= x.f32[i0, r] * y.f32[c, r]
      }}
    }}
    te.alloc stack u: f32[{w}]
    te.for a in 0 .. {w} serial {{
      te.store u[a] = t.f32[a] - t.f32[a + {w}]
    }}
    te.for b in 0 .. {w} serial {{
      te.store o[i0, b] = u.f32[b] * t.f32[b + {last}]
    }}
  }}
}}
"""


class Gates(ts.nn.Module):
    """A cell of four gates, whose second result is made of the first."""

    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.linear = ts.nn.Linear(depth, 4 * width)

    def forward(self, x):
        a, b, c, d = self.linear(x).chunk(4, -1)
        state = ts.sigmoid(a) * ts.tanh(b)
        return state, ts.tanh(state) + ts.relu(c) * d


class Gated(ts.nn.Module):
    """A gated linear unit."""

    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.linear = ts.nn.Linear(depth, 2 * width, bias=False)
        self.width = width

    def forward(self, x):
        y = self.linear(x)
        return ts.relu(y[:, : self.width]) * y[:, self.width :]


class Kept(Gated):
    """The product itself is a result, too."""

    def forward(self, x):
        y = self.linear(x)
        return ts.relu(y[:, : self.width]) * y[:, self.width :], y


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gates(model: Gates, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    weight, bias = (np.asarray(p.detach()).astype("f8") for p in model.linear.parameters())
    a, b, c, d = np.split(x @ weight.T + bias, 4, -1)
    state = sigmoid(a) * np.tanh(b)
    return state, np.tanh(state) + np.maximum(c, 0) * d


def is_in_parts(f: ts.compile) -> bool:
    return "parts:" in f.ir("scheduled")


@pytest.mark.parametrize(
    ("shape", "width"),
    [
        ((1, 100), 32),
        ((3, 7), 64),
        ((8, 128), 128),
        ((5, 1, 300), 96),
        ((17, 64), 32),
        ((32, 600), 64),
    ],
)
def test_results(shape: tuple[int, ...], width: int) -> None:
    ts.manual_seed(0)
    model = Gates(shape[-1], width).eval()
    x = np.random.default_rng(1).standard_normal(shape).astype("f4")
    f = ts.compile(model, (x,), fallback="error")
    assert is_in_parts(f)
    for got, wanted in zip(f(x), gates(model, x.astype("f8")), strict=True):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("model", "rows", "width", "cut"),
    [
        (Gated, 4, 64, True),
        (Gated, 33, 64, False),  # blocks for the caches matter more
        (Gated, 4, 40, False),  # a tile would not divide a part
        (Kept, 4, 64, False),
    ],
)
def test_which_products_are_cut(model: type[Gated], rows: int, width: int, cut: bool) -> None:
    x = np.ones((rows, 64), "f4")
    assert is_in_parts(ts.compile(model(64, width).eval(), (x,), fallback="error")) == cut


def test_what_is_no_constant_is_not_packed_by_parts() -> None:
    def gated(x, w):
        y = x @ w
        return ts.relu(y[:, :64]) * y[:, 64:]

    x, w = np.ones((4, 64), "f4"), np.ones((64, 128), "f4")
    assert not is_in_parts(ts.compile(gated, (x, w), fallback="error"))


def test_threads_of_a_gpu_have_an_element_each() -> None:
    x, model = np.ones((4, 64), "f4"), Gated(64, 64).eval()
    here, gpu = (
        ts.compile(model, (x,), target=target).ir("kernels").count("tg.kernel")
        for target in ("cpu", "ptx-emulate:sm_80")
    )
    assert (here, gpu) == (1, 2)


def logical(m: int, k: int, w: int, parts: int) -> ModuleOp:
    return parse_module(LOGICAL.format(m=m, k=k, w=w, n=parts * w, last=(parts - 1) * w))


def test_readers_of_other_columns_are_another_form() -> None:
    text = LOGICAL.format(m=4, k=8, w=8, n=24, last=16)
    for old, new in (
        ("a + 8", "a + 9"),
        ("t.f32[a]", "t.f32[2 * a]"),
        ("u.f32[b]", "u.f32[7 - b]"),
    ):
        assert old in text
        (func,) = functions(parse_module(text.replace(old, new)))
        assert product_in_parts(func) is None


@pytest.mark.parametrize("blocking", [(4, 8, 1, 4, 8), (5, 4, 3, 4, 5), (2, 8, 3, 8, 99)])
def test_tiles_compute_what_the_loops_do(blocking: tuple[int, ...]) -> None:
    random = np.random.default_rng(2)
    x, y = (random.integers(-3, 4, s).astype("f4") for s in ((7, 11), (24, 11)))
    results = []
    for tiled in (False, True):
        (func,) = functions(logical(7, 11, 8, 3))
        if tiled:
            Scheduler(func, True).do("tensorize", "i0", "product in parts", *blocking)
            func.properties["level"] = StringAttr("scheduled")
        out = np.zeros((7, 8), "f4")
        evaluate(func, {"x": x, "y": y, "o": out})
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize(
    ("shape", "vector_bytes", "blocking"),
    [
        ((8, 128, 128, 4), 64, (8, 32, 1, 16, 256)),
        # Eight vectors of sums hide the latency of one row's multiply-adds.
        ((1, 64, 128, 4), 64, (1, 128, 1, 16, 256)),
        ((1, 128, 32, 4), 64, (1, 32, 4, 16, 256)),
        # From here on several threads have panels.
        ((1, 128, 128, 4), 64, (1, 32, 4, 16, 256)),
        ((8, 128, 128, 4), 32, (4, 16, 1, 8, 256)),
    ],
)
def test_blocking(
    shape: tuple[int, int, int, int], vector_bytes: int, blocking: tuple[int, ...]
) -> None:
    (func,) = functions(logical(*shape))
    form = product_in_parts(func)
    assert form is not None and form.count == shape[-1]
    assert parts_blocking(form, vector_bytes) == PartsBlocking(*blocking)

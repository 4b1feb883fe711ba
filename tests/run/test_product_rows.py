"""Products whose rows are read right behind them, as by a norm, are one kernel with what reads
them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from thread_count import threads_of
from xdsl.dialects.builtin import StringAttr

import tensorscript as ts
import tensorscript.nn.functional as F
from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.te.ops import functions
from tensorscript.lowering.schedule import Scheduler
from tensorscript.lowering.schedules.product_rows import product_with_rows
from tensorscript.lowering.te.evaluate import evaluate

LOGICAL = """
te.func @k kernel logical contraction ({parameters}) {{
  te.for i0 in 0 .. {b} serial {{
    te.for i1 in 0 .. {m} serial {{
      te.alloc stack t: f32[{n}]
      te.for c in 0 .. {n} serial {{
        te.store t[c] = (0.0).f32
        te.for r in 0 .. {k} serial reduce {{
          te.update t[c] add= x.f32[i0, i1, r] * y.f32[r, c]
        }}
      }}
      te.alloc stack s: f32[]
      te.store s[] = (0.0).f32
      te.for a in 0 .. {n} serial reduce {{
        te.update s[] add= t.f32[a]
      }}
      te.for d in 0 .. {n} serial {{
        te.store o[i0, i1, d] = t.f32[{n} - 1 - d] + s.f32[()] + x.f32[i0, i1, 0]
      }}
    }}
  }}
}}
"""


def is_with_rows(f: ts.compile) -> bool:
    return "product with rows" in f.ir("schedule")


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normed(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def soft(x, w, b):
    return F.softmax(x @ w + b, -1)


def norm(x, w, b):
    return F.layer_norm(x @ w, [w.shape[1]], b, b)


def nearest(x, w, b):
    return (b - 2 * (x @ w)).argmin(-1)


def halves(x, w, b):
    first, second = (x @ w + b).chunk(2, -1)
    return first * ts.relu(second)


def largest(x, w):
    return ts.amax(x @ w, -1)


def reference_halves(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    first, second = np.split(x @ w + b, 2, -1)
    return first * np.maximum(second, 0)


READERS: dict[Callable[..., object], Callable[..., np.ndarray]] = {
    soft: lambda x, w, b: softmax(x @ w + b),
    norm: lambda x, w, b: normed(x @ w) * b + b,
    nearest: lambda x, w, b: (b - 2 * (x @ w)).argmin(-1),
    halves: reference_halves,
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shape", "columns"),
    [((128, 8), 32), ((129, 64), 70), ((1, 197, 96), 96), ((3, 131, 16), 34), ((1000, 300), 256)],
)
@pytest.mark.parametrize("program", READERS)
def test_results(
    program: Callable[..., object], shape: tuple[int, ...], columns: int, threads: int
) -> None:
    random = np.random.default_rng(0)
    sizes = shape, (shape[-1], columns), (columns,)
    given = tuple((random.standard_normal(s) / s[0] ** 0.25).astype("f4") for s in sizes)
    f = ts.compile(program, given, fallback="error")
    assert is_with_rows(f)
    with threads_of(threads):
        got = np.asarray(f(*given))
    wanted = READERS[program](*(a.astype("f8") for a in given))
    np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=5e-5)


class Block(ts.nn.Module):
    """The end of a layer of a transformer, whose sum is a result, too."""

    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.linear = ts.nn.Linear(depth, width)
        self.norm = ts.nn.LayerNorm(width)

    def forward(self, x, rest):
        y = rest + self.linear(x)
        return y, self.norm(y)


class Raw(Block):
    """The product itself is a result."""

    def forward(self, x, rest):
        y = x @ self.linear.weight.T
        return y, self.norm(y + rest)


@pytest.mark.parametrize("model", [Block, Raw])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_that_leave_are_read_where_they_are_stored(model: type[Block], dtype: str) -> None:
    ts.manual_seed(0)
    kind = {"f4": ts.float32, "f8": ts.float64}[dtype]
    block, random = model(48, 80).to(kind).eval(), np.random.default_rng(1)
    x, rest = (random.standard_normal((2, 150, n)).astype(dtype) for n in (48, 80))
    f = ts.compile(block, (x, rest), fallback="error")
    assert is_with_rows(f)
    weight, bias = (np.asarray(p.detach()).astype("f8") for p in block.linear.parameters())
    product = x.astype("f8") @ weight.T
    total = product + rest + (bias if model is Block else 0)
    results = (total, normed(total)) if model is Block else (product, normed(total))
    for got, wanted in zip(f(x, rest), results, strict=True):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 13, 14, 15, 127, 1000])
def test_rows_that_the_call_tells(rows: int) -> None:
    ts.manual_seed(0)
    block = ts.nn.Sequential(ts.nn.Linear(48, 80), ts.nn.LayerNorm(80)).eval()
    f = ts.compile(block, (ts.TensorSpec(("N", 48)),), fallback="error")
    assert is_with_rows(f)
    x = np.random.default_rng(1).standard_normal((rows, 48)).astype("f4")
    weight, bias = (np.asarray(p.detach()).astype("f8") for p in block[0].parameters())
    wanted = normed(x.astype("f8") @ weight.T + bias)
    np.testing.assert_allclose(np.asarray(f(x)), wanted, rtol=1e-4, atol=1e-5)


def test_heads_that_lie_apart_are_a_batch() -> None:
    """Rows of several images of heads (as behind an attention) do not follow in memory."""

    def joined(x, w):
        flat = x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], 64)
        return F.softmax(flat @ w, -1)

    random = np.random.default_rng(0)
    x, w = (random.standard_normal(s).astype("f4") for s in ((5, 4, 96, 16), (64, 40)))
    f = ts.compile(joined, (x, w), fallback="error")
    assert is_with_rows(f)
    flat = x.astype("f8").transpose(0, 2, 1, 3).reshape(5, 96, 64)
    np.testing.assert_allclose(np.asarray(f(x, w)), softmax(flat @ w), rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "is_one"),
    [
        (127, 8, 64, False),  # too few for tasks of whole rows
        (128, 8, 64, True),
        (128, 256, 64, False),  # a task would multiply too few rows with each column
        (256, 256, 64, True),
        (256, 8, 31, False),  # other vectors suit rows so short
        (1024, 520, 512, False),  # what is multiplied with leaves the near caches
    ],
)
def test_which_products_keep_their_rows(rows: int, depth: int, columns: int, is_one: bool) -> None:
    x, w = np.ones((rows, depth), "f4"), np.ones((depth, columns), "f4")
    f = ts.compile(largest, (x, w), fallback="error")
    assert is_with_rows(f) == is_one


def test_products_of_a_batch_of_matrices_are_left_apart() -> None:
    x, w = np.ones((4, 128, 8), "f4"), np.ones((4, 8, 64), "f4")
    f = ts.compile(largest, (x, w), fallback="error")
    assert not is_with_rows(f)


def test_threads_of_a_gpu_have_a_row_each() -> None:
    x, w = np.ones((128, 8), "f4"), np.ones((8, 64), "f4")
    here, gpu = (
        ts.compile(largest, (x, w), target=target).ir("kernels").count("tg.kernel")
        for target in ("cpu", "ptx-emulate:sm_80")
    )
    assert (here, gpu) == (1, 2)


def text_of(b: int, m: int, k: int, n: int) -> str:
    parameters = f"x: f32[{b}, {m}, {k}], y: f32[{k}, {n}], out o: f32[{b}, {m}, {n}]"
    return LOGICAL.format(parameters=parameters, b=b, m=m, k=k, n=n)


@pytest.mark.parametrize("shape", [(1, 9, 5, 40), (1, 11, 7, 33), (1, 70, 3, 16)])
@pytest.mark.parametrize("blocking", [(4, 16, 16, 256, 2), (5, 8, 4, 4, 1), (2, 32, 16, 3, 3)])
@pytest.mark.parametrize("packed", ["", "packed "])
def test_tiles_compute_what_the_loops_do(
    shape: tuple[int, int, int, int], blocking: tuple[int, ...], packed: str
) -> None:
    b, m, k, n = shape
    random = np.random.default_rng(2)
    x, y = (random.integers(-3, 4, s).astype("f4") for s in ((b, m, k), (k, n)))
    results = []
    for tiled in (False, True):
        (func,) = functions(parse_module(text_of(*shape)))
        if tiled:
            Scheduler(func, True).do("tensorize", "i0", f"{packed}product with rows", *blocking)
            func.properties["level"] = StringAttr("scheduled")
        out = np.zeros((b, m, n), "f4")
        evaluate(func, {"x": x, "y": y, "o": out})
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])


def test_a_product_that_nothing_reads_is_another_form() -> None:
    text = text_of(1, 4, 8, 32)
    (func,) = functions(parse_module(text))
    assert product_with_rows(func) is not None
    (func,) = functions(parse_module(text.replace("y.f32[r, c]", "y.f32[r, i1]")))
    assert product_with_rows(func) is None


def test_a_tuner_varies_the_tile() -> None:
    x, w = np.ones((256, 64), "f4"), np.ones((64, 64), "f4")
    f = ts.compile(largest, (x, w), fallback="error", autotune=0.5)
    np.testing.assert_array_equal(np.asarray(f(x, w)), 64)
    assert is_with_rows(f)

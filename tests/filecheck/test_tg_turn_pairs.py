"""Which reductions have what they read turned (`lowering/tg/turn_pairs.py`)? IR in, IR out."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.printer import Printer

import tensorscript as ts
from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.tg.ops import functions
from tensorscript.lowering.tg.turn_pairs import turn_pairs

ROWS, TURNED = '!tg.tensor<"f32[40, 32]">', '!tg.tensor<"f32[32, 40]">'
PAIRS = '!tg.tensor<"f32[40, 40]">'
APART = "abs(a0.f32[i0, r0] - a1.f32[i1, r0])"


def turned(body: str, kind: str = "reduce", over: str = "32", result: str = PAIRS) -> str:
    module = parse_module(
        '"tg.func"() <{sym_name = "f", argument_names = ["x", "y"], sizes = [], '
        f"input_strides = [unit, unit]}}> ({{\n^bb0(%x: {ROWS}, %y: {ROWS}):\n"
        f'  %o = tg.{kind} %x, %y "add" <"{body}"> over <"{over}"> : ({ROWS}, {ROWS}) -> {result}\n'
        f"  tg.return %o : {result}\n}}) : () -> ()"
    )
    for func in functions(module):
        turn_pairs(func)
    module.verify()
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


def test_rows_of_pairs() -> None:
    found = turned(APART)
    assert f'tg.pointwise %y <"a0.f32[i1, i0]"> : ({ROWS}) -> {TURNED}' in found
    assert f'<"abs(a0.f32[i0, r0] - a1.f32[r0, i1])"> over <"32"> : ({ROWS}, {TURNED})' in found


@pytest.mark.parametrize(
    ("body", "kind", "over", "result"),
    [
        ("a0.f32[i0, r0] * a1.f32[i1, r0]", "contract", "32", PAIRS),
        (APART, "reduce", "8", PAIRS),
        ("abs(a0.f32[i0, r0] - a1.f32[i0, r0])", "reduce", "32", '!tg.tensor<"f32[40]">'),
        ("abs(a0.f32[i0, r0] - a1.f32[i1, r0])", "reduce", "32", '!tg.tensor<"f32[4, 40]">'),
        ("abs(a0.f32[i0, r0] - a1.f32[i1, r0])", "reduce", "32", '!tg.tensor<"f32[40, 8]">'),
        ("abs(a0.f32[i1, 31 - r0] - a1.f32[i1, r0])", "reduce", "32", PAIRS),
        ("abs(a0.f32[i0, r0] - a1.f32[i1 + r0, r0])", "reduce", "32", PAIRS),
    ],
    ids=["product", "short", "no pairs", "few rows", "few pairs", "both", "diagonals"],
)
def test_what_stays(body: str, kind: str, over: str, result: str) -> None:
    assert "tg.pointwise" not in turned(body, kind, over, result)


def distances(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.cdist(x, y)


def largest(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return (x.unsqueeze(-2) - y.unsqueeze(-3)).abs().amax(-1)


@pytest.mark.parametrize("run", [distances, largest])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("sizes", [(40, 64, 32), (9, 300, 17), (3, 40, 40), (2, 30, 30, 20)])
def test_the_same_as_eagerly(
    run: Callable[[ts.Tensor, ts.Tensor], ts.Tensor], dtype: str, sizes: tuple[int, ...]
) -> None:
    *batch, n, m, depth = sizes
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((*batch, k, depth)).astype(dtype) for k in (n, m))
    native = ts.compile(run, (x, y), fallback="error", cache=False)
    wanted = np.asarray(run(ts.from_numpy(x), ts.from_numpy(y)))
    np.testing.assert_allclose(native(x, y), wanted, 1e-5, 1e-5)

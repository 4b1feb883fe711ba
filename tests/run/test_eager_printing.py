"""Printed tensors: `set_printoptions`, notation, summaries, suffixes, `format`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import CompileError
from tensorscript.dialects.ts.graph_parser import parse_graph


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    ts.set_printoptions(profile="default")


def test_options() -> None:
    x = ts.tensor([1.25, 1000.5, 0.001])
    ts.set_printoptions(precision=2)
    assert repr(x) == "tensor([1.25e+00, 1.00e+03, 1.00e-03])"
    ts.set_printoptions(sci_mode=False)
    assert repr(x) == "tensor([   1.25, 1000.50,    0.00])"
    ts.set_printoptions(profile="default", threshold=4, edgeitems=1)
    assert repr(ts.arange(10)) == "tensor([0,  ..., 9])"


def test_numbers_are_formatted_and_tensors_are_not() -> None:
    assert f"{ts.tensor(1.5)} {ts.tensor(2):>3} {ts.tensor(0.126):.2f}" == "1.5   2 0.13"
    assert f"{ts.ones(2)}" == "tensor([1., 1.])"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(ts.ones(2), ".2f")


OPTIONS: list[dict[str, Any]] = [
    {}, {"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"threshold": 5},
    {"edgeitems": 1, "threshold": 4}, {"edgeitems": 0, "threshold": 4}, {"linewidth": 30},
    {"profile": "short"}, {"profile": "full"},
]  # fmt: skip
SHAPES = ((), (1,), (7,), (3, 4), (2, 2, 3), (2, 0, 3), (11, 1, 101))
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64")


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_prints_as_torch_under(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) * scale for s in SHAPES for scale in (1e-6, 1.0, 1e9)]
    arrays += [np.array([np.nan, np.inf, 1.5]), np.array([2.0, -np.inf]), np.array([1.0, 1001.0])]
    torch.set_printoptions(**{"profile": "default", **options})
    ts.set_printoptions(**{"profile": "default", **options})
    try:
        for array in arrays:
            for dtype in DTYPES:
                whole = np.clip(np.nan_to_num(array), 0, 100)  # what fits is the same everywhere
                numbers = np.asarray(whole if "int" in dtype else array)
                theirs = torch.from_numpy(numbers).to(getattr(torch, dtype))
                ours = ts.from_numpy(numbers).to(getattr(ts, dtype))
                assert repr(ours) == repr(theirs)
    finally:
        torch.set_printoptions(profile="default")


KINDS: dict[str, str] = {
    "parts that say their dtype once": "t.ones(2, dtype=t.int32).to_sparse()",
    "parts without elements": "t.zeros(0, 3).to_sparse()",
    "rows without elements": "t.zeros(2, 3).to_sparse_csr()",
    "rows": "t.eye(2).double().to_sparse_csr()",
    "parts of complex numbers": "(t.eye(2) + 1j).to_sparse()",
    "one grid": "t.quantize_per_tensor(t.ones(2, 3), 0.1, 0, t.qint8)",
    "a grid for each row": "t.quantize_per_channel(t.ones(2, 2), t.ones(2), t.zeros(2).long(), "
    "0, t.qint8)",
    "a grid of floating-point zeros": "t.quantize_per_channel(t.ones(2, 2), t.ones(2), "
    "t.tensor([0.0, 0.5]), 0, t.quint8)",
    "a grid without elements": "t.quantize_per_tensor(t.zeros(0, 2), 0.1, 0, t.qint8)",
    "a parameter": "t.nn.Parameter(t.ones(2))",
    "a buffer": "t.nn.Buffer(t.ones(2))",
    "a subclass": "t.ones(2).as_subclass(type('Own', (t.Tensor,), {}))",
    "a subclass of parameters": "type('Own', (t.nn.Parameter,), {})(t.ones(2))",
    "a parameter without dimensions": "f'{t.nn.Parameter(t.tensor(1.5))}'",
    "numbers a thousand apart": "t.tensor([0.7, 700.0], dtype=t.float64)",
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_prints_kinds_as_torch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (str(eval(KINDS[kind], {"t": t})) for t in (ts, torch))
    assert ours == theirs


_COMPLEX = """
def f(x):
    a = [1.5-2j, -1-1e17j]
    print(x, a, 2-3j, x[0])
    return x * (1.5-2j) * a[1], str(x), str(complex(-0.0, -0.0)), str(complex(1.0, float("nan")))
"""


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_scripts_show_complex_numbers_as_torch(capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for t in (torch, ts):
        script = t.jit.CompilationUnit(_COMPLEX).f
        shown = [str(script(t.tensor([1j, 2.5 + 1j]))), script.code]
        found.append([*shown, capsys.readouterr().out])
    assert found[0][:2] == found[1][:2]
    printed = " 0.0000\n 2.5000\n[ CPUComplexFloatType{2} ] [1.5-2.j, -1.-100000000000000000.j]"
    assert found[1][2].startswith(printed)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_graphs_show_complex_numbers_as_torch() -> None:
    torch = pytest.importorskip("torch")
    held = [1.5 - 2j, [1j, 2], [[1j, 2.5], [1e5, 3]], complex(np.nan, -np.inf), [1e-7j]]

    def graph(t: Any, number: Any) -> str:
        k = t.tensor(number)
        made = t.jit.trace(lambda x: x * k, (t.ones(2),), check_trace=False)
        return str(re.findall(r"value=([^\n]*)\]\(\)", str(made.graph)))

    for number in held:
        assert graph(ts, number) == graph(torch, number)


def test_graphs_with_complex_numbers_are_read() -> None:
    k = ts.tensor(1.5 - 2j)
    text = str(ts.jit.trace(lambda x: x * k * (2 - 1e-5j), (ts.ones(2),)).graph)
    assert "{(1.5,-2)}" in text
    read = parse_graph(text, tensors=True)
    assert "tensor('c64', (), '0000c03f000000c0')" in str(read.function)
    with pytest.raises(CompileError, match="expected ,"):
        parse_graph(text.replace("1.5,-2", "1.5"), tensors=True)

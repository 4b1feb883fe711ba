"""Traced graphs and code are PyTorch's, value names aside; a trace computes as eager mode does."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts

PROGRAMS = pytest.importorskip("trace_programs").PROGRAMS


def without_names(text: str) -> str:
    """A graph's text with values numbered in order and without places, and so its forked tasks'."""
    text = re.sub(r" # .*", "", text)
    return "with ".join(map(_numbered, text.split("with prim::")))


def _numbered(text: str) -> str:
    names: dict[str, str] = {}
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), text).strip()


def tensors(values: list[np.ndarray]) -> tuple[ts.Tensor, ...]:
    return tuple(ts.from_numpy(v.copy()) for v in values)


def leaves(value: object) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value)]


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore")
def test_graph_and_code_equal_torch(program) -> None:
    torch = pytest.importorskip("torch")
    values = program.inputs()
    given = tuple(torch.from_numpy(v.copy()) for v in values)
    theirs = torch.jit.trace(program.function(torch, "p"), given, check_trace=False)
    ours = ts.jit.trace(program.function(ts, "p"), tensors(values), check_trace=False)
    assert without_names(str(ours.graph)) == without_names(str(theirs.graph))
    assert ours.code == theirs.code


@pytest.mark.parametrize("program", PROGRAMS[::5], ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_a_trace_compiles(program) -> None:
    values = program.inputs()
    traced = ts.jit.trace(program.function(ts, "p"), tensors(values), check_trace=False)
    native = ts.compile(traced, tensors(values), fallback="error")
    expected = leaves(program.function(ts, "p")(*tensors(values)))
    for found, wanted in zip(leaves(native(*tensors(values))), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_a_trace_computes_what_eager_mode_does(program) -> None:
    values = program.inputs()
    function = program.function(ts, "p")
    traced = ts.jit.trace(function, tensors(values))
    expected = leaves(function(*tensors(values)))
    for found, wanted in zip(leaves(traced(*tensors(values))), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype

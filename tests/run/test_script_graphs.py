"""Graphs of scripted functions equal PyTorch's, up to value names and the order of constants."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from graph_texts import canonical

from tensorscript.frontends.script.api import compile_function

torch = pytest.importorskip("torch")
PROGRAMS = pytest.importorskip("script_programs").PROGRAMS


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_graph_equals_torch(fn: Callable[..., object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = str(torch.jit.script(fn).graph)
    assert canonical(compile_function(fn).graph) == canonical(wanted)

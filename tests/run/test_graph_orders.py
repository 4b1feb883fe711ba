"""Constants, of functions too, stand in PyTorch's order in graphs of scripts and of archives."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable

import pytest
from graph_texts import renumbered

import tensorscript as ts
from tensorscript.frontends.script.api import compile_function

torch = pytest.importorskip("torch")
PROGRAMS = [
    *pytest.importorskip("graph_order_programs").PROGRAMS,
    *pytest.importorskip("script_programs").PROGRAMS,
]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_order_of_constants(fn: Callable[..., object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(fn)
        saved = io.BytesIO()
        torch.jit.save(scripted, saved)
        ours, theirs = (lib.jit.load(io.BytesIO(saved.getvalue())) for lib in (ts, torch))
    assert renumbered(compile_function(fn).graph) == renumbered(str(scripted.graph))
    assert renumbered(str(ours.graph)) == renumbered(str(theirs.graph))


def test_functions_come_where_they_are_met() -> None:
    """The constant of a function is met after those of its arguments, before those of later ops."""
    programs = pytest.importorskip("graph_order_programs")
    lines = compile_function(programs.enums_in_calls).graph.splitlines()
    held = [re.search(r"value=(\S+)\]|name=\"(\S+)\"", line) for line in lines[1:9]]
    shown = [(found[1] or found[2]).rpartition(".")[2] for found in held if found is not None]
    assert shown == ["1", "BLUE", "7", "BLUE", "painted", "RED", "4", "2"]

"""Traces warn of what PyTorch's warn of: as often, in those words, in that order, at the program's
line where PyTorch's are there, and else at one of the library's Python."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import tensorscript as ts

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")
programs = pytest.importorskip("trace_warning_programs")


@pytest.fixture(autouse=True)
def _no_search_for_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours records `einsum` as PyTorch does without the package `opt_einsum`."""
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", False)


def warned(library: Any, program: Any) -> list[tuple[str, bool]]:
    """The texts of the warnings, and whether they have a line of the program."""
    library.manual_seed(0)
    traced, inputs = program(library)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library.jit.trace(traced, inputs, check_trace=False)
    found = [each for each in caught if each.category is library.jit.TracerWarning]
    return [(str(each.message), _is_of_a_program(each.filename)) for each in found]


def _is_of_a_program(filename: str) -> bool:
    return filename in ("<string>", programs.__file__)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_as_pytorch_warns(name: str) -> None:
    program = programs.PROGRAMS[name]
    assert warned(ts, program) == warned(torch, program)


RECORDED = [
    name
    for name in programs.PROGRAMS
    if name.startswith(("AdaptiveLog", "GaussianNLL", "packed", "t.unravel", "t.atleast"))
    or "pack_sequence([" in name
]


def operators(library: Any, program: Any) -> list[str]:
    """The operators of a trace, in order, with calls inlined."""
    library.manual_seed(0)
    traced, inputs = program(library)
    made = library.jit.trace(traced, inputs, check_trace=False)
    return re.findall(r"= (aten::\w+)", str(made.inlined_graph))


@pytest.mark.parametrize("name", RECORDED)
def test_as_pytorch_records(name: str) -> None:
    program = programs.PROGRAMS[name]
    assert operators(ts, program) == operators(torch, program)

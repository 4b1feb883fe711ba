"""Traces warn of what PyTorch's warn of: as often, in those words, in that order, at the program's
line where PyTorch's are there, and else at one of the library's Python. They record the same
operators in the same order, in the same graphs."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import pytest

import tensorscript as ts

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")
programs = pytest.importorskip("trace_warning_programs")
texts = pytest.importorskip("trace_text_programs")
calls = pytest.importorskip("trace_library_programs")
numbers = pytest.importorskip("trace_number_programs")
PROGRAMS = programs.PROGRAMS | texts.PROGRAMS | calls.PROGRAMS | numbers.PROGRAMS
PRINTING = (torch._tensor_str, importlib.import_module("tensorscript.eager.printing"))


@pytest.fixture(autouse=True)
def _no_search_for_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours records `einsum` as PyTorch does without the package `opt_einsum`."""
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", False)


def traced(library: Any, program: Any) -> tuple[list[tuple[str, bool]], Any]:
    """The texts of the warnings and whether they have a line of the program; and the trace."""
    library.manual_seed(0)
    given, inputs = program(library)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", library.jit.TracerWarning)
        warnings.filterwarnings("always", "pack_padded_sequence")
        made = library.jit.trace(given, inputs, check_trace=False)
    found = [(str(each.message), _is_of_a_program(each.filename)) for each in caught]
    return found, made


def operators(made: Any) -> list[str]:
    """The operators of a trace, in order, with calls inlined."""
    return re.findall(r"= (aten::\w+)", str(made.inlined_graph))


def whole(made: Any) -> str:
    """The graph of a trace and the one with calls inlined."""
    return plain(made.graph) + plain(made.inlined_graph)


def plain(graph: object) -> str:
    """A graph without places and names."""
    text = re.sub(r" # .*|___torch_mangle_\d+\.", "", str(graph))
    names: dict[str, str] = {}
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), text)


def _is_of_a_program(filename: str) -> bool:
    return filename in ("<string>", programs.__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch_warns_and_records(name: str) -> None:
    program = PROGRAMS[name]
    ours, theirs = traced(ts, program), traced(torch, program)
    assert ours[0] == theirs[0]
    assert operators(ours[1]) == operators(theirs[1])
    assert whole(ours[1]) == whole(theirs[1])


def shown(library: Any, make: str, options: dict[str, Any]) -> tuple[list[str], Any, str]:
    """The text of a traced tensor, the warnings of the trace, and its graph."""
    printing = PRINTING[library is ts]
    found: list[str] = []

    def program(x: Any) -> Any:
        with printing.printoptions(**options):
            found.append(str(x))
        return x.clone()

    warned, made = traced(library, lambda t: (program, (texts.made(t, make),)))
    return found, warned, whole(made)


@pytest.mark.parametrize("make", texts.TENSORS)
def test_text_of_a_traced_tensor(make: str) -> None:
    assert shown(ts, make, {}) == shown(torch, make, {})


@pytest.mark.parametrize("options", texts.OPTIONS, ids=str)
@pytest.mark.parametrize("make", texts.SHOWN)
def test_text_of_a_traced_tensor_under_options(make: str, options: dict[str, Any]) -> None:
    assert shown(ts, make, options) == shown(torch, make, options)

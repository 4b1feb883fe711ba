"""Programs of the language saved by us and by PyTorch, and read by both.

PyTorch's `CompilationUnit` reads few of its own texts: they name `annotate`, `unchecked_cast` and
`__torch__`. Its texts are ours (`test_language_programs`), and its archive reader knows them.
"""

import warnings
from pathlib import Path
from typing import Any

import language_programs_awaits
import language_programs_classes
import language_programs_contexts
import language_programs_functions
import language_programs_named
import pytest
from language_harness import (
    LanguageProgram,
    Refusal,
    Scripted,
    call_program,
    close,
    programs_of,
    script_program,
)

import tensorscript

PROGRAMS = programs_of(
    language_programs_classes,
    language_programs_awaits,
    language_programs_contexts,
    language_programs_functions,
    language_programs_named,
)

LEFT_OUT = {
    "cls_method_kw": "the text drops the `*` of keyword-only arguments; PyTorch's does, too",
    "enum_arg": "called with a member of a Python enum",
    "enum_argument": "called with a member of a Python enum",
    "enum_identity": "called with a member of a Python enum",
    "ignored_function": "calls Python",
    "ignored_function_gives_another_type": "calls Python",
    "module_ignore": "calls Python",
    "iface_basic": "PyTorch has an internal error",
    "enum_return": "gives a member of a Python enum",
    "cls_arg_object": "called with an instance of a Python class",
    "cls_return_object": "gives an object, of which PyTorch prints the address",
}
"""Programs that an archive does not hold whole, and why."""


@pytest.fixture(autouse=True)
def _no_deprecations() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _results(program: LanguageProgram, module: Any, function: Any, root: Any) -> list[Any]:
    found = call_program(program, root, Scripted(module, function))
    return ["refused" if isinstance(r, Refusal) else r for r in found]


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in LEFT_OUT])
def test_archives_go_both_ways(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    program = PROGRAMS[name]
    theirs = script_program(program, torch, tmp_path)
    ours = script_program(program, tensorscript, tmp_path, modules=torch)
    if isinstance(theirs, Refusal) or isinstance(ours, Refusal):
        return
    by_torch, by_us = tmp_path / "torch.pt", tmp_path / "ours.pt"
    torch.jit.save(theirs.function, str(by_torch))
    tensorscript.jit.save(ours.function, by_us)
    expected = _results(program, theirs.module, torch.jit.load(str(by_torch)), torch)
    for root, path in (torch, by_us), (tensorscript, by_torch), (tensorscript, by_us):
        loaded = root.jit.load(str(path))
        got = _results(program, ours.module, loaded, root)
        assert close(got, expected), f"{path.name} in {root.__name__}: {got}, not {expected}"

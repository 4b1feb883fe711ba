"""What TensorScript accepts beyond TorchScript means what it means in Python."""

import re
import warnings
from pathlib import Path
from typing import Any

import language_programs_extensions
import pytest
from language_harness import close, load_program, parse_table, plain, run_program
from test_module_programs import EXTENSIONS

import tensorscript

PROGRAMS = parse_table(language_programs_extensions.TEXT)
PAGE = Path(__file__).parents[2] / "docs" / "extensions.md"


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_python(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    module = load_program(program, "tensorscript", tmp_path)
    wanted = [
        plain(eval(call, {**vars(module), "T": tensorscript.tensor})) for call in program.calls
    ]
    assert close(run_program(program, tensorscript, tmp_path), wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_torchscript_differs(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    program = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs: list[Any] = run_program(program, torch, tmp_path)
    assert not close(theirs, run_program(program, tensorscript, tmp_path))


def test_the_page_lists_every_program() -> None:
    page, _, modules = PAGE.read_text().partition("\n## Modules")
    assert _listed(page) == PROGRAMS.keys()
    assert _listed(modules) == EXTENSIONS.keys()


def _listed(text: str) -> set[str]:
    return set(re.findall(r"^\| `(\w+)`", text, re.M))

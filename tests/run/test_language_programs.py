"""Programs of the TorchScript language: the same results and refusals as PyTorch."""

import warnings
from pathlib import Path
from typing import Any

import language_programs_classes
import language_programs_containers
import language_programs_scalars
import language_programs_tensors
import pytest
from language_harness import LanguageProgram, Refusal, close, parse_table, run_program

import tensorscript

PROGRAMS: dict[str, LanguageProgram] = {
    name: program
    for table in (
        language_programs_scalars,
        language_programs_containers,
        language_programs_tensors,
        language_programs_classes,
    )
    for name, program in parse_table(table.TEXT).items()
}

OTHER_WORDS = {
    "conversions": "the text of C++'s stoll",
    "strings_index_error": "the text of C++'s string::at",
    "class_linked": "another of two faults is found first",
}
"""Programs refused by both sides with different messages, and why."""

NOT_YET = {
    "interface_module": "a ModuleList indexed by a variable",
}
"""Programs that do not work yet, and what they need."""


def _without_lines(results: list[Any]) -> list[Any]:
    return [Refusal(r.when, r.kind, "") if isinstance(r, Refusal) else r for r in results]


@pytest.fixture(autouse=True)
def _no_deprecations() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    torch = pytest.importorskip("torch")
    if name in NOT_YET:
        request.applymarker(pytest.mark.xfail(reason=NOT_YET[name], strict=True))
    program = PROGRAMS[name]
    expected = run_program(program, torch, tmp_path)
    got = run_program(program, tensorscript, tmp_path, modules=torch)
    if name in OTHER_WORDS:
        expected, got = _without_lines(expected), _without_lines(got)
    assert close(got, expected), f"{got}\nbut PyTorch: {expected}"


def test_the_table_is_large_and_its_lists_are_current() -> None:
    assert len(PROGRAMS) >= 250
    assert not (OTHER_WORDS.keys() | NOT_YET.keys()) - PROGRAMS.keys()

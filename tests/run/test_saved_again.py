"""Programs saved by us, and frozen and saved: their archives load, and do what the programs do."""

import ast
import importlib
import io
import warnings
from pathlib import Path
from typing import Any

import module_programs_hooks
import module_programs_values
import pytest
from language_harness import (
    LanguageProgram,
    Refusal,
    Scripted,
    call_program,
    load_program,
    parse_table,
    programs_of,
    refusal,
    script_program,
)

import tensorscript as ts

TABLES = sorted(path.stem for path in Path(__file__).parent.glob("language_programs_*.py"))
PROGRAMS = programs_of(*map(importlib.import_module, TABLES))
FROZEN = """

class Frozen(nn.Module):
    def forward(self, {formals}):
        return f({actuals})
"""
WITHOUT_INFERRED_TYPES = (
    "iface_loop_of_two_classes",  # PyTorch has an internal error
    "iface_one_of_two_classes_passed",
    "iface_one_of_two_returned",
    "iface_returned_early",
    "any_comprehension",
    "any_of_several_types",
)


SAME_BYTES = (
    "chained_methods",  # parentheses around what a method, an index, an attribute is of
    "matrix_of_lists",
    "vec_operators",
    "enum_dict_value",
    "class_call",  # a method called `__call__`, of a class that is no module
    "class_operators_full",
)
MODULES = {"hooks_repeated": module_programs_hooks, "hooks_tuple_argument": module_programs_hooks}


@pytest.fixture(autouse=True)
def _no_deprecations() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _called(program: LanguageProgram) -> str:
    """The source of a module that calls the program's function."""
    functions = (n for n in ast.parse(program.source).body if isinstance(n, ast.FunctionDef))
    formals = next(n.args for n in functions if n.name == "f")
    names = ", ".join(a.arg for a in formals.args)
    return FROZEN.format(formals=ast.unparse(formals), actuals=names)


def _frozen(program: LanguageProgram, folder: Path) -> Scripted | Refusal:
    extended = LanguageProgram(program.name, program.source + _called(program), program.calls)
    module = load_program(extended, "tensorscript", folder)
    try:
        return Scripted(module, ts.jit.freeze(ts.jit.script(module.Frozen().eval())))
    except ts.TensorScriptError as error:
        return refusal("compile", error)


def _saved(module: Any) -> bytes:
    out = io.BytesIO()
    ts.jit.save(module, out)
    return out.getvalue()


def _agrees_after_saving(program: LanguageProgram, scripted: Scripted) -> None:
    """The archive, and the archive of what is loaded, give what the program gives."""
    first = _saved(scripted.function)
    second = _saved(ts.jit.load(io.BytesIO(first)))
    wanted = call_program(program, ts, scripted)
    for data in first, second:
        loaded = Scripted(scripted.module, ts.jit.load(io.BytesIO(data)))
        assert call_program(program, ts, loaded) == wanted


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", WITHOUT_INFERRED_TYPES)
def test_types_that_the_values_do_not_tell(name: str, frozen: bool, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    made = _frozen(program, tmp_path) if frozen else script_program(program, ts, tmp_path)
    assert not isinstance(made, Refusal), made
    _agrees_after_saving(program, made)


def test_frozen_containers_of_unions_are_told(tmp_path: Path) -> None:
    program = PROGRAMS["annotated_displays"]
    made = _frozen(program, tmp_path)
    assert not isinstance(made, Refusal), made
    assert "annotate(List[int], [])" in made.function.code
    _agrees_after_saving(program, made)


def test_frozen_text_of_such_containers_is_as_in_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    program = PROGRAMS["any_comprehension"]
    extended = LanguageProgram(program.name, program.source + _called(program), program.calls)
    module = load_program(extended, "torch", tmp_path)
    theirs = torch.jit.freeze(torch.jit.script(module.Frozen().eval()))
    ours = _frozen(program, tmp_path)
    assert not isinstance(ours, Refusal), ours
    saved_again = "], {"  # PyTorch writes a space only where it has read the dict from an archive
    assert ours.function.code == theirs.code.replace("],{", saved_again)
    torch.jit.load(io.BytesIO(_saved(ours.function)))


@pytest.mark.parametrize("name", [*SAME_BYTES, *MODULES])
def test_saving_again_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    """Places of the original source and all methods among them."""
    program = parse_table(MODULES[name].TEXT)[name] if name in MODULES else PROGRAMS[name]
    made = script_program(program, ts, tmp_path)
    assert not isinstance(made, Refusal), made
    first = _saved(made.function)
    assert _saved(ts.jit.load(io.BytesIO(first))) == first


def test_variables_that_hold_modules_load(tmp_path: Path) -> None:
    """A branch chooses the module whose method is called."""
    program = parse_table(module_programs_values.TEXT)["module_of_ternary_by_method"]
    made = script_program(program, ts, tmp_path)
    assert not isinstance(made, Refusal), made
    _agrees_after_saving(program, made)
    assert _saved(ts.jit.load(io.BytesIO(first := _saved(made.function)))) == first

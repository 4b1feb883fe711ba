"""Mistakes on the command line: exit code 1, one clear text, no traceback."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tensorscript.base.errors import UserError
from tensorscript.compiler import progress as signs
from tensorscript.compiler.cli import main

PROGRAMS = """
from typing import List
from tensorscript import Tensor, jit

def double(x):
    return x * 2

def scaled(x, n: int, s: float):
    return x * n * s

def first(parts: List[Tensor]):
    return parts[0]

def unsupported(x):
    with open("f") as f:
        return x

def unknown(x):
    return x.no_such_method()

class Scaled:
    def __init__(self, factor):
        self.factor = factor

@jit.script
def scripted(x):
    return x
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "cli_mistakes.py"
    path.write_text(PROGRAMS)
    return path


def refusal(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    assert main([str(a) for a in argv]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("error: ")
    assert 'Traceback (most recent call last):\n  File "/' not in err
    return err


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "{0}:triple",
            "defines no 'triple'; it has double, scaled, first, unsupported, unknown, Scaled, "
            "scripted",
        ),
        ("{0}:Scaled", "cannot be made without arguments (factor)"),
        ("{0}", "say which function or module of the file"),
        ("nothing.py:f", "there is no file nothing.py"),
        ("nothing.pt", "there is no file nothing.pt"),
        ("nothing.te.mlir", "there is no file nothing.te.mlir"),
        ("nothing.txt", "cannot read the program 'nothing.txt'"),
        ("{0}:unsupported", "line 15"),
        ("{0}:unknown", "no_such_method"),
    ],
)
def test_program(
    program: str, message: str, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = program.replace("{0}", str(programs))
    assert message in refusal(capsys, "run", text, "--input", "2x2:f32")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "missing value for argument 'x'"),
        (["2x2:f32", "2x2:f32"], "at most 1 argument(s) but received 2"),
        (["2x2:f31"], "unknown dtype 'f31'"),
        (["what is this"], "cannot read the input"),
        (["no.npy"], "cannot read the array no.npy"),
        (["Nx2:f32"], "give --size N=128"),
        ([str(2**70)], "for argument 'x' but instead found type 'int'"),
        (["float"], "a run needs a number in place of 'float'"),
    ],
)
def test_input(
    inputs: list[str], message: str, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word for text in inputs for word in ("--input", text)]
    assert message in refusal(capsys, "run", f"{programs}:double", *given)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["2:f32", "2:f32", "float"], "argument 'n' but instead found the spec of a tensor 2:f32"),
        (
            ["2:f32", "float", "float"],
            "argument 'n' but instead found the spec of a number 'float'",
        ),
        (["int", "int", "float"], "for argument 'x' but instead found the spec of a number 'int'"),
        (["[2:f32]", "int", "float"], "argument 'x' but instead found a list with specs"),
    ],
)
def test_spec_of_another_type(
    inputs: list[str], message: str, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word for text in inputs for word in ("--input", text)]
    assert message in refusal(capsys, "dump", f"{programs}:scaled", *given, "--stage", "tg")


@pytest.mark.parametrize(
    ("name", "inputs", "shown"),
    [
        ("scaled", ["2:f32", "int", "int"], '!tg.scalar<"f64">'),  # as a call converts an int
        ("first", ["[2:f32, 3:f32]"], '!tg.tensor<"f32[3]">'),
    ],
)
def test_spec_that_fits(
    name: str, inputs: list[str], shown: str, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word for text in inputs for word in ("--input", text)]
    assert main(["dump", f"{programs}:{name}", *given, "--stage", "tg"]) == 0
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["dump", "--stage", "nonsense"], "unknown stage 'nonsense'"),
        (["dump", "--stage", "ptx"], "has no stage 'ptx' for target 'cpu'"),
        (["dump", "--stage", "o"], "is no text: give -o double.o"),
        (["dump", "--stage", "tg", "--target", "abacus"], "unknown target 'abacus'"),
        (["build", "-o", "m.exe"], "cannot build m.exe"),
        (["build", "-o", "m.o", "--cpu", "abacus"], "unknown processor 'abacus' for "),
        (["run", "--input", "9999999999999x9999:f32"], "not enough memory"),
        (["build", "-o", "m.ptx", "--target", "x86_64-unknown-linux-gnu"], "cannot be built"),
        (["build", "-o", "m.o", "--target", "cuda"], "cannot be built as .o"),
        (["run", "-o", "y.csv"], "expected .npz or .npy"),
        (["run", "--threads", "0"], "--threads is a number from 1 to 256"),
        (["tune", "--budget", "nan"], "--budget is a positive number"),
        (["run", "--size", "N"], "cannot read the size 'N'"),
        (["run", "--size", "M=4"], "no input has a dimension 'M'"),
        (["build", "-o", "m.o", "--name", "a b"], "'a b' is no name of a C function"),
        (["build", "-o", "m.o", "--name", ""], "'' is no name of a C function"),
    ],
)
def test_options(
    argv: list[str],
    message: str,
    programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *options = argv
    given = [command, f"{programs}:double", "--input", "2x2:f32", *options]
    assert message in refusal(capsys, *given)
    assert not list(tmp_path.iterdir())


def test_import_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cli_import_error.py"
    path.write_text("import no_such_package\n")
    assert "No module named 'no_such_package'" in refusal(capsys, "run", f"{path}:f")
    path.write_text("def f(:\n")
    assert "invalid syntax" in refusal(capsys, "run", f"{path}:f")
    path.write_text("x = 1\nraise KeyError('why')\n")
    told = f"error: cannot import {path}: KeyError: 'why' ({path.name}, line 2)\n"
    assert refusal(capsys, "run", f"{path}:f") == told
    path.write_text("class C:\n    def __init__(self):\n        self.x = 1 // 0\n")
    told = f"cannot make {path}:C: ZeroDivisionError: integer division or modulo by zero"
    assert f"{told} ({path.name}, line 3)\n" in refusal(capsys, "run", f"{path}:C")


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["dump", "f.py:f"])
    assert ended.value.code == 2
    assert "--stage" in capsys.readouterr().err


def test_debug_raises(programs: Path) -> None:
    with pytest.raises(UserError, match="defines no"):
        main(["run", f"{programs}:triple", "--debug"])


@pytest.fixture
def dumped(programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    program = f"{programs}:double"
    assert main(["dump", program, "--input", "2x3:f32", "--stage", "all", "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    return tmp_path / "double"


@pytest.mark.parametrize("stage", ["tg.mlir", "te.mlir", "scheduled.mlir", "ll"])
@pytest.mark.parametrize("given", ["3x2:f32", "2x3:f64", "2:f32", "1"])
def test_staged_inputs(
    stage: str, given: str, dumped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, "run", f"{dumped}.{stage}", "--input", given)
    assert "double was compiled for (x: 2x3:f32) and cannot take (" in said


def test_staged_texts(dumped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    te = Path(f"{dumped}.te.mlir")
    te.write_text(te.read_text().replace("te.store", "te.stare"))
    assert "is not a module of a stage" in refusal(capsys, "run", te, "--input", "2x3:f32")
    ll = Path(f"{dumped}.ll")
    ll.write_text(ll.read_text().partition("\n")[2])
    assert "does not say its entry" in refusal(capsys, "run", ll, "--input", "2x3:f32")
    obj = f"{dumped}.o"
    assert "cannot enter at stage 'o'" in refusal(capsys, "run", obj, "--input", "2x3:f32")


def test_truncated_archive(
    samples_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.pt"
    path.write_bytes((samples_folder / "s01_regressor_traced.pt").read_bytes()[:500])
    assert "failed reading zip archive" in refusal(capsys, "run", path, "--input", "4x7:f32")


def test_damaged_constants(
    samples_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = samples_folder / "s02_small_cnn_scripted.pt"
    shape = "2x3x16x16:f32"
    folder = str(tmp_path)
    assert main(["dump", str(archive), "--input", shape, "--stage", "all", "-o", folder]) == 0
    capsys.readouterr()
    side = tmp_path / "s02_small_cnn_scripted.consts.npz"
    with np.load(side) as stored:
        changed = {name: value + 1 for name, value in stored.items()}
    np.savez(side, **changed)
    text = tmp_path / "s02_small_cnn_scripted.ts.mlir"
    assert "is damaged" in refusal(capsys, "run", text, "--input", shape)
    side.unlink()
    assert "lacks" in refusal(capsys, "run", text, "--input", shape)


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What takes long says so; what does not is silent."""
    with signs.progress("short"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(signs, "QUIET_SECONDS", 0.01)
    with signs.progress("long"):
        time.sleep(0.05)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("long ... ")
    assert lines[-1].startswith("long: ")

"""`tensorscript opt`: pipelines of passes and schedule primitives on stage texts."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from tensorscript.base.errors import UserError
from tensorscript.compiler.cli import main
from tensorscript.compiler.cli.opt import Invocation, parse_pipeline

SCALE = """
builtin.module {
  te.func @k kernel logical pointwise (x: f32[4, 32], out y: f32[4, 32]) {
    te.for i in 0 .. 4 serial {
      te.for j in 0 .. 32 serial {
        te.store y[i, j] = x.f32[i, j] * (2.0).f32
      }
    }
  }
  te.func @scale host logical (x: f32[4, 32], out y: f32[4, 32]) {
    te.call @k(x, y)
  }
}
"""

WEIGHTS = """
from tensorscript import nn

class Net(nn.Linear):
    def __init__(self):
        super().__init__(64, 64)
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    path = tmp_path / "scale.te.mlir"
    path.write_text(SCALE)
    return path


def said(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    code = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fuse", [Invocation("fuse", {})]),
        ("a-b,c", [Invocation("a-b", {}), Invocation("c", {})]),
        (
            'split{loop=i args=16,guard func="k"}, verify',
            [
                Invocation("split", {"loop": ("i",), "args": (16, "guard"), "func": ("k",)}),
                Invocation("verify", {}),
            ],
        ),
        ("p{on=true rate=0.5}", [Invocation("p", {"on": (True,), "rate": (0.5,)})]),
    ],
)
def test_pipeline_text(text: str, wanted: list[Invocation]) -> None:
    assert parse_pipeline(text) == wanted


@pytest.mark.parametrize("text", ["split{loop=i", "a b", "p{=3}", ",a"])
def test_malformed_pipeline(text: str) -> None:
    with pytest.raises(UserError, match="cannot read"):
        parse_pipeline(text)


def test_primitives_keep_the_result(
    scale: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.arange(128, dtype=np.float32).reshape(4, 32))
    pipeline = "split{loop=j args=16},vectorize{loop=j_i},parallel{loop=i},verify"
    made = tmp_path / "made.te.mlir"
    said(capsys, "opt", scale, "-p", pipeline, "-o", made)
    text = made.read_text()
    assert "te.for j_i in 0 .. 16 vector" in text
    assert "te.for i in 0 .. 4 parallel" in text
    scheduled = tmp_path / "made.scheduled.mlir"
    scheduled.write_text(text)
    out = tmp_path / "y.npy"
    said(capsys, "run", scheduled, "--input", tmp_path / "x.npy", "-o", out)
    np.testing.assert_array_equal(np.load(out), np.load(tmp_path / "x.npy") * 2)


def test_passes_lower_as_the_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "opt_program.py"
    program.write_text("def softmax(x):\n    return x.softmax(-1)\n")
    said(
        capsys, "dump", f"{program}:softmax", "--input", "3x8:f32", "--stage", "all", "-o", tmp_path
    )
    steps = "inline-producers,fuse,lower-to-loops,schedule,simplify,plan-storage"
    printed = said(capsys, "opt", tmp_path / "softmax.tg.mlir", "-p", f"normalize,{steps}")
    found = tmp_path / "again.scheduled.mlir"
    found.write_text(printed)
    results = []
    for path in (found, tmp_path / "softmax.scheduled.mlir"):
        results.append(said(capsys, "run", path, "--input", "3x8:f32"))
    assert results[0] == results[1]


def test_stream(
    scale: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`-` is the input stream, so that texts go through pipes; constants in files cannot."""
    wanted = said(capsys, "opt", str(scale), "-p", "vectorize{loop=j}")
    monkeypatch.setattr("sys.stdin", io.StringIO(scale.read_text()))
    assert said(capsys, "opt", "-", "-p", "vectorize{loop=j}") == wanted
    monkeypatch.setattr("sys.stdin", io.StringIO("garbage"))
    assert main(["opt", "-"]) == 1
    assert "<stdin> is not a module of a stage" in capsys.readouterr().err
    (tmp_path / "cli_stream.py").write_text(WEIGHTS)
    net = f"{tmp_path}/cli_stream.py:Net"
    text = said(capsys, "dump", net, "--input", "1x64:f32", "--stage", "te")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["opt", "-"]) == 1
    assert "<stdin>: large constants lie in a file" in capsys.readouterr().err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    names = {line.split()[0] for line in said(capsys, "opt", "--list").splitlines()}
    assert {"normalize", "lower-to-loops", "simplify", "split", "vectorize", "cache"} <= names


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("nonsense", "pass 'nonsense' is unknown"),
        ("lower-to-loops", "works on tg, and there is none"),
        ("split{loop=q args=4}", "there is no loop q"),
        ("split{loop=j args=5}", "cannot split"),
        ("split{args=4}", "split needs loop=NAME"),
        ("vectorize{loop=j lanes=4}", "vectorize has no option 'lanes'"),
        ("vectorize{loop=j func=z}", "no such te.func; there are: k, scale"),
    ],
)
def test_refusals(
    scale: Path, pipeline: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["opt", str(scale), "-p", pipeline]) == 1
    assert message in capsys.readouterr().err

"""Several methods of one module as one object: they share its weights and its state."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import exported_program
import numpy as np
import pytest

import tensorscript as ts
from tensorscript import jit, nn
from tensorscript.base.errors import GuardError, UserError
from tensorscript.compiler.cli import main as command_line
from tensorscript.compiler.export import export_object

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

WIDTH = 64
X = np.arange(2 * WIDTH, dtype=np.float32).reshape(2, WIDTH) / WIDTH - 1


class Coder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.outer = nn.Linear(WIDTH, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("total", ts.zeros(3))
        self.calls = 0

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        self.calls += 1
        self.total += self.outer(self.inner(x)).sum(0)
        return self.norm(self.total.unsqueeze(0))

    @jit.export
    def encode(self, x: ts.Tensor) -> ts.Tensor:
        return ts.relu(self.inner(x))

    @jit.export
    def totals(self) -> tuple[ts.Tensor, int]:
        return self.total * 2, self.calls

    @jit.export
    def reset(self, to: float):
        if to < 0:
            raise ValueError("below zero")
        self.total.fill_(to)
        self.norm.running_mean.fill_(to)
        self.calls = 0


class Plain(nn.Module):
    """Methods that change nothing, and no forward."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)

    @jit.export
    def there(self, x: ts.Tensor) -> ts.Tensor:
        return self.inner(x)

    @jit.export
    def back(self, x: ts.Tensor) -> list[ts.Tensor]:
        return [self.inner(x) + 1, x]

    @jit.export
    def error(self, x: ts.Tensor) -> ts.Tensor:
        return x


def coder() -> jit.RecursiveScriptModule:
    ts.manual_seed(0)
    return jit.script(Coder().eval())


STEPS = r"""
#include "model.h"
#include <stdio.h>

int main(void) {
  static float x[2 * 64], encoded[2 * 64];
  float y[3], totals[3];
  int64_t calls;
  model_state one, two;
  FILE *in = fopen("in.bin", "rb"), *out = fopen("out.bin", "wb");
  if (!in || !out || fread(x, sizeof x, 1, in) != 1) return 1;
  if (LOAD) return 2;
  model_init_state(&one);
  for (int k = 0; k < 3; k++) {
    if (model_raw(&one, x, y) || model_encode_raw(&one, x, encoded)) return 3;
    if (model_totals_raw(&one, totals, &calls) || calls != k + 1) return 4;
    fwrite(y, sizeof y, 1, out), fwrite(encoded, sizeof encoded, 1, out);
    fwrite(totals, sizeof totals, 1, out);
  }
  two = one;
  if (model_reset(&one, -1) != MODEL_PROGRAM || model_totals_raw(&one, totals, &calls)) return 5;
  if (calls != 3 || model_reset(&one, 5) || model_totals_raw(&one, totals, &calls)) return 6;
  if (calls != 0 || totals[2] != 10) return 7;
  if (model_raw(&one, x, y)) return 8; /* a batch norm whose mean another method has set */
  fwrite(y, sizeof y, 1, out);
  if (model_totals_raw(&two, totals, &calls) || calls != 3) return 9;
  if (model_encode(&two, NULL, NULL) != MODEL_NULL) return 10;
  printf("%s\n", model_error());
  return fclose(in) || fclose(out);
}
"""


def stepped(module: jit.RecursiveScriptModule) -> np.ndarray:
    """What the program writes, by the module itself."""
    x, parts = ts.from_numpy(X), []
    for _ in range(3):
        parts += [module(x), module.encode(x), module.totals()[0]]
    module.reset(5.0)
    parts.append(module(x))
    return np.concatenate([p.detach().numpy().ravel() for p in parts])


@pytest.mark.parametrize("beside", [False, True], ids=["inside", "beside"])
def test_methods_share_weights_and_state(beside: bool, tmp_path: Path) -> None:
    module = coder()
    loaded = jit.load(module.save_to_buffer())
    number = ts.ScalarSpec("float")
    methods = [
        ts.compile(loaded.encode, (X,), cache=False),
        ts.compile(loaded.totals, (), cache=False),
        ts.compile(loaded.reset, (number,), cache=False),
    ]
    made = ts.compile(loaded, (X,), cache=False)
    weights = tmp_path / "model.weights" if beside else None
    made.export_object(tmp_path / "model.o", tmp_path / "model.h", "model", weights, methods)
    X.tofile(tmp_path / "in.bin")
    load = 'model_load_weights("model.weights")' if beside else "0"
    exported_program.build(tmp_path, STEPS.replace("LOAD", load), "model.o")
    done = exported_program.run(tmp_path)
    assert done.returncode == 0, (done.returncode, done.stdout)
    assert done.stdout == "argument 'x' is NULL\n"
    found = np.fromfile(tmp_path / "out.bin", np.float32)
    np.testing.assert_allclose(found, stepped(module), rtol=1e-4, atol=1e-5)
    if weights is not None:
        assert weights.stat().st_size < 4096 + 2 * 4 * WIDTH * WIDTH  # one copy of the matrix


def test_one_method_of_an_archive(tmp_path: Path) -> None:
    coder().save(tmp_path / "net.pt")
    out = ["-o", f"{tmp_path}/libnet.so", "--header", f"{tmp_path}/net.h"]
    given = ["build", f"{tmp_path}/net.pt", "--method", "encode", "--input", "Nx64:f32"]
    assert command_line([*given, *out]) == 0
    text = (tmp_path / "net.h").read_text()
    assert "int net_encode(const DLTensor *x, DLTensor *out0);" in text
    assert "net_state" not in text and "int net(" not in text


def built(folder: Path, *words: str) -> int:
    (folder / "plain.py").write_text(
        f"from {__name__} import Plain, coder, twice\nplain, stateful = Plain(), coder()\n"
    )
    out = ["-o", f"{folder}/m.a", "--header", f"{folder}/sub/m.h", "--name", "m"]
    return command_line(["build", f"{folder}/plain.py:{words[0]}", *words[1:], *out])


def test_the_command_line_takes_inputs_of_each_method(tmp_path: Path) -> None:
    x = "--input=2x64:f32"
    assert built(tmp_path, "plain", "--method=there", x, "--method", "back", x) == 0
    text = (tmp_path / "sub" / "m.h").read_text()
    assert "int m_there_raw(const float *x, float *out0);" in text
    assert "int m_back_raw(const float *x, float *out0, float *out1);" in text
    assert (tmp_path / "m.a").stat().st_size < 60_000  # 16 KiB of weights, once
    assert (
        built(
            tmp_path,
            "stateful",
            "--method=totals",
            "--method=forward",
            x,
            "--method=reset",
            "--input=float",
        )
        == 0
    )
    text = (tmp_path / "sub" / "m.h").read_text()
    assert "int m(m_state *self, const DLTensor *x, DLTensor *out0);" in text
    assert "int m_reset(m_state *self, double to);" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plain", "--method=thre"], "Method 'thre' is not defined. The module has: back, error"),
        (["plain"], "Method 'forward' is not defined."),
        (["plain", "--method=error", "--input=2:f32"], "the object has another function m_error"),
        (["stateful", "--input=2x64:f32", "--method=forward"], "which is named again"),
        (["twice", "--method=encode", "--input=2x64:f32"], "it has no method 'encode'"),
    ],
)
def test_refused_methods(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert built(tmp_path, *words) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m.a").exists()


def test_methods_are_of_one_module(tmp_path: Path) -> None:
    one, other = coder(), coder()
    made = ts.compile(one, (X,), cache=False)
    with pytest.raises(UserError, match="they are not methods of one module"):
        made.export_object(tmp_path / "m.o", methods=[ts.compile(other.encode, (X,), cache=False)])
    with pytest.raises(GuardError, match="Method 'decode' is not defined"):
        made.program.method("decode")
    strict = ts.compile(one.encode, (X,), cache=False, strict=True)
    with pytest.raises(UserError, match="compiled with other options"):
        made.export_object(tmp_path / "m.o", methods=[strict])
    assert not list(tmp_path.iterdir())


def twice(x):  # type: ignore[no-untyped-def]
    return x * 2


def test_nothing_is_written_if_one_file_cannot_be(tmp_path: Path) -> None:
    made = ts.compile(twice, (X,), cache=False)
    (tmp_path / "folder.h").mkdir()
    for header, kind in [("no/m.h", FileNotFoundError), ("folder.h", IsADirectoryError)]:
        with pytest.raises(kind) as error:
            export_object(made, tmp_path / "m.o", header=tmp_path / header)
        assert error.value.filename == str(tmp_path / header)
    with pytest.raises(UserError, match="two files would be written to"):
        export_object(made, tmp_path / "m.o", header=tmp_path / "m.o")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.h"]
    (tmp_path / "m.o").write_bytes(b"before")
    with pytest.raises(FileNotFoundError):
        export_object(made, tmp_path / "m.o", header=tmp_path / "no" / "m.h")
    assert (tmp_path / "m.o").read_bytes() == b"before"


def test_build_writes_all_or_nothing(tmp_path: Path) -> None:
    program = tmp_path / "twice.py"
    program.write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "taken").write_text("")
    words = ["build", f"{program}:twice", "--input=3:f32", "-o", f"{tmp_path}/m.so"]
    assert command_line([*words, "--header", f"{tmp_path}/taken/m.h"]) == 1
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix) == ["twice.py"]
    assert command_line([*words, "--header", f"{tmp_path}/new/m.h"]) == 0
    shown = subprocess.run(["nm", "-D", tmp_path / "m.so"], capture_output=True, text=True)
    assert " T twice" in shown.stdout

"""Whole models ahead of time: C programs run archives, by static and by named sizes, with weights
in the object and in a file beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import exported_program
import nn_models
import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import UserError
from tensorscript.compiler.cli import main as command_line

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

SAMPLES = Path(__file__).parents[1] / "formats" / "samples"
KNOWN_TO_VALGRIND = "x86-64-v3"

Arrays = Sequence[np.ndarray]


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a nested result, in order."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in flat(part)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [np.asarray(value)]


def sample(name: str) -> tuple[Path, Arrays, Arrays]:
    """An archive of PyTorch's, inputs of its first call and PyTorch's results."""
    call = json.loads((SAMPLES / "samples.json").read_text())["samples"][name]["calls"][0]
    arrays = np.load(SAMPLES / f"{name}.npz")
    inputs = [arrays[part["T"]] for part in call["args"]["t"]]
    return SAMPLES / f"{name}.pt", inputs, leaves(call["out"], arrays)


def leaves(described: Any, arrays: Any) -> list[np.ndarray]:
    ((kind, value),) = described.items()
    if kind == "T":
        return [arrays[value]]
    parts = [v for _, v in value] if kind == "d" else value
    return [leaf for part in parts for leaf in leaves(part, arrays)]


def export(
    folder: Path, path: Path, specs: Sequence[Any], calls: Any, beside: bool = False, cpu: str = ""
) -> None:
    """Build `folder`/main around an archive."""
    made = ts.compile(path, specs, cache=False, fallback="error", cpu=cpu)
    weights = folder / "model.weights" if beside else None
    signature = made.export_object(folder / "model.o", folder / "model.h", "model", weights)
    text = exported_program.program_text(signature, calls, "model.weights" if beside else "")
    exported_program.build(folder, text, "model.o")
    exported_program.write_inputs(folder, calls)


def run_and_check(folder: Path, calls: Any, *wrapper: str) -> None:
    done = exported_program.run(folder, *wrapper)
    assert done.returncode == 0, done.stdout + done.stderr
    exported_program.check_results(folder, calls)


def valgrind(folder: Path, calls: Any) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    run_and_check(folder, calls, "valgrind", "-q", "--error-exitcode=9", "--leak-check=full")


NATIVE = (
    "s01_regressor_traced", "s02_small_cnn_scripted", "s03_residual_conv1d_traced",
    "s04_gru_tagger_scripted", "s05_char_lstm_traced", "s06_cross_attention_scripted",
    "s07_tiny_decoder_traced", "s08_autoencoder_dict_traced",
)  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_a_c_program_gives_what_pytorch_gave(name: str, tmp_path: Path) -> None:
    path, inputs, results = sample(name)
    calls = [(inputs, results)]
    export(tmp_path, path, inputs, calls, beside=name.startswith(("s02", "s05")))
    run_and_check(tmp_path, calls)


@pytest.mark.parametrize("name", ["dynamic", "static"])
def test_a_c_program_runs_quantized_models(name: str, tmp_path: Path) -> None:
    folder = SAMPLES.parent / "quantized_samples"
    with np.load(folder / f"{name}.npz") as call:
        calls = [([call["input0"]], [call["result"]])]
    export(tmp_path, folder / f"{name}.pt", calls[0][0], calls, cpu=KNOWN_TO_VALGRIND)
    run_and_check(tmp_path, calls)
    valgrind(tmp_path, calls)


def lstm_calls() -> tuple[Path, Sequence[Any], Any]:
    """The traced LSTM with every length and batch; results are the interpreter's."""
    path, (tokens, h, _), _ = sample("s05_char_lstm_traced")
    model = ts.jit.load(path)
    state = (h.shape[0], "B", h.shape[2])
    specs = (
        ts.TensorSpec(("T", "B"), ts.int64),
        ts.TensorSpec(state, ts.float32),
        ts.TensorSpec(state, ts.float32),
    )
    calls = []
    for batch, length in ((2, 3), (3, 17), (5, 8)):
        rng = np.random.default_rng(batch)
        inputs: list[np.ndarray] = [rng.integers(0, int(tokens.max()) + 1, (length, batch))]
        inputs += [rng.standard_normal((h.shape[0], batch, h.shape[2]), np.float32)] * 2
        results = model(*map(ts.from_numpy, inputs))
        calls.append((inputs, [r.detach().numpy() for r in flat_tensors(results)]))
    return path, specs, calls


def flat_tensors(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in flat_tensors(part)]
    return [value]


def resnet_calls(folder: Path, model: Any, sizes: Sequence[tuple[int, int]]) -> tuple[Path, Any]:
    """An archive of a model of images, and calls of it; results are eager mode's."""
    ts.jit.save(ts.jit.script(model.eval()), folder / "model.pt")
    calls = []
    for batch, size in sizes:
        image = np.random.default_rng(size).standard_normal((batch, 3, size, size), np.float32)
        calls.append(([image], [model(ts.from_numpy(image)).detach().numpy()]))
    return folder / "model.pt", calls


def test_an_lstm_of_every_length_and_batch(tmp_path: Path) -> None:
    path, specs, calls = lstm_calls()
    export(tmp_path, path, specs, calls)
    run_and_check(tmp_path, calls)


@pytest.mark.parametrize("beside", [False, True])
def test_resnet_of_every_batch_and_size(beside: bool, tmp_path: Path) -> None:
    model, _ = nn_models.resnet18(ts)
    path, calls = resnet_calls(tmp_path, model, ((2, 32), (3, 64)))
    specs = (ts.TensorSpec(("B", 3, "H", "W"), ts.float32),)
    export(tmp_path, path, specs, calls, beside)
    run_and_check(tmp_path, calls)


@pytest.mark.slow
def test_resnet18_with_all_its_weights(tmp_path: Path) -> None:
    model = nn_models.resnet18_of_width(ts, 64, 1000)
    count = sum(p.numel() for p in model.parameters())
    assert count == 11_689_512
    path, calls = resnet_calls(tmp_path, model, ((1, 224),))
    inside, beside = tmp_path / "inside", tmp_path / "beside"
    for folder, has_file in ((inside, False), (beside, True)):
        folder.mkdir()
        export(folder, path, calls[0][0], calls, has_file)
        run_and_check(folder, calls)
    code = os.path.getsize(beside / "model.o")
    assert code < 256 * 1024
    # Batch norms are folded, and weights that are packed are not held unpacked as well.
    held = os.path.getsize(beside / "model.weights")
    assert held < 1.01 * 4 * count
    assert os.path.getsize(inside / "model.o") < code + held + 64 * 1024


# -- valgrind --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("beside", [False, True])
def test_valgrind_finds_nothing_in_resnet(beside: bool, tmp_path: Path) -> None:
    model, _ = nn_models.resnet18(ts)
    path, calls = resnet_calls(tmp_path, model, ((1, 32),))
    export(tmp_path, path, calls[0][0], calls, beside, KNOWN_TO_VALGRIND)
    valgrind(tmp_path, calls)


@pytest.mark.slow
def test_valgrind_finds_nothing_with_named_sizes(tmp_path: Path) -> None:
    path, specs, calls = lstm_calls()
    export(tmp_path, path, specs, calls, cpu=KNOWN_TO_VALGRIND)
    valgrind(tmp_path, calls)


# -- refusals --------------------------------------------------------------------------------------

MISUSE = r"""
#include "model.h"
#include <stdio.h>

int main(void) {
  float x[3 * 32 * 32] = {0}, y[10];
  printf("%d %s\n", model_raw(x, y), model_error());
  printf("%d %s\n", model_load_weights("nowhere"), model_error());
  printf("%d %s\n", model_load_weights("other.weights"), model_error());
  printf("%d %s\n", model_load_weights("cut.weights"), model_error());
  printf("%d %s\n", model_raw(x, y), model_error());
  if (model_load_weights("model.weights")) return 1;
  if (model_load_weights("model.weights")) return 2;
  return model_raw(x, y);
}
"""


def test_weights_that_are_not_there_are_noticed(tmp_path: Path) -> None:
    model, inputs = nn_models.resnet18(ts)
    made = ts.compile(model.eval(), inputs, cache=False, fallback="error")
    made.export_object(
        tmp_path / "model.o", tmp_path / "model.h", "model", tmp_path / "model.weights"
    )
    data = (tmp_path / "model.weights").read_bytes()
    (tmp_path / "cut.weights").write_bytes(data[:-1])
    (tmp_path / "other.weights").write_bytes(data[:20] + b"x" + data[21:])
    exported_program.build(tmp_path, MISUSE, "model.o")
    done = exported_program.run(tmp_path)
    assert done.returncode == 0
    missing = "8 the weights are not loaded: call model_load_weights"
    foreign = "8 the file holds other weights, or is cut off"
    assert done.stdout.splitlines() == [
        missing, "8 the weights' file cannot be read", foreign, foreign, missing
    ]  # fmt: skip


class SparseLayer(ts.nn.Module):
    """Multiplies by two sparse matrices, by coordinates and by rows."""

    def __init__(self) -> None:
        super().__init__()
        dense = ts.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 0.5]])
        self.register_buffer("places", dense.to_sparse())
        self.register_buffer("rows", dense.to_sparse_csr())

    def forward(self, x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        return ts.mm(self.places, x) + self.rows @ x, self.places.to_dense()


def test_sparse_constants(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    model = SparseLayer()
    ts.jit.save(ts.jit.script(model), tmp_path / "model.pt")
    calls = [([x], [r.numpy() for r in model(ts.from_numpy(x))])]
    export(tmp_path, tmp_path / "model.pt", [x], calls)
    run_and_check(tmp_path, calls)


def test_a_program_without_weights_has_no_file(tmp_path: Path) -> None:
    def plus(x):  # type: ignore[no-untyped-def]
        return x + 1

    made = ts.compile(plus, (np.zeros(3, np.float32),), cache=False)
    with pytest.raises(UserError, match="has no weights for a file of their own"):
        made.export_object(tmp_path / "m.o", name="m", weights=tmp_path / "m.weights")
    assert not list(tmp_path.iterdir())


def test_the_command_line_writes_the_weights_file(tmp_path: Path) -> None:
    path, inputs, _ = sample("s02_small_cnn_scripted")
    shape = "x".join(map(str, inputs[0].shape))
    out = [f"-o={tmp_path}/libmodel.so", f"--header={tmp_path}/model.h", "--name=model"]
    weights = f"--weights={tmp_path}/model.weights"
    assert command_line(["build", str(path), f"--input={shape}:f32", *out, weights]) == 0
    assert (tmp_path / "model.weights").stat().st_size > 4096
    program = '#include "model.h"\nint main(void) { return model_load_weights("model.weights"); }'
    (tmp_path / "main.c").write_text(program)
    command = ["cc", "main.c", "./libmodel.so", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert exported_program.run(tmp_path).returncode == 0

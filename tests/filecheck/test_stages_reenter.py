"""Every stage's text parses back, and a program that enters there gives the same result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorscript.base.dtypes import float32, int64
from tensorscript.compiler.cli import main
from tensorscript.compiler.entry_results import parse_results, results_text
from tensorscript.compiler.entry_state import receiver_text, restore_receiver
from tensorscript.compiler.stages import load_module, print_module
from tensorscript.eager.tensor import Tensor
from tensorscript.runtime.values import ScriptObject

PROGRAMS = """
def chain(x, y):
    return (x * y + 1).sigmoid() * x

def softmax(x):
    return x.softmax(-1)

def matmul(a, b):
    return (a @ b).relu()

def norm(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale

def collatz(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps

def mixed(x, k: int):
    if k > 2:
        y = x * k
    else:
        y = x - k
    return {"y": y, "rows": x.size(0), "twice": k * 2}

def nested(xs: list[float], pair: tuple[int, float], name: str):
    total = xs[0] * pair[0]
    for x in xs:
        total = total + x * pair[1]
    return {name: total}, pair

def grown(xs: list[int], rows: list[list[float]], n: int):
    kept: list[int] = []
    pairs: list[tuple[int, float]] = []
    for x in xs:
        if x < n:
            kept.append(x * n)
            pairs.append((x, 0.5 * x))
    rows.append([1.0] * n)
    return kept, pairs, rows, len(rows)
"""
CASES = {
    "chain": ["5x7:f32", "5x7:f32"],
    "softmax": ["3x33:f32"],
    "matmul": ["9x17:f32", "17x5:f32"],
    "norm": ["4x6:f64", "6:f64"],
    "collatz": ["27"],
    "mixed": ["2x3:f32", "3"],
    "grown": ["[3, 1, 9, 2]", "[[0.5], [], [2.0, 3.0]]", "4"],
    "nested": ["[2.0, 3.5]", "(2, 0.5)", "'sum'"],
}
STAGES = ("ts.mlir", "tg.mlir", "kernels.mlir", "te.mlir", "scheduled.mlir", "ll")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "stage_programs.py"
    path.write_text(PROGRAMS)
    return path


def command(*argv: object) -> None:
    assert main([str(a) for a in argv]) == 0


def run(program: object, inputs: list[str], out: Path, *more: str) -> dict[str, np.ndarray]:
    given = [word for text in inputs for word in ("--input", text)]
    command("run", program, *given, "-o", out, "--no-cache", *more)
    with np.load(out) as found:
        return dict(found)


def dump(program: object, inputs: list[str], folder: Path, *more: str) -> None:
    given = [word for text in inputs for word in ("--input", text)]
    command("dump", program, *given, "--stage", "all", "-o", folder, *more)


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name in wanted:
        assert found[name].dtype == wanted[name].dtype
        np.testing.assert_array_equal(found[name], wanted[name])


@pytest.mark.parametrize("name", CASES)
def test_function(name: str, programs: Path, tmp_path: Path) -> None:
    program, inputs = f"{programs}:{name}", CASES[name]
    wanted = run(program, inputs, tmp_path / "wanted.npz")
    dump(program, inputs, tmp_path / "out")
    for stage in STAGES:
        found = run(tmp_path / "out" / f"{name}.{stage}", inputs, tmp_path / "found.npz")
        assert_same(found, wanted)


def test_named_sizes(programs: Path, tmp_path: Path) -> None:
    """A text with symbolic shapes takes arrays of several sizes."""
    dump(f"{programs}:softmax", ["Nx8:f32"], tmp_path / "out")
    for rows in ("3x8:f32", "11x8:f32"):
        wanted = run(f"{programs}:softmax", [rows], tmp_path / "wanted.npz")
        for stage in STAGES:
            text = tmp_path / "out" / f"softmax.{stage}"
            found = run(text, [rows], tmp_path / "found.npz")["result"]
            np.testing.assert_allclose(found, wanted["result"], rtol=1e-6)


@pytest.mark.parametrize("stage", STAGES[:-1])
def test_gpu(stage: str, programs: Path, tmp_path: Path) -> None:
    emulate = ("--target", "ptx-emulate")
    inputs = ["3x40:f32"]
    wanted = run(f"{programs}:softmax", inputs, tmp_path / "wanted.npz", *emulate)
    dump(f"{programs}:softmax", inputs, tmp_path / "out", *emulate)
    text = tmp_path / "out" / f"softmax.{stage}"
    assert_same(run(text, inputs, tmp_path / "found.npz", *emulate), wanted)


@pytest.mark.parametrize(
    ("sample", "inputs"),
    [
        ("s02_small_cnn_scripted", ["a0.npy"]),
        ("s03_residual_conv1d_traced", ["a0.npy"]),
        ("s04_gru_tagger_scripted", ["a0.npy", "a1.npy"]),
        ("s10_class_namedtuple_scripted", ["[a0.npy, a1.npy]"]),
    ],
)
def test_archive(
    sample: str,
    inputs: list[str],
    samples_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights and the object whose method runs travel with the texts."""
    monkeypatch.chdir(tmp_path)
    with np.load(samples_folder / f"{sample}.npz") as stored:
        for name, value in stored.items():
            np.save(tmp_path / f"{name}.npy", value)
    archive = samples_folder / f"{sample}.pt"
    wanted = run(archive, inputs, tmp_path / "wanted.npz")
    dump(archive, inputs, tmp_path / "out")
    for stage in STAGES:
        found = run(tmp_path / "out" / f"{sample}.{stage}", inputs, tmp_path / "found.npz")
        assert_same(found, wanted)


@pytest.mark.parametrize("name", CASES)
def test_texts_are_stable(name: str, programs: Path, tmp_path: Path) -> None:
    """What is parsed prints as it was read."""
    dump(f"{programs}:{name}", CASES[name], tmp_path)
    for stage in STAGES[:-1]:
        path = tmp_path / f"{name}.{stage}"
        assert print_module(load_module(path)) == path.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "tensor(0)",
        "(tensor(0), number(1), value(5),)",
        "[tensor(0), value(None)]",
        "{value('a'): tensor(0), value(1): (tensor(1),)}",
        "named('__torch__.Point', x=tensor(0), y=value(-2.5))",
    ],
)
def test_results_text(text: str) -> None:
    assert results_text(parse_results(text)) == text


def test_state_text() -> None:
    """Tensors of equal bytes keep their dtype and shape; shared objects stay shared."""
    part = ScriptObject("__torch__.Part", {"scale": float("inf"), "names": ["a", ("b", 1)]})
    whole = ScriptObject(
        "__torch__.Whole",
        {
            "first": part,
            "second": part,
            "zeros": Tensor(np.zeros((2, 3), np.float32), float32),
            "counts": Tensor(np.zeros(3, np.int64), int64),
            "empty": Tensor(np.zeros((0, 4), np.float32), float32),
            "table": {1: None, 2: True},
        },
    )
    text, arrays = receiver_text(whole)
    found = restore_receiver(text, arrays)
    assert found.attributes["first"] is found.attributes["second"]
    assert found.attributes["first"].attributes == part.attributes
    assert found.attributes["table"] == {1: None, 2: True}
    for name in ("zeros", "counts", "empty"):
        made, given = found.attributes[name], whole.attributes[name]
        assert made.dtype is given.dtype
        np.testing.assert_array_equal(made._array, given._array)
        assert made._array.dtype == given._array.dtype

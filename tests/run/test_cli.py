"""The command line end to end: every subcommand on functions and an archive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorscript
from tensorscript.compiler.cli import main

PROGRAMS = """
def chain(x, y):
    return (x * y + 1).sigmoid() * x

def softmax(x):
    return x.softmax(-1)

def matmul(a, b):
    return (a @ b).relu()

def collatz(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps

def pair(x):
    return x.sum(-1), x.size(0)

def checked(n: int):
    assert n > 0, "n must be positive"
    return n * 2
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "cli_programs.py"
    path.write_text(PROGRAMS)
    return path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORSCRIPT_CACHE_DIR", str(tmp_path / "cache"))


def said(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """What a command prints; it must succeed."""
    code = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def array(folder: Path, name: str, *shape: int) -> Path:
    path = folder / f"{name}.npy"
    np.save(path, np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32))
    return path


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tensorscript {tensorscript.__version__}\n"


def test_run_prints(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "run", f"{programs}:collatz", "--input", "27") == "result: 111\n"
    printed = said(capsys, "run", f"{programs}:pair", "--input", "2x3:f32")
    assert printed.startswith("result.0: float32[2]\n[")
    assert printed.endswith("result.1: 2\n")


def test_run_writes(programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = array(tmp_path, "a", 5, 7), array(tmp_path, "bb", 7, 4)
    out = tmp_path / "made" / "y.npz"
    said(capsys, "run", f"{programs}:matmul", "--input", a, "--input", b, "-o", out)
    wanted = np.maximum(np.load(a) @ np.load(b), 0)
    with np.load(out) as found:
        np.testing.assert_allclose(found["result"], wanted, rtol=1e-5, atol=1e-6)
    single = tmp_path / "y.npy"
    said(capsys, "run", f"{programs}:matmul", "--input", a, "--input", b, "-o", single)
    np.testing.assert_allclose(np.load(single), wanted, rtol=1e-5, atol=1e-6)


def test_run_on_a_gpu_of_ours(
    programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = array(tmp_path, "x", 3, 40)
    on_cpu, emulated = tmp_path / "cpu.npy", tmp_path / "ptx.npy"
    said(capsys, "run", f"{programs}:softmax", "--input", x, "-o", on_cpu)
    said(
        capsys, "run", f"{programs}:softmax", "--input", x, "-o", emulated, "--target",
        "ptx-emulate",
    )  # fmt: skip
    np.testing.assert_allclose(np.load(on_cpu), np.load(emulated), rtol=1e-5, atol=1e-7)


def test_run_with_a_named_size(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "run",
        f"{programs}:softmax",
        "--input",
        "Nx2:f32",
        "--size",
        "N=3",
        "--threads",
        "1",
    ]
    assert said(capsys, *command).startswith("result: float32[3, 2]\n")


def test_archive(samples_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "s02_small_cnn_scripted"
    with np.load(samples_folder / f"{name}.npz") as stored:
        given, wanted = stored["a0"], stored["a1"]
    np.save(tmp_path / "x.npy", given)
    out = tmp_path / "y.npy"
    archive = samples_folder / f"{name}.pt"
    said(capsys, "run", archive, "--input", tmp_path / "x.npy", "-o", out)
    np.testing.assert_allclose(np.load(out), wanted, rtol=1e-4, atol=1e-6)
    assert "__torch__.Cifar" in said(capsys, "dump", archive, "--stage", "graph")


def test_dump_one_stage(programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["dump", f"{programs}:chain", "--input", "4x8:f32", "--input", "4x8:f32", "--stage"]
    assert "sigmoid(" in said(capsys, *command, "tg")
    assert said(capsys, *command, "ll").startswith("; tensorscript entry: @chain host")
    assert "ts_thunk" in said(capsys, *command, "s")
    assert said(capsys, "dump", f"{programs}:chain", "--stage", "ts").count("ts.func") == 1
    made = tmp_path / "chain.o"
    said(capsys, *command, "o", "-o", made)
    assert made.read_bytes()[:4] == b"\x7fELF" or made.stat().st_size > 100


def test_dump_all_for_a_gpu(
    programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(
        capsys, "dump", f"{programs}:softmax", "--input", "4x64:f32", "--stage", "all",
        "--target", "cuda:sm_90", "-o", tmp_path / "out",
    )  # fmt: skip
    found = {p.name.partition(".")[2] for p in (tmp_path / "out").iterdir()}
    stages = {"ts.mlir", "tg.mlir", "kernels.mlir", "te.mlir", "scheduled.mlir", "ll", "ptx"}
    assert found == stages
    assert ".target sm_90" in (tmp_path / "out" / "softmax.ptx").read_text()


def test_build(programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["build", f"{programs}:chain", "--input", "4x8:f32", "--input", "4x8:f32", "-o"]
    header = tmp_path / "chain.h"
    for suffix in ("o", "so", "a"):
        path = tmp_path / f"chain.{suffix}"
        printed = said(capsys, *command, path, "--header", header, "--name", "my_chain")
        assert printed == f"{path}: {path.stat().st_size} bytes\n"
    assert "int my_chain(" in header.read_text()
    said(capsys, *command, tmp_path / "chain.ptx")
    assert ".visible .entry" in (tmp_path / "chain.ptx").read_text()


def test_build_for_another_machine(
    programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "softmax.o"
    said(
        capsys, "build", f"{programs}:softmax", "--input", "Nx8:f32", "-o", path, "--target",
        "aarch64-unknown-linux-gnu",
    )  # fmt: skip
    assert path.read_bytes()[18:20] == b"\xb7\x00"  # e_machine: AArch64


def test_bench(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "bench", f"{programs}:collatz", "--input", "7").splitlines()
    assert lines[0].startswith("first call: ")
    assert [line.split()[0] for line in lines[1:]] == ["native", "interpreter", "eager"]
    assert lines[1].endswith("1.00x")


def test_bench_of_kernels(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "bench", f"{programs}:softmax", "--input", "64x64:f32", "--kernels"
    *_, kernel, rest, together = said(capsys, *command).splitlines()
    assert kernel.endswith("rows  f32[64, 64]")
    assert kernel.split("%")[1].startswith("       1 x      0.0 GFLOP/s  ")
    assert rest.endswith("outside of kernels")
    assert together.endswith(" GB/s  all kernels")


def test_timings(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", f"{programs}:collatz", "--input", "7", "--timings", "--no-cache"]
    assert main(command) == 0
    passes = [line.split()[0] for line in capsys.readouterr().err.splitlines()]
    assert passes[0] == "specialise"
    assert passes[-1] == "plan-storage"


def test_process(programs: Path, tmp_path: Path) -> None:
    """`python -m tensorscript` is the same program; its exit code tells errors from usage."""
    environment = {**os.environ, "TENSORSCRIPT_CACHE_DIR": str(tmp_path)}

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tensorscript", *argv]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=120
        )

    done = run("run", f"{programs}:collatz", "--input", "27")
    assert (done.returncode, done.stdout, done.stderr) == (0, "result: 111\n", "")
    failed = run("run", f"{programs}:checked", "--input", "-1")
    assert failed.returncode == 1
    assert "n must be positive" in failed.stderr
    assert "Traceback (most recent call last)" not in failed.stderr
    assert run("compile").returncode == 2


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C ends a command with the exit code of shells and one word, not with a traceback."""
    path = tmp_path / "cli_endless.py"
    path.write_text("print('loaded', flush=True)\nwhile True:\n    pass\n")
    command = [sys.executable, "-m", "tensorscript", "bench", f"{path}:f"]
    # A test run in the background of a shell ignores the signal, which programs inherit.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "loaded\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_tuned_schedules_go_into_a_new_folder(
    programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "found.json"
    said(capsys, "tune", f"{programs}:softmax", "--input", "4x8:f32", "--budget", "0.1", "-o", out)
    said(capsys, "run", f"{programs}:softmax", "--input", "4x8:f32", "--schedule", out)


def test_module_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A PyTorch module named in a file compiles as it is, and its stages carry its weights."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "cli_torch_module.py"
    path.write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.line = torch.nn.Linear(4, 2)\n"
        "    def forward(self, x):\n"
        "        return torch.tanh(self.line(x))\n"
        "net = Net().eval()\n"
    )
    x, out = array(tmp_path, "x", 3, 4), tmp_path / "y.npy"
    said(capsys, "run", f"{path}:net", "--input", x, "-o", out)
    net = sys.modules["cli_torch_module"].net
    wanted = net(torch.from_numpy(np.load(x))).detach().numpy()
    np.testing.assert_allclose(np.load(out), wanted, rtol=1e-5, atol=1e-6)
    said(capsys, "dump", f"{path}:net", "--input", x, "--stage", "all", "-o", tmp_path / "out")
    for stage in ("ts.mlir", "tg.mlir", "ll"):
        said(capsys, "run", tmp_path / "out" / f"net.{stage}", "--input", x, "-o", out)
        np.testing.assert_allclose(np.load(out), wanted, rtol=1e-5, atol=1e-6)
    assert said(capsys, "run", f"{path}:Net", "--input", x).startswith("result: float32[3, 2]")


def test_batch_norms_are_folded_as_compile_folds_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cli_folded_module.py"
    path.write_text(
        "import tensorscript as ts\n"
        "net = ts.nn.Sequential(ts.nn.Conv2d(3, 4, 3), ts.nn.BatchNorm2d(4), ts.nn.ReLU()).eval()\n"
    )
    command = ["dump", f"{path}:net", "--input", "1x3x8x8:f32", "--stage", "te"]
    assert "rsqrt" not in said(capsys, *command)
    assert "rsqrt" in said(capsys, *command, "--strict")

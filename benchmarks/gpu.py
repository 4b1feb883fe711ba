"""What `make gpu` runs: on a machine with an NVIDIA GPU the tests that need one, then bandwidths.

    python benchmarks/gpu.py [--quick]

Pointwise code, softmax and layer normalisation are limited by memory, so what counts is bytes read
and written per second, as a share of what a plain copy on the device reaches. Of products, which
are limited by arithmetic, it is multiply-adds per second, counted as two operations. PyTorch (eager
and compiled) is measured beside where it is installed with CUDA. Without a GPU it says so, checks
the same programs in the PTX emulator, and ends with status 0 if they are right.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import tensorscript as ts
from tensorscript import Tensor
from tensorscript.backends.ptx import driver
from tensorscript.backends.ptx.ptxas import check_with_ptxas, find_ptxas
from tensorscript.compiler.gpu import GPULoaded, GPUModule
from tensorscript.nn import functional as F

ROOT = Path(__file__).resolve().parent.parent
ARCH = "sm_90"


def pointwise(x: Tensor, y: Tensor) -> Tensor:
    return ts.sigmoid(x * y + 1) * x


def softmax(x: Tensor) -> Tensor:
    return ts.softmax(x, 1)


def layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.layer_norm(x, [x.size(1)], w, b)


def product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


@dataclass(frozen=True)
class Workload:
    """A program, the shapes of its arguments for `rows` rows of `columns`, and its NumPy form.

    `tolerance` is a share of the largest result, where results are sums of products.
    """

    function: Callable[..., Tensor]
    shapes: Callable[[int, int], list[tuple[int, ...]]]
    reference: Callable[..., np.ndarray]
    dtype: str = "float32"
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        return self.function.__name__

    def arguments(self, rows: int, columns: int) -> list[np.ndarray]:
        random = np.random.default_rng(0)
        shapes = self.shapes(rows, columns)
        return [random.standard_normal(s, np.float32).astype(self.dtype) for s in shapes]

    def is_right(self, result: np.ndarray, arguments: Sequence[np.ndarray]) -> bool:
        wide = [a.astype(np.float64) for a in arguments]
        wanted = self.reference(*wide)
        if self.tolerance:
            return bool(np.abs(result - wanted).max() <= self.tolerance * np.abs(wanted).max())
        return bool(np.allclose(result, wanted, rtol=1e-4, atol=1e-5))


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    result: np.ndarray = e / e.sum(1, keepdims=True)
    return result


def _layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    centred = x - x.mean(1, keepdims=True)
    result: np.ndarray = centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    return result


WORKLOADS = (
    Workload(pointwise, lambda r, c: [(r, c)] * 2, lambda x, y: x / (1 + np.exp(-(x * y + 1)))),
    Workload(softmax, lambda r, c: [(r, c)], _softmax),
    Workload(layer_norm, lambda r, c: [(r, c), (c,), (c,)], _layer_norm),
)


PRODUCTS = tuple(
    Workload(product, lambda r, c: [(r, c), (c, r)], np.matmul, dtype, tolerance)
    for dtype, tolerance in (("float32", 1e-4), ("float16", 2e-3))
)


def seconds_per_run(start: Callable[[], object], wait: Callable[[], object], runs: int) -> float:
    """Median over five rounds of `runs` starts with one wait at the end."""
    times = []
    for _ in range(6):
        began = time.perf_counter()
        for _ in range(runs):
            start()
        wait()
        times.append((time.perf_counter() - began) / runs)
    return statistics.median(times[1:])


# --- without a GPU ------------------------------------------------------------------------------


def emulate() -> bool:
    """Check every workload in the emulator; whether all are right."""
    print("No NVIDIA GPU and driver on this machine: nothing is measured.")
    print("The same programs, checked in the PTX emulator:")
    good = True
    for workload in (*WORKLOADS, *PRODUCTS):
        sizes = (8, 1024) if workload in WORKLOADS else (100, 200)
        arguments = workload.arguments(*sizes)
        began = time.perf_counter()
        compiled = ts.compile(workload.function, target=f"ptx-emulate:{ARCH}", fallback="error")
        right = workload.is_right(compiled(*arguments), arguments)
        taken = time.perf_counter() - began
        words = "right" if right else "WRONG"
        title = f"{workload.name} {workload.dtype}"
        print(f"  {title:<20}{words:<8}{taken:6.2f} s   {ptxas_words(compiled.ir('ptx'))}")
        good = good and right
    return good


def ptxas_words(ptx: str) -> str:
    """What NVIDIA's assembler says of a kernel."""
    if find_ptxas() is None:
        return "(no ptxas here)"
    report = check_with_ptxas(ptx, ARCH)
    if not report.accepted:
        return "REFUSED by ptxas: " + "; ".join(report.errors)
    return ", ".join(
        f"{name}: {use.registers} registers, {use.spill_stores} bytes spilled, "
        f"{use.shared} bytes shared"
        for name, use in report.kernels.items()
    )


# --- with one -----------------------------------------------------------------------------------


def run_tests() -> bool:
    """The tests marked gpu; whether they pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", str(ROOT / "tests")]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def copy_bandwidth(device: driver.Device, size: int) -> float:
    """Bytes read and written per second by a copy on the device."""
    source, target = device.allocate(size), device.allocate(size)
    taken = seconds_per_run(lambda: device.copy(target, source, size), device.synchronize, runs=20)
    device.release(source)
    device.release(target)
    return 2 * size / taken


def own_seconds(workload: Workload, arguments: Sequence[np.ndarray], target: str) -> float | None:
    """Seconds per run of our kernels, data on the device; None if the result is wrong."""
    compiled = ts.compile(workload.function, list(arguments), target=target, fallback="error")
    lowered = compiled.lower(compiled.latest_specs or ())
    module = GPUModule(lowered.module, compiled.options, frozenset())
    resident = GPULoaded(module, module.compile()).resident(*arguments)
    resident.start()
    right = workload.is_right(resident.results(), arguments)
    taken = seconds_per_run(resident.start, resident.synchronize, runs=20)
    resident.close()
    return taken if right else None


def torch_seconds(workload: Workload, arguments: Sequence[np.ndarray]) -> dict[str, float]:
    """Seconds per run of PyTorch, eager and compiled, where it is installed with CUDA."""
    if importlib.util.find_spec("torch") is None:
        return {}
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return {}
    functional = torch.nn.functional
    programs: dict[str, Callable[..., object]] = {
        "pointwise": lambda x, y: torch.sigmoid(x * y + 1) * x,
        "softmax": lambda x: torch.softmax(x, 1),
        "layer_norm": lambda x, w, b: functional.layer_norm(x, [x.size(1)], w, b),
        "product": torch.matmul,
    }
    program, wait = programs[workload.name], torch.cuda.synchronize
    on_device = [torch.from_numpy(a).cuda() for a in arguments]
    found = {}
    for name, call in (("torch", program), ("torch.compile", torch.compile(program))):
        call(*on_device)
        found[name] = seconds_per_run(partial(call, *on_device), wait, runs=20)
    return found


def measure(quick: bool) -> bool:
    """Print the table; whether all results are right."""
    device = driver.Device()
    rows, columns = (4096, 1024) if quick else (16384, 4096)
    target, size = f"cuda:{device.architecture}", 4 * rows * columns
    copy = copy_bandwidth(device, size)
    print(f"\n{device.chip}; a copy of {size >> 20} MiB reaches {copy / 1e9:.0f} GB/s")
    good = True
    for workload in WORKLOADS:
        arguments = workload.arguments(rows, columns)
        moved = sum(a.nbytes for a in arguments) + size
        taken = own_seconds(workload, arguments, target)
        if taken is None:
            print(f"  {workload.name:<12} WRONG RESULT")
            good = False
            continue
        every = {"tensorscript": taken} | torch_seconds(workload, arguments)
        cells = [
            f"{name} {1e6 * t:.1f} us = {100 * moved / t / copy:.0f} % of copy"
            for name, t in every.items()
        ]
        print(f"  {workload.name:<12} " + "; ".join(cells), flush=True)
    return good


def measure_products(quick: bool) -> bool:
    """Print the table of products; whether all results are right."""
    device = driver.Device()
    good = True
    for size in (1024,) if quick else (1024, 4096, 8192):
        for workload in PRODUCTS:
            arguments = workload.arguments(size, size)
            taken = own_seconds(workload, arguments, f"cuda:{device.architecture}")
            title = f"  {size} x {size} {workload.dtype}"
            if taken is None:
                print(f"{title} WRONG RESULT")
                good = False
                continue
            every = {"tensorscript": taken} | torch_seconds(workload, arguments)
            cells = [f"{name} {2 * size**3 / t / 1e12:.1f} TFLOP/s" for name, t in every.items()]
            print(f"{title} " + "; ".join(cells), flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller data")
    options = parser.parse_args()
    if not driver.available():
        return 0 if emulate() else 1
    passed = run_tests()
    right = measure(options.quick)
    right &= measure_products(options.quick)
    return 0 if passed and right else 1


if __name__ == "__main__":
    sys.exit(main())

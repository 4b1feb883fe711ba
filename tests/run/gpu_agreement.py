"""Functions compiled for a GPU: ptxas takes the text, the emulator runs it, the CPU agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tensorscript as ts
from tensorscript.backends.ptx.emulate import Emulator, Statistics
from tensorscript.backends.ptx.ptxas import KernelUsage, check_with_ptxas, find_ptxas
from tensorscript.compiler.examples import argument_specs
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.gpu import GPUModule
from tensorscript.compiler.schedule import ProgramSchedule
from tensorscript.dialects.te.buffers import Buffer

ARCH = "sm_80"
TARGET = f"ptx-emulate:{ARCH}"


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def accepted(ptx: str) -> Mapping[str, KernelUsage]:
    """What kernels take by ptxas, which takes the text; nothing where there is no ptxas
    (`test_ptxas_is_here` says so)."""
    if not find_ptxas() or ".entry" not in ptx:
        return {}
    report = check_with_ptxas(ptx, ARCH)
    assert report.accepted, "\n".join(report.errors)
    return report.kernels


def tolerance(expected: np.ndarray, terms: int) -> float:
    """Absolute error that `terms` float32 operations per element may leave, and the rounding of a
    narrower dtype."""
    scale = float(np.max(np.abs(expected), initial=1.0))
    rounding = float(np.finfo(expected.dtype).eps) if expected.dtype.itemsize == 2 else 0.0
    return (terms * float(np.finfo(np.float32).eps) + rounding) * scale


def agree(
    function: Callable[..., Any], *arguments: Any, terms: int = 64, spills: bool = True
) -> CompiledFunction:
    """The compiled-for-GPU function in the emulator equals the function compiled for the CPU.

    Args:
        spills: False if no register may be spilled.
    """
    native = ts.compile(function, fallback="error", cache=False)
    emulated = ts.compile(function, target=TARGET, fallback="error")
    expected, got = native(*arguments), emulated(*arguments)
    usage = accepted(emulated.ir("ptx"))
    assert spills or not any(k.spill_stores or k.spill_loads for k in usage.values()), usage
    pairs = zip(flat(expected), flat(got), strict=True)
    for wanted, own in pairs:
        a, b = np.asarray(wanted), np.asarray(own)
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind in "fc":
            np.testing.assert_allclose(_wide(b), _wide(a), rtol=0, atol=tolerance(a, terms))
        else:
            np.testing.assert_array_equal(b, a)
    return emulated


def _wide(array: np.ndarray) -> np.ndarray:
    """Numbers whose difference does not overflow."""
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def scheduled(
    function: Callable[..., Any], *arrays: np.ndarray, schedule: ProgramSchedule | None = None
) -> GPUModule:
    """A function of arrays, as far as its schedules."""
    compiled = ts.compile(function, target=TARGET, fallback="error", schedule=schedule)
    lowered = compiled.lower(argument_specs(compiled, list(arrays)))
    return GPUModule(lowered.module, compiled.options, frozenset())


def launch(module: GPUModule, *arrays: np.ndarray, **options: Any) -> tuple[np.ndarray, Statistics]:
    """Result and counts of the only kernel of a module, which has one result of constant sizes.

    Args:
        options: of the emulator.
    """
    code = module.compile()
    (kernel,) = code.launches
    out = next(p for p in kernel.parameters if isinstance(p, Buffer) and p.mode == "out")
    result = np.zeros([int(size) for size in out.shape], out.dtype.numpy)
    given = iter(arrays)
    values = [result if p is out else np.ascontiguousarray(next(given)) for p in kernel.parameters]
    emulator = Emulator(code.ptx, **options)
    grid, block = ([int(n) for n in sizes] for sizes in (kernel.grid, kernel.block))
    return result, emulator.launch(kernel.name, grid, block, values)

"""NVIDIA's assembler as a check: does it accept our PTX, and what does a kernel use?

It needs no GPU. It comes with the CUDA toolkit or with the PyPI package nvidia-cuda-nvcc.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import field
from pathlib import Path

from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass

_TIMEOUT = 120
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(slots=True)
class KernelUsage:
    """What one kernel takes of the machine, in registers a thread and bytes."""

    registers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0


@dataclass(slots=True)
class PtxasReport:
    """`accepted`, or `errors` with the assembler's lines; `kernels` by name."""

    accepted: bool
    errors: list[str] = field(default_factory=list)
    kernels: dict[str, KernelUsage] = field(default_factory=dict)


def find_ptxas() -> Path | None:
    """Where ptxas is: on PATH, in CUDA_HOME or CUDA_PATH, or in a site-packages folder."""
    if found := shutil.which("ptxas"):
        return Path(found)
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    roots += [packages / "cuda_nvcc", *sorted(packages.glob("cu[0-9]*"))]
    for root in roots:
        if (candidate := root / "bin" / "ptxas").is_file():
            return candidate
    return None


def check_with_ptxas(ptx: str, arch: str) -> PtxasReport:
    """Assemble PTX for `arch` (such as "sm_80") and say what ptxas said; nothing is kept.

    Raises:
        InternalError: there is no ptxas on this machine.
    """
    ptxas = find_ptxas()
    if ptxas is None:
        raise InternalError("ptxas was not found (install nvidia-cuda-nvcc)", "ptxas")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        command = [str(ptxas), "-v", f"-arch={arch}", str(source), "-o", f"{folder}/kernel.cubin"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    output = done.stdout + done.stderr
    errors = [line for line in output.splitlines() if "error" in line or "fatal" in line]
    if done.returncode != 0 and not errors:
        errors = output.splitlines() or [f"ptxas ended with status {done.returncode}"]
    return PtxasReport(done.returncode == 0, errors, _usages(output))


def _usages(output: str) -> dict[str, KernelUsage]:
    kernels: dict[str, KernelUsage] = {}
    current = KernelUsage()
    for line in output.splitlines():
        if match := _ENTRY.search(line):
            current = kernels.setdefault(match.group(1), KernelUsage())
        elif match := _SPILLS.search(line):
            current.stack, current.spill_stores, current.spill_loads = map(int, match.groups())
        if match := _USED.search(line):
            current.registers = int(match.group(1))
        if match := _SHARED.search(line):
            current.shared = int(match.group(1))
    return kernels

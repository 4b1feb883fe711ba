"""What code is made for: triple, CPU, vector width, GPU architecture."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from tensorscript.base.errors import UserError

PTX_TRIPLE = "nvptx64-nvidia-cuda"
DEFAULT_ARCH = "sm_90"
ARCHES = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@dataclass(frozen=True)
class Target:
    """A code-generation target.

    Attributes:
        kind: "cpu" or "ptx".
        triple: LLVM's target triple.
        cpu: LLVM's CPU name, or the GPU architecture (`sm_90`).
        features: LLVM's feature string ("" for the CPU's own).
        vector_bytes: width of a vector register (16 where it is not known).
        emulate: for PTX, run in the emulator rather than on a GPU.
    """

    kind: str
    triple: str
    cpu: str
    features: str = ""
    vector_bytes: int = 16
    emulate: bool = False

    @property
    def is_ptx(self) -> bool:
        return self.kind == "ptx"

    @property
    def key(self) -> str:
        """Part of a cache key."""
        return f"{self.triple};{self.cpu};{self.features};{self.vector_bytes}"


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _vector_bytes(triple: str, features: dict[str, bool]) -> int:
    if triple.startswith(("aarch64", "arm64")):
        return 16
    if features.get("avx512f") and features.get("avx512vl"):
        return 64
    return 32 if features.get("avx2") else 16


@cache
def host() -> Target:
    """This machine's CPU."""
    _initialize()
    triple = llvm.get_process_triple()
    found = llvm.get_host_cpu_features()
    return Target(
        "cpu", triple, llvm.get_host_cpu_name(), found.flatten(), _vector_bytes(triple, found)
    )


_CPU_WIDTHS = {"x86-64-v4": 64, "x86-64-v3": 32, "skylake-avx512": 64, "znver4": 64, "znver5": 64}


def parse(text: str, cpu: str = "") -> Target:
    """The target that a name spells: `cpu`, `cuda`, `cuda:sm_90`, `ptx-emulate[:sm_90]`, a triple.

    Raises:
        UserError: no such target.
    """
    if text == "cpu":
        return host() if not cpu else _named(host().triple, cpu)
    name, _, arch = text.partition(":")
    if name in ("cuda", "ptx-emulate"):
        arch = arch if arch and not arch.isdigit() else DEFAULT_ARCH
        if arch not in ARCHES:
            raise UserError(f"unknown GPU architecture {arch!r}; known are {', '.join(ARCHES)}")
        return Target("ptx", PTX_TRIPLE, arch, emulate=name == "ptx-emulate")
    if not re.fullmatch(r"[\w.]+-[\w.]+-[\w.-]+", text):
        raise UserError(f"unknown target {text!r}; expected cpu, cuda:sm_90, ptx-emulate or a triple")
    return _named(text, cpu)


def _named(triple: str, cpu: str) -> Target:
    _initialize()
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise UserError(f"unknown target {triple!r}: {error}") from error
    generic = cpu or ("x86-64" if triple.startswith("x86_64") else "generic")
    return Target("cpu", triple, generic, "", _CPU_WIDTHS.get(generic, 16))


@cache
def machine(target: Target, position_independent: bool = False) -> llvm.TargetMachine:
    """LLVM's machine for a CPU target, at code generation level 2."""
    _initialize()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=2,
        reloc="pic" if position_independent else "default",
        codemodel="jitdefault" if not position_independent else "default",
    )


def is_linux() -> bool:
    return platform.system() == "Linux"

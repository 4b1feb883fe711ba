"""What code is generated for: a triple, a processor, its features and what may be asked of it.

A `Target` is a frozen value; `key` is stable text for cache keys. `host()` describes this machine,
`parse` reads the spelling of the command line and of `compile(..., target=...)`.
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from pathlib import Path
from typing import Literal

import llvmlite.binding as llvm

from tensorscript.base.dtypes import DType, bfloat16, float16, int8, int16, uint8
from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass

from .processors import check_processor

Kind = Literal["cpu", "ptx"]

PTX_TRIPLE = "nvptx64-nvidia-cuda"
PTX_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
DEFAULT_ARCH = "sm_90"
LAST_CACHE = 32 << 20
FIRST_CACHE = 48 << 10
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SHARE = 16 << 20
"""Bytes of the last cache that a processor may count on: AMD's complexes hold 4 to 16 for each."""
_SHARE_OF_MESH = 6 << 20
_TILES = frozenset(("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"))
_MESHES = _TILES | {"skylake-avx512", "cascadelake", "cooperlake", "icelake-server"}
"""Processors whose last cache is slices of 1.4 to 5.4 MB, one for each core, on a mesh: one core
reads it hardly faster than memory (`docs/performance.md`, "On an Intel Emerald Rapids")."""
ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XTILEDATA = 158, 0x1023, 18
TENSOR_CORES = 80
"""The first architecture whose tensor cores multiply bfloat16, and 16 steps of a depth at once."""
ARCHES = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

_ARITHMETIC = frozenset((
    "fma", "fmuladd", "sqrt", "floor", "ceil", "trunc", "rint", "roundeven", "fabs",
    "copysign", "minnum", "maxnum", "minimum", "maximum", "smin", "smax", "umin", "umax",
    "abs", "ctpop", "ctlz", "cttz", "bswap", "bitreverse", "fshl", "fshr", "assume", "expect",
))  # fmt: skip
_CPU_ONLY = frozenset((
    "masked.load", "masked.store", "masked.gather", "masked.scatter", "prefetch", "memcpy",
    "memset", "memmove", "lifetime.start", "lifetime.end", "vector.reduce.fadd",
    "vector.reduce.fmul", "vector.reduce.fmax", "vector.reduce.fmin",
    "vector.reduce.fmaximum", "vector.reduce.fminimum", "vector.reduce.add",
    "vector.reduce.mul", "vector.reduce.and", "vector.reduce.or", "vector.reduce.xor",
    "vector.reduce.smax", "vector.reduce.smin", "vector.reduce.umax", "vector.reduce.umin",
))  # fmt: skip

# LLVM's NVPTX back end ends the process on llvm.exp, llvm.log, llvm.pow and friends, and the CPU
# back ends turn them into one libm call a lane. So an intrinsic is either named here or refused.
INTRINSICS: dict[Kind, frozenset[str]] = {"cpu": _ARITHMETIC | _CPU_ONLY, "ptx": _ARITHMETIC}


@dataclass(frozen=True)
class Target:
    """A code-generation target.

    Attributes:
        kind: "cpu" or "ptx".
        triple: LLVM's target triple.
        cpu: LLVM's CPU name, or the GPU architecture (`sm_90`).
        features: LLVM's feature string ("" for the CPU's own).
        vector_bytes: width of the widest vector register that pays off (16 where not known).
        last_cache: bytes of the largest cache, which processors share (a guess where not known).
        first_cache: bytes of the cache of data next to a processor (a guess where not known).
        emulate: for PTX, run in the emulator rather than on a GPU.
    """

    kind: Kind
    triple: str
    cpu: str
    features: str = ""
    vector_bytes: int = 16
    emulate: bool = False
    last_cache: int = LAST_CACHE
    first_cache: int = FIRST_CACHE

    @property
    def is_ptx(self) -> bool:
        return self.kind == "ptx"

    @property
    def is_linux(self) -> bool:
        return "linux" in self.triple

    @property
    def arch(self) -> str:
        """The GPU architecture, "" for a CPU."""
        return self.cpu if self.is_ptx else ""

    @property
    def sm(self) -> int:
        """The number of the GPU architecture, 0 for a CPU."""
        return int(self.arch.removeprefix("sm_") or 0)

    @property
    def data_layout(self) -> str:
        return PTX_LAYOUT if self.is_ptx else _data_layout(self.triple)

    @property
    def key(self) -> str:
        """Part of a cache key: everything that changes the generated code."""
        caches = f"{self.last_cache};{self.first_cache}"
        return f"{self.triple};{self.cpu};{self.features};{self.vector_bytes};{caches}"

    @property
    def groups(self) -> frozenset[DType]:
        """Dtypes of which one instruction adds the products of all numbers in 32 bits to a sum of
        32 bits: pairs, and quads of bytes, uint8 by int8."""
        if not self.triple.startswith("x86_64"):
            return frozenset()
        found = [int16]
        if self._has("avx512bf16", _PAIRS_OF_BFLOAT16) and self.vector_bytes == 64:
            found.append(bfloat16)
        if self._has("avx512vnni", _QUADS_OF_BYTES) and self.vector_bytes == 64:
            found.append(uint8)
        if self._has("avxvnni", _QUADS_OF_BYTES_AVX) and self.vector_bytes == 32:
            found.append(uint8)
        return frozenset(found)

    @property
    def exact_groups(self) -> frozenset[DType]:
        """Those of integers: what multiplies bfloat16 takes subnormal numbers for 0."""
        return frozenset(d for d in self.groups if not d.is_floating_point)

    @property
    def tiles(self) -> frozenset[DType]:
        """Dtypes that a matrix unit multiplies by tiles of 16 rows of 64 bytes (Intel's AMX), where
        int8 stands for bytes of either sign, or of 16 by 16 numbers (NVIDIA's tensor cores)."""
        if self.is_ptx:
            return frozenset((float16, bfloat16)) if self.sm >= TENSOR_CORES else frozenset()
        if not self.triple.startswith("x86_64") or not self.is_linux:
            return frozenset()
        found = (("amx-bf16", bfloat16), ("amx-int8", int8))
        return frozenset(dtype for feature, dtype in found if self._has(feature, _TILES))

    @property
    def exact_tiles(self) -> frozenset[DType]:
        """Those of integers, as `exact_groups`."""
        return frozenset(d for d in self.tiles if not d.is_floating_point)

    def _has(self, feature: str, cpus: frozenset[str]) -> bool:
        """The feature is named, or promised by the name of one of `cpus`."""
        if self.features:
            return f"+{feature}" in self.features.split(",")
        return self.cpu in cpus

    @property
    def picks_bytes(self) -> bool:
        """Whether one instruction gathers the bytes of a whole vector from two."""
        wide = self.triple.startswith("x86_64") and self.vector_bytes == 64
        return wide and self._has("avx512vbmi", _BYTES_OF_TWO)

    @property
    def halves_registers(self) -> bool:
        """Whether the units take the widest registers in two halves."""
        return self.cpu in _HALVING and self.vector_bytes == 64

    @property
    def far(self) -> int | None:
        """Bytes from which on what is read here and there comes faster by single loads than by
        gathers, None where it was not measured: more than the second cache of 2 MB."""
        has_tiles = self.triple.startswith("x86_64") and self._has("amx-tile", _TILES)
        return 3 << 20 if has_tiles else None

    @property
    def scale_bits(self) -> int:
        """Bits of the vectors that one instruction scales by powers of two, 0 without one."""
        return 512 if self.triple.startswith("x86_64") and self.vector_bytes == 64 else 0

    def allows(self, intrinsic: str) -> bool:
        """Whether `llvm.<intrinsic>` (without its type suffix) may be emitted."""
        return intrinsic in INTRINSICS[self.kind]


@cache
def initialize() -> None:
    """Register LLVM's targets, printers and the host's assembly parser, once per process."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


def _target(triple: str) -> llvm.Target:
    initialize()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise UserError(f"unknown target {triple!r}: {error}") from error


@cache
def _data_layout(triple: str) -> str:
    return str(_target(triple).create_target_machine().target_data)


def _vector_bytes(triple: str, features: dict[str, bool]) -> int:
    if triple.startswith(("aarch64", "arm64")):
        return 16
    if features.get("avx512f") and features.get("avx512vl"):
        return 64
    return 32 if features.get("avx2") else 16


def last_cache(folder: Path = _CACHES, on_mesh: bool = False) -> int:
    """Bytes that this machine's processors may expect of its largest cache, as Linux tells it
    ("32768K", shared by "0-7,16-23"). A virtual machine of few processors is shown all of a cache
    that its host's other tenants fill as well: no more counts than `_SHARE` for each processor."""
    share = _SHARE_OF_MESH if on_mesh else _SHARE
    sizes = [LAST_CACHE] if not folder.is_dir() else [0]
    for file in folder.glob("index*/size"):
        if size := _size(file):
            sharing = file.with_name("shared_cpu_list")
            sizes.append(min(size, share * _count(sharing)) if sharing.is_file() else size)
    return max(sizes) or LAST_CACHE


def first_cache(folder: Path = _CACHES) -> int:
    """Bytes of the cache of data that a processor of this machine reads first."""
    for level in folder.glob("index*/level"):
        kind = level.with_name("type")
        if level.read_text().strip() == "1" and kind.is_file():
            size = level.with_name("size")
            if kind.read_text().strip() in ("Data", "Unified") and size.is_file():
                return _size(size) or FIRST_CACHE
    return FIRST_CACHE


def _size(file: Path) -> int:
    """The bytes that a file of Linux names ("32768K"), 0 if it does not."""
    text = file.read_text().strip()
    units = {"K": 1 << 10, "M": 1 << 20}
    return int(text[:-1]) * units.get(text[-1], 0) if text[:-1].isdigit() else 0


def _count(file: Path) -> int:
    """How many processors a list of Linux names ("0-3,8")."""
    ranges = [part.split("-") for part in file.read_text().strip().split(",")]
    return sum(int(ends[-1]) - int(ends[0]) + 1 for ends in ranges)


@cache
def host() -> Target:
    """This machine's CPU, with the features that the operating system lets us use."""
    initialize()
    triple = llvm.get_process_triple()
    found = llvm.get_host_cpu_features()
    name, has_tiles = llvm.get_host_cpu_name(), bool(found.get("amx-tile"))
    # A virtual machine may tell another model than its host's, but not other features.
    last, first = last_cache(on_mesh=name in _MESHES or has_tiles), first_cache()
    if has_tiles and not _grants_tiles():
        found.update({feature: False for feature in found if feature.startswith("amx-")})
    width, features = _vector_bytes(triple, dict(found)), found.flatten()
    return Target("cpu", triple, name, features, width, last_cache=last, first_cache=first)


# What a processor name alone promises; any other is taken at its architecture's baseline.
_CPU_WIDTHS = {
    "x86-64-v4": 64, "skylake-avx512": 64, "cascadelake": 64, "cooperlake": 64,
    "icelake-server": 64, "sapphirerapids": 64, "emeraldrapids": 64, "graniterapids": 64,
    "graniterapids-d": 64, "znver4": 64, "znver5": 64,
    "x86-64-v3": 32, "haswell": 32, "skylake": 32, "alderlake": 32,
    "znver1": 32, "znver2": 32, "znver3": 32,
}  # fmt: skip


_HALVING = frozenset(("znver4",))
_PAIRS_OF_BFLOAT16 = _TILES | {"cooperlake", "znver4", "znver5"}
_BYTES_OF_TWO = _TILES | {
    "cannonlake", "icelake-client", "icelake-server", "tigerlake", "rocketlake", "znver4", "znver5",
}  # fmt: skip
_QUADS_OF_BYTES = _PAIRS_OF_BFLOAT16 | {"cascadelake", "icelake-server"}
_QUADS_OF_BYTES_AVX = frozenset(("alderlake",))


def parse(text: str, cpu: str = "") -> Target:
    """The target that a name spells: `cpu`, `cuda`, `cuda:sm_90`, `ptx-emulate[:sm_90]`, a triple.

    Raises:
        UserError: no such target.
    """
    if text == "cpu":
        return _named(host().triple, cpu) if cpu else host()
    name, _, arch = text.partition(":")
    if name in ("cuda", "ptx-emulate"):
        # "cuda:0" names a device, not an architecture.
        arch = arch if arch and not arch.isdigit() else DEFAULT_ARCH
        if arch not in ARCHES:
            raise UserError(f"unknown GPU architecture {arch!r}; known are {', '.join(ARCHES)}")
        return Target("ptx", PTX_TRIPLE, arch, emulate=name == "ptx-emulate")
    if text.count("-") < 2:
        raise UserError(
            f"unknown target {text!r}; expected cpu, cuda:sm_90, ptx-emulate or a triple"
        )
    return _named(text, cpu)


def _named(triple: str, cpu: str) -> Target:
    _target(triple)
    if cpu:
        check_processor(triple, cpu)
    generic = cpu or ("x86-64" if triple.startswith("x86_64") else "generic")
    return Target("cpu", triple, generic, "", _CPU_WIDTHS.get(generic, 16))


@cache
def machine(
    target: Target, position_independent: bool = False, level: int = 2
) -> llvm.TargetMachine:
    """LLVM's machine for a CPU target at a code generation level; one for all of a thread."""
    return new_machine(target, position_independent, level)


def new_machine(target: Target, position_independent: bool, level: int) -> llvm.TargetMachine:
    """A machine that nobody else uses: LLVM changes it while it generates code."""
    return _target(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic" if position_independent else "default",
        codemodel="default" if position_independent else "jitdefault",
    )


def _grants_tiles() -> bool:
    """Ask Linux for the registers of AMX, which a process has to before it uses them
    (Documentation/arch/x86/xstate.rst)."""
    if not is_linux():
        return False
    libc = ctypes.CDLL(None)
    return int(libc.syscall(ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XTILEDATA)) == 0


def is_linux() -> bool:
    return platform.system() == "Linux"

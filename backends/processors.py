"""LLVM's names of processors. One that it does not know it takes for its architecture's least, with
a line on the error output, and on x86-64 it then ends the process: so names are looked up here.

`llc -mtriple=x86_64 -mcpu=help` prints them; those of 32 bits and second spellings are left out.
"""

from __future__ import annotations

from tensorscript.base.errors import UserError

_X86_64 = """
alderlake amdfam10 arrowlake arrowlake-s athlon-fx athlon64 athlon64-sse3 atom barcelona bdver1
bdver2 bdver3 bdver4 bonnell broadwell btver1 btver2 cannonlake cascadelake clearwaterforest
cooperlake core-avx-i core-avx2 core2 corei7 corei7-avx emeraldrapids generic goldmont goldmont-plus
gracemont grandridge graniterapids graniterapids-d haswell icelake-client icelake-server ivybridge
k8 k8-sse3 knl knm lunarlake meteorlake nehalem nocona opteron opteron-sse3 pantherlake penryn
raptorlake rocketlake sandybridge sapphirerapids sierraforest silvermont skx skylake skylake-avx512
slm tigerlake tremont westmere x86-64 x86-64-v2 x86-64-v3 x86-64-v4 znver1 znver2 znver3 znver4
znver5
"""

_AARCH64 = """
a64fx ampere1 ampere1a ampere1b apple-a10 apple-a11 apple-a12 apple-a13 apple-a14 apple-a15
apple-a16 apple-a17 apple-a7 apple-a8 apple-a9 apple-m1 apple-m2 apple-m3 apple-m4 apple-s4 apple-s5
carmel cobalt-100 cortex-a34 cortex-a35 cortex-a510 cortex-a520 cortex-a53 cortex-a55 cortex-a57
cortex-a65 cortex-a65ae cortex-a710 cortex-a715 cortex-a72 cortex-a720 cortex-a725 cortex-a73
cortex-a75 cortex-a76 cortex-a76ae cortex-a77 cortex-a78 cortex-a78ae cortex-a78c cortex-r82
cortex-x1 cortex-x1c cortex-x2 cortex-x3 cortex-x4 cortex-x925 cyclone exynos-m3 exynos-m4 exynos-m5
falkor generic grace kryo neoverse-512tvb neoverse-e1 neoverse-n1 neoverse-n2 neoverse-n3
neoverse-v1 neoverse-v2 neoverse-v3 neoverse-v3ae oryon-1 saphira thunderx thunderx2t99
thunderx3t110 thunderxt81 thunderxt83 thunderxt88 tsv110
"""

PROCESSORS = {
    "x86_64": frozenset(_X86_64.split()),
    "aarch64": frozenset(_AARCH64.split()),
}
"""By the architecture that a triple begins with; those of others are not checked."""

_GENERAL = {"x86_64": "x86-64, x86-64-v2, x86-64-v3, x86-64-v4", "aarch64": "generic"}


def check_processor(triple: str, name: str) -> None:
    """Refuse a processor that LLVM does not know.

    Raises:
        UserError: says which names fit every processor of the architecture.
    """
    architecture = triple.partition("-")[0]
    known = PROCESSORS.get(architecture)
    if known is not None and name not in known:
        general = _GENERAL[architecture]
        raise UserError(
            f"unknown processor {name!r} for {architecture}: give LLVM's name, such as {general}"
        )

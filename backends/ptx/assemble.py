"""LLVM text to PTX text by llvmlite's NVPTX target; no CUDA toolkit is needed."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from tensorscript.backends.llvm.optimize import VECTOR_CODE, optimize
from tensorscript.base.errors import InternalError

from .intrinsics import STAGE, check_intrinsics

TRIPLE = "nvptx64-nvidia-cuda"
_CHIP = re.compile(r"sm_(\d+)([af]?)")

# The PTX version of each architecture: the first that has what our kernels use there, so that
# drivers of that time can load it.
_PTX_VERSIONS: dict[int, int] = {
    70: 63,
    72: 63,
    75: 65,
    80: 71,
    86: 71,
    87: 74,
    89: 78,
    90: 80,
    100: 86,
    103: 88,
    120: 87,
    121: 88,
}


def sm_number(chip: str) -> int:
    """`"sm_90a"` to 90.

    Raises:
        InternalError: not an architecture that we know.
    """
    match = _CHIP.fullmatch(chip)
    if match is None or int(match.group(1)) not in _PTX_VERSIONS:
        known = ", ".join(f"sm_{number}" for number in _PTX_VERSIONS)
        raise InternalError(f"unknown GPU architecture {chip!r} (known: {known})", STAGE)
    return int(match.group(1))


def assemble(text: str, chip: str = "sm_80", opt: int = 3) -> str:
    """Compile LLVM IR text to PTX text.

    Args:
        text: a module for `nvptx64-nvidia-cuda` whose kernels are `ptx_kernel` functions.
        chip: "sm_70" to "sm_121", or an arch-specific form such as "sm_90a".
        opt: the code generator's level, 0 to 3; before it only the library's functions are inlined
            and buffers become registers.

    Raises:
        InternalError: an intrinsic that NVPTX cannot select, or text that LLVM refuses.
    """
    number = sm_number(chip)
    check_intrinsics(text, number)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the module: {error}", STAGE) from error
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=chip, features=f"+ptx{_PTX_VERSIONS[number]}", opt=opt
    )
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    optimize(module, machine, VECTOR_CODE)
    ptx: str = machine.emit_assembly(module)
    return ptx

"""te kernels with GPU loops: emitted, assembled to PTX, accepted by ptxas, run by the emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from emit_harness import parse_te

from tensorscript.backends.ptx.assemble import assemble
from tensorscript.backends.ptx.emit import KernelLaunch, emit_kernel_module
from tensorscript.backends.ptx.emulate import Emulator
from tensorscript.backends.ptx.ptxas import check_with_ptxas, find_ptxas
from tensorscript.backends.target import parse
from tensorscript.dialects.te.buffers import Scalar
from tensorscript.dialects.te.expr import Expr

TARGET = parse("cuda:sm_80")
_OPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "max": max, "min": min,
}  # fmt: skip


def number(e: Expr, values: Mapping[str, int]) -> int:
    """The value of a launch extent."""
    if e.op == "const":
        return int(str(e.value))
    if e.op == "var":
        return values[str(e.value)]
    return int(_OPS[e.op](*(number(a, values) for a in e.args)))


def launch(text: str, *arguments: np.ndarray | int | float) -> tuple[str, KernelLaunch]:
    """Run the only kernel of `text`; gives its PTX."""
    llvm_text, launches = emit_kernel_module(parse_te(text), TARGET)
    (kernel,) = launches
    ptx = assemble(llvm_text, "sm_80")
    values = {
        p.name: int(a)
        for p, a in zip(kernel.parameters, arguments, strict=True)
        if isinstance(p, Scalar) and not p.dtype.is_floating_point
    }
    grid, block = (tuple(number(e, values) for e in sizes) for sizes in (kernel.grid, kernel.block))
    Emulator(ptx).launch(kernel.name, grid, block, arguments)
    if find_ptxas():
        report = check_with_ptxas(ptx, "sm_80")
        assert report.accepted, report.errors
    return ptx, kernel

"""The same kernel on a real GPU and in the emulator."""

from __future__ import annotations

import numpy as np
import pytest

from tensorscript.backends.ptx import driver
from tensorscript.backends.ptx.assemble import assemble
from tensorscript.backends.ptx.emulate import Emulator

SCALE = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @scale(ptr addrspace(1) %x, ptr addrspace(1) %out, float %s, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = shl i32 %b, 6
  %i = add i32 %base, %t
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %work, label %end
work:
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %r = fmul float %v, %s
  %q = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %r, ptr addrspace(1) %q
  br label %end
end:
  ret void
}
"""


@pytest.mark.gpu
@pytest.mark.skipif(not driver.available(), reason="needs a CUDA device")
def test_the_device_and_the_emulator_agree() -> None:
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    emulated, real = np.zeros_like(x), np.zeros_like(x)
    with driver.Device() as device:
        ptx = assemble(SCALE, device.chip)
        device.launch(ptx, "scale", (16, 1, 1), (64, 1, 1), [x, real, 0.3, 1000])
    Emulator(ptx).launch("scale", 16, 64, [x, emulated, 0.3, 1000])
    np.testing.assert_array_equal(real, emulated)

"""LLVM text that must not reach NVPTX, whose failures end the process."""

from __future__ import annotations

import pytest

from tensorscript.backends.ptx import driver
from tensorscript.backends.ptx.assemble import assemble
from tensorscript.backends.ptx.ptxas import check_with_ptxas, find_ptxas
from tensorscript.base.errors import InternalError


def unary(name: str, flags: str = "") -> str:
    return f"""
target triple = "nvptx64-nvidia-cuda"
declare float @llvm.{name}.f32(float)
define ptx_kernel void @k(ptr addrspace(1) %o, float %x) {{
  ; llvm.exp.f32 in a comment is no use of it: @llvm.exp.f32
  %r = call {flags} float @llvm.{name}.f32(float %x)
  store float %r, ptr addrspace(1) %o
  ret void
}}
"""


@pytest.mark.parametrize("name", ["exp", "exp10", "log", "log2", "log10", "tan", "acos"])
def test_an_intrinsic_that_kills_llvm_is_refused_by_name(name: str) -> None:
    for flags in ("", "afn", "fast"):
        with pytest.raises(InternalError, match=rf"llvm\.{name}\.f32 \(line 3\)"):
            assemble(unary(name, flags))


@pytest.mark.parametrize("name", ["tanh", "sin", "cos"])
def test_approximate_intrinsics_need_the_flag(name: str) -> None:
    with pytest.raises(InternalError, match="only with the afn flag"):
        assemble(unary(name))
    assert ".approx.f32" in assemble(unary(name, "afn"))


@pytest.mark.parametrize("name", ["sqrt", "floor", "fabs", "exp2", "roundeven"])
def test_safe_intrinsics_pass(name: str) -> None:
    assert ".entry k(" in assemble(unary(name), "sm_70")


def test_an_intrinsic_of_a_later_architecture() -> None:
    text = """
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
define ptx_kernel void @k(ptr addrspace(1) %o, i32 %x) {
  %r = call i32 @llvm.nvvm.redux.sync.add(i32 %x, i32 -1)
  store i32 %r, ptr addrspace(1) %o
  ret void
}
"""
    with pytest.raises(InternalError, match="needs sm_80, the target is sm_75"):
        assemble(text, "sm_75")
    assert "redux.sync.add" in assemble(text, "sm_80")


def test_text_that_llvm_refuses() -> None:
    with pytest.raises(InternalError, match="LLVM refuses the module"):
        assemble("define void @k() { ret i32 0 }")


def test_an_unknown_architecture() -> None:
    with pytest.raises(InternalError, match="unknown GPU architecture 'sm_35'"):
        assemble("", "sm_35")


@pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")
def test_ptxas_says_what_is_wrong() -> None:
    report = check_with_ptxas(".version 7.8\n.target sm_80\n.address_size 64\nnonsense", "sm_80")
    assert not report.accepted
    assert any("nonsense" in line for line in report.errors)


@pytest.mark.skipif(driver.available(), reason="needs a machine without a CUDA device")
def test_no_device_is_said_clearly() -> None:
    with pytest.raises(InternalError, match="no CUDA device is available"):
        driver.Device()

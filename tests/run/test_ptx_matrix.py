"""Matrix instructions and asynchronous copies of the PTX emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tensorscript.backends.ptx.emulate import BarrierError, Emulator, UninitializedRead
from tensorscript.backends.ptx.ptxas import check_with_ptxas, find_ptxas

Array = npt.NDArray[Any]

# One warp: A (16x16) and B (16x8), both row-major halves, by cp.async to shared memory, by
# ldmatrix to registers, multiplied, and stored as 16x8 floats.
MULTIPLY = """
.version 7.8
.target sm_80
.address_size 64
.visible .entry multiply(.param .u64 pa, .param .u64 pb, .param .u64 pc)
{
.reg .pred %p<2>; .reg .b32 %r<40>; .reg .b64 %rd<8>;
.shared .align 16 .b8 tile[768];
mov.u32 %r0, %tid.x;
ld.param.b64 %rd0, [pa];
ld.param.b64 %rd1, [pb];
ld.param.b64 %rd2, [pc];
mov.u32 %r1, tile;
shl.b32 %r2, %r0, 4;
add.s32 %r3, %r1, %r2;
mad.wide.u32 %rd3, %r0, 16, %rd0;
cp.async.cg.shared.global [%r3], [%rd3], 16;
setp.lt.u32 %p1, %r0, 16;
mad.wide.u32 %rd4, %r0, 16, %rd1;
@%p1 cp.async.ca.shared.global [%r3+512], [%rd4], 16;
cp.async.commit_group;
WAIT
bar.sync 0;
and.b32 %r4, %r0, 15;
shr.u32 %r5, %r0, 4;
shl.b32 %r6, %r4, 5;
shl.b32 %r7, %r5, 4;
add.s32 %r8, %r6, %r7;
add.s32 %r8, %r1, %r8;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];
shl.b32 %r9, %r4, 4;
add.s32 %r9, %r1, %r9;
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, [%r9+512];
mov.b32 %r16, 0;
mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 {%r20, %r21, %r22, %r23},
    {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%r16, %r16, %r16, %r16};
shr.u32 %r30, %r0, 2;
and.b32 %r31, %r0, 3;
shl.b32 %r32, %r30, 5;
shl.b32 %r33, %r31, 3;
add.s32 %r34, %r32, %r33;
cvt.u64.u32 %rd5, %r34;
add.s64 %rd5, %rd2, %rd5;
st.global.v2.b32 [%rd5], {%r20, %r21};
st.global.v2.b32 [%rd5+256], {%r22, %r23};
ret;
}
"""


def multiply_text(type_name: str = "f16", wait: str = "cp.async.wait_group 0;") -> str:
    return MULTIPLY.replace("TYPE", type_name).replace("WAIT", wait)


def small_integers(shape: tuple[int, ...], seed: int) -> Array:
    """Values whose products and sums are exact in every type used here."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def bfloat_bits(x: Array) -> Array:
    return (x.view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("type_name", ["f16", "bf16"])
def test_copy_load_multiply_store(type_name: str) -> None:
    a, b = small_integers((16, 16), 1), small_integers((16, 8), 2)
    convert = bfloat_bits if type_name == "bf16" else lambda x: x.astype(np.float16)
    c = np.zeros((16, 8), np.float32)
    Emulator(multiply_text(type_name)).launch("multiply", 1, 32, [convert(a), convert(b), c])
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("wait", ["", "cp.async.wait_group 1;"])
def test_a_copy_that_is_not_waited_for_has_not_arrived(wait: str) -> None:
    a, b = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
    with pytest.raises(UninitializedRead, match="ldmatrix"):
        Emulator(multiply_text(wait=wait)).launch(
            "multiply", 1, 32, [a, b, np.zeros((16, 8), np.float32)]
        )


def test_part_of_a_warp_cannot_multiply() -> None:
    a, b = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
    with pytest.raises(BarrierError, match="needs all 32 lanes"):
        Emulator(multiply_text()).launch("multiply", 1, 24, [a, b, np.zeros((16, 8), np.float32)])


def multiply_registers(shape: str, types: str, counts: tuple[int, int, int]) -> str:
    """A kernel that takes its fragments as they lie in registers, lane by lane."""
    na, nb, nc = counts

    def names(first: int, count: int) -> str:
        return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"

    loads = "".join(
        f"ld.param.b64 %rd0, [p{i}]; mad.wide.u32 %rd0, %r0, {4 * n}, %rd0;"
        + "".join(f"ld.global.b32 %r{first + k}, [%rd0+{4 * k}];" for k in range(n))
        for i, (first, n) in enumerate([(10, na), (20, nb), (30, nc)])
    )
    stores = "".join(f"st.global.b32 [%rd0+{4 * k}], %r{40 + k};" for k in range(nc))
    return f"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)
{{
.reg .b32 %r<50>; .reg .b64 %rd<2>;
mov.u32 %r0, %tid.x;
{loads}
mma.sync.aligned.{shape}.row.col.{types} {names(40, nc)}, {names(10, na)}, {names(20, nb)},
  {names(30, nc)};
ld.param.b64 %rd0, [p3]; mad.wide.u32 %rd0, %r0, {4 * nc}, %rd0;
{stores}
ret;
}}
"""


SHAPES: list[tuple[str, str, Any, int]] = [
    ("m16n8k8", "f32.tf32.tf32.f32", np.float32, 8),
    ("m16n8k4", "f32.tf32.tf32.f32", np.float32, 4),
    ("m16n8k8", "f32.f16.f16.f32", np.float16, 8),
    ("m16n8k32", "s32.s8.s8.s32", np.int8, 32),
]


@pytest.mark.parametrize(("shape", "types", "dtype", "depth"), SHAPES)
def test_fragment_layouts(shape: str, types: str, dtype: Any, depth: int) -> None:
    """The layouts element by element, as the manual's formulas give them."""
    a, b = small_integers((16, depth), 3).astype(dtype), small_integers((depth, 8), 4).astype(dtype)
    result = np.int32 if types.startswith("s32") else np.float32
    c = small_integers((16, 8), 5).astype(result)
    per = 4 // np.dtype(dtype).itemsize
    na, nb = depth // (2 * per), depth // (4 * per)
    fragments_a = np.zeros((32, na, per), dtype)
    fragments_b = np.zeros((32, nb, per), dtype)
    fragments_c = np.zeros((32, 4), result)
    for lane in range(32):
        g, t = lane // 4, lane % 4
        for r in range(na):
            for e in range(per):
                fragments_a[lane, r, e] = a[g + 8 * (r % 2), t * per + e + 4 * per * (r // 2)]
        for r in range(nb):
            for e in range(per):
                fragments_b[lane, r, e] = b[t * per + e + 4 * per * r, g]
        for i in range(4):
            fragments_c[lane, i] = c[g + 8 * (i // 2), 2 * t + i % 2]
    out = np.zeros((32, 4), result)
    text = multiply_registers(shape, types, (na, nb, 4))
    Emulator(text).launch("k", 1, 32, [fragments_a, fragments_b, fragments_c, out])
    product = c + a.astype(np.int64) @ b.astype(np.int64)
    for lane in range(32):
        g, t = lane // 4, lane % 4
        for i in range(4):
            assert out[lane, i] == product[g + 8 * (i // 2), 2 * t + i % 2]


@pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")
def test_ptxas_accepts_the_same_text() -> None:
    for type_name in ("f16", "bf16"):
        report = check_with_ptxas(multiply_text(type_name), "sm_80")
        assert report.accepted, report.errors
    for shape, types, dtype, depth in SHAPES:
        per = 4 // np.dtype(dtype).itemsize
        text = multiply_registers(shape, types, (depth // (2 * per), depth // (4 * per), 4))
        report = check_with_ptxas(text, "sm_80")
        assert report.accepted, report.errors

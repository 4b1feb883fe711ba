"""Kernels written in LLVM text, compiled to PTX, run by the emulator, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tensorscript.backends.ptx.assemble import assemble
from tensorscript.backends.ptx.emulate import Emulator
from tensorscript.backends.ptx.ptxas import check_with_ptxas, find_ptxas

Array = npt.NDArray[Any]

HEADER = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.maximum.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
declare half @llvm.fma.f16(half, half, half)
"""

VECTOR_ADD = """
define ptx_kernel void @vector_add(ptr addrspace(1) %x, ptr addrspace(1) %y,
                                   ptr addrspace(1) %out, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %b, %d
  %i = add i32 %base, %t
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %work, label %end
work:
  %px = getelementptr <4 x float>, ptr addrspace(1) %x, i32 %i
  %py = getelementptr <4 x float>, ptr addrspace(1) %y, i32 %i
  %po = getelementptr <4 x float>, ptr addrspace(1) %out, i32 %i
  %a = load <4 x float>, ptr addrspace(1) %px, align 16, !invariant.load !0
  %c = load <4 x float>, ptr addrspace(1) %py, align 16, !invariant.load !0
  %sum = fadd <4 x float> %a, %c
  store <4 x float> %sum, ptr addrspace(1) %po, align 16
  br label %end
end:
  ret void
}
!0 = !{}
"""

# One block of 128 threads a row of 128; warp results meet in shared memory.
SOFTMAX = """
@part = internal addrspace(3) global [4 x float] undef, align 16
define internal float @warp_max(float %v0) noinline {
  %a = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v0, i32 16, i32 31)
  %v1 = call float @llvm.maximum.f32(float %v0, float %a)
  %b = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v1, i32 8, i32 31)
  %v2 = call float @llvm.maximum.f32(float %v1, float %b)
  %c = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v2, i32 4, i32 31)
  %v3 = call float @llvm.maximum.f32(float %v2, float %c)
  %d = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v3, i32 2, i32 31)
  %v4 = call float @llvm.maximum.f32(float %v3, float %d)
  %e = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v4, i32 1, i32 31)
  %v5 = call float @llvm.maximum.f32(float %v4, float %e)
  ret float %v5
}
define internal float @warp_sum(float %v0) noinline {
  %a = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v0, i32 16, i32 31)
  %v1 = fadd float %v0, %a
  %b = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v1, i32 8, i32 31)
  %v2 = fadd float %v1, %b
  %c = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v2, i32 4, i32 31)
  %v3 = fadd float %v2, %c
  %d = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v3, i32 2, i32 31)
  %v4 = fadd float %v3, %d
  %e = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v4, i32 1, i32 31)
  %v5 = fadd float %v4, %e
  ret float %v5
}
define ptx_kernel void @softmax(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %warp = lshr i32 %t, 5
  %lane = and i32 %t, 31
  %first = icmp eq i32 %lane, 0
  %base = mul i32 %row, 128
  %i = add i32 %base, %t
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %m = call float @warp_max(float %v)
  %slot = getelementptr float, ptr addrspace(3) @part, i32 %warp
  br i1 %first, label %put, label %joined
put:
  store float %m, ptr addrspace(3) %slot
  br label %joined
joined:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %m4 = load <4 x float>, ptr addrspace(3) @part, align 16
  %m0 = extractelement <4 x float> %m4, i32 0
  %m1 = extractelement <4 x float> %m4, i32 1
  %m2 = extractelement <4 x float> %m4, i32 2
  %m3 = extractelement <4 x float> %m4, i32 3
  %ma = call float @llvm.maximum.f32(float %m0, float %m1)
  %mb = call float @llvm.maximum.f32(float %m2, float %m3)
  %mx = call float @llvm.maximum.f32(float %ma, float %mb)
  %shifted = fsub float %v, %mx
  %scaled = fmul float %shifted, 0x3FF7154760000000
  %e = call float @llvm.nvvm.ex2.approx.ftz.f(float %scaled)
  %s = call float @warp_sum(float %e)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %first, label %put2, label %joined2
put2:
  store float %s, ptr addrspace(3) %slot
  br label %joined2
joined2:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %s4 = load <4 x float>, ptr addrspace(3) @part, align 16
  %s0 = extractelement <4 x float> %s4, i32 0
  %s1 = extractelement <4 x float> %s4, i32 1
  %s2 = extractelement <4 x float> %s4, i32 2
  %s3 = extractelement <4 x float> %s4, i32 3
  %sa = fadd float %s0, %s1
  %sb = fadd float %s2, %s3
  %total = fadd float %sa, %sb
  %r = fdiv float %e, %total
  %q = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %r, ptr addrspace(1) %q
  ret void
}
"""

# Sum of 256 floats a block by halving in dynamic shared memory.
BLOCK_SUM = """
@scratch = external addrspace(3) global [0 x float], align 16
define ptx_kernel void @block_sum(ptr addrspace(1) %x, ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %b, 256
  %i = add i32 %base, %t
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %mine = getelementptr float, ptr addrspace(3) @scratch, i32 %t
  store float %v, ptr addrspace(3) %mine
  br label %loop
loop:
  %half = phi i32 [ 128, %entry ], [ %next, %latch ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %active = icmp ult i32 %t, %half
  br i1 %active, label %add, label %latch
add:
  %j = add i32 %t, %half
  %other = getelementptr float, ptr addrspace(3) @scratch, i32 %j
  %a = load float, ptr addrspace(3) %mine
  %c = load float, ptr addrspace(3) %other
  %s = fadd float %a, %c
  store float %s, ptr addrspace(3) %mine
  br label %latch
latch:
  %next = lshr i32 %half, 1
  %more = icmp ugt i32 %half, 1
  br i1 %more, label %loop, label %done
done:
  %zero = icmp eq i32 %t, 0
  br i1 %zero, label %write, label %end
write:
  %r = load float, ptr addrspace(3) @scratch
  %q = getelementptr float, ptr addrspace(1) %out, i32 %b
  store float %r, ptr addrspace(1) %q
  br label %end
end:
  ret void
}
"""

# 16x16 tiles with a padded row.
TRANSPOSE = """
@tile = internal addrspace(3) global [16 x [17 x float]] undef, align 4
define ptx_kernel void @transpose(ptr addrspace(1) %x, ptr addrspace(1) %out, i32 %rows,
                                  i32 %columns) {
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %c0 = mul i32 %bx, 16
  %r0 = mul i32 %by, 16
  %c = add i32 %c0, %tx
  %r = add i32 %r0, %ty
  %cin = icmp slt i32 %c, %columns
  %rin = icmp slt i32 %r, %rows
  %in = and i1 %cin, %rin
  br i1 %in, label %load, label %sync
load:
  %ri = mul i32 %r, %columns
  %i = add i32 %ri, %c
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %s = getelementptr [16 x [17 x float]], ptr addrspace(3) @tile, i32 0, i32 %ty, i32 %tx
  store float %v, ptr addrspace(3) %s
  br label %sync
sync:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %oc = add i32 %r0, %tx
  %or = add i32 %c0, %ty
  %ocin = icmp slt i32 %oc, %rows
  %orin = icmp slt i32 %or, %columns
  %oin = and i1 %ocin, %orin
  br i1 %oin, label %store, label %end
store:
  %g = getelementptr [16 x [17 x float]], ptr addrspace(3) @tile, i32 0, i32 %tx, i32 %ty
  %w = load float, ptr addrspace(3) %g
  %oi = mul i32 %or, %rows
  %o = add i32 %oi, %oc
  %q = getelementptr float, ptr addrspace(1) %out, i32 %o
  store float %w, ptr addrspace(1) %q
  br label %end
end:
  ret void
}
"""

# Bins in shared memory by atomics, merged into global memory by atomics.
HISTOGRAM = """
@bins = internal addrspace(3) global [32 x i32] undef, align 4
define ptx_kernel void @histogram(ptr addrspace(1) %x, ptr addrspace(1) %out,
                                  ptr addrspace(1) %sum, i32 %n) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %low = icmp ult i32 %t, 32
  %bin = getelementptr i32, ptr addrspace(3) @bins, i32 %t
  br i1 %low, label %clear, label %cleared
clear:
  store i32 0, ptr addrspace(3) %bin
  br label %cleared
cleared:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %base = mul i32 %b, %d
  %i = add i32 %base, %t
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %count, label %counted
count:
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %i
  %v = load i32, ptr addrspace(1) %p
  %k = and i32 %v, 31
  %slot = getelementptr i32, ptr addrspace(3) @bins, i32 %k
  %old = atomicrmw add ptr addrspace(3) %slot, i32 1 monotonic
  %f = sitofp i32 %v to float
  %was = atomicrmw fadd ptr addrspace(1) %sum, float %f monotonic
  br label %counted
counted:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %low, label %merge, label %end
merge:
  %mine = load i32, ptr addrspace(3) %bin
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %before = atomicrmw add ptr addrspace(1) %q, i32 %mine monotonic
  br label %end
end:
  ret void
}
"""

# Steps of the Collatz walk: every thread has its own trip count and a divergent body.
COLLATZ = """
define ptx_kernel void @collatz(ptr addrspace(1) %x, ptr addrspace(1) %out, i32 %n) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %b, %d
  %i = add i32 %base, %t
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %start, label %end
start:
  %p = getelementptr i64, ptr addrspace(1) %x, i32 %i
  %first = load i64, ptr addrspace(1) %p
  br label %head
head:
  %v = phi i64 [ %first, %start ], [ %next, %latch ]
  %count = phi i32 [ 0, %start ], [ %more, %latch ]
  %done = icmp ule i64 %v, 1
  br i1 %done, label %write, label %body
body:
  %bit = and i64 %v, 1
  %odd = icmp ne i64 %bit, 0
  br i1 %odd, label %up, label %down
up:
  %three = mul i64 %v, 3
  %plus = add i64 %three, 1
  br label %latch
down:
  %halved = lshr i64 %v, 1
  br label %latch
latch:
  %next = phi i64 [ %plus, %up ], [ %halved, %down ]
  %more = add i32 %count, 1
  br label %head
write:
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %count, ptr addrspace(1) %q
  br label %end
end:
  ret void
}
"""

# A stack array indexed at run time, a constant table, and a jump table.
LOCAL = """
@table = internal addrspace(4) constant [8 x i32] [i32 3, i32 1, i32 4, i32 1, i32 5, i32 9,
  i32 2, i32 6], align 4
define ptx_kernel void @local(ptr addrspace(1) %out) {
entry:
  %a = alloca [8 x i32], align 4
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %fill
fill:
  %k = phi i32 [ 0, %entry ], [ %k1, %fill ]
  %tp = getelementptr i32, ptr addrspace(4) @table, i32 %k
  %tv = load i32, ptr addrspace(4) %tp
  %ap = getelementptr i32, ptr %a, i32 %k
  %mix = mul i32 %tv, %t
  store i32 %mix, ptr %ap
  %k1 = add i32 %k, 1
  %go = icmp ult i32 %k1, 8
  br i1 %go, label %fill, label %read
read:
  %j = and i32 %t, 7
  %rp = getelementptr i32, ptr %a, i32 %j
  %r = load i32, ptr %rp
  switch i32 %j, label %other [ i32 0, label %c0
                                i32 1, label %c1
                                i32 2, label %c2
                                i32 3, label %c3
                                i32 4, label %c4 ]
c0:
  br label %join
c1:
  br label %join
c2:
  br label %join
c3:
  br label %join
c4:
  br label %join
other:
  br label %join
join:
  %s = phi i32 [ 100, %c0 ], [ 7, %c1 ], [ 55, %c2 ], [ 13, %c3 ], [ 8, %c4 ], [ -1, %other ]
  %v = add i32 %r, %s
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %v, ptr addrspace(1) %q
  ret void
}
"""

# A compare-and-swap loop: LLVM has no instruction for a float maximum in memory.
ATOMIC_MAX = """
define ptx_kernel void @atomic_max(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %t
  %v = load float, ptr addrspace(1) %p
  %old = atomicrmw fmax ptr addrspace(1) %out, float %v monotonic
  ret void
}
"""

HALF = """
define ptx_kernel void @half_fma(ptr addrspace(1) %x, half %s, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr half, ptr addrspace(1) %x, i32 %t
  %v = load half, ptr addrspace(1) %p
  %r = call half @llvm.fma.f16(half %v, half %s, half 1.0)
  %q = getelementptr half, ptr addrspace(1) %out, i32 %t
  store half %r, ptr addrspace(1) %q
  ret void
}
"""

KERNELS = {
    "vector_add": VECTOR_ADD,
    "softmax": SOFTMAX,
    "block_sum": BLOCK_SUM,
    "transpose": TRANSPOSE,
    "histogram": HISTOGRAM,
    "collatz": COLLATZ,
    "local": LOCAL,
    "atomic_max": ATOMIC_MAX,
    "half_fma": HALF,
}


def emulator(name: str, chip: str = "sm_80", **options: Any) -> Emulator:
    return Emulator(assemble(HEADER + KERNELS[name], chip), **options)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def test_vector_add_with_a_ragged_end(random: np.random.Generator) -> None:
    vectors = 1000
    x, y = (random.standard_normal(4 * vectors).astype(np.float32) for _ in range(2))
    out = np.zeros_like(x)
    counted = emulator("vector_add").launch("vector_add", 8, 128, [x, y, out, vectors])
    np.testing.assert_array_equal(out, x + y)
    assert (counted.global_loads, counted.global_stores) == (2 * vectors, vectors)
    assert counted.global_store_bytes == out.nbytes


@pytest.mark.parametrize("lanes", [1, 300, 1 << 14])
def test_blocks_give_the_same_however_they_are_batched(
    random: np.random.Generator, lanes: int
) -> None:
    x = random.standard_normal((6, 256)).astype(np.float32)
    out = np.zeros(6, np.float32)
    emulator("block_sum", lanes=lanes).launch("block_sum", 6, 256, [x, out], shared_bytes=1024)
    tree = x.copy()
    while tree.shape[1] > 1:
        tree = tree[:, : tree.shape[1] // 2] + tree[:, tree.shape[1] // 2 :]
    np.testing.assert_array_equal(out, tree[:, 0])


def test_softmax_by_shuffles_and_shared_memory(random: np.random.Generator) -> None:
    x = random.standard_normal((20, 128)).astype(np.float32) * 5
    out = np.zeros_like(x)
    counted = emulator("softmax").launch("softmax", 20, 128, [x, out])
    exact = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    # The scaled argument is rounded once before the exponential: relative error |x| ulp.
    tolerance = float(np.abs(x - x.max(1, keepdims=True)).max() + 8) * 2.0**-23
    np.testing.assert_allclose(out, exact, rtol=tolerance)
    assert counted.barriers == 3 * 20


@pytest.mark.parametrize("shape", [(16, 16), (33, 50), (1, 40)])
def test_transpose_through_shared_memory(
    random: np.random.Generator, shape: tuple[int, int]
) -> None:
    rows, columns = shape
    x = random.standard_normal(shape).astype(np.float32)
    out = np.zeros((columns, rows), np.float32)
    grid = (-(-columns // 16), -(-rows // 16))
    emulator("transpose").launch("transpose", grid, (16, 16), [x, out, rows, columns])
    np.testing.assert_array_equal(out, x.T)


def test_histogram_by_atomics(random: np.random.Generator) -> None:
    x = random.integers(0, 1000, 5000).astype(np.int32)
    bins, total = np.zeros(32, np.int32), np.zeros(1, np.float32)
    counted = emulator("histogram").launch("histogram", 20, 256, [x, bins, total, 5000])
    np.testing.assert_array_equal(bins, np.bincount(x & 31, minlength=32))
    assert total[0] == x.sum()
    assert counted.atomics == 2 * 5000 + 20 * 32


def test_trip_counts_of_their_own() -> None:
    x = np.arange(1, 301, dtype=np.int64)
    out = np.zeros(300, np.int32)
    emulator("collatz").launch("collatz", 3, 128, [x, out, 300])

    def steps(value: int) -> int:
        count = 0
        while value > 1:
            value = 3 * value + 1 if value % 2 else value // 2
            count += 1
        return count

    assert out.tolist() == [steps(int(v)) for v in x]


def test_local_arrays_constant_tables_and_switches() -> None:
    out = np.zeros(32, np.int32)
    emulator("local").launch("local", 1, 32, [out])
    table, extra = [3, 1, 4, 1, 5, 9, 2, 6], [100, 7, 55, 13, 8, -1, -1, -1]
    assert out.tolist() == [table[t % 8] * t + extra[t % 8] for t in range(32)]


def test_compare_and_swap_loop_is_no_race(random: np.random.Generator) -> None:
    x = random.standard_normal(64).astype(np.float32)
    out = np.full(1, -np.inf, np.float32)
    emulator("atomic_max").launch("atomic_max", 1, 64, [x, out])
    assert out[0] == x.max()


def test_half_parameter_and_fused_multiply_add(random: np.random.Generator) -> None:
    x = random.standard_normal(32).astype(np.float16)
    out, scale = np.zeros_like(x), np.float16(0.7)
    emulator("half_fma").launch("half_fma", 1, 32, [x, scale, out])
    # A double holds the product and the sum of halves this close to one exactly.
    exact = x.astype(np.float64) * np.float64(scale) + 1.0
    np.testing.assert_array_equal(out, exact.astype(np.float16))


@pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_120"])
def test_ptxas_accepts_every_kernel(chip: str) -> None:
    text = "".join(KERNELS[name].replace("!0 = !{}\n", "") for name in KERNELS)
    report = check_with_ptxas(assemble(HEADER + text + "!0 = !{}\n", chip), chip)
    assert report.accepted, report.errors
    assert set(report.kernels) == set(KERNELS)
    assert all(usage.spill_stores == 0 for usage in report.kernels.values())

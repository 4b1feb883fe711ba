"""What the emulator refuses in a kernel, and that the message says where."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tensorscript.backends.ptx.emulate import (
    BarrierError,
    EmulationError,
    Emulator,
    LaunchError,
    MemoryFault,
    PtxSyntaxError,
    RaceError,
    StepLimit,
    Trap,
    UninitializedRead,
    UnsupportedInstruction,
)

REGISTERS = ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;"


def kernel(body: str, shared: int = 256) -> Emulator:
    """A kernel `k(out)` whose registers %r0, %rd0, %rd1 are the thread, `out` and `out + 4 t`."""
    return Emulator(
        f""".version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 k_param_0)
{{
    {REGISTERS}
    .shared .align 16 .b8 sm[{shared}];
    mov.u32 %r0, %tid.x;
    ld.param.b64 %rd0, [k_param_0];
    mul.wide.u32 %rd1, %r0, 4;
    mov.b64 %rd2, sm;
    add.s64 %rd2, %rd2, %rd1;
    add.s64 %rd1, %rd0, %rd1;
    {body}
    ret;
}}
"""
    )


def run(body: str, threads: int = 32, blocks: int = 1, size: int = 64) -> npt.NDArray[np.int32]:
    out = np.zeros(size, np.int32)
    kernel(body).launch("k", blocks, threads, [out])
    return out


def refusal(
    error: type[EmulationError], body: str, threads: int = 32, blocks: int = 1, size: int = 64
) -> str:
    with pytest.raises(error) as caught:
        run(body, threads, blocks, size)
    return str(caught.value)


def test_a_store_beyond_an_array_names_everything() -> None:
    message = refusal(MemoryFault, "st.global.b32 [%rd1], %r0;", size=20)
    assert "kernel k" in message
    assert "'st.global.b32 [%rd1], %r0;'" in message
    assert "PTX line" in message
    assert "block (0,0,0) thread (20,0,0)" in message
    assert "at byte 80 of argument 0 (k_param_0) (80 bytes)" in message


def test_a_load_that_ends_beyond_an_array() -> None:
    body = "ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%rd0+64];"
    assert "16 bytes" in refusal(MemoryFault, body, size=19)


def test_a_null_pointer() -> None:
    assert "null" in refusal(MemoryFault, "mov.b64 %rd3, 0; ld.global.b32 %r1, [%rd3];")


def test_a_store_before_an_array() -> None:
    refusal(MemoryFault, "st.global.b32 [%rd0+-4], %r0;")


def test_shared_memory_out_of_bounds() -> None:
    message = refusal(MemoryFault, "st.shared.b32 [%rd2+200], %r0;")
    assert "256 bytes of shared memory" in message


@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_misaligned_vector(space: str) -> None:
    base = "%rd1" if space == "global" else "%rd2"
    message = refusal(MemoryFault, f"st.{space}.v4.b32 [{base}], {{%r0, %r0, %r0, %r0}};")
    assert "misaligned" in message and "not a multiple of 16" in message
    assert "thread (1,0,0)" in message


def test_a_store_to_a_read_only_array() -> None:
    out = np.zeros(32, np.int32)
    out.flags.writeable = False
    with pytest.raises(MemoryFault, match="read-only"):
        kernel("st.global.b32 [%rd1], %r0;").launch("k", 1, 32, [out])


READ_NEIGHBOUR = """
    st.shared.b32 [%rd2], %r0;
    {barrier}
    mov.b64 %rd3, sm;
    xor.b32 %r1, %r0, {distance};
    mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd3, %rd3, %rd4;
    ld.shared.b32 %r2, [%rd3];
    st.global.b32 [%rd1], %r2;
"""


def test_a_missing_barrier_is_a_race() -> None:
    body = READ_NEIGHBOUR.format(barrier="", distance=1)
    message = refusal(RaceError, body)
    assert "this read is not ordered after the write by block (0,0,0) thread (1,0,0)" in message
    assert "'st.shared.b32 [%rd2], %r0;'" in message
    assert "'ld.shared.b32 %r2, [%rd3];', block (0,0,0) thread (0,0,0)" in message


def test_the_barrier_mends_it() -> None:
    out = run(READ_NEIGHBOUR.format(barrier="bar.sync 0;", distance=33), threads=64)
    assert out.tolist() == [t ^ 33 for t in range(64)]


def test_a_warp_barrier_mends_it_within_a_warp() -> None:
    out = run(READ_NEIGHBOUR.format(barrier="bar.warp.sync -1;", distance=1))
    assert out[:32].tolist() == [t ^ 1 for t in range(32)]
    body = READ_NEIGHBOUR.format(barrier="bar.warp.sync -1;", distance=33)
    refusal(RaceError, body, threads=64)


def test_a_write_after_a_read_is_a_race() -> None:
    body = READ_NEIGHBOUR.format(barrier="bar.sync 0;", distance=1) + "st.shared.b32 [%rd2], %r2;"
    assert "not ordered after the read" in refusal(RaceError, body)


def test_two_threads_store_to_one_place() -> None:
    assert "after the write" in refusal(RaceError, "st.global.b32 [%rd0], %r0;")


def test_blocks_race_on_global_memory_even_across_barriers() -> None:
    message = refusal(RaceError, "bar.sync 0; st.global.b32 [%rd1], %r0; bar.sync 0;", blocks=2)
    assert "block (1,0,0)" in message


def test_blocks_race_in_different_batches() -> None:
    out = np.zeros(64, np.int32)
    module = kernel(
        "ld.global.b32 %r1, [%rd0]; mov.u32 %r2, %ctaid.x; setp.eq.s32 %p1, %r2, 3;"
        "setp.eq.and.s32 %p1, %r0, 0, %p1; @%p1 st.global.b32 [%rd0], %r1;"
    )
    module.lanes = 1
    with pytest.raises(RaceError, match="not ordered after the read"):
        module.launch("k", 4, 1, [out])


def test_an_atomic_and_a_plain_store_race() -> None:
    body = """
    red.shared.add.u32 [sm], 1;
    st.shared.b32 [%rd2+4], %r0;
    setp.eq.s32 %p1, %r0, 5;
    @%p1 st.shared.b32 [sm], %r0;
    """
    message = refusal(EmulationError, body)
    assert "uninitialised" in message
    cleared = "setp.eq.s32 %p2, %r0, 0; @%p2 st.shared.b32 [sm], %r0; bar.sync 0;" + body
    assert "after the atomic access" in refusal(RaceError, cleared)


def test_bytes_that_share_a_word_do_not_race() -> None:
    run("cvt.u64.u32 %rd3, %r0; add.s64 %rd3, %rd0, %rd3; st.global.b8 [%rd3], %r0;")


def test_shared_memory_that_nobody_wrote() -> None:
    message = refusal(UninitializedRead, "ld.shared.b32 %r1, [%rd2];")
    assert "uninitialised shared memory" in message and "thread (0,0,0)" in message


def test_a_partly_written_word() -> None:
    refusal(UninitializedRead, "st.shared.b8 [%rd2], %r0; ld.shared.b32 %r1, [%rd2];")


DIVERGENT = """
    setp.lt.s32 %p1, %r0, {split};
    @%p1 bra $low;
    bar.sync 0;
    bra.uni $join;
$low:
    bar.sync 0;
$join:
    st.global.b32 [%rd1], %r0;
"""


def test_a_barrier_that_splits_a_warp() -> None:
    message = refusal(BarrierError, DIVERGENT.format(split=16))
    assert "divergent barrier" in message


def test_warps_may_meet_at_different_instructions() -> None:
    assert run(DIVERGENT.format(split=32), threads=64).tolist() == list(range(64))


def test_different_barriers_deadlock() -> None:
    body = DIVERGENT.format(split=32).replace("bar.sync 0;\n    bra", "bar.sync 1;\n    bra")
    message = refusal(BarrierError, body, threads=64)
    assert "deadlock" in message and "32 wait at PTX line" in message


def test_exited_threads_are_not_waited_for() -> None:
    body = "setp.ge.s32 %p1, %r0, 20; @%p1 ret; bar.sync 0; st.global.b32 [%rd1], %r0;"
    assert run(body)[:21].tolist() == [*range(20), 0]


def test_a_shuffle_that_half_the_warp_never_reaches() -> None:
    body = """
    setp.lt.s32 %p1, %r0, 16;
    @%p1 bra $low;
    bar.sync 0;
    bra.uni $join;
$low:
    shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;
$join:
    """
    assert "deadlock" in refusal(BarrierError, body)


def test_a_shuffle_from_a_lane_that_does_not_exist() -> None:
    body = "shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1;"
    assert "not a live member" in refusal(BarrierError, body, threads=24)


def test_a_thread_outside_its_own_mask() -> None:
    message = refusal(BarrierError, "shfl.sync.idx.b32 %r1, %r0, 0, 31, 65535;")
    assert "outside the member mask" in message


@pytest.mark.parametrize(
    "instruction",
    [
        "wgmma.fence.sync.aligned;",
        "dp2a.lo.u32.u32 %r1, %r0, %r0, %r0;",
        "mul.rn.ftz.b32 %r1, %r0, %r0;",
        "mov.u32 %r1, %envreg3;",
        "ld.global.v3.b32 {%r1, %r2, %r3}, [%rd0];",
        "add.s32 %r1, %r0, %rs0;",
    ],
)
def test_an_unknown_instruction_is_named_with_its_line(instruction: str) -> None:
    message = refusal(UnsupportedInstruction, instruction)
    assert instruction in message and "PTX line 14" in message


def test_an_unknown_call() -> None:
    message = refusal(UnsupportedInstruction, "call.uni vprintf, ();")
    assert "'vprintf' has no body" in message


def test_unreadable_text() -> None:
    with pytest.raises(PtxSyntaxError, match="line 2"):
        Emulator(".version 7.8\n`")
    with pytest.raises(PtxSyntaxError, match="ends early"):
        Emulator(".entry k() { ret;")


def test_trap_and_endless_loop() -> None:
    assert "thread (0,0,0)" in refusal(Trap, "trap;")
    module = kernel("$again: bra.uni $again;")
    module.step_limit = 100
    with pytest.raises(StepLimit, match="100 steps"):
        module.launch("k", 1, 1, [np.zeros(1, np.int32)])


@pytest.mark.parametrize(
    ("name", "grid", "block", "arguments", "words"),
    [
        ("z", 1, 1, [np.zeros(4)], "no kernel 'z'"),
        ("k", 1, 1, [], "takes 1 arguments, got 0"),
        ("k", 1, 2048, [np.zeros(4)], "exceeds 1024"),
        ("k", 0, 1, [np.zeros(4)], "positive"),
        ("k", 1, 1, [np.zeros((4, 4)).T[1:]], "not C-contiguous"),
        ("k", 1, 1, [1.5], "got float"),
        ("k", 1, 1, [1 << 64], "does not fit"),
    ],
)
def test_launches_that_do_not_fit(
    name: str, grid: int, block: int, arguments: list[Any], words: str
) -> None:
    with pytest.raises(LaunchError, match=words):
        kernel("").launch(name, grid, block, arguments)

"""Conflicts between banks of shared memory, as the emulator counts them."""

from __future__ import annotations

import pytest

from tensorscript.backends.ptx.emulate import Emulator


def conflicts(address: str, access: str, threads: int = 32, banks: bool = True) -> int:
    """Of one access by each thread, at `address` made of the thread's number in %r0."""
    text = f"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry k()
{{
.reg .b32 %r<8>; .reg .b64 %rd<4>;
.shared .align 16 .b8 tile[16384];
mov.u32 %r0, %tid.x;
mov.u32 %r2, tile;
{address}
add.s32 %r1, %r1, %r2;
{access}
ret;
}}
"""
    emulator = Emulator(text, races=False, uninitialized=False, banks=banks)
    return emulator.launch("k", 1, threads, []).bank_conflicts


@pytest.mark.parametrize(
    ("stride", "trips"), [(4, 0), (8, 1), (12, 0), (16, 3), (128, 31), (132, 0), (0, 0)]
)
def test_words_at_a_stride(stride: int, trips: int) -> None:
    address = f"mul.lo.s32 %r1, %r0, {stride};"
    assert conflicts(address, "ld.shared.b32 %r3, [%r1];") == trips
    assert conflicts(address, "ld.shared.b32 %r3, [%r1];", 64) == 2 * trips


def test_bytes_of_one_word_are_one() -> None:
    assert conflicts("mov.b32 %r1, %r0;", "ld.shared.b8 %r3, [%r1];") == 0


def test_vectors_are_read_by_parts_of_a_warp() -> None:
    vector = "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1];"
    assert conflicts("mul.lo.s32 %r1, %r0, 16;", vector) == 0
    assert conflicts("mul.lo.s32 %r1, %r0, 32;", vector) == 4  # one more in each of four
    double = "ld.shared.b64 %rd0, [%r1];"
    assert conflicts("mul.lo.s32 %r1, %r0, 8;", double) == 0
    assert conflicts("mul.lo.s32 %r1, %r0, 16;", double) == 2


def test_stores_count_as_loads_do() -> None:
    assert conflicts("mul.lo.s32 %r1, %r0, 8;", "st.shared.b32 [%r1], %r0;") == 1


@pytest.mark.parametrize(("stride", "trips"), [(16, 0), (32, 1), (48, 0), (64, 3), (128, 7)])
def test_rows_of_a_matrix_go_together(stride: int, trips: int) -> None:
    address = f"mul.lo.s32 %r1, %r0, {stride};"
    four = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];"
    assert conflicts(address, four) == 4 * trips


def test_they_are_not_counted_unasked() -> None:
    address, access = "mul.lo.s32 %r1, %r0, 8;", "ld.shared.b32 %r3, [%r1];"
    assert conflicts(address, access, banks=False) == 0
    assert conflicts(address, access) == 1

"""Memory of temporaries: blocks come back, within bounds, and never past the user's allocator."""

import ctypes

import pytest

from tensorscript.backends.cpu.runtime import runtime_symbols
from tensorscript.backends.cpu.runtime.scratch import LEAST_KEPT, LEAST_LARGE, MOST_HELD, SLOTS

SYMBOLS = runtime_symbols()
take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(SYMBOLS["ts_scratch"])
give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(SYMBOLS["ts_scratch_free"])
MIB = 1 << 20


@pytest.fixture(autouse=True)
def empty() -> None:
    """What other tests left makes room for blocks of a size that no test asks for."""
    for block in [take(LEAST_KEPT) for _ in range(SLOTS)]:
        give(block)


def test_a_block_is_aligned_and_comes_back() -> None:
    block = take(MIB)
    assert block % 64 == 0
    ctypes.memset(block, 1, MIB)
    give(block)
    assert take(MIB) == block
    give(block)


def test_a_block_serves_what_fills_half_of_it() -> None:
    block = take(MIB)
    give(block)
    small = take(MIB // 2 - 1)
    half = take(MIB // 2)
    assert small != block
    assert half == block
    give(small)
    give(half)


def test_what_came_back_last_is_taken_first() -> None:
    first, last = take(MIB // 4), take(MIB // 4)
    give(first)
    give(last)
    assert take(MIB // 4) == last
    give(last)


@pytest.mark.parametrize("size", [LEAST_LARGE, 2 * MIB, 3 * MIB - 64, 3 * MIB, 10 * MIB + 8])
def test_large_blocks_begin_with_a_large_page(size: int) -> None:
    block = take(size)
    assert block % (2 * MIB) == 64
    ctypes.memset(block, 1, size)
    give(block)
    assert take(size) == block
    give(block)


def test_more_blocks_than_slots() -> None:
    blocks = [take(MIB) for _ in range(SLOTS + 8)]
    assert len(set(blocks)) == len(blocks)
    for block in blocks:
        ctypes.memset(block, 1, MIB)
        give(block)
    again = [take(MIB) for _ in range(SLOTS)]
    assert set(again) <= set(blocks)
    for block in again:
        give(block)


def test_blocks_beyond_the_bound_are_given_back() -> None:
    blocks = [take(MOST_HELD // 4) for _ in range(6)]
    for block in blocks:
        give(block)
    kept = [take(MOST_HELD // 4) for _ in range(6)]
    assert len(set(kept) & set(blocks[2:])) == 4
    for block in kept:
        give(block)


def test_null_is_given_back() -> None:
    give(None)


def test_the_users_allocator_gets_every_block() -> None:
    live: dict[int, object] = {}
    freed: list[int] = []

    def malloc(size: int) -> int:
        block = ctypes.create_string_buffer(size + 64)
        address = (ctypes.addressof(block) + 63) // 64 * 64
        live[address] = block
        return address

    def free(address: int) -> None:
        freed.append(address)
        del live[address]

    own = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(malloc)
    away = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(free)
    setter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(SYMBOLS["ts_set_allocator"])
    setter(ctypes.cast(own, ctypes.c_void_p), ctypes.cast(away, ctypes.c_void_p))
    try:
        block = take(3 * MIB)
        assert len(live) == 1
        give(block)
        assert not live and len(freed) == 1
    finally:
        setter(None, None)

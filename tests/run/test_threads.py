"""The fork-join pool: every index once, nesting, several callers, fork, errors."""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from tensorscript.backends.cpu.jit import compile_object, load_object
from tensorscript.backends.cpu.runtime import (
    get_num_threads,
    runtime_symbols,
    set_num_threads,
    take_error,
)

TEXT = """
declare void @ts_par_for(ptr, ptr, i64)
declare void @ts_set_error(i32, ptr)
@message = private constant [5 x i8] c"oops\\00"
define void @add(i64 %i, ptr %env) {
  %p = getelementptr i64, ptr %env, i64 %i
  %old = atomicrmw add ptr %p, i64 1 monotonic
  ret void
}
define void @outer(i64 %i, ptr %env) {
  call void @ts_par_for(ptr @add, ptr %env, i64 50)
  ret void
}
define void @flat(ptr %env, i64 %n) {
  call void @ts_par_for(ptr @add, ptr %env, i64 %n)
  ret void
}
define void @nested(ptr %env, i64 %n) {
  call void @ts_par_for(ptr @outer, ptr %env, i64 %n)
  ret void
}
define void @fail() {
  call void @ts_set_error(i32 1, ptr @message)
  ret void
}
"""
MODULE = load_object(compile_object(TEXT), ["flat", "nested", "fail"], runtime_symbols())
KIND = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
flat, nested = KIND(MODULE.address("flat")), KIND(MODULE.address("nested"))

CPUS = os.sched_getaffinity(0) if sys.platform == "linux" else set()


@pytest.fixture(params=[1, 2, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = get_num_threads()
    set_num_threads(request.param)
    yield request.param
    set_num_threads(before)


def counts(n: int) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * n)()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 100])
def test_every_index_once(threads: int, n: int) -> None:
    for _ in range(50):
        cells = counts(max(n, 1))
        flat(ctypes.addressof(cells), n)
        assert list(cells) == [1] * n or n == 0


def test_nested_calls(threads: int) -> None:
    cells = counts(50)
    nested(ctypes.addressof(cells), 20)
    assert list(cells) == [20] * 50


def test_several_callers(threads: int) -> None:
    cells = [counts(64) for _ in range(4)]

    def work(mine: ctypes.Array[ctypes.c_int64]) -> None:
        for _ in range(100):
            flat(ctypes.addressof(mine), 64)

    callers = [threading.Thread(target=work, args=(mine,)) for mine in cells]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all(list(mine) == [100] * 64 for mine in cells)


def test_a_forked_child_has_its_own_workers(threads: int) -> None:
    cells = counts(64)
    flat(ctypes.addressof(cells), 64)
    child = os.fork()
    if child == 0:
        flat(ctypes.addressof(cells), 64)
        os._exit(0 if list(cells) == [2] * 64 else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_a_worker_gives_its_cpu_to_the_caller() -> None:
    """On a CPU together they would take turns; the worker moves to where the caller was."""
    before = get_num_threads()
    set_num_threads(2)
    cells = counts(64)
    try:
        flat(ctypes.addressof(cells), 64)
        for cpu in (*CPUS, *CPUS):
            os.sched_setaffinity(0, {cpu})
            flat(ctypes.addressof(cells), 64)
            assert cpu not in pinned()
    finally:
        os.sched_setaffinity(0, CPUS)
        set_num_threads(before)


def pinned() -> set[int]:
    """CPUs of the other threads that may run on one only."""
    tasks = [int(task) for task in os.listdir("/proc/self/task")]
    places = [os.sched_getaffinity(task) for task in tasks if task != threading.get_native_id()]
    return {cpu for place in places if len(place) == 1 for cpu in place}


def test_the_error_slot_keeps_the_first_until_taken() -> None:
    ctypes.CFUNCTYPE(None)(MODULE.address("fail"))()
    assert take_error() == "oops"
    assert take_error() == ""

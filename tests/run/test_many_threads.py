"""Programs compiled, loaded and called by many threads at once."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.exclusive import Exclusive
from tensorscript.base.stack import with_room

THREADS = 8


def at_once(call: Callable[[int], object]) -> list[Any]:
    """What `call` gives on each of many threads that begin together."""
    barrier = threading.Barrier(THREADS)

    def run(at: int) -> object:
        barrier.wait()
        return call(at)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def scaled(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return (ts.sigmoid(x * y + 1) * x).sum(-1)


FIRST = """
import sys
import numpy as np
import tensorscript as ts
from tests.run.test_many_threads import at_once, scaled

sys.setswitchinterval(1e-5)
x = np.ones((8, 40), np.float32)
compiled = ts.compile(scaled, cache=sys.argv[1] == "kept")
results = at_once(lambda at: compiled(x[at:], x[at:]))
assert [len(r) for r in results] == list(range(8, 0, -1))
assert len(set(compiled.stats.native)) == len(compiled.stats.native) == 8
"""


@pytest.mark.parametrize("kept", ["kept", "fresh"])
def test_the_first_calls_of_a_process(kept: str, tmp_path: Path) -> None:
    """The run-time support is loaded once, though all threads want it."""
    environment = {**os.environ, "TENSORSCRIPT_CACHE_DIR": str(tmp_path)}
    for _ in range(2 if kept == "kept" else 1):
        command = [sys.executable, "-c", FIRST, kept]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


def test_one_specialisation_for_all_threads() -> None:
    compiled = ts.compile(scaled, cache=False, fallback="error")
    x = np.linspace(-1, 1, 120, dtype=np.float32).reshape(3, 40)
    results = at_once(lambda at: compiled(x, x))
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    assert len(compiled.stats.native) == 1


def test_scripting_and_tracing_at_once() -> None:
    layer = ts.nn.Linear(4, 3).eval()

    def make(at: int) -> np.ndarray:
        x = ts.ones(2 + at, 4)
        made = ts.jit.script(layer) if at % 2 else ts.jit.trace(layer, (x,))
        return np.asarray(ts.compile(made, cache=False)(x))

    expected = layer(ts.ones(1, 4)).numpy()
    for result in at_once(make):
        np.testing.assert_allclose(result, np.broadcast_to(expected, result.shape))


def test_the_lock_is_of_one_thread_and_of_its_deep_continuation() -> None:
    exclusive = Exclusive("test")
    inside: list[int] = []

    def deep(n: int) -> int:
        if n:
            return 1 + deep(n - 1)
        with exclusive.held():
            return 0

    def call(at: int) -> int:
        with exclusive.held(), exclusive.held():
            inside.append(at)
            assert len(inside) == 1
            depth = with_room(lambda: deep(3000))
            inside.remove(at)
        return depth

    assert at_once(call) == [3000] * THREADS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_finds_it_free() -> None:
    exclusive = Exclusive("test")
    begun, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with exclusive.held():
            begun.set()
            ended.wait(0.1)

    holder = threading.Thread(target=hold)
    holder.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        with exclusive.held():
            os._exit(7)
    ended.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with exclusive.held():
        pass

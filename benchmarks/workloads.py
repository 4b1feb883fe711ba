"""The workloads of `run.py`, in one process: prints one JSON line of rows."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from harness import Candidate, Row, measure
from list_programs import programs

import tensorscript as ts


def have(name: str) -> Any:
    """A peer's module, None if it is not installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


torch, jax, numba = have("torch"), have("jax"), have("numba")


def peers(
    numpy_fn: Callable[..., Any],
    torch_fn: Callable[..., Any] | None,
    jax_fn: Callable[..., Any] | None,
    numba_fn: Callable[..., Any] | None,
    arrays: tuple[np.ndarray, ...],
) -> list[Candidate]:
    """The peers' candidates, each set up as its own users would."""
    found = [Candidate("numpy", lambda: numpy_fn(*arrays))]
    if torch and torch_fn:
        tensors = [torch.from_numpy(a) for a in arrays]
        scripted = torch.jit.script(torch_fn)
        compiled = torch.compile(torch_fn)
        found.append(Candidate("torch", lambda: torch_fn(*tensors)))
        found.append(Candidate("torch.jit", lambda: scripted(*tensors)))
        found.append(Candidate("torch.compile", lambda: compiled(*tensors)))
    if jax and jax_fn:
        moved = [jax.numpy.asarray(a) for a in arrays]
        jitted = jax.jit(jax_fn)
        found.append(Candidate("jax", lambda: jitted(*moved)))
    if numba and numba_fn:
        found.append(Candidate("numba", lambda: numba_fn(*arrays)))
    return found


def chain_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-(x * y + 1)))


def chain_torch(x, y):
    return torch.sigmoid(x * y + 1) * x


def chain_jax(x: Any, y: Any) -> Any:
    return jax.nn.sigmoid(x * y + 1) * x


def numba_chain() -> Callable[..., Any] | None:
    if not numba:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def chain(x, y):
        out = np.empty_like(x)
        a, b, c = x.ravel(), y.ravel(), out.ravel()
        for i in numba.prange(a.size):
            c[i] = a[i] / (np.float32(1) + np.exp(-(a[i] * b[i] + np.float32(1))))
        return out

    return chain


def softmax_numpy(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def softmax_torch(x):
    return torch.softmax(x, 1)


def softmax_jax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=1)


def numba_softmax() -> Callable[..., Any] | None:
    if not numba:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def softmax(x):
        out = np.empty_like(x)
        for i in numba.prange(x.shape[0]):
            m = np.float32(-np.inf)
            for j in range(x.shape[1]):
                m = max(m, x[i, j])
            s = np.float32(0)
            for j in range(x.shape[1]):
                e = np.exp(x[i, j] - m)
                out[i, j] = e
                s += e
            for j in range(x.shape[1]):
                out[i, j] /= s
        return out

    return softmax


def matmul_numpy(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.maximum(x @ w + b, 0)


def matmul_torch(x, w, b):
    return torch.relu(x @ w + b)


def matmul_jax(x: Any, w: Any, b: Any) -> Any:
    return jax.numpy.maximum(x @ w + b, 0)


def plain_matmul(x, w):
    return torch.matmul(x, w)


def add(x, y):
    return x + y


def collatz_steps(count: int) -> int:
    best = 0
    for start in range(1, count):
        n = start
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        if steps > best:
            best = steps
    return best


def mandelbrot_count(size: int, limit: int) -> int:
    inside = 0
    for row in range(size):
        for column in range(size):
            cr = 3.0 * float(column) / float(size) - 2.0
            ci = 2.0 * float(row) / float(size) - 1.0
            zr = 0.0
            zi = 0.0
            n = 0
            while n < limit and zr * zr + zi * zi <= 4.0:
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                n += 1
            if n == limit:
                inside += 1
    return inside


def own(fn: Callable[..., Any], arrays: tuple[Any, ...]) -> Candidate:
    compiled = ts.compile(fn, arrays, fallback="error")
    return Candidate("tensorscript", lambda: compiled(*arrays))


class Workloads:
    """One method a group; each appends rows."""

    def __init__(self, threads: int, seconds: float) -> None:
        self.threads, self.seconds = threads, seconds
        self.random = np.random.default_rng(0)
        self.rows: list[Row] = []

    def array(self, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape, dtype=np.float32)

    def add(
        self, name: str, candidates: list[Candidate], expected: Any, seconds: float | None = None
    ) -> None:
        row = measure(
            name, self.threads, candidates, np.asarray(expected), seconds=seconds or self.seconds
        )
        self.rows.append(row)

    def chain(self) -> None:
        for size in (64, 1024, 4096):
            arrays = (self.array(size, size), self.array(size, size))
            found = peers(chain_numpy, chain_torch, chain_jax, numba_chain(), arrays)
            ours = own(chain_torch, arrays)
            self.add(f"sigmoid(x*y+1)*x {size}x{size}", [ours, *found], chain_numpy(*arrays))

    def softmax(self) -> None:
        for rows, columns in ((64, 64), (1024, 1024)):
            arrays = (self.array(rows, columns),)
            found = peers(softmax_numpy, softmax_torch, softmax_jax, numba_softmax(), arrays)
            ours = own(softmax_torch, arrays)
            self.add(f"softmax rows {rows}x{columns}", [ours, *found], softmax_numpy(*arrays))

    def matmul(self) -> None:
        for size in (128, 512, 1024):
            arrays = (self.array(size, size), self.array(size, size), self.array(size))
            found = peers(matmul_numpy, matmul_torch, matmul_jax, None, arrays)
            ours = own(matmul_torch, arrays)
            self.add(f"relu(x@w+b) {size}", [ours, *found], matmul_numpy(*arrays))
        two = (self.array(1024, 1024), self.array(1024, 1024))
        found = peers(np.matmul, plain_matmul, lambda a, b: a @ b, None, two)
        self.add("matmul 1024", [own(plain_matmul, two), *found], np.matmul(*two))

    def call(self) -> None:
        arrays = (self.array(8), self.array(8))
        found = peers(np.add, add, add, numba.njit(add) if numba else None, arrays)
        self.add("add of two 8-element arrays", [own(add, arrays), *found], np.add(*arrays))

    def scalar(self) -> None:
        programs: list[tuple[str, Callable[..., int], tuple[int, ...]]] = [
            ("Collatz to 100000", collatz_steps, (100_000,)),
            ("Mandelbrot 200, 200 steps", mandelbrot_count, (200, 200)),
        ]
        for name, fn, arguments in programs:
            compiled = ts.compile(fn, list(arguments), fallback="error")
            found = [
                Candidate("tensorscript", lambda c=compiled, a=arguments: c(*a)),
                Candidate("python", lambda f=fn, a=arguments: f(*a)),
            ]
            if numba:
                jitted = numba.njit(fn)
                found.append(Candidate("numba", lambda f=jitted, a=arguments: f(*a)))
            self.add(name, found, fn(*arguments), seconds=3.0)

    def lists(self) -> None:
        for name, fn, arguments in programs(self.random):
            compiled = ts.compile(fn, list(arguments), fallback="error")
            found = [Candidate("tensorscript", lambda c=compiled, a=arguments: c(*a))]
            expected = compiled(*arguments)
            if torch:
                tensors = tuple(
                    torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments
                )
                scripted = torch.jit.script(fn)
                expected = fn(*tensors)
                found.append(Candidate("python", lambda f=fn, a=tensors: f(*a)))
                found.append(Candidate("torch.jit", lambda f=scripted, a=tensors: f(*a)))
            self.add(name, found, expected, seconds=3.0)


def main() -> None:
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    quick = "--quick" in sys.argv
    threads = int(arguments[0])
    ts.set_num_threads(threads)
    if torch:
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
    workloads = Workloads(threads, 0.3 if quick else 1.5)
    for name in arguments[1:]:
        getattr(workloads, name)()
    print(json.dumps([asdict(row) for row in workloads.rows]))


if __name__ == "__main__":
    main()

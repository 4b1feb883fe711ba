"""Control-flow programs over numbers, as users write them for Python."""

from __future__ import annotations

from workload import Workload


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


SCALAR_PROGRAMS: tuple[Workload, ...] = (
    Workload("Collatz to 100000", lambda: collatz_steps, lambda random: (100_000,), plain=True),
    Workload("Mandelbrot 200, 200 steps", lambda: mandelbrot_count, lambda random: (200, 200),
             plain=True),
)  # fmt: skip

"""Lesson 5: schedules. What the compiler does to loops is data: read it, change it, make your own.

Run it: `python docs/lessons/05_schedules.py`. The tests run it, too.
"""

import tempfile
from pathlib import Path

import numpy as np

import tensorscript as ts


def normalise(x: ts.Tensor) -> ts.Tensor:
    return ts.exp(x - 1) / (x * x + 1)


x = np.random.default_rng(0).standard_normal((60, 100)).astype(np.float32)
own = ts.compile(normalise, (x,))

# The loops that a program becomes are logical at first: one after the other, each element once.
# What makes them fast is a schedule: a list of steps. Here is the one that the compiler chose.
print(own.ir("schedule"))
assert "vectorize" in own.ir("schedule")

# `ts.schedule` gives the loops before any step. A loop has a name that is unique in its kernel, and
# a path, which says where it is.
schedule = ts.schedule(normalise, (x,))
nest = schedule.kernel
print(nest)
rows, columns = nest.loops
assert columns.path == "k0/i0/i1"

# Steps are methods, in the names that PyTorch's NNC gave them. Each gives back the new loops.
outer, inner, tail = nest.split_with_tail(columns, 16)
nest.vectorize(inner)
nest.set_parallel(rows, grain=8)
print(nest)
print(schedule.steps)

# Each step is checked before it is applied. A wrong one says why, and changes nothing.
for wrong in (
    lambda: nest.vectorize(outer),  # it holds a vector loop already
    lambda: nest.split_with_mask("i7", 4),
    lambda: nest.rfactor(rows),
):
    try:
        wrong()
    except RuntimeError as error:
        print("refused:", error)
    else:
        raise AssertionError("this step is illegal")

# A schedule compiles like the compiler's own, and gives the same numbers.
mine = ts.compile(normalise, (x,), schedule=schedule)
np.testing.assert_allclose(mine(x), own(x), rtol=1e-6)
assert "te.for i0 in 0 .. 60 parallel grain 8" in mine.ir("scheduled")

# It is plain JSON on disk; `tensorscript run|build|dump --schedule FILE` reads it, too.
file = Path(tempfile.mkdtemp()) / "normalise.schedule.json"
schedule.save(file)
print(file.read_text())
np.testing.assert_array_equal(ts.compile(normalise, (x,), schedule=file)(x), mine(x))


# Reductions carry a value from one iteration to the next. `rfactor` gives each lane a sum of its
# own, and adds those at the end.
def total(x: ts.Tensor) -> ts.Tensor:
    return x.sum(1)


sums = ts.schedule(total, (x,)).kernel
row, k = sums.loops
try:
    sums.vectorize(k)
except RuntimeError as error:
    print("refused:", error)
outer, inner, tail = sums.split_with_tail(k, 32)
partial = sums.rfactor(inner)
sums.vectorize(inner)
print(sums)
assert partial in sums.buffers


# A product starts from what the compiler does, too: one step, `tensorize`, with the tile's sizes.
def product(a: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.relu(a @ b)


a, b = np.ones((96, 64), np.float32), np.ones((64, 80), np.float32)
print(ts.schedule(product, (a, b), start="default").steps)
tiled = ts.schedule(product, (a, b))
first = tiled.kernel.loops[0]
# A tile of 4 x 32 in vectors of 16; blocks of 64 steps of the depth and of 6 panels of rows.
tiled.kernel.tensorize(first, "product", 4, 32, 16, 64, 6)
assert (ts.compile(product, (a, b), schedule=tiled)(a, b) == 64).all()

# The autotuner tries such numbers for you, within a budget of seconds. What wins is stored on disk.
fast = ts.compile(product, (a, b), autotune=0.5)
print("tuned:", fast.stats.tuned)
assert (fast(a, b) == 64).all()

"""Lesson 2: the command line, from a function to texts, and from any text on to a result.

Run it: `python docs/lessons/02_stages_on_the_command_line.py`. Each step shows the command that it
runs as a shell would spell it. The tests run this file, too.
"""

import tempfile
from pathlib import Path

import numpy as np

from tensorscript.compiler.cli import main

folder = Path(tempfile.mkdtemp())


def tensorscript(command: str) -> None:
    """Run one command; what it prints is what the shell would show."""
    print(f"\n$ tensorscript {command.replace(str(folder), '.')}")
    assert main(command.split()) == 0


(folder / "programs.py").write_text("""
def collatz(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps

def softmax(x):
    return x.softmax(-1)
""")

# `file.py:function` is a program, and a number is an input.
tensorscript(f"run {folder}/programs.py:collatz --input 27")

# A loop with branches that depend on data is native code, too: host code in the te dialect.
tensorscript(f"dump {folder}/programs.py:collatz --input 27 --stage te")

# All stages of a program go into a folder. `4x8:f32` says: a float32 tensor of that shape.
tensorscript(f"dump {folder}/programs.py:softmax --input 4x8:f32 --stage all -o {folder}/out")

# Every text can be run. It enters the pipeline where it was written, and the rest is done.
np.save(folder / "x.npy", np.arange(32, dtype=np.float32).reshape(4, 8))
results = []
for stage in ("ts.mlir", "tg.mlir", "kernels.mlir", "te.mlir", "scheduled.mlir", "ll"):
    text, result = folder / "out" / f"softmax.{stage}", folder / f"{stage}.npy"
    tensorscript(f"run {text} --input {folder}/x.npy -o {result}")
    results.append(np.load(result))
assert all(np.array_equal(result, results[0]) for result in results)
print("\nall stages give the same result; rows add up to", results[0].sum(-1))

# So a text can be written or changed by hand. `opt` applies passes and schedule steps to it: here
# a kernel that is not scheduled yet gets a vector loop inside and an unrolled one outside.
(folder / "double.te.mlir").write_text("""
builtin.module {
  te.func @k kernel logical pointwise (x: f32[4, 8], out y: f32[4, 8]) {
    te.for i in 0 .. 4 serial {
      te.for j in 0 .. 8 serial {
        te.store y[i, j] = x.f32[i, j] * (2.0).f32
      }
    }
  }
  te.func @double host logical (x: f32[4, 8], out y: f32[4, 8]) {
    te.call @k(x, y)
  }
}
""")
tensorscript(
    f"opt {folder}/double.te.mlir -p vectorize{{loop=j}},unroll{{loop=i}} "
    f"-o {folder}/double.scheduled.mlir"
)
print((folder / "double.scheduled.mlir").read_text())
tensorscript(f"run {folder}/double.scheduled.mlir --input {folder}/x.npy")

# A GPU's kernels come from the same texts: other schedules, then PTX. No GPU is needed to look at
# it, nor to run it: the emulator executes the PTX text itself.
softmax = f"{folder}/programs.py:softmax --input {folder}/x.npy"
tensorscript(f"build {softmax} -o {folder}/softmax.ptx --target cuda:sm_90")
tensorscript(f"run {softmax} --target ptx-emulate -o {folder}/emulated.npy")
np.testing.assert_allclose(np.load(folder / "emulated.npy"), results[0], rtol=1e-5)

# And an object for a C program, with its header.
tensorscript(f"build {softmax} -o {folder}/softmax.o --header {folder}/softmax.h")
print((folder / "softmax.h").read_text())

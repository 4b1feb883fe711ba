"""Lesson 1: a Python function becomes one native kernel, and every step of the way can be read.

Run it: `python docs/lessons/01_compile_a_function.py`. The tests run it, too.
"""

import numpy as np

import tensorscript as ts


# A tensor program is ordinary Python over tensors. This one has four operators.
def gate(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.sigmoid(x * y + 1) * x


# Without a compiler, the same function runs eagerly over NumPy: one operator at a time.
x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
y = np.full((3, 4), 0.5, np.float32)
eager = gate(ts.from_numpy(x), ts.from_numpy(y))

# `compile` specialises it for the dtypes and shapes of its inputs. NumPy in, NumPy out.
fast = ts.compile(gate, example_inputs=(x, y))
np.testing.assert_allclose(fast(x, y), eager.numpy(), rtol=1e-6)

# All four operators became one kernel: `x` and `y` are read once, the result is written once.
print("kernels:", fast.kernels)
assert len(fast.kernels) == 1

# How did that happen? Read the stages, top to bottom.
#
# ts is the program as TorchScript sees it: one operator after another, no shapes yet.
print(fast.ir("ts"))
assert "aten::sigmoid" in fast.ir("ts")

# tg is a small algebra of pure values. Shapes are known, and each operator says what one element
# of its result is: `a0.f32[i0, i1]` reads the first operand.
print(fast.ir("tg"))

# In kernels, neighbours have been merged: one `tg.pointwise` holds the whole expression.
print(fast.ir("kernels"))
assert fast.ir("kernels").count("tg.pointwise") == 1

# te is loops over elements, and a host function that calls the kernel.
print(fast.ir("te"))
assert "te.for" in fast.ir("te")

# After scheduling, the loops are as the machine wants them: a vector loop inside, and threads
# outside if there is enough work.
print(fast.ir("scheduled"))
assert " vector" in fast.ir("scheduled")

# A call with other shapes does not fit the specialisation: its guard sees that, and the function
# is specialised once more.
more = fast(np.ones((5, 7), np.float32), np.ones((5, 7), np.float32))
assert more.shape == (5, 7)
print("compiled for:", fast.stats.native)

# A mistake names the line of the program.
try:
    fast(x, np.ones((2, 2), np.float32))
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("the shapes do not fit")

"""Lesson 6: an operator. One row, and it runs in every way there is.

Run it: `python docs/lessons/06_an_operator.py`. The tests run it, too.
"""

import numpy as np

import tensorscript as ts
from tensorscript.base.composites import COMPOSITES
from tensorscript.base.schema import schema

# What an operator is called and takes stands in one table, which has all of PyTorch's.
NAME = "aten::_euclidean_dist"
print(schema(NAME))

# This one is another operator with fewer arguments. A row of calls says that to eager mode, to the
# interpreter and to the compiler, and there is nothing to say about loops, vectors or targets:
#
#     "aten::_euclidean_dist": lambda call, x, y: call("aten::cdist", x, y, 2.0),
assert NAME in COMPOSITES


def distances(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts._euclidean_dist(x, y).sqrt()


rng = np.random.default_rng(0)
x, y = (ts.from_numpy(rng.standard_normal((n, 3)).astype(np.float32)) for n in (4, 5))
expected = np.sqrt(np.linalg.norm(x.numpy()[:, None] - y.numpy(), axis=-1))

# One row, and these are all served:
ways = {
    "eager": distances,
    "scripted": ts.jit.script(distances),
    "traced": ts.jit.trace(distances, (x, y)),
    "compiled": ts.compile(distances, fallback="error"),
}
for way, run in ways.items():
    np.testing.assert_allclose(run(x, y).numpy(), expected, rtol=1e-5)
    print(f"{way:9} agrees")

# The compiler saw no call: the rows of `cdist` became one kernel, together with the square root.
compiled = ts.compile(distances, (x, y), fallback="error")
print(compiled.ir("tg"))
assert "_euclidean_dist" not in compiled.ir("tg")

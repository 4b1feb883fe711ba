"""Places that a tensor does not have are refused; memory beyond it is neither read nor written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tensorscript as ts
from tensorscript.nn import functional as F

FAR = 10**9
X = ts.arange(12.0).reshape(4, 3)

Program = Callable[[ts.Tensor, ts.Tensor], ts.Tensor]
CASES: dict[str, tuple[Program, tuple[int, ...], int]] = {
    "index": (lambda x, k: x[k], (2,), 4),
    "index of columns": (lambda x, k: x[:, k], (2,), 3),
    "index_put": (lambda x, k: x.index_put((k,), ts.zeros(3)), (2,), 4),
    "index_put, summed": (lambda x, k: x.index_put((k,), ts.ones(3), True), (2,), 4),
    "index_select": (lambda x, k: x.index_select(0, k), (2,), 4),
    "index_add": (lambda x, k: x.index_add(0, k, ts.ones(2, 3)), (2,), 4),
    "index_copy": (lambda x, k: x.index_copy(0, k, ts.ones(2, 3)), (2,), 4),
    "index_fill": (lambda x, k: x.index_fill(1, k, 2.0), (2,), 3),
    "index_reduce": (lambda x, k: x.index_reduce(0, k, ts.ones(2, 3), "prod"), (2,), 4),
    "gather": (lambda x, k: x.gather(1, k), (2, 2), 3),
    "scatter": (lambda x, k: x.scatter(0, k, 5.0), (2, 3), 4),
    "scatter_add": (lambda x, k: x.scatter_add(0, k, ts.ones(2, 3)), (2, 3), 4),
    "scatter_reduce": (lambda x, k: x.scatter_reduce(0, k, ts.ones(2, 3), "amax"), (2, 3), 4),
    "take": (lambda x, k: x.take(k), (2,), 12),
    "put": (lambda x, k: x.put(k, ts.ones(2)), (2,), 12),
    "take_along_dim": (lambda x, k: x.take_along_dim(k, 0), (2, 3), 4),
    "embedding": (lambda x, k: F.embedding(k, x), (2,), 4),
    "embedding_bag": (lambda x, k: F.embedding_bag(k, x, ts.tensor([0, 1])), (2,), 4),
    "one_hot": (lambda x, k: F.one_hot(k, 4) + x[0, 0], (2,), 4),
    "nll_loss": (lambda x, k: F.nll_loss(x, k), (4,), 3),
    "cross_entropy": (lambda x, k: F.cross_entropy(x, k, reduction="none"), (4,), 3),
    "multi_margin_loss": (lambda x, k: F.multi_margin_loss(x, k), (4,), 3),
    "max_unpool1d": (lambda x, k: F.max_unpool1d(x[None, :1, :2], k[None, None], 2), (2,), 4),
    "searchsorted": (lambda x, k: ts.searchsorted(x[:, 0], x[:, 1], sorter=k), (4,), 4),
}
"""Programs of numbers (4, 3) and of places of a shape, all of them below a size."""


@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
@pytest.mark.parametrize("name", CASES)
def test_places_beyond_are_refused(name: str) -> None:
    run, shape, size = CASES[name]
    inside = ts.zeros(shape, dtype=ts.int64)
    native = ts.compile(ts.jit.trace(run, (X, inside)), fallback="error", cache=False)
    ts.testing.assert_close(native(X, inside), run(X, inside))
    for place in (size, -size - 1, FAR, -FAR, 2**62):
        beyond = inside.clone()
        beyond.reshape(-1)[-1] = place
        for called in (run, native):
            with pytest.raises((RuntimeError, IndexError)):
                called(X.clone(), beyond)

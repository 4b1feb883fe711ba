"""Sizes with names are checked when the program runs, before elements are read or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.dtypes import float32, int32, int64
from tensorscript.base.errors import TensorScriptError

F = ts.nn.functional
Program = Callable[..., Any]


def put(x, y, k):  # type: ignore[no-untyped-def]
    return ts.index_put(x, [k], y)


def reduced(x, y, k):  # type: ignore[no-untyped-def]
    return ts.index_reduce(x, 0, k, y, "prod")


def counted(x, k):  # type: ignore[no-untyped-def]
    return ts.bincount(k, x)


def margins(x, y, k):  # type: ignore[no-untyped-def]
    return F.multi_margin_loss(x, k, weight=y)


def unpooled(x, k):  # type: ignore[no-untyped-def]
    return F.max_unpool1d(x, k, 2)


def sampled(x, y):  # type: ignore[no-untyped-def]
    return F.grid_sample(x, y, padding_mode="border", align_corners=False)


def sought(x, y):  # type: ignore[no-untyped-def]
    return ts.searchsorted(x, y)


def sorted_by(x, y, k):  # type: ignore[no-untyped-def]
    return ts.searchsorted(x, y, sorter=k)


def triangular(x, y):  # type: ignore[no-untyped-def]
    return ts.linalg.solve_triangular(x, y, upper=True)


def reflected(x, y, z):  # type: ignore[no-untyped-def]
    return ts.ormqr(x, y, z)


def exchanged(x, y, k):  # type: ignore[no-untyped-def]
    return ts.linalg.lu_solve(x, k, y)


def bags(x, y, k, n):  # type: ignore[no-untyped-def]
    return F.embedding_bag(k, x, n, mode="sum", per_sample_weights=y)


def aligned(x, k, n, m):  # type: ignore[no-untyped-def]
    return F.ctc_loss(x, k, n, m)


def runs(x, k):  # type: ignore[no-untyped-def]
    return ts.segment_reduce(x, "sum", lengths=k)


def unsafe_runs(x, k):  # type: ignore[no-untyped-def]
    return ts.segment_reduce(x, "sum", lengths=k, unsafe=True)


def instances(x, y):  # type: ignore[no-untyped-def]
    return F.instance_norm(x, y, y, use_input_stats=True)


def mirrored(x):  # type: ignore[no-untyped-def]
    return F.pad(x, (3, 3), mode="reflect")


def wrapped(x):  # type: ignore[no-untyped-def]
    return F.pad(x, (3, 3), mode="circular")


Given = tuple[int, ...] | list[Any]
"""Of an argument: its sizes, or numbers."""

# A call that fails is explained by eager mode where that refuses in words of its own.
SOUGHT = "boundaries tensor should be 1 dimension|searchsorted"
SORTED = "must have the same size|searchsorted"
SOLVED = "Incompatible shapes of A and B|solve_triangular"
PIVOTS = "between 1 and|out of bounds"

CASES: list[tuple[Program, str, list[Given], list[Given], str]] = [
    (put, "ffl", [(4, 5), (2, 5), [0, 1]], [(4, 5), (3, 5), [0, 1]], "shape mismatch"),
    (reduced, "ffl", [(4, 5), (2, 5), [0, 1]], [(4, 6), (2, 5), [0, 1]], "source tensor shape"),
    (counted, "fl", [(3,), [0, 1, 1]], [(2,), [0, 1, 1]], "have the same length as input"),
    (margins, "ffl", [(2, 4), (4,), [0, 1]], [(2, 4), (3,), [0, 1]], "inconsistent weight size"),
    (unpooled, "fl", [(1, 1, 2), [[[0, 2]]]], [(1, 2, 2), [[[0, 2]]]], "Expected shape of indices"),
    (sampled, "ff", [(1, 1, 2, 2), (1, 1, 3, 2)], [(1, 1, 0, 2), (1, 1, 3, 2)], "non-empty"),
    (sought, "ff", [(2, 3), (2, 4)], [(2, 3), (3, 4)], SOUGHT),
    (sorted_by, "ffl", [(3,), (2,), [2, 1, 0]], [(3,), (2,), [1, 0]], SORTED),
    (triangular, "ff", [(3, 3), (3, 2)], [(3, 3), (2, 2)], SOLVED),
    (reflected, "fff", [(4, 3), (3,), (4, 2)], [(4, 3), (5,), (4, 2)], "tau.shape"),
    (exchanged, "ffi", [(2, 2), (2, 1), [1, 2]], [(2, 2), (2, 1), [1, 3]], PIVOTS),
    (exchanged, "ffi", [(2, 2), (2, 1), [1, 2]], [(2, 2), (2, 1), [1]], "Number of pivots"),
    (bags, "ffll", [(4, 2), (3,), [0, 1, 2], [0, 1]], [(4, 2), (2,), [0, 1, 2], [0, 1]],
     "same shape as (the )?input"),
    (bags, "ffll", [(4, 2), (3,), [0, 1, 2], [0, 1]], [(4, 2), (3,), [0, 1, 2], [1, 2]],
     "has to be 0"),
    (bags, "ffll", [(4, 2), (3,), [0, 1, 2], [0, 1]], [(4, 2), (3,), [0, 1, 2], [0, 4]],
     "can not be greater than input's length"),
    (runs, "fl", [(4,), [1, 3]], [(4,), [-2, 6]], "lengths contains negative value"),
    (runs, "fl", [(4,), [1, 3]], [(4,), [1, 1]], "Expected all rows of lengths"),
    (unsafe_runs, "fl", [(4,), [1, 3]], [(4,), [-2, 6]], "segment_length >= 0"),
    (aligned, "flll", [(6, 1, 5), [[1, 2]], [6], [2]], [(6, 2, 5), [[1, 2]], [6], [2]],
     "input_lengths must be of size batch_size"),
    (aligned, "flll", [(6, 1, 5), [[1, 2]], [6], [2]], [(6, 1, 5), [[1, 2]], [7], [2]],
     "value at most"),
    (aligned, "flll", [(6, 1, 5), [[1, 2]], [6], [2]], [(6, 1, 5), [[1, 9]], [6], [2]],
     "label range|out of bounds"),
    (mirrored, "f", [(1, 1, 4)], [(1, 1, 2)], "Padding size should be less"),
    (wrapped, "f", [(1, 1, 4)], [(1, 1, 2)], "wrapping around more than once"),
    (instances, "ff", [(2, 3, 4), (3,)], [(2, 3, 4), (2,)], "running_mean should contain"),
]  # fmt: skip


def made(kind: str, given: Given) -> np.ndarray:
    if isinstance(given, list):
        return np.array(given, np.int32 if kind == "i" else np.int64)
    return np.ones(given, np.float32)


@pytest.mark.parametrize(
    ("program", "kinds", "good", "bad", "message"),
    CASES,
    ids=[f"{case[0].__name__}-{k}" for k, case in enumerate(CASES)],
)
def test_sizes_that_do_not_fit(
    program: Program, kinds: str, good: list[Given], bad: list[Given], message: str
) -> None:
    dtypes = {"f": float32, "l": int64, "i": int32}
    arguments = [made(k, g) for k, g in zip(kinds, good, strict=True)]
    specs = tuple(
        ts.TensorSpec(tuple(f"N{at}{d}" for d in range(x.ndim)), dtypes[k])
        for at, (k, x) in enumerate(zip(kinds, arguments, strict=True))
    )
    compiled = ts.compile(program, specs, fallback="error", cache=False)
    want = program(*[ts.from_numpy(x.copy()) for x in arguments])
    got = compiled(*[x.copy() for x in arguments])
    np.testing.assert_allclose(np.asarray(got), want.numpy(), rtol=1e-5)
    with pytest.raises((RuntimeError, TensorScriptError), match=message):
        compiled(*[made(k, g) for k, g in zip(kinds, bad, strict=True)])


def test_running_statistics_of_instances() -> None:
    def program(x, mean, var):  # type: ignore[no-untyped-def]
        return F.instance_norm(x, mean, var, use_input_stats=True, momentum=0.25)

    x = ts.from_numpy(np.random.default_rng(3).standard_normal((2, 3, 5)).astype(np.float32))
    kept = [(ts.zeros(3), ts.ones(3)) for _ in range(2)]
    want = program(x, *kept[0])
    got = ts.compile(program, fallback="error", cache=False)(x, *kept[1])
    for a, b in zip((want, *kept[0]), (got, *kept[1]), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-5, atol=1e-6)


def test_a_projected_network_whose_sizes_have_names() -> None:
    """That a state is projected is told by the count of weights: equal sizes may be named apart."""

    def program(x, h, c, w, u, p, q):  # type: ignore[no-untyped-def]
        return ts.lstm(x, [h, c], [w, u, p, q], True, 1, 0.0, False, False, False)[0]

    sizes = [(3, 2, 4), (1, 2, 3), (1, 2, 3), (12, 4), (12, 3), (12,), (12,)]
    specs = tuple(
        ts.TensorSpec(tuple(f"N{at}{d}" for d in range(len(s)))) for at, s in enumerate(sizes)
    )
    rng = np.random.default_rng(5)
    given = [rng.standard_normal(s).astype(np.float32) for s in sizes]
    compiled = ts.compile(program, specs, fallback="error", cache=False)
    want = program(*map(ts.from_numpy, given))
    np.testing.assert_allclose(np.asarray(compiled(*given)), want.numpy(), rtol=1e-5, atol=1e-6)
    given[1] = given[1][..., :2].copy()
    with pytest.raises(RuntimeError):
        compiled(*given)

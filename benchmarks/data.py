"""What moves and orders elements."""

from __future__ import annotations

import numpy as np
from peers import jax, lib
from workload import MATRIX, Arguments, Workload, normal, workload


def gather_rows(x, i):
    return x[i]


def sorted_rows(x):
    return lib.sort(x, 1)[0]


def sorted_columns(x):
    return lib.sort(x, 0)[0]


def searched(x, y):
    return lib.searchsorted(x, y)


def top_ten(x):
    return lib.topk(x, 10, 1)[0]


def running_sum(x):
    return x.cumsum(1)


def transpose(x):
    return x.t().contiguous()


def channels_last(x):
    return x.permute(0, 2, 3, 1).contiguous()


def taken(x, i):
    return lib.take(x, i)


def joined(x, y):
    return lib.cat([x, y], 1)


def rolled(x):
    return x.roll((3, 5), (0, 1))


def mirrored(x):
    return lib.nn.functional.pad(x, (3, 3, 3, 3), "reflect")


def scattered(x, i, y):
    return x.index_add(0, i, y)


def _rows_and_places(random: np.random.Generator) -> Arguments:
    return random.standard_normal((30000, 256)).astype("f4"), random.integers(0, 30000, 512)


def _matrix_and_places(random: np.random.Generator) -> Arguments:
    x = random.standard_normal((1000, 1000)).astype("f4")
    return x, random.integers(0, x.size, 100000)


def _sums_and_places(random: np.random.Generator) -> Arguments:
    base, rows = (random.standard_normal((n, 256)).astype("f4") for n in (1024, 512))
    return base, random.integers(0, 1024, 512), rows


def _bounds_and_values(random: np.random.Generator) -> Arguments:
    return np.sort(random.standard_normal(1000).astype("f4")), random.standard_normal(10000).astype(
        "f4"
    )


DATA: tuple[Workload, ...] = (
    workload("512 rows of 30000x256", gather_rows, _rows_and_places, lambda x, i: x[i], None,
             lambda x, i: x[i]),
    workload("add 512 rows into 1024x256", scattered, _sums_and_places,
             lambda x, i, y: x.at[i].add(y)),
    workload("sort 64x1024", sorted_rows, normal((64, 1024)), lambda x: jax.numpy.sort(x, 1), None,
             lambda x: np.sort(x, 1)),
    workload("sort 8x8192 along 0", sorted_columns, normal((8, 8192)),
             lambda x: jax.numpy.sort(x, 0), None, lambda x: np.sort(x, 0)),
    workload("search 10000 among 1000", searched, _bounds_and_values,
             lambda x, y: jax.numpy.searchsorted(x, y), None, lambda x, y: np.searchsorted(x, y)),
    workload("top 10 of 64x1024", top_ten, normal((64, 1024)), lambda x: jax.lax.top_k(x, 10)[0]),
    workload("running sum 512x1024", running_sum, normal((512, 1024)), lambda x: x.cumsum(1), None,
             lambda x: x.cumsum(1)),
    workload("transpose 1024x1024", transpose, MATRIX, lambda x: x.T + 0, None,
             lambda x: np.ascontiguousarray(x.T)),
    workload("channels last 8x3x224x224", channels_last, normal((8, 3, 224, 224)),
             lambda x: x.transpose(0, 2, 3, 1) + 0, None,
             lambda x: np.ascontiguousarray(x.transpose(0, 2, 3, 1))),
    workload("take 100000 of 1000x1000", taken, _matrix_and_places, lambda x, i: x.ravel()[i], None,
             lambda x, i: x.take(i)),
    workload("join 1024x512 twice", joined, normal((1024, 512), (1024, 512)),
             lambda x, y: jax.numpy.concatenate([x, y], 1), None,
             lambda x, y: np.concatenate([x, y], 1)),
    workload("roll 1000x1000", rolled, normal((1000, 1000)),
             lambda x: jax.numpy.roll(x, (3, 5), (0, 1)), None,
             lambda x: np.roll(x, (3, 5), (0, 1))),
    workload("mirrored padding 8x3x224x224", mirrored, normal((8, 3, 224, 224)),
             lambda x: jax.numpy.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)), "reflect"), None,
             lambda x: np.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)), "reflect")),
)  # fmt: skip

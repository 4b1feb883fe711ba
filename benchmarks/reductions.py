"""Reductions, and what normalises by them."""

from __future__ import annotations

from typing import Any

import numba_peers
import numpy as np
from numba_peers import jitted
from peers import jax, lib
from workload import MATRIX, Workload, normal, workload

F = lib.nn.functional


def sum_rows(x):
    return x.sum(1)


def sum_columns(x):
    return x.sum(0)


def greatest_of_rows(x):
    return x.amax(1)


def inner_deviation(x):
    return x.std(1)


def sum_all(x):
    return x.sum()


def argmax_rows(x):
    return x.argmax(1)


def argmax_all(x):
    return x.argmax()


def any_of_rows(x):
    return (x > 0.5).any(1)


def variance(x):
    return x.var(1)


def logsumexp(x):
    return x.logsumexp(1)


def softmax(x):
    return lib.softmax(x, 1)


def log_softmax(x):
    return lib.log_softmax(x, 1)


def softmax_numpy(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layer_norm(x, w, b):
    return F.layer_norm(x, (512,), w, b)


def layer_norm_jax(x: Any, w: Any, b: Any) -> Any:
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(v + 1e-5) * w + b


def rms_norm(x, w):
    return x * lib.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def rms_norm_jax(x: Any, w: Any) -> Any:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def batch_norm(x, m, v, w, b):
    return lib.relu(F.batch_norm(x, m, v * v, w, b, False, 0.1, 1e-5))


def batch_norm_jax(x: Any, m: Any, v: Any, w: Any, b: Any) -> Any:
    scale = (w * jax.lax.rsqrt(v * v + 1e-5))[:, None, None]
    return jax.numpy.maximum((x - m[:, None, None]) * scale + b[:, None, None], 0)


TALL = normal((1000000, 3))

REDUCTION: tuple[Workload, ...] = (
    workload("sum of rows 1024x1024", sum_rows, MATRIX, lambda x: x.sum(1),
             jitted(numba_peers.sum_rows),
             lambda x: x.sum(1)),
    workload("sum of columns 1024x1024", sum_columns, MATRIX, lambda x: x.sum(0),
             jitted(numba_peers.sum_columns),
             lambda x: x.sum(0)),
    workload("sum of all 1024x1024", sum_all, MATRIX, lambda x: x.sum(),
             jitted(numba_peers.sum_all), lambda x: x.sum()),
    workload("argmax of rows 1024x1024", argmax_rows, MATRIX, lambda x: x.argmax(1),
             jitted(numba_peers.argmax_rows),
             lambda x: x.argmax(1)),
    workload("argmax of all 1000x1000", argmax_all, normal((1000, 1000)), lambda x: x.argmax(),
             jitted(numba_peers.argmax_all), lambda x: x.argmax()),
    workload("any of rows 1000000x3", any_of_rows, TALL, lambda x: (x > 0.5).any(1),
             jitted(numba_peers.any_of_rows),
             lambda x: (x > 0.5).any(1)),
    workload("sum of columns 1000000x3", sum_columns, TALL, lambda x: x.sum(0),
             jitted(numba_peers.sum_columns),
             lambda x: x.sum(0)),
    workload("maximum of rows 1000000x3", greatest_of_rows, TALL, lambda x: x.max(1),
             jitted(numba_peers.maximum_of_rows),
             lambda x: x.max(1)),
    workload("deviation of columns 32x128x768", inner_deviation, normal((32, 128, 768)),
             lambda x: x.std(1, ddof=1), jitted(numba_peers.inner_deviation),
             lambda x: x.std(1, ddof=1)),
    workload("variance of rows 1024x1024", variance, MATRIX, lambda x: x.var(1, ddof=1),
             jitted(numba_peers.variance), lambda x: x.var(1, ddof=1)),
    workload("logsumexp of rows 1024x1024", logsumexp, MATRIX,
             lambda x: jax.nn.logsumexp(x, axis=1), jitted(numba_peers.logsumexp)),
)  # fmt: skip

NORMALISATION: tuple[Workload, ...] = (
    *(
        workload(f"softmax of rows {n}x{n}", softmax, normal((n, n)),
                 lambda x: jax.nn.softmax(x, axis=1), jitted(numba_peers.softmax), softmax_numpy)
        for n in (64, 1024)
    ),
    workload("log softmax of rows 1000x10", log_softmax, normal((1000, 10)),
             lambda x: jax.nn.log_softmax(x, axis=1), jitted(numba_peers.log_softmax)),
    workload("layer norm 8192x512", layer_norm, normal((8192, 512), (512,), (512,)),
             layer_norm_jax, jitted(numba_peers.layer_norm)),
    workload("rms norm 8192x512", rms_norm, normal((8192, 512), (512,)), rms_norm_jax,
             jitted(numba_peers.rms_norm)),
    workload("batch norm, relu 1x64x56x56", batch_norm,
             normal((1, 64, 56, 56), (64,), (64,), (64,), (64,)), batch_norm_jax,
             jitted(numba_peers.batch_norm)),
)  # fmt: skip

"""The loops that Numba's users write: a parallel loop over rows, plain loops inside.

Where Numba is not installed they are Python, which is how the tests run them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from peers import numba

prange: Any = range
ONE = np.float32(1)


def jitted(program: Callable[..., Any], **options: bool) -> Callable[[], Callable[..., Any]]:
    """What makes the compiled program; on several threads and with fast arithmetic by default."""

    def build() -> Callable[..., Any]:
        globals()["prange"] = numba.prange  # what is compiled may not go through our late import
        made: Callable[..., Any] = numba.njit(**(options or {"parallel": True, "fastmath": True}))(
            program
        )
        return made

    return build


def chain(x, y):
    out = np.empty_like(x)
    a, b, c = x.ravel(), y.ravel(), out.ravel()
    for i in prange(a.size):
        c[i] = a[i] / (ONE + np.exp(-(a[i] * b[i] + ONE)))
    return out


def chain_wide(x, y):
    out = np.empty_like(x)
    a, b, c = x.ravel(), y.ravel(), out.ravel()
    for i in prange(a.size):
        c[i] = a[i] / (1.0 + np.exp(-(a[i] * b[i] + 1.0)))
    return out


def gelu(x):
    out = np.empty_like(x)
    a, c = x.ravel(), out.ravel()
    for i in prange(a.size):
        c[i] = a[i] * np.float32(0.5) * (ONE + math.erf(a[i] * np.float32(math.sqrt(0.5))))
    return out


def ten_operations(x, y):
    out = np.empty_like(x)
    a, b, c = x.ravel(), y.ravel(), out.ravel()
    for i in prange(a.size):
        z = np.tanh(a[i] * b[i] + a[i]) - b[i] * np.float32(0.5)
        z = np.exp(-z * z) + a[i]
        c[i] = np.sqrt(z * z + ONE) * b[i]
    return out


def bias_relu(x, b):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = max(x[i, j] + b[j], np.float32(0))
    return out


def clamped(x, y):
    out = np.empty_like(x)
    a, b, c = x.ravel(), y.ravel(), out.ravel()
    for i in prange(a.size):
        c[i] = min(max(a[i], -ONE), ONE) if a[i] > b[i] else b[i] * np.float32(0.1)
    return out


def sum_rows(x):
    out = np.empty(x.shape[0], np.float32)
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += x[i, j]
        out[i] = s
    return out


def sum_columns(x):
    out = np.zeros(x.shape[1], np.float32)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j]
    return out


def sum_all(x):
    s = np.float32(0)
    a = x.ravel()
    for i in prange(a.size):
        s += a[i]
    return s


def argmax_rows(x):
    out = np.empty(x.shape[0], np.int64)
    for i in prange(x.shape[0]):
        best = 0
        for j in range(x.shape[1]):
            if x[i, j] > x[i, best]:
                best = j
        out[i] = best
    return out


def argmax_all(x):
    a = x.ravel()
    best = 0
    for i in range(a.size):
        if a[i] > a[best]:
            best = i
    return best


def any_of_rows(x):
    out = np.empty(x.shape[0], np.bool_)
    for i in prange(x.shape[0]):
        found = False
        for j in range(x.shape[1]):
            found = found or x[i, j] > np.float32(0.5)
        out[i] = found
    return out


def maximum_of_rows(x):
    out = np.empty(x.shape[0], np.float32)
    for i in prange(x.shape[0]):
        m = x[i, 0]
        for j in range(1, x.shape[1]):
            m = max(m, x[i, j])
        out[i] = m
    return out


def inner_deviation(x):
    rows, depth, columns = x.shape
    out = np.empty((rows, columns), np.float32)
    for i in prange(rows):
        mean = np.zeros(columns, np.float32)
        total = np.zeros(columns, np.float32)
        for k in range(depth):
            mean += x[i, k]
        mean /= np.float32(depth)
        for k in range(depth):
            for j in range(columns):
                d = x[i, k, j] - mean[j]
                total[j] += d * d
        out[i] = np.sqrt(total / np.float32(depth - 1))
    return out


def variance(x):
    out = np.empty(x.shape[0], np.float32)
    n = x.shape[1]
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(n):
            s += x[i, j]
        m = s / np.float32(n)
        s = np.float32(0)
        for j in range(n):
            d = x[i, j] - m
            s += d * d
        out[i] = s / np.float32(n - 1)
    return out


def logsumexp(x):
    out = np.empty(x.shape[0], np.float32)
    for i in prange(x.shape[0]):
        m = x[i, 0]
        for j in range(1, x.shape[1]):
            m = max(m, x[i, j])
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += np.exp(x[i, j] - m)
        out[i] = m + np.log(s)
    return out


def softmax(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        m = x[i, 0]
        for j in range(1, x.shape[1]):
            m = max(m, x[i, j])
        s = np.float32(0)
        for j in range(x.shape[1]):
            e = np.exp(x[i, j] - m)
            out[i, j] = e
            s += e
        for j in range(x.shape[1]):
            out[i, j] /= s
    return out


def log_softmax(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        m = x[i, 0]
        for j in range(1, x.shape[1]):
            m = max(m, x[i, j])
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += np.exp(x[i, j] - m)
        m += np.log(s)
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] - m
    return out


def layer_norm(x, w, b):
    out = np.empty_like(x)
    n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += x[i, j]
        m = s / n
        s = np.float32(0)
        for j in range(x.shape[1]):
            d = x[i, j] - m
            s += d * d
        r = ONE / np.sqrt(s / n + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - m) * r * w[j] + b[j]
    return out


def rms_norm(x, w):
    out = np.empty_like(x)
    n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += x[i, j] * x[i, j]
        r = ONE / np.sqrt(s / n + np.float32(1e-6))
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * r * w[j]
    return out


def batch_norm(x, m, v, w, b):
    out = np.empty_like(x)
    for c in prange(x.shape[1]):
        scale = w[c] / np.sqrt(v[c] * v[c] + np.float32(1e-5))
        shift = b[c] - m[c] * scale
        for n in range(x.shape[0]):
            for i in range(x.shape[2]):
                for j in range(x.shape[3]):
                    out[n, c, i, j] = max(x[n, c, i, j] * scale + shift, np.float32(0))
    return out


def tiny_steps(x, y):
    z = x.copy()
    for _ in range(1000):
        for k in range(z.size):
            z[k] = z[k] * np.float32(0.999) + y[k]
    return z


def levenshtein_table(a, b):
    n, m = a.size, b.size
    table = np.zeros((n + 1, m + 1), np.int64)
    table[:, 0] = np.arange(n + 1)
    table[0] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            best = min(table[i - 1, j] + 1, table[i, j - 1] + 1)
            table[i, j] = min(best, table[i - 1, j - 1] + cost)
    return table[n, m]


def nearest_by(edits):
    """The program, with the distance that it calls."""

    def program(word, words):
        found, fewest = 0, word.size + words.shape[1]
        for k in range(words.shape[0]):
            distance = edits(word, words[k])
            if distance < fewest:
                found, fewest = k, distance
        return found

    return program


def nearest_word():
    """Makes the compiled program, which calls another one."""
    return jitted(nearest_by(jitted(levenshtein_table, nogil=False)()), nogil=False)()


def suppress_elements(boxes, order, threshold):
    n = boxes.shape[0]
    dropped = np.zeros(n, np.bool_)
    kept = 0
    for p in range(n):
        i = order[p]
        if dropped[i]:
            continue
        kept += 1
        left, top, right, bottom = boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3]
        area = (right - left) * (bottom - top)
        for q in range(p + 1, n):
            j = order[q]
            if not dropped[j]:
                w = min(right, boxes[j, 2]) - max(left, boxes[j, 0])
                h = min(bottom, boxes[j, 3]) - max(top, boxes[j, 1])
                if w > 0.0 and h > 0.0:
                    other = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
                    if w * h / (area + other - w * h) > threshold:
                        dropped[j] = True
    return kept

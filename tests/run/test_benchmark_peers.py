"""Do the peers that are written by hand for the benchmarks compute what the programs do?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import long_programs
import numba_peers

import tensorscript as ts

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def eager(program: Any, *arguments: Any) -> np.ndarray:
    return np.asarray(program(*(ts.from_numpy(a) for a in arguments)))


X, Y, B = normal(5, 9), normal(5, 9), normal(9)
F = ts.nn.functional
ROWS: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    "chain": (lambda x, y: ts.sigmoid(x * y + 1) * x, (X, Y)),
    "chain_wide": (lambda x, y: ts.sigmoid(x * y + 1) * x, (X.astype("f8"), Y.astype("f8"))),
    "gelu": (F.gelu, (X,)),
    "bias_relu": (lambda x, b: ts.relu(x + b), (X, B)),
    "clamped": (lambda x, y: ts.where(x > y, x.clamp(-1.0, 1.0), y * 0.1), (X, Y)),
    "sum_rows": (lambda x: x.sum(1), (X,)),
    "sum_columns": (lambda x: x.sum(0), (X,)),
    "sum_all": (lambda x: x.sum(), (X,)),
    "argmax_rows": (lambda x: x.argmax(1), (X,)),
    "argmax_all": (lambda x: x.argmax(), (X,)),
    "any_of_rows": (lambda x: (x > 0.5).any(1), (X,)),
    "maximum_of_rows": (lambda x: x.amax(1), (X,)),
    "inner_deviation": (lambda x: x.std(1), (normal(3, 4, 6),)),
    "variance": (lambda x: x.var(1), (X,)),
    "logsumexp": (lambda x: x.logsumexp(1), (X,)),
    "softmax": (lambda x: ts.softmax(x, 1), (X,)),
    "log_softmax": (lambda x: ts.log_softmax(x, 1), (X,)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (9,), w, b), (X, B, B + 1)),
    "rms_norm": (
        lambda x, w: x * ts.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w, (X, B),
    ),
    "batch_norm": (
        lambda x, m, v, w, b: ts.relu(F.batch_norm(x, m, v * v, w, b, False, 0.1, 1e-5)),
        (normal(2, 3, 4, 5), *normal(4, 3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_loops_of_numba(name: str) -> None:
    program, arguments = ROWS[name]
    got = np.asarray(getattr(numba_peers, name)(*arguments))
    np.testing.assert_allclose(got, eager(program, *arguments), rtol=2e-5, atol=1e-6)


def test_ten_operations() -> None:
    z = np.tanh(X * Y + X) - Y * 0.5
    z = np.exp(-z * z) + X
    np.testing.assert_allclose(
        numba_peers.ten_operations(X, Y), np.sqrt(z * z + 1) * Y, rtol=1e-5, atol=1e-6
    )


def test_edit_distance() -> None:
    a, b = (np.array([ord(c) for c in word]) for word in ("kitten", "sitting"))
    assert numba_peers.levenshtein_table(a, b) == 3
    nearest = numba_peers.nearest_by(numba_peers.levenshtein_table)
    assert nearest(a, np.stack([a[::-1], a, b[:6]])) == 1


def test_boxes_that_overlap_are_dropped() -> None:
    boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]], np.float32)
    assert numba_peers.suppress_elements(boxes, np.array([0, 1, 2]), 0.3) == 2


@pytest.mark.parametrize("kind", long_programs.KINDS)
def test_long_programs_are_programs(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "long_program_of_test.py"
    file.write_text(long_programs.source(kind, 40))
    sys.path.insert(0, str(tmp_path))
    sys.modules.pop(file.stem, None)
    module = __import__(file.stem)
    sys.path.remove(str(tmp_path))
    x, y = np.random.default_rng(0).uniform(0.5, 1, (2, 8, 8)).astype(np.float32)
    made = ts.compile(module.long_program, [x, y], fallback="error", cache=False)
    wanted = eager(module.long_program, x, y)
    np.testing.assert_allclose(made(x, y), wanted, rtol=1e-4, atol=1e-5)

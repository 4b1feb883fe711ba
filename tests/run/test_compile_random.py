"""Random straight-line tensor programs: native results equal eager ones, whatever is fused."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

UNARY = (
    "ts.tanh({a})", "ts.exp(-ts.abs({a}))", "ts.sigmoid({a})", "ts.relu({a})", "{a} * 0.5",
    "{a} + 1", "-{a}", "ts.clamp({a}, -0.5, 0.5)", "ts.sqrt(ts.abs({a}) + 0.1)",
)  # fmt: skip
BINARY = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / (ts.abs({b}) + 1)", "ts.maximum({a}, {b})",
    "ts.where({a} > {b}, {a}, {b} * 2)",
)  # fmt: skip
# Templates that keep the shape [R, C]; some reduce a row or a column and broadcast it back.
SHAPED = (
    "{a} - {a}.mean(1, keepdim=True)", "{a} / ({a}.abs().sum(0, keepdim=True) + 1)",
    "ts.softmax({a}, 1)", "ts.log_softmax({a}, 0)", "{a} * {a}.amax(1, keepdim=True)",
    "{a}.t().contiguous().t()", "ts.flip({a}, [1])", "ts.cat([{a}[:, 1:], {a}[:, :1]], 1)",
    "{a}.reshape(-1).reshape({a}.size(0), {a}.size(1))", "{a}.cumsum(1) * 0.1",
    "({a} @ {b}.t() @ {a}) * 0.01", "ts.stack([{a}, {b}]).sum(0)", "{a} + {b}[0]",
)  # fmt: skip


def program_text(seed: int) -> str:
    """A function of two [R, C] tensors that returns two values it computed."""
    rng = random.Random(seed)
    names = ["x", "y"]
    lines = ["import tensorscript as ts", "", "", "def program(x, y):"]
    for number in range(rng.randint(4, 12)):
        a, b = rng.choice(names), rng.choice(names)
        template = rng.choice(rng.choice((UNARY, BINARY, SHAPED)))
        lines.append(f"    v{number} = {template.format(a=a, b=b)}")
        names.append(f"v{number}")
    total = rng.choice(names)
    lines.append(f"    return {names[-1]}, {total}.sum(), {rng.choice(names)}.mean(0)")
    return "\n".join(lines) + "\n"


def load(folder: Path, seed: int) -> Callable[..., Any]:
    path = folder / f"random_program_{seed}.py"
    path.write_text(program_text(seed))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.program
    return found


@pytest.mark.parametrize("seed", range(40))
def test_native_equals_eager(tmp_path: Path, seed: int) -> None:
    program = load(tmp_path, seed)
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 40)), int(rng.integers(2, 70))
    x, y = (rng.standard_normal((rows, columns)).astype(np.float32) for _ in range(2))
    compiled = ts.compile(program, fallback="error", cache=False)
    want = program(ts.from_numpy(x), ts.from_numpy(y))
    for got, expected in zip(compiled(x, y), want, strict=True):
        reference = np.asarray(expected.numpy())
        assert got.dtype == reference.dtype and got.shape == reference.shape
        scale = float(np.abs(reference).max()) if reference.size else 1.0
        np.testing.assert_allclose(got, reference, rtol=1e-4, atol=2e-5 * max(scale, 1.0))

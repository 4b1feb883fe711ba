"""Random control flow, views and writes: scripted and native results equal those of eager mode."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_control import SIZE, program_text

import tensorscript as ts

Program = Callable[..., Any]


def load(folder: Path, seed: int) -> Program:
    path = folder / f"random_control_{seed}.py"
    path.write_text(program_text(seed))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Program = module.program
    return found


def outcome(run: Program, arrays: list[np.ndarray], n: int, wrap: Program) -> Any:
    """The results, and what the arguments are after the call; the word "raises" if it raises."""
    given = [a.copy() for a in arrays]
    try:
        made = run(*map(wrap, given), n, n % 2 == 1)
    except (RuntimeError, IndexError):
        return "raises"
    return [*map(np.asarray, made), *given]


@pytest.mark.parametrize("seed", range(30))
def test_equals_eager_mode(tmp_path: Path, seed: int) -> None:
    program = load(tmp_path, seed)
    random = np.random.default_rng(seed)
    arrays = [random.standard_normal(shape) for shape in ((SIZE, SIZE), (SIZE, SIZE), SIZE)]
    scripted, compiled = ts.jit.script(program), ts.compile(program)
    for n in range(3):
        wanted = outcome(program, arrays, n, ts.from_numpy)
        for run, wrap in ((scripted, ts.from_numpy), (compiled, np.asarray)):
            found = outcome(run, arrays, n, wrap)
            if "raises" in (wanted, found):
                assert wanted == found
                continue
            for a, b in zip(wanted, found, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-8)

"""Stored archives of quantized models (PyTorch 2.13, `archive_quantized.py`) run as there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts

FOLDER = Path(__file__).parent / "quantized_samples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.pt"))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_agrees(name: str, native: bool) -> None:
    loaded = ts.jit.load(FOLDER / f"{name}.pt")
    called = ts.compile(loaded, fallback="error") if native else loaded
    with np.load(FOLDER / f"{name}.npz") as call:
        found = called(ts.from_numpy(call["input0"]))
        np.testing.assert_allclose(found.numpy(), call["result"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_saved_again(name: str) -> None:
    """The code says `ops.quantized`, as it did; the text of those operators is not written."""
    loaded = ts.jit.load(FOLDER / f"{name}.pt")
    saved = loaded.save_to_buffer()
    again = ts.jit.load(saved)
    assert again.save_to_buffer() == saved
    assert b"_requantized" not in saved
    with np.load(FOLDER / f"{name}.npz") as call:
        np.testing.assert_array_equal(
            again(ts.from_numpy(call["input0"])).numpy(),
            loaded(ts.from_numpy(call["input0"])).numpy(),
        )


def test_freezing_keeps_the_operators() -> None:
    frozen = ts.jit.freeze(ts.jit.load(FOLDER / "dynamic.pt").eval())
    assert frozen.code.count("ops.quantized.linear_dynamic") == 2
    with np.load(FOLDER / "dynamic.npz") as call:
        found = frozen(ts.from_numpy(call["input0"])).numpy()
        np.testing.assert_allclose(found, call["result"], rtol=1e-5, atol=1e-7)

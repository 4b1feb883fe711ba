"""What weights are packed into when a program is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler import packed


@pytest.mark.parametrize("left", [1, 255])
def test_padding_is_zero_whatever_memory_held(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else exported objects would differ from run to run, and show what the process held."""
    ts.manual_seed(0)
    layer = ts.nn.Conv2d(16, 32, 3).eval()
    spec = ts.TensorSpec((1, 16, 30, 30), ts.float32)

    def text() -> str:
        target = "x86_64-unknown-linux-gnu"
        found = ts.compile(layer, (spec,), target=target, cpu="x86-64-v3", cache=False)
        return found.ir("scheduled")

    clean, empty = text(), packed.aligned_empty

    def used(*arguments: Any) -> np.ndarray:
        memory = empty(*arguments)
        memory.view(np.uint8)[...] = left
        return memory

    monkeypatch.setattr(packed, "aligned_empty", used)
    assert text() == clean

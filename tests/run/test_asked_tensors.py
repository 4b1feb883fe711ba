"""What compiled programs answer to questions about tensors that no computing is needed for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def size_in_bytes(x: ts.Tensor) -> Any:
    return x.element_size(), x.itemsize, x.nbytes, x.half().element_size(), x[1:].nbytes


def kind(x: ts.Tensor) -> Any:
    return x.is_signed(), (x > 0).is_signed(), x.byte().is_signed(), x.is_pinned(), x.device.index


def place_of_a_view(x: ts.Tensor) -> Any:
    return x[1:].storage_offset(), x[:, 2].storage_offset(), x.t()[1:, 1:].storage_offset()


@pytest.mark.parametrize("asks", [size_in_bytes, kind, place_of_a_view])
def test_native_answers_are_those_of_the_interpreter(asks: Any) -> None:
    native, scripted = ts.compile(asks, fallback="error", cache=False), ts.jit.script(asks)
    assert native(X) == scripted(ts.from_numpy(X))

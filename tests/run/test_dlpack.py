"""Tensors shared with other libraries by DLPack, those of bfloat16 too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts


@pytest.mark.parametrize("turned", [lambda x: x, lambda x: x.t()], ids=["rows", "columns"])
def test_bfloat16(turned: Callable[[Any], Any]) -> None:
    x = turned(ts.arange(6, dtype=ts.bfloat16).reshape(2, 3))
    same = ts.from_dlpack(x)
    assert (same.dtype, same.stride()) == (ts.bfloat16, x.stride())
    same[0, 0] = 7
    assert x[0, 0].item() == 7.0
    capsule = ts.utils.dlpack.to_dlpack(x)
    assert ts.utils.dlpack.from_dlpack(capsule).tolist() == x.tolist()


def test_integers_of_16_bits_stay_integers() -> None:
    assert ts.from_dlpack(ts.ones(2, dtype=ts.int16)).dtype is ts.int16


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "complex64", "int16", "bool"])
def test_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.ones(2, 3, dtype=getattr(torch, dtype)).t()
    ours = ts.from_dlpack(theirs)
    assert (str(ours.dtype), ours.stride()) == (str(theirs.dtype), theirs.stride())
    ours[0, 0] = 0
    assert theirs[0, 0].item() == 0
    back = torch.from_dlpack(ours)
    assert back.dtype is theirs.dtype and back.data_ptr() == theirs.data_ptr()

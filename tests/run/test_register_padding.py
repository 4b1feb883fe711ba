"""What lies behind the last element of a buffer in registers: zeros, which lanes that are off may
compute with."""

from __future__ import annotations

import re

import pytest

import tensorscript as ts


def powers(x: ts.Tensor) -> ts.Tensor:
    return (x - x.amax(1, True)).exp()


@pytest.mark.parametrize(
    ("dtype", "columns", "padding"),
    [(ts.float32, 40, 24), (ts.float32, 44, 20), (ts.float64, 40, 24), (ts.float32, 64, 0)],
)
def test_padding_is_zero(dtype: ts.dtype, columns: int, padding: int) -> None:
    spec = ts.TensorSpec((32, 16, columns), dtype)
    made = ts.compile(powers, (spec,), target="x86_64-unknown-linux-gnu", cpu="x86-64-v4")
    kind = "float" if dtype is ts.float32 else "double"
    text = made.ir("ll")
    array = re.search(rf"(%t0\.\d+) = alloca \[(\d+) x {kind}\]", text)
    assert array is not None
    assert int(array[2]) == columns + padding
    tail = re.search(
        rf"(%tail\.\d+) = getelementptr {kind}, ptr {re.escape(array[1])}, i64 {columns}\n", text
    )
    assert (tail is None) == (padding == 0)
    if tail is not None:
        cleared = f"store <{padding} x {kind}> zeroinitializer, ptr {tail[1]}, align"
        assert cleared in text

"""`index_put_(accumulate=True)` of half types: every sum is rounded, and none is lost."""

from __future__ import annotations

import warnings

import pytest

import tensorscript as ts

HALVES = pytest.mark.parametrize("dtype", [ts.float16, ts.bfloat16], ids=["float16", "bfloat16"])


@HALVES
def test_sums_in_expanded_memory(dtype: ts.dtype) -> None:
    x = ts.zeros(1, dtype=dtype).expand(4)
    at, new = ts.tensor([0, 0, 2, 3]), ts.tensor([1.0, 2.0, 3.0, 4.0], dtype=dtype)
    with pytest.warns(UserWarning, match="index_put_ on expanded tensors is deprecated"):
        x.index_put_((at,), new, accumulate=True)
    assert x.tolist() == [10.0] * 4


@HALVES
def test_each_sum_is_rounded(dtype: ts.dtype) -> None:
    """As PyTorch does: from the first power of two whose neighbour is 2 away, 1 adds nothing."""
    x, at = ts.zeros(2, 3, dtype=dtype), ts.zeros(3000, dtype=ts.int64)
    x.t().index_put_((at + 1, at), ts.ones(1, dtype=dtype), accumulate=True)
    largest = 2048.0 if dtype is ts.float16 else 256.0
    assert x.tolist() == [[0.0, largest, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.torch
@HALVES
def test_as_pytorch(dtype: ts.dtype) -> None:
    torch = pytest.importorskip("torch")

    def run(m, kind):  # type: ignore[no-untyped-def]
        x = m.zeros(2, 3, 4, dtype=kind)
        at = (m.tensor([0, 0, 1, 0]), m.tensor([1, 1, 0, 1]))
        x[:, 1:].transpose(0, 1).index_put_(at, m.tensor([[2.5]], dtype=kind), accumulate=True)
        return x.tolist()

    assert run(ts, dtype) == run(torch, getattr(torch, str(dtype).removeprefix("torch.")))


@pytest.mark.torch
@HALVES
@pytest.mark.parametrize("scripted", [False, True], ids=["eager", "scripted"])
def test_put_rounds_each_sum(dtype: ts.dtype, scripted: bool) -> None:
    torch = pytest.importorskip("torch")

    def put(x, at, new):  # type: ignore[no-untyped-def]
        return x.put_(at, new, accumulate=True)

    def run(m, kind):  # type: ignore[no-untyped-def]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            called = m.jit.script(put) if scripted else put
        x = m.tensor([[30.0, -7.5], [0.25, 900.0]], dtype=kind)
        at = m.tensor([0, 3, 3, -1, 1, 0, 3, 1, 1, 3] * 4)
        return called(x, at, (m.arange(40) * 0.37 - 3).to(kind)).tolist()

    assert run(ts, dtype) == run(torch, getattr(torch, str(dtype).removeprefix("torch.")))

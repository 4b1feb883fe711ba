"""Calls that fit no signature, in the words of PyTorch's Python binding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts

CALLS = (
    "x.relu(1)", "t.relu()", "t.relu(x, 1)", "t.hypot(x)", "x.hypot()", "t.cummax(x)",
    "x.cummax(1, 2)", "t.softmax(x)", "x.permute()", "x.permute('a')", "t.tril(x, 'a')",
    "x.gather(0)", "x.index_select('a', x)", "t.hypot(2, x)", "x.hypot(other=1)",
    "t.matmul(x, 2)", "t.exp('a')", "x.exp(2)", "t.topk(x)", "x.topk()",
    "t.tril(x, diagonal=1.5)", "t.flip(x)", "t.flip(x, 'a')", "x.masked_select(3)", "t.dot(x)",
    "t.maximum(x, 2)", "x.gcd(2)", "x.logical_xor_(1j)", "t.nextafter(x, 1.0)",
    "x.softmax(0, keepdim=True)", "x.sum(0, 1)", "x.sum(0, keepdim=1)", "x.topk(1, 0, 1)",
    "x.max(0, 1)", "x.argmax(0, 1)", "t.linalg.svd(x, 1)", "x.split(2.5)", "t.split(x, 'a')",
    "x.split([1.5, 2])", "t.tensor([1], dtype='float')", "t.tensor([[1], 2])", "t.tensor([1, [2]])",
    "t.set_default_dtype('a')", "t.set_default_dtype(t.int32)",
    "t.from_numpy(np.array(['a']))", "t.manual_seed(None)",
)  # fmt: skip


def refusal(call: str, library: Any) -> str:
    """The first line of the TypeError."""
    with pytest.raises(TypeError) as caught:
        eval(call, {"t": library, "x": library.ones(2, 3), "np": np})
    return str(caught.value).partition("\n")[0]


def test_a_missing_argument_is_named() -> None:
    assert refusal("t.topk(x)", ts) == 'topk() missing 1 required positional arguments: "k"'


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLS)
def test_as_pytorch(call: str) -> None:
    torch = pytest.importorskip("torch")
    assert refusal(call, ts) == refusal(call, torch)


_NOT_SAID = (
    "t.roll(x, 1, None)", "x.roll(1, dims=None)", "t.amax(x, None)", "x.amin(dim=None)",
    "t.max_pool1d(x, 2, None)", "t.avg_pool1d(x, 2, stride=None)", "t.max_pool2d(x[None], 2, None)",
    "t.max_pool1d(x, 2, None, None)", "t.flip(x, None)",
)  # fmt: skip
"""None for lists: of those that are empty by default, and of others, which refuse it."""


def _answer(call: str, library: Any) -> Any:
    try:
        return eval(call, {"t": library, "x": library.arange(6.0).reshape(2, 3)}).tolist()
    except TypeError as refused:
        return str(refused).partition("\n")[0]


def test_none_is_an_empty_list() -> None:
    assert _answer("t.roll(x, 1, None)", ts) == [[5.0, 0.0, 1.0], [2.0, 3.0, 4.0]]


@pytest.mark.torch
@pytest.mark.parametrize("call", _NOT_SAID)
def test_none_for_a_list_as_pytorch(call: str) -> None:
    torch = pytest.importorskip("torch")
    assert _answer(call, ts) == _answer(call, torch)

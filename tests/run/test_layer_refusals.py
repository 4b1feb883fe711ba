"""Sizes that the operators of layers refuse, in PyTorch's words."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as ts

CALLS = (
    "F.pixel_shuffle(t.ones(2, 2), 2)",
    "F.pixel_shuffle(t.ones(1, 8, 2, 2), 3)",
    "F.pixel_shuffle(t.ones(1, 4, 2, 2), 0)",
    "F.pixel_unshuffle(t.ones(2, 2), 2)",
    "F.pixel_unshuffle(t.ones(1, 1, 3, 4), 2)",
    "F.pixel_unshuffle(t.ones(1, 1, 4, 3), 2)",
    "F.channel_shuffle(t.ones(1, 4, 2, 3), 3)",
    "F.channel_shuffle(t.ones(4, 2), 2)",
    "F.batch_norm(t.ones(2, 5, 3), t.zeros(4), t.ones(4))",
    "F.batch_norm(t.ones(2, 5, 3), t.zeros(5), t.ones(4))",
    "F.batch_norm(t.ones(2, 5, 3), t.zeros(5), t.ones(5), t.ones(4))",
    "F.batch_norm(t.ones(2, 5, 3), t.zeros(5), t.ones(5), None, t.ones(4))",
    "F.batch_norm(t.ones(2, 5, 3), t.zeros(4), t.ones(4), training=True)",
    "F.instance_norm(t.ones(2, 5, 3), t.zeros(4), t.ones(4))",
    "F.instance_norm(t.ones(2, 5, 3), None, None, t.ones(4))",
    "F.fold(t.ones(1, 8, 4), (4, 5), 2)",
    "F.fold(t.ones(1, 7, 4), (4, 5), 2)",
    "F.fold(t.ones(4), (4, 5), 2)",
    "F.bilinear(t.ones(5, 3), t.ones(4, 2), t.ones(4, 3, 2))",
    "F.bilinear(t.ones(5, 3), t.ones(5, 2), t.ones(4, 3, 3))",
    "F.bilinear(t.ones(5, 2), t.ones(5, 2), t.ones(4, 3, 2))",
    "F.bilinear(t.ones(5, 3), t.ones(5, 2, 1), t.ones(4, 3, 2))",
    "F.nll_loss(t.ones(3, 5), t.tensor([[1], [0], [2]]))",
    "F.cross_entropy(t.ones(3, 5), t.ones(3, 5), label_smoothing=2.0)",
    "F.cross_entropy(t.ones(3, 5), t.tensor([1, 2, 3]), label_smoothing=1.5)",
    "F.embedding(t.tensor([5]), t.ones(5, 3), max_norm=1.0)",
    "F.embedding_bag(t.tensor([1, 2]), t.ones(5, 3), t.tensor([1, 2]))",
    "F.max_unpool2d(t.ones(1, 1, 2, 2), t.tensor([[[[0, 1], [50, 2]]]]), 2)",
    "t.nn.LSTMCell(3, 4)(t.ones(2, 5))",
    "t.nn.LSTMCell(3, 4)(t.ones(2, 3), (t.ones(3, 4), t.ones(3, 4)))",
    "t.nn.LSTMCell(3, 4)(t.ones(2, 3), (t.ones(2, 5), t.ones(2, 5)))",
    "t.nn.GRUCell(3, 4)(t.ones(2, 3), t.ones(3, 4))",
    "t.nn.RNNCell(3, 4)(t.ones(2, 3), t.ones(2, 5))",
    "t.ones(2, 4).unflatten(0, (2, 2))",
    "t.ones(2, 4).unflatten(0, (-1, 3))",
    "t.ones(2).unflatten(0, ())",
    "F.cosine_embedding_loss(t.ones(3, 2), t.ones(3), t.tensor([1, -1, 1]))",
    "t.nn.GRU(3, 4)(t.ones(2, 3, 3), t.ones(1, 2, 4))",
    "F.fold(t.ones(8, 13), (4, 5), 2, padding=1)",
    "F.kl_div(t.ones(3, 4), t.ones(2, 4), reduction='sum')",
    "F.avg_pool1d(t.ones(3), 2)",
    "F.max_pool3d(t.ones(2, 7, 3), 1)",
    "F.max_pool2d(t.ones(3), 1)",
    "F.max_pool2d(t.ones(2, 0, 4, 5), 2)",
    "F.conv_transpose1d(t.ones(3), t.ones(1, 1, 1))",
)


def refusal(call: str, library: Any) -> tuple[bool, str]:
    """Whether it is an IndexError, and the first line."""
    with pytest.raises((RuntimeError, IndexError)) as caught:
        eval(call, {"t": library, "F": library.nn.functional})
    return isinstance(caught.value, IndexError), str(caught.value).partition("\n")[0]


def test_a_norm_of_other_statistics() -> None:
    with pytest.raises(RuntimeError, match="running_mean should contain 5 elements not 4"):
        ts.nn.BatchNorm1d(4)(ts.ones(2, 5, 3))


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLS)
def test_as_pytorch(call: str) -> None:
    torch = pytest.importorskip("torch")
    assert refusal(call, ts) == refusal(call, torch)

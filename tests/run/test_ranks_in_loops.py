"""Tensors that a loop makes of another rank: what is carried is one of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts
from tensorscript import Tensor, nn

Cache = tuple[Tensor, Tensor]


def made_in_the_loop(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    found = ts.empty(0)
    i = 0
    while i < n:
        found = x @ x.t()
        x = x + found[:, :1]
        i += 1
    return found, x


def deeper(x: Tensor, n: int) -> Tensor:
    y = x
    for _ in range(n):
        y = y.unsqueeze(0) if y.dim() < 3 else y * 2
    return y


def summed(x: Tensor, n: int) -> Tensor:
    total = ts.zeros(1)
    for i in range(n):
        total = total + x[i] if total.dim() == 1 else total
    return total


@pytest.mark.parametrize("program", [made_in_the_loop, deeper, summed])
def test_equals_the_interpreter(program: Callable[..., Any]) -> None:
    x = ts.arange(12.0).reshape(3, 4)
    compiled = ts.compile(program, (x, 2), fallback="error")
    for n in (0, 1, 2, 3):
        found, wanted = compiled(x, n), ts.jit.script(program)(x, n)
        pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
        for one, other in pairs:
            assert one.shape == other.shape
            assert ts.allclose(one, other)


class Decoder(nn.Module):
    """Generates tokens greedily, keys and values of earlier ones kept."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.mixed = nn.Linear(8, 24)
        self.scores = nn.Linear(8, 11)

    def step(self, words: Tensor, kept: Cache | None) -> tuple[Tensor, Cache]:
        q, k, v = self.mixed(self.words(words)).chunk(3, 2)
        if kept is not None:
            k, v = ts.cat([kept[0], k], 1), ts.cat([kept[1], v], 1)
        y = ts.softmax(q @ k.transpose(1, 2), -1) @ v
        return self.scores(y[:, -1]), (k, v)

    def forward(self, words: Tensor, length: int) -> tuple[Tensor, Tensor]:
        kept: Cache | None = None
        last, scores = words, ts.empty(0)
        while words.size(1) < length:
            scores, kept = self.step(last, kept)
            last = scores.argmax(-1, keepdim=True)
            words = ts.cat([words, last], 1)
        return words, scores


def test_a_decoder_keeps_what_it_has_seen() -> None:
    ts.manual_seed(0)
    decoder = Decoder().eval()
    words = ts.tensor([[1, 2, 3], [4, 5, 6]])
    compiled = ts.compile(decoder, (words, 7), fallback="error")
    scripted = ts.jit.script(decoder)
    for length in (2, 4, 7, 12):
        found, wanted = compiled(words, length), scripted(words, length)
        assert found[0].tolist() == wanted[0].tolist()
        assert found[1].shape == wanted[1].shape
        assert ts.allclose(found[1], wanted[1], atol=1e-5)

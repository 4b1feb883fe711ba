"""Models of sequences, written with `torch.nn`, or our own where PyTorch is not installed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from peers import lib
from transformer_layer import Layer
from workload import Arguments, Workload, model, normal

nn = lib.nn


class Encoder(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """MiniLM-L6, a small BERT: the vectors of a text's tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, 384)
        self.places = nn.Embedding(512, 384)
        self.norm = nn.LayerNorm(384)
        self.layers = nn.Sequential(*(Layer(384, 12, before=False) for _ in range(6)))

    def forward(self, tokens):
        x = self.words(tokens) + self.places(lib.arange(tokens.shape[1]))
        return self.layers(self.norm(x))


class Decoder(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """GPT-2 small: the scores of the token that comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50257, 768)
        self.places = nn.Embedding(1024, 768)
        self.layers = nn.Sequential(*(Layer(768, 12, before=True, causal=True) for _ in range(12)))
        self.norm = nn.LayerNorm(768)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(lib.arange(tokens.shape[1]))
        return self.norm(self.layers(x)[:, -1]) @ self.words.weight.t()


class Recurrent(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """The outputs of an LSTM over a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(64, 128, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def _tokens(batch: int, length: int, words: int) -> Callable[[np.random.Generator], Arguments]:
    return lambda random: (random.integers(0, words, (batch, length)),)


TEXT_MODELS: tuple[Workload, ...] = (
    *(
        model(f"MiniLM, S=128, batch {n}", Encoder, _tokens(n, 128, 30522), n * 2.872e9)
        for n in (1, 8)
    ),
    *(
        model(f"GPT-2 small, S=64, batch {n}", Decoder, _tokens(n, 64, 50257), n * 11.10e9)
        for n in (1, 8)
    ),
    *(
        model(f"LSTM 64 to 128, T=100, batch {n}", Recurrent, normal((n, 100, 64)), n * 19.66e6)
        for n in (1, 8)
    ),
)

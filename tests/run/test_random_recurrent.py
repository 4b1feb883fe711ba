"""Random recurrent networks compute natively what they compute in eager mode.

Layers, directions, projections, packed sequences and cells in a loop, between layers that are fused
with them. What is traced takes batches of other sizes, but for packed sequences, whose first state
the trace makes for the batch that it saw.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

NETWORKS = 5
LAYERS: dict[str, Any] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN, "packed": nn.GRU}
CELLS: tuple[Any, ...] = (nn.LSTMCell, nn.GRUCell, nn.RNNCell)
KINDS = (*LAYERS, *LAYERS, "packed", "cell", "linear", "norm", "convolve")
WIDTHS = (1, 4, 8, 16, 17, 33)


class Network(nn.Module):
    """Up to three layers of batches of sequences, of which some have a state of their own."""

    def __init__(self, random: Random, width: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList()
        self.steps: list[tuple[str, bool, bool]] = []
        for _ in range(random.randint(1, 3)):
            kind, out = random.choice(KINDS), random.choice(WIDTHS)
            first, given = random.random() < 0.5, random.random() < 0.4
            if kind in LAYERS:
                part, width = _recurrent(random, kind, width, out, first)
            elif kind == "norm":
                part = nn.LayerNorm(width, eps=0.1)
            else:
                makers: dict[str, Any] = {"linear": nn.Linear, "cell": random.choice(CELLS)}
                made = nn.Conv1d(width, out, 3, 1, 1) if kind == "convolve" else None
                part, width = made or makers[kind](width, out), out
            self.parts.append(part)
            self.steps.append((kind, first, given))

    def forward(self, x: ts.Tensor, lengths: ts.Tensor) -> ts.Tensor:
        for (kind, first, given), part in zip(self.steps, self.parts, strict=True):
            if kind in LAYERS:
                turned = x if first else x.transpose(0, 1)
                made = _run(kind, part, turned, lengths, given)
                x = made if first else made.transpose(0, 1)
            elif kind == "convolve":
                x = ts.tanh(part(x.transpose(1, 2))).transpose(1, 2)
            elif kind == "cell":
                x = _unrolled(part, x)
            else:
                x = part(x)
        return x


def _recurrent(
    random: Random, kind: str, width: int, out: int, first: bool
) -> tuple[nn.Module, int]:
    options: dict[str, Any] = {"num_layers": random.choice([1, 1, 2]), "batch_first": first}
    options |= {"bias": random.random() < 0.8, "bidirectional": random.random() < 0.4}
    if kind == "lstm" and out > 1 and random.random() < 0.4:
        options["proj_size"] = random.randrange(1, out)
    if kind == "rnn":
        options["nonlinearity"] = random.choice(["tanh", "relu"])
    made = LAYERS[kind](width, out, **options)
    return made, (options.get("proj_size") or out) * (1 + options["bidirectional"])


def _run(kind: str, part: Any, x: ts.Tensor, lengths: ts.Tensor, given: bool) -> ts.Tensor:
    if kind == "packed":
        packed = pack_padded_sequence(x, lengths, part.batch_first, enforce_sorted=False)
        count = x.shape[1 if part.batch_first else 0]
        return pad_packed_sequence(part(packed)[0], part.batch_first, total_length=count)[0]
    if not given:
        made, state = part(x)
    else:
        batch = x.shape[0 if part.batch_first else 1]
        count = part.num_layers * (1 + part.bidirectional)
        start = x.new_zeros(count, batch, part.proj_size or part.hidden_size) + x.mean()
        other = x.new_ones(count, batch, part.hidden_size)
        made, state = part(x, (start, other) if kind == "lstm" else start)
    last = state[1] if kind == "lstm" else state
    return made * ts.cos(last.mean())


def _unrolled(cell: nn.Module, x: ts.Tensor) -> ts.Tensor:
    state: Any = None
    found = []
    for t in range(x.shape[1]):
        state = cell(x[:, t], state)
        found.append(state[0] if isinstance(state, tuple) else state)
    return ts.stack(found, 1)


@pytest.mark.parametrize("first", range(0, 3 * NETWORKS, NETWORKS))
def test_networks(first: int) -> None:
    for seed in range(first, first + NETWORKS):
        random = Random(seed)
        ts.manual_seed(seed)
        width, count = random.choice(WIDTHS), random.choice([1, 2, 5, 9])
        network = Network(random, width).eval()
        batches = [random.choice([1, 2, 5]), random.choice([1, 3])]
        run: Any = None
        for batch in batches[: 1 if "packed" in [kind for kind, *_ in network.steps] else 2]:
            x, lengths = ts.randn(batch, count, width), ts.randint(1, count + 1, (batch,))
            lengths[random.randrange(batch)] = count
            if run is None:
                traced = ts.jit.trace(network, (x, lengths), check_trace=False)
                run = ts.compile(traced, fallback="error", cache=False)
            expected = network(x, lengths).detach().numpy()
            found = run(x, lengths).detach().numpy()
            bound = 2e-5 * max(float(np.abs(expected).max()), 1.0)
            message = f"{seed}: {network.steps} {batch} {count} {width}"
            np.testing.assert_allclose(found, expected, 0, bound, err_msg=message)

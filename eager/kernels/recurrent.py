"""Recurrent layers: LSTM, GRU and plain RNN, their cells, several layers and both directions.

Weights come per layer and direction as (w_ih, w_hh[, b_ih, b_hh][, w_hr]); gates are stacked in
PyTorch's order: input, forget, cell, output for the LSTM; reset, update, new for the GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import Array, compute, wrap
from .activation import dropout
from .elementwise import logistic

Kernel = Callable[..., Any]
State = tuple[Array, ...]
Step = Callable[[Array, State, Sequence[Array | None]], State]


def _gates(x: Array, w: Array | None, b: Array | None) -> Array:
    if w is None:
        raise OperatorError("a recurrent layer needs both of its weights")
    out = x @ w.T
    return out if b is None else out + b


def lstm_step(x: Array, state: State, p: Sequence[Array | None]) -> State:
    """One step; a fifth weight projects the hidden state (Sak and others, 2014)."""
    h, c = state
    i, f, g, o = np.split(_gates(x, p[0], p[2]) + _gates(h, p[1], p[3]), 4, -1)
    new = logistic(f) * c + logistic(i) * np.tanh(g)
    hidden = logistic(o) * np.tanh(new)
    return (hidden if len(p) < 5 else _gates(hidden, p[4], None)), new


def gru_step(x: Array, state: State, p: Sequence[Array | None]) -> State:
    (h,) = state
    xr, xz, xn = np.split(_gates(x, p[0], p[2]), 3, -1)
    hr, hz, hn = np.split(_gates(h, p[1], p[3]), 3, -1)
    z = logistic(xz + hz)
    new = np.tanh(xn + logistic(xr + hr) * hn)
    return (new + z * (h - new),)


def plain_step(fn: Callable[[Array], Array]) -> Step:
    return lambda x, state, p: (fn(_gates(x, p[0], p[2]) + _gates(state[0], p[1], p[3])),)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _direction(step: Step, x: Array, state: State, p: Sequence[Array | None],
               backward: bool) -> tuple[Array, State]:  # fmt: skip
    """x (T, N, input) -> outputs (T, N, hidden) and the last state."""
    outputs: list[Array] = []
    for t in range(x.shape[0] - 1, -1, -1) if backward else range(x.shape[0]):
        state = step(x[t], state, p)
        outputs.append(state[0])
    return np.stack(outputs[::-1] if backward else outputs), state


def layers(step: Step, states: int) -> Kernel:
    """The whole network; `states` arrays (layers * directions, N, hidden) go in and come out."""

    def run(
        self: Any, hx: Any, params: Sequence[Any], has_biases: bool, num_layers: int, p: float,
        train: bool, bidirectional: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        given = hx if isinstance(hx, (list, tuple)) else [hx]
        x, start = compute(self), [compute(h) for h in given]
        unbatched = x.ndim == 2
        if unbatched:
            x, start = x[:, None], [h[:, None] for h in start]
        elif batch_first:
            x = x.swapaxes(0, 1)
        if not len(x):
            raise OperatorError("Expected sequence length to be larger than 0 in RNN")
        biases = 4 if has_biases else 2
        projected = states == 2 and start[0].shape[-1] != start[1].shape[-1]
        width = biases + projected
        directions = 2 if bidirectional else 1
        last: list[list[Array]] = [[] for _ in range(states)]
        for layer in range(num_layers):
            outputs = []
            for d in range(directions):
                k = layer * directions + d
                own = [compute(w) for w in params[k * width : (k + 1) * width]]
                weights = [*own[:biases], *[None] * (4 - biases), *own[biases:]]
                out, end = _direction(step, x, tuple(s[k] for s in start), weights, d == 1)
                outputs.append(out)
                for column, s in zip(last, end, strict=True):
                    column.append(s)
            x = np.concatenate(outputs, -1)
            if p and train and layer + 1 < num_layers:
                x = compute(dropout(wrap(x, self.dtype), p, True))
        ends = [np.stack(column) for column in last]
        if unbatched:
            x, ends = x[:, 0], [e[:, 0] for e in ends]
        elif batch_first:
            x = x.swapaxes(0, 1)
        return (wrap(x, self.dtype), *(wrap(e, self.dtype) for e in ends))

    return run


def cell(step: Step, states: int) -> Kernel:
    def run(self: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        given = hx if isinstance(hx, (list, tuple)) else [hx]
        weights = [None if w is None else compute(w) for w in (w_ih, w_hh, b_ih, b_hh)]
        out = step(compute(self), tuple(compute(h) for h in given), weights)
        made = tuple(wrap(o, self.dtype) for o in out)
        return made if states > 1 else made[0]

    return run


KERNELS: dict[str, Kernel] = {
    "aten::lstm.input": layers(lstm_step, 2),
    "aten::gru.input": layers(gru_step, 1),
    "aten::rnn_tanh.input": layers(plain_step(np.tanh), 1),
    "aten::rnn_relu.input": layers(plain_step(relu), 1),
    "aten::lstm_cell": cell(lstm_step, 2),
    "aten::gru_cell": cell(gru_step, 1),
    "aten::rnn_tanh_cell": cell(plain_step(np.tanh), 1),
    "aten::rnn_relu_cell": cell(plain_step(relu), 1),
}

"""Rows of recurrent networks: the input part is one product for all steps, then one tg.loop.

```
gates_x = x @ w_ih.T + b_ih                        (T, B, G * H), outside of the loop
for t in 0 .. T:   h, c = cell(gates_x[t] + h @ w_hh.T + b_hh, h, c);   y[t] = h
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.te.expr import Expr, binary, call, const

from .builder import Builder, Rows
from .elements import compute_dtype
from .joining import cat, stack
from .linalg import linear
from .loops import loop
from .sizes import simplify, sizes_text
from .slicing import narrow, select_at
from .values import Tensor, Value
from .view import transpose

State = list[Tensor]
Cell = Callable[[Builder, Tensor, Tensor, State], State]
"""Gates of the input and of the state, the state before; gives the state after (h first)."""


def sigmoid(e: Expr) -> Expr:
    return call("sigmoid", e)


def tanh(e: Expr) -> Expr:
    return call("tanh", e)


def _parts(b: Builder, gates: Tensor, count: int) -> list[Tensor]:
    size = simplify(gates.shape[-1] // count)
    message = f"weights of {gates.shape[-1]} rows are not those of {count} gates"
    b.require_same(gates.shape[-1], simplify(size * count), message)
    return [narrow(b, gates, -1, simplify(size * k), size) for k in range(count)]


def _pointwise(b: Builder, fn: Callable[..., Expr], *tensors: Tensor) -> Tensor:
    dtype = tensors[0].dtype
    return b.pointwise(fn, *tensors, dtype=dtype, compute=compute_dtype(dtype))


def lstm_cell(b: Builder, given: Tensor, hidden: Tensor, state: State) -> State:
    """h and c after a step, from the gates (N, 4 H) of the input and of the state: i, f, g, o."""
    gates = [*_parts(b, given, 4), *_parts(b, hidden, 4)]

    def memory(c: Expr, *g: Expr) -> Expr:
        i, f, n = g[0] + g[4], g[1] + g[5], g[2] + g[6]
        return sigmoid(f) * c + sigmoid(i) * tanh(n)

    c = _pointwise(b, memory, state[1], *gates)
    h = _pointwise(b, lambda m, p, q: sigmoid(p + q) * tanh(m), c, gates[3], gates[7])
    return [h, c]


def gru_cell(b: Builder, given: Tensor, hidden: Tensor, state: State) -> State:
    """h after a step, from the gates (N, 3 H) of the input and of the state: r, z, n."""
    gates = [*_parts(b, given, 3), *_parts(b, hidden, 3)]

    def new(h: Expr, *g: Expr) -> Expr:
        r, z = sigmoid(g[0] + g[3]), sigmoid(g[1] + g[4])
        n = tanh(g[2] + r * g[5])
        return (h - n) * z + n

    return [_pointwise(b, new, state[0], *gates)]


def simple_cell(fn: Callable[[Expr], Expr]) -> Cell:
    """A cell of one activation of the sum."""

    def cell(b: Builder, given: Tensor, hidden: Tensor, state: State) -> State:
        return [_pointwise(b, lambda p, q: fn(p + q), given, hidden)]

    return cell


def _layer(
    b: Builder,
    x: Tensor,
    state: State,
    weights: Sequence[Tensor | None],
    cell: Cell,
    back: bool,
    mask: Tensor | None,
) -> tuple[Tensor, State]:
    """One direction of one layer over x of (T, B, I): outputs (T, B, H) and the last state."""
    w_input, w_hidden, b_input, b_hidden, w_projection = weights
    assert w_input is not None and w_hidden is not None
    given = linear(b, x, w_input, b_input)
    steps, hidden = x.shape[0], state[0].shape[-1]
    y = b.full((steps, x.shape[1], hidden), 0, x.dtype)

    def body(arguments: Sequence[Value]) -> list[Value]:
        counter, *now = arguments
        at = simplify(steps - 1 - counter) if back else counter
        if isinstance(at, Expr) and at.op == "var":
            b.bounds.setdefault(str(at.value), steps)
        gates = select_at(b, given, 0, at)
        after = cell(b, gates, linear(b, now[0], w_hidden, b_hidden), now)
        if w_projection is not None:
            after[0] = linear(b, after[0], w_projection, None)
        if mask is not None:
            runs = b.call("aten::unsqueeze", select_at(b, mask, 0, at), -1)
            after = [
                b.apply("aten::where", runs, s, old) for s, old in zip(after, now, strict=True)
            ]
        b.write(select_at(b, y, 0, at), after[0])
        return [True, *after]

    values = loop(b, _trips(steps), True, list(state), body, 64)
    return y, values


def _trips(steps: Expr) -> Value:
    return int(str(steps.value)) if steps.op == "const" else steps


def network_over(
    b: Builder,
    x: Tensor,
    states: list[Tensor],
    weights: list[Tensor],
    has_biases: bool,
    layers: int,
    dropout: Value,
    training: Value,
    bidirectional: bool,
    batch_first: bool,
    cell: Cell,
    mask: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """The outputs and the last states of all layers.

    Args:
        mask: (T, B), whether a sequence has a step; a state without one stays as it is.
    """
    unbatched = x.rank == 2
    if unbatched:
        x = b.call("aten::unsqueeze", x, 1)
        states = [b.call("aten::unsqueeze", s, 1) for s in states]
    elif batch_first:
        x = transpose(b, x, 0, 1)
    directions, biases = 2 if bidirectional else 1, 4 if has_biases else 2
    for s in states:
        message = (
            f"Expected hidden size {[layers * directions, x.shape[1], s.shape[-1]]}, got"
            f" {sizes_text(s.shape)}"
        )
        b.require_alike(s.shape[:2], [const(layers * directions), x.shape[1]], message)
    # A projected LSTM has one weight more in each direction of each layer.
    each, rest = divmod(len(weights), layers * directions)
    projected = each == biases + 1 and len(states) == 2
    if rest or each != biases + projected:
        b.error("got an incorrect number of RNN parameters")
    last: list[list[Tensor]] = [[] for _ in states]
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            k = layer * directions + d
            own: list[Tensor | None] = [*weights[k * each : (k + 1) * each]]
            own = [*own[:biases], *[None] * (4 - biases), *own[biases:], *[None] * (not projected)]
            start = [select_at(b, s, 0, k) for s in states]
            y, after = _layer(b, x, start, own, cell, d == 1, mask)
            outputs.append(y)
            for kept, s in zip(last, after, strict=True):
                kept.append(s)
        x = cat(b, outputs, -1) if directions > 1 else outputs[0]
        if dropout and training is not False and layer + 1 < layers:
            x = b.apply("aten::dropout", x, dropout, training)
    ends = [stack(b, s, 0) for s in last]
    if unbatched:
        return b.call("aten::squeeze", x, 1), *(b.call("aten::squeeze", s, 1) for s in ends)
    return transpose(b, x, 0, 1) if batch_first else x, *ends


def _lstm(b: Builder, x: Tensor, state: Value, weights: Value, *options: Value) -> Value:
    biases, layers, dropout, training, both, first = options
    return network_over(
        b, x, state, weights, biases, layers, dropout, training, both, first, lstm_cell
    )


def network(cell: Cell) -> Callable[..., Value]:
    """Rows of `rnn_tanh`, `rnn_relu` and `gru`: layers over time of cells with one state."""

    def row(b: Builder, x: Tensor, state: Value, weights: Value, *options: Value) -> Value:
        biases, layers, dropout, training, both, first = options
        return network_over(
            b, x, [state], weights, biases, layers, dropout, training, both, first, cell
        )

    return row


def _one_step(cell: Cell, is_lstm: bool = False) -> Callable[..., Value]:
    def row(
        b: Builder,
        x: Tensor,
        state: Value,
        w_in: Tensor,
        w_h: Tensor,
        b_in: Value = None,
        b_h: Value = None,
        *_: Value,
    ) -> Value:
        before = state if is_lstm else [state]
        after = cell(b, linear(b, x, w_in, b_in), linear(b, before[0], w_h, b_h), before)
        return tuple(after) if is_lstm else after[0]

    return row


def relu(e: Expr) -> Expr:
    return binary("max", e, const(0, e.dtype))


RECURRENT: Rows = {
    "aten::lstm": _lstm,
    "aten::gru": network(gru_cell),
    "aten::rnn_tanh": network(simple_cell(tanh)),
    "aten::rnn_relu": network(simple_cell(relu)),
    "aten::lstm_cell": _one_step(lstm_cell, True),
    "aten::gru_cell": _one_step(gru_cell),
    "aten::rnn_tanh_cell": _one_step(simple_cell(tanh)),
    "aten::rnn_relu_cell": _one_step(simple_cell(relu)),
}

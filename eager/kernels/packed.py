"""Packed sequences: rows of all sequences still running at step 0, then at step 1, and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, int64
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, make, to_storage, wrap
from .recurrent import State, Step, gru_step, lstm_step, plain_step, relu

Kernel = Callable[..., Any]


def pack(self: Any, lengths: Any, batch_first: bool) -> Any:
    """self (T, N, *) and lengths (N), longest first -> data (sum, *) and batch sizes (T)."""
    x, counts = array(self), array(lengths)
    if batch_first:
        x = x.swapaxes(0, 1)
    if counts.size != x.shape[1]:
        raise OperatorError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {counts.size} (batch_size="
            f"{x.shape[1]})"
        )
    if counts.size and counts.min() <= 0:
        raise OperatorError("Length of all samples has to be greater than 0, but found an element "
                            "in 'lengths' that is <= 0")  # fmt: skip
    if (np.diff(counts) > 0).any():
        raise OperatorError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if counts.max(initial=0) > x.shape[0]:
        raise OperatorError(
            f"Expected lengths of at most {x.shape[0]}, the steps of the batch, but got "
            f"{counts.max()}"
        )
    sizes = [int((counts > t).sum()) for t in range(int(counts.max(initial=0)))]
    data = np.concatenate([x[t, :n] for t, n in enumerate(sizes)])
    return make(data, self.dtype), wrap(np.asarray(sizes), int64)


def unpack(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int
) -> Any:
    """The inverse; `total_length` may ask for more steps, -1 for as many as there are."""
    rows, sizes = array(data), array(batch_sizes).tolist()
    steps = len(sizes) if total_length <= 0 else total_length
    if steps < len(sizes):
        raise OperatorError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {len(sizes)}"
        )
    out = _filled((steps, sizes[0], *rows.shape[1:]), padding_value, data.dtype)
    start = 0
    for t, n in enumerate(sizes):
        out[t, :n] = rows[start : start + n]
        start += n
    lengths = [sum(n > k for n in sizes) for k in range(sizes[0])]
    made = out.swapaxes(0, 1) if batch_first else out
    return make(made, data.dtype), wrap(np.asarray(lengths), int64)


def _filled(shape: tuple[int, ...], number: Any, dtype: DType) -> Array:
    return np.full(shape, to_storage(np.asarray(number), dtype))


def pad_sequence(
    sequences: Sequence[Any],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Sequences (T_k, *) -> (T, N, *), or (N, T, *), of the longest T, filled up on one side."""
    if not sequences:
        raise OperatorError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise OperatorError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    rows, dtype = [array(s) for s in sequences], sequences[0].dtype
    steps, rest = max(len(r) for r in rows), rows[0].shape[1:]
    out = _filled((len(rows), steps, *rest), padding_value, dtype)
    for k, row in enumerate(rows):
        if row.shape[1:] != rest:
            raise OperatorError(
                "The size of tensor a must match the size of tensor b: sequences may differ in "
                f"their first dimension only, not {list(row.shape)} and {list(rows[0].shape)}"
            )
        start = 0 if padding_side == "right" else steps - len(row)
        out[k, start : start + len(row)] = row
    return make(out if batch_first else np.ascontiguousarray(out.swapaxes(0, 1)), dtype)


def _direction(step: Step, rows: Array, sizes: Sequence[int], state: State,
               p: Sequence[Array | None], backward: bool) -> tuple[Array, State]:  # fmt: skip
    """rows (sum, input) -> outputs (sum, hidden) and each sequence's own last state."""
    starts = np.cumsum([0, *sizes])
    full = [s.copy() for s in state]
    outputs: list[Array] = []
    for t in range(len(sizes) - 1, -1, -1) if backward else range(len(sizes)):
        n = sizes[t]
        new = step(rows[starts[t] : starts[t] + n], tuple(s[:n] for s in full), p)
        for held, s in zip(full, new, strict=True):
            held[:n] = s
        outputs.append(new[0])
    return np.concatenate(outputs[::-1] if backward else outputs), tuple(full)


def _check_states(states: Sequence[Array], cells: int, batch: int) -> None:
    """Refuse first states (cells, batch, hidden) of another number of cells or another batch."""
    for state in states:
        if state.shape[0] != cells:
            raise OperatorError("Expected more hidden states in stacked_rnn")
        if state.shape[1] != batch:
            raise OperatorError(
                f"The size of tensor a ({state.shape[1]}) must match the size of tensor b "
                f"({batch}) at non-singleton dimension 0"
            )


def layers(step: Step, states: int) -> Kernel:
    """As the layers of `recurrent`, over packed rows."""

    def run(data: Any, batch_sizes: Any, hx: Any, params: Sequence[Any], has_biases: bool,
            num_layers: int, p: float, train: bool, bidirectional: bool) -> Any:  # fmt: skip
        if p and train and num_layers > 1:
            raise OperatorError("dropout between the layers of a packed recurrent network is not "
                                "available")  # fmt: skip
        given = hx if isinstance(hx, (list, tuple)) else [hx]
        x, start = compute(data), [compute(h) for h in given]
        sizes = array(batch_sizes).tolist()
        _check_states(start, num_layers * (2 if bidirectional else 1), sizes[0])
        width, directions = (4 if has_biases else 2), (2 if bidirectional else 1)
        last: list[list[Array]] = [[] for _ in range(states)]
        for layer in range(num_layers):
            outputs = []
            for d in range(directions):
                k = layer * directions + d
                own = [compute(w) for w in params[k * width : (k + 1) * width]]
                weights = [*own, *[None] * (4 - width)]
                state = tuple(s[k] for s in start)
                out, end = _direction(step, x, sizes, state, weights, d == 1)
                outputs.append(out)
                for column, s in zip(last, end, strict=True):
                    column.append(s)
            x = np.concatenate(outputs, -1)
        return (wrap(x, data.dtype), *(wrap(np.stack(column), data.dtype) for column in last))

    return run


KERNELS: dict[str, Kernel] = {
    "aten::_pack_padded_sequence": pack,
    "aten::_pad_packed_sequence": unpack,
    "aten::pad_sequence": pad_sequence,
    "aten::lstm.data": layers(lstm_step, 2),
    "aten::gru.data": layers(gru_step, 1),
    "aten::rnn_tanh.data": layers(plain_step(np.tanh), 1),
    "aten::rnn_relu.data": layers(plain_step(relu), 1),
}

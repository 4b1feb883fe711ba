"""Rows of packed sequences: those of all sequences still running at step 0, then at step 1, ...

How many rows there are depends on the lengths, which the program finds; the mask of the steps that
each sequence has says the rest. Its places, row-major, are the rows in order.

```
lengths  3 1 1         batch sizes  3 1 1          rows  (0,0) (0,1) (0,2) (1,0) (2,0)
mask     1 1 1 / 1 0 0 / 1 0 0   (T, B)
```
A recurrent network runs over padded rows; a sequence that has ended, or not begun, keeps its state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, const, select
from tensorscript.dialects.tg import ops as tg

from .builder import Builder, Rows
from .compaction import places
from .dims import sizes_of
from .elements import as_expr
from .emission import Body
from .joining import stack
from .recurrent import Cell, gru_cell, lstm_cell, network_over, relu, simple_cell, tanh
from .scalar_values import to_text
from .sizes import simplify
from .slicing import select_at
from .values import Tensor, Value
from .view import transpose


def _mask(b: Builder, batch_sizes: Tensor, batch: Expr) -> Tensor:
    """(T, B): whether a sequence has a step."""

    def make(body: Body, i: list[Expr]) -> Expr:
        return binary("lt", i[1], body.read(batch_sizes, i[:1], int64))

    return b.compute([batch_sizes.shape[0], batch], bool_, make)


def _rows(b: Builder, x: Tensor, mask: Tensor) -> Tensor:
    """The rows of x (T, B, *) where the mask holds."""
    numbers, batch = places(b, mask), x.shape[1]

    def make(body: Body, i: list[Expr]) -> Expr:
        at = body.read(numbers, i[:1], int64)
        return body.read(x, [at // batch, at % batch, *i[1:]], x.dtype)

    return b.compute([*numbers.shape, *x.shape[2:]], x.dtype, make, tg.GatherOp)


def _pack(b: Builder, x: Tensor, lengths: Tensor, batch_first: bool) -> Value:
    """x (T, B, *) and lengths (B), longest first -> data (sum, *) and batch sizes."""
    if batch_first:
        x = transpose(b, x, 0, 1)
    steps, batch = x.shape[:2]
    count = lengths.shape[0]
    b.require_same(
        count,
        batch,
        f"Expected `len(lengths)` to be equal to batch_size, but got {count} (batch_size={batch})",
    )
    _check_lengths(b, lengths, steps)
    longest = b.size(b.scalar_of(b.scalar_operand(b.item(select_at(b, lengths, 0, 0)))))

    def running(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return select(binary("lt", i[0], body.read(lengths, r, int64)), const(1), const(0))

    batch_sizes = b.reduce([longest], [batch], int64, "add", running)
    b.batches[batch_sizes.storage] = batch

    def has(body: Body, i: list[Expr]) -> Expr:
        return binary("lt", i[0], body.read(lengths, i[1:], int64))

    return _rows(b, x, b.compute([steps, batch], bool_, has)), batch_sizes


def _check_lengths(b: Builder, lengths: Tensor, steps: Expr) -> None:
    def all_of(test: Callable[[Body, list[Expr]], Expr]) -> Value:
        return b.item(b.reduce((), lengths.shape, bool_, "and", lambda body, i, r: test(body, r)))

    def falls(body: Body, r: list[Expr]) -> Expr:
        before = body.read(lengths, [binary("max", r[0] - 1, 0)], int64)
        return binary("ge", before, body.read(lengths, r, int64))

    b.check(
        all_of(lambda body, r: binary("gt", body.read(lengths, r, int64), 0)),
        "Length of all samples has to be greater than 0, but found an element in 'lengths' that"
        " is <= 0",
    )
    b.check(
        all_of(falls),
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can"
        " pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this"
        " requirement if you do not need ONNX exportability.",
    )
    b.check(
        all_of(lambda body, r: binary("le", body.read(lengths, r, int64), b.unsized(steps))),
        "a length is greater than the number of steps",
    )


def _batch(b: Builder, batch_sizes: Tensor) -> Expr:
    """How many sequences were packed."""
    known = b.batches.get(batch_sizes.storage)
    if known is not None and batch_sizes.indices is None:
        return known
    return b.size(b.scalar_of(b.scalar_operand(b.item(select_at(b, batch_sizes, 0, 0)))))


def _padded(b: Builder, data: Tensor, batch_sizes: Tensor, steps: Expr, value: Value) -> Tensor:
    """data (sum, *) -> (steps, B, *) with `value` where there are no rows."""
    found, batch = batch_sizes.shape[0], _batch(b, batch_sizes)
    ends = b.fresh(b.emit(tg.ScanOp(b.ssa(batch_sizes), 0, "add")).result)

    def make(body: Body, i: list[Expr]) -> Expr:
        t = binary("min", i[0], found - 1)
        own = body.read(batch_sizes, [t], int64)
        has = binary("and", binary("lt", i[0], found), binary("lt", i[1], own))
        row = select(has, body.read(ends, [t], int64) - own + i[1], const(0))
        return select(
            has, body.read(data, [row, *i[2:]], data.dtype), body.scalar(value, data.dtype)
        )

    return b.compute([steps, batch, *data.shape[1:]], data.dtype, make, tg.GatherOp)


def _steps(b: Builder, found: Expr, total: Value) -> Expr:
    """How many steps padding gives: `total`, or as many as there are if that is not positive."""
    here = b.unsized(found)
    if as_expr(total) == here or (isinstance(total, int) and total <= 0):
        return found
    b.check(
        binary("or", binary("le", here, total), binary("le", as_expr(total), 0)),
        "Expected total_length to be at least the length of the longest sequence in input, but got"
        f" total_length={to_text(total)} and max sequence length being {to_text(here)}",
    )
    if isinstance(total, int):
        return const(total)
    wanted = select(binary("gt", total, 0), total, here)
    return b.size(b.scalar_of(b.scalar_operand(wanted)))


def _pad(
    b: Builder, data: Tensor, batch_sizes: Tensor, batch_first: bool, value: Value, total: Value
) -> Value:
    """The inverse of packing; `total` may ask for more steps, -1 for as many as there are."""
    found = batch_sizes.shape[0]
    steps = _steps(b, found, total)
    out = _padded(b, data, batch_sizes, steps, value)

    def count(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return select(binary("lt", i[0], body.read(batch_sizes, r, int64)), const(1), const(0))

    lengths = b.reduce([out.shape[1]], [found], int64, "add", count)
    return transpose(b, out, 0, 1) if batch_first else out, lengths


def _pad_sequence(
    b: Builder,
    sequences: list[Tensor],
    batch_first: bool = False,
    value: Value = 0.0,
    side: str = "right",
) -> Value:
    """Sequences (T_k, *) -> (T, N, *), or (N, T, *), of the longest T, filled up on one side."""
    if not sequences:
        b.error("received an empty list of sequences")
    if side not in ("left", "right"):
        b.error(f"Expected padding_side to be one of left or right, but got {side}.")
    (longest,) = sizes_of(b, reduce(partial(binary, "max"), [x.shape[0] for x in sequences]))
    filled = []
    for x in sequences:
        missing = simplify(longest - x.shape[0])
        ends = [const(0), missing] if side == "right" else [missing, const(0)]
        pads = [*[0] * (2 * (x.rank - 1)), *ends]
        filled.append(b.call("aten::constant_pad_nd", x, pads, value))
    return stack(b, filled, 0 if batch_first else 1)


def _network(cell: Cell, is_lstm: bool = False) -> Callable[..., Value]:
    def row(
        b: Builder, data: Tensor, batch_sizes: Tensor, state: Value, weights: Value,
        has_biases: bool, layers: int, dropout: Value, training: Value, both: bool,
    ) -> Value:  # fmt: skip
        if dropout and training is not False and layers > 1:
            b.cannot("dropout between the layers of a packed recurrent network")
        x = _padded(b, data, batch_sizes, batch_sizes.shape[0], 0)
        batch = x.shape[1]
        mask = _mask(b, batch_sizes, batch)
        states = [_of_batch(b, s, batch) for s in (state if is_lstm else [state])]
        y, *ends = network_over(
            b, x, states, weights, has_biases, layers, 0.0, False, both, False, cell, mask
        )
        return _rows(b, y, mask), *ends

    return row


def _of_batch(b: Builder, state: Tensor, batch: Expr) -> Tensor:
    """A state (L, B, H), whose B the program may have found, with the B of the packed rows."""
    message = f"Expected hidden size 1 to be {batch}, got {state.shape[1]}"
    b.require_same(state.shape[1], batch, message)
    shape: Sequence[Expr] = (state.shape[0], batch, state.shape[2])
    return b.compute(shape, state.dtype, lambda body, i: body.read(state, i, state.dtype))


PACKED: Rows = {
    "aten::_pack_padded_sequence": _pack,
    "aten::_pad_packed_sequence": _pad,
    "aten::pad_sequence": _pad_sequence,
    "aten::lstm.data": _network(lstm_cell, True),
    "aten::gru.data": _network(gru_cell),
    "aten::rnn_tanh.data": _network(simple_cell(tanh)),
    "aten::rnn_relu.data": _network(simple_cell(relu)),
}

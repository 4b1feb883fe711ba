"""Sequences of different lengths: padded, packed, and back (`nn.utils.rnn`).

The functions are written in the language of scripts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from .. import namespace as ts
from ..data import as_tensor
from ..executor_flags import is_scripting, is_tracing
from ..tensor import Tensor

_LIST_IN_TRACE = (
    "pack_padded_sequence has been called with a Python list of sequence lengths. The tracer "
    "cannot track the data flow of Python values, and it will treat them as constants, likely "
    "rendering the trace incorrect for any other combination of lengths."
)


class _Parts(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def _with_data(method: str) -> Callable[[PackedSequence], PackedSequence]:
    """A method that calls one of the data's; the sizes stay."""

    def run(self: PackedSequence) -> PackedSequence:
        data = getattr(self.data, method)()
        return self if data is self.data else PackedSequence(data, *self[1:])

    return run


class PackedSequence(_Parts):
    """The elements of a batch step by step, and how many sequences each step still has.

    Attributes:
        data: (sum of lengths, *).
        batch_sizes: int64 (longest length,).
        sorted_indices: the order in which the sequences were packed, longest first.
        unsorted_indices: the inverse of that order.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        assert batch_sizes is not None
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data converted; the sizes stay. The sequence itself if there is nothing to do."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else PackedSequence(data, *self[1:])

    float = _with_data("float")
    double = _with_data("double")
    half = _with_data("half")
    bfloat16 = _with_data("bfloat16")
    long = _with_data("long")
    int = _with_data("int")
    short = _with_data("short")
    char = _with_data("char")
    byte = _with_data("byte")
    cpu = _with_data("cpu")
    pin_memory = _with_data("pin_memory")

    @property
    def is_cuda(self) -> bool:
        """Whether the data lies on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data lies in memory that a GPU reads directly."""
        return bool(self.data.is_pinned())


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`."""
    if permutation is None:
        return None
    output: Tensor = ts.empty_like(permutation, memory_format=ts.contiguous_format)
    output.scatter_(0, permutation, ts.arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack a padded batch (T, B, *); without `enforce_sorted` it is sorted by length first.

    Raises:
        OperatorError: lengths that do not fit, or that are not sorted as they must be.
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(ts.int64)
    else:
        if not is_scripting() and is_tracing():
            warnings.warn(_LIST_IN_TRACE, stacklevel=2)
        lengths = as_tensor(lengths, dtype=ts.int64)
    if enforce_sorted:
        sorted_indices = None
    else:
        lengths, sorted_indices = ts.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = ts._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, invert_permutation(sorted_indices))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch of a packed one, and its lengths.

    Raises:
        ValueError: `total_length` is less than the longest sequence.
    """
    max_seq_length = sequence.batch_sizes.shape[0]
    if total_length is not None:
        if total_length < max_seq_length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being "
                f"{max_seq_length}"
            )
        max_seq_length = total_length
    padded_output, lengths = ts._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, max_seq_length
    )
    unsorted_indices = sequence.unsorted_indices
    if unsorted_indices is None:
        return padded_output, lengths
    ordered = padded_output.index_select(0 if batch_first else 1, unsorted_indices)
    return ordered, lengths[unsorted_indices.cpu()]


def _need_iterable(sequences: object) -> None:
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )


def pad_sequence(
    sequences: Tensor | list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (length, *), in Python any iterable of them, as one batch (longest, B, *)."""
    if not is_scripting():
        _need_iterable(sequences)
    parts = sequences.unbind(0) if isinstance(sequences, Tensor) else list(sequences)
    padded: Tensor = ts.pad_sequence(parts, batch_first, padding_value, padding_side)
    return padded


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch (T, B, *); its first two dimensions are exchanged in place
    without `batch_first`, as PyTorch does it."""
    rows = padded_sequences if batch_first else padded_sequences.transpose_(0, 1)
    steps = ts.arange(rows.size(1), device=lengths.device)
    unpadded: list[Tensor] = []
    for row, length in zip(rows, lengths, strict=True):
        unpadded.append(row[steps < length])
    return unpadded


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths."""
    lengths = as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

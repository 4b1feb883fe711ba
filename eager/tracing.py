"""What a tracer of eager programs is told, and where the active one stands.

An operator tells the tracer that it ran. Besides, values leave and enter the tensors where no
operator runs: a size becomes a Python number, a tensor becomes a bool, data becomes a tensor. There
the eager code asks the active tracer. While a kernel runs, no tracer is active.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.schema import Schema

from .storage import TensorBase, make, promoted, to_storage


class Tracer(Protocol):
    """Records a program while eager mode runs it."""

    def ran(self, schema: Schema, arguments: tuple[Any, ...], result: Any) -> None:
        """An overload has completed; the arguments stand in schema order."""
        ...

    def size(self, tensor: TensorBase, dim: int) -> Any:
        """What `tensor.shape[dim]` is in the traced program: a 0-dim tensor."""
        ...

    def count(self, tensor: TensorBase) -> Any:
        """What `tensor.numel()` is in the traced program: a 0-dim tensor."""
        ...

    def leaves(self, tensor: TensorBase, kind: str) -> None:
        """The value of `tensor` becomes a Python `kind`, which no trace can follow."""
        ...

    def uses_length(self, how: str) -> None:
        """Python takes the length of a tensor: `how` is len or iteration."""
        ...

    def builds(self, function: str) -> None:
        """`torch.<function>` makes a tensor, which may be a constant of the program."""
        ...

    def counterpart(self, foreign: Any) -> TensorBase | None:
        """The tensor that the trace knows for a tensor of another library, if it does."""
        ...

    def wraps(self, tensor: TensorBase, number: Any) -> None:
        """`tensor` stands for a Python `number` beside another tensor."""
        ...

    def enters(self, function: str, tensor: Any, source: Any = None) -> Any:
        """Data has become `tensor` by `torch.<function>`, as an `index`, or as `part` of another.

        Args:
            source: where the data was an array, a tensor that shares it.

        Returns:
            The tensor that the program goes on with.
        """
        ...


class _Active(threading.local):
    """The tracer of this thread: what other threads do is not part of the program."""

    tracer: Tracer | None = None


_active = _Active()


def active_tracer() -> Tracer | None:
    """The tracer that listens now, if any."""
    return _active.tracer


@contextmanager
def traced_by(tracer: Tracer | None) -> Iterator[None]:
    """Within, `tracer` listens; None: nobody does."""
    before, _active.tracer = _active.tracer, tracer
    try:
        yield
    finally:
        _active.tracer = before


class IntOf(int):
    """A number read from a 0-dim tensor while a tracer listens; `tensor` is where it came from."""

    tensor: TensorBase


class FloatOf(float):
    """As `IntOf`, of a floating-point tensor."""

    tensor: TensorBase


def number_beside(tensor: TensorBase, number: Any) -> TensorBase:
    """`number` as a 0-dim tensor that leaves the dtype of a result to `tensor`."""
    dtype = promoted(tensor, number)
    made: TensorBase = make(to_storage(np.asarray(number), dtype), dtype)
    if (tracer := active_tracer()) is not None:
        tracer.wraps(made, number)
    return made


def tell_read(read: Iterable[TensorBase], dtype: DType) -> None:
    """Tell the tracer of tensors that were read as numbers of `dtype`; integers are indices."""
    if (tracer := active_tracer()) is None or not (dtype.is_floating_point or dtype.is_complex):
        return
    for each in read:
        tracer.leaves(each, "Python complex" if dtype.is_complex else "Python float")


def untraced(number: Any) -> Any:
    """A number that a trace keeps as it is: so are those that stand for all of a list."""
    return int(number) if isinstance(number, IntOf) else number


def number_of(tensor: TensorBase, number: Any) -> Any:
    """`number`, which was read from `tensor`; remembers where it came from while traced."""
    if active_tracer() is None or isinstance(number, (bool, complex)):
        return number
    made = IntOf(number) if isinstance(number, int) else FloatOf(number)
    made.tensor = tensor
    return made

"""Operators on conjugates and negatives that are views (`x.conj()`, the `imag` of one).

The memory of such a tensor holds other elements than it shows. One of four rules says what an
operator does that is handed one, as PyTorch's fallback for its two bits does:

    own         rows of `kernels/signs.py` know the sign, and who asks for a shape needs none
    views       are views of the same memory, read in the same way
    writes      the memory is brought into what the tensor shows, written to, and turned back
    all others  run on copies of what is shown
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError
from tensorscript.base.quantization import ASKED
from tensorscript.base.schema import Schema

from .kernels.signs import KERNELS as OWN
from .storage import TensorBase, make, shown, signed
from .tracking import gives_views, same_memory, tensors_in

Kernel = Callable[..., Any]


def has_sign(x: object) -> bool:
    """Whether `x` is a tensor with a sign, or a list with one."""
    if isinstance(x, TensorBase):
        return x._sign is not None
    return isinstance(x, (list, tuple)) and any(map(has_sign, x))


def kernel_of_signed(declared: Schema, plain: Kernel) -> Kernel:
    """What computes an overload where an argument has a sign; `plain` is its kernel."""
    if declared.full_name in OWN or declared.full_name in ASKED:
        return plain
    if declared.full_name == "aten::view.dtype":
        return _refuse_view
    if declared.is_mutable:
        return _writing(declared, plain)
    if gives_views(declared):
        return _viewing(plain)
    return lambda *bound: plain(*map(_shown, bound))


def _refuse_view(self: TensorBase, dtype: Any) -> Any:
    """Another dtype would show what is stored.

    Raises:
        OperatorError: always, unless the dtype stays.
    """
    if dtype is self.dtype:
        return self
    kind = "conj" if self._sign is not None and self._sign.conjugated else "neg"
    word = "conjugate" if kind == "conj" else "tensors with negative bit set"
    raise OperatorError(
        f"torch.Tensor.view is not supported for {word} view tensors when converting to a "
        "different dtype."
    )


def _shown(x: Any) -> Any:
    """Arguments with what tensors show in memory of their own."""
    if isinstance(x, TensorBase):
        return x if x._sign is None else _plain(x)
    return [_shown(part) for part in x] if type(x) is list else x


def _plain(t: TensorBase) -> TensorBase:
    made = make(shown(t), t.dtype)
    made._requires_grad, made._computed = t.requires_grad, t._computed
    return made


def _viewing(plain: Kernel) -> Kernel:
    """Results are views of the first operand; of as many results as operands each is of its own
    (`broadcast_tensors`)."""

    def run(*bound: Any) -> Any:
        made = plain(*bound)
        operands, views = list(tensors_in(bound)), list(tensors_in(made))
        bases = operands if len(views) == len(operands) else operands[:1] * len(views)
        pairs = list(zip(views, bases, strict=True))
        if not all(view is base or same_memory(view, base) for view, base in pairs):
            return plain(*map(_shown, bound))
        for view, base in pairs:
            view._sign = base._sign
        return made

    return run


def _writing(declared: Schema, plain: Kernel) -> Kernel:
    places = frozenset(k for k, a in enumerate(declared.arguments) if a.is_write)

    def run(*bound: Any) -> Any:
        written = [t for k in places for t in tensors_in(bound[k]) if t._sign is not None]
        read = [v if k in places else _apart(_shown(v), written) for k, v in enumerate(bound)]
        with _stored(written):
            return plain(*read)

    return run


def _apart(x: Any, written: Sequence[TensorBase]) -> Any:
    """An argument that is read; a copy of it where its memory is about to be turned."""
    if not isinstance(x, TensorBase) or not any(same_memory(t, x) for t in written):
        return x
    return make(x._array.copy(order="K"), x.dtype)


@contextmanager
def _stored(written: Sequence[TensorBase]) -> Iterator[None]:
    """Within, these tensors store what they show; a sign makes up for itself."""
    signs = [t._sign for t in written]
    for t in written:
        t._array[...], t._sign = shown(t), None
    try:
        yield
    finally:
        for t, sign in zip(written, signs, strict=True):
            if sign is not None:
                t._array[...], t._sign = signed(np.asarray(t._array), sign, t.dtype), sign

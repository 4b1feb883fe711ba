"""Tensors that an operator writes while it reads: in-place forms and `out=` refuse those whose
elements share memory, and those that share some of it with an operand, in PyTorch's words.

Which operators do so is the table `base/overlap.py`. As in PyTorch, only tensors that fill a block
of memory are compared: of others nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorscript.base import overlap
from tensorscript.base.errors import OperatorError
from tensorscript.base.schema import Argument, Schema

from . import caution
from .memory_format import element_strides, is_dense
from .storage import Array, TensorBase

Kernel = Callable[..., Any]


def repeats(written: Array) -> bool:
    """Whether elements of `written` share memory by a stride of 0."""
    steps = zip(written.shape, written.strides, strict=True)
    return bool(written.size) and any(n > 1 and step == 0 for n, step in steps)


def check_repeats(written: Array) -> None:
    """Raise OperatorError if elements of `written` share memory by a stride of 0."""
    if repeats(written):
        raise OperatorError(overlap.MESSAGE)


def check_partial(written: Array, read: Array) -> None:
    """Raise OperatorError if they are blocks of memory that overlap without being the same."""
    if _blocks_meet(written, read) and not _is_same(written, read):
        raise OperatorError(overlap.SHARED)


def check_apart(written: Array, read: Array) -> None:
    """Raise OperatorError if they are blocks of memory that overlap."""
    if _blocks_meet(written, read):
        raise OperatorError(overlap.SHARED)


def _blocks_meet(a: Array, b: Array) -> bool:
    """Whether both are blocks without gaps and share an element."""
    return bool(
        a.size
        and b.size
        and np.may_share_memory(a, b)
        and is_dense(a.shape, element_strides(a))
        and is_dense(b.shape, element_strides(b))
    )


def _is_same(a: Array, b: Array) -> bool:
    start = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    return start and a.ndim == b.ndim and _steps(a) == _steps(b)


def is_onto_itself(written: TensorBase, view: Array, read: Any) -> bool:
    """Whether `read` is what `view`, of a part of `written`, holds already: the same elements."""
    if not isinstance(read, TensorBase) or read.dtype is not written.dtype:
        return False
    return view.shape == read._array.shape and _is_same(view, read._array)


def _steps(a: Array) -> list[tuple[int, int]]:
    """Size and stride of each dimension; one of size 1 may have any stride."""
    return [(n, step) for n, step in zip(a.shape, element_strides(a), strict=True) if n != 1]


def _arrays(values: Any) -> Iterator[Array]:
    if isinstance(values, TensorBase):
        yield values._array
    elif isinstance(values, (list, tuple)):
        for x in values:
            yield from _arrays(x)


def _is_container(argument: Argument) -> bool:
    """`t[](a!)`, whose elements are replaced: their memory is not written."""
    return argument.type.kind in ("list", "Dict") and argument.type.alias is not None


def kept_apart(declared: Schema, run: Kernel) -> Kernel:
    """The kernel of an overload that writes, after a look at the memory that it writes to."""
    places = [k for k, a in enumerate(declared.arguments) if a.is_write and not _is_container(a)]
    if not declared.is_out:
        places = [k for k in places if k == 0]
    once = declared.is_out or not overlap.may_repeat(declared.full_name)
    compares = not overlap.may_share_partly(declared.name)
    warning, copies = overlap.DEPRECATED.get(declared.name), declared.name in overlap.COPIES
    if not (once or compares or warning):
        return run
    check = check_apart if declared.name in overlap.APART else check_partial

    def compare(targets: list[Any], read: list[Any]) -> None:
        for written in _arrays(targets):
            if once:
                check_repeats(written)
            elif warning and repeats(written):
                caution.warn(warning)
            for x in _arrays(read):
                check(written, x)

    def checked(*bound: Any) -> Any:
        if copies and is_onto_itself(bound[0], bound[0]._array, bound[1]):
            return run(*bound)
        read = [v for k, v in enumerate(bound) if k not in places] if compares else []
        compare([bound[k] for k in places], read)
        return run(*bound)

    return checked

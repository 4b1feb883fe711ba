"""Arguments and results of the interpreter: array-like values as eager tensors, and back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.named_tuples import remade
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor

from .arguments import is_array, opaque_kind, tensor_of


def overlap(leaves: Sequence[Any]) -> bool:
    """Two of the arrays may share memory: a write to one would have to show in the other."""
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
    pairs = itertools.combinations(arrays, 2)
    return any(np.may_share_memory(a, b) for a, b in pairs)


def to_tensors(value: Any) -> Any:
    """A value with its arrays, inside containers too, as eager tensors over the same memory; what
    is one array is one tensor.

    Raises:
        GuardError: an array whose dtype or device has no counterpart.
    """
    made: dict[int, Tensor] = {}

    def tensor(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        if id(leaf) not in made:
            made[id(leaf)] = tensor_of(leaf)
        return made[id(leaf)]

    return _mapped(value, tensor)


def from_tensors(value: Any, wrap: Callable[[np.ndarray, Any], Any]) -> Any:
    """A value with its eager tensors, inside containers too, wrapped as the caller's kind."""

    def unpacked(leaf: Any) -> Any:
        is_plain = isinstance(leaf, Tensor) and not opaque_kind(leaf)
        return wrap(shown(leaf), leaf.dtype) if is_plain else leaf

    return _mapped(value, unpacked)


def _mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    match value:
        case tuple() if hasattr(value, "_fields"):
            return remade(value, (_mapped(v, leaf) for v in value))
        case tuple() | list():
            return type(value)(_mapped(v, leaf) for v in value)
        case dict():
            return {k: _mapped(v, leaf) for k, v in value.items()}
    return leaf(value)

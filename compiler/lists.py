"""Lists at the boundary of native code: Python lists as arrays, and arrays as lists.

A list argument of numbers goes in as one array, a list of such lists as two: all numbers, and how
many each list has. Results come back by column, see `OutputTree`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.base.text import decoded
from tensorscript.dialects.ts.types import BOOL, FLOAT, INT, ListType
from tensorscript.lowering.ts_to_tg.specs import ListSpec, OutputTree
from tensorscript.runtime.values import ScriptObject, named_tuple

_DTYPES: tuple[tuple[Attribute, DType], ...] = ((INT, int64), (FLOAT, float64), (BOOL, bool_))
_KINDS = {int64: "ib", float64: "fiub", bool_: "b"}
"""Kinds of NumPy's dtypes that the numbers of a list may have as they come."""


def list_spec(type_: Attribute) -> ListSpec | None:
    """The spec of a list argument of a ts type: of numbers, or of lists of numbers."""
    depth = 0
    while isinstance(type_, ListType):
        type_, depth = type_.element, depth + 1
    dtype = next((d for t, d in _DTYPES if t == type_), None)
    return ListSpec(dtype, depth) if dtype is not None and depth in (1, 2) else None


def list_leaves(value: list[Any], spec: ListSpec) -> list[np.ndarray] | None:
    """The arrays of a list argument; None if it is not (yet) of its type."""
    if spec.depth == 1:
        array = _array(value, spec.dtype)
        return None if array is None else [array]
    if not all(isinstance(part, list) for part in value):
        return None
    array = _array([v for part in value for v in part], spec.dtype)
    lengths = np.array([len(part) for part in value], np.int64)
    return None if array is None else [array, lengths]


def _array(items: list[Any], dtype: DType) -> np.ndarray | None:
    if not items:
        return np.zeros(0, dtype.numpy)
    try:
        found = np.array(items)
    except (ValueError, TypeError, OverflowError):
        return None
    if found.ndim != 1 or found.dtype.kind not in _KINDS[dtype]:
        return None
    return found.astype(dtype.numpy, copy=False)


def rows(
    tree: OutputTree, leaves: Sequence[Any], wrap: Callable[[int, np.ndarray], Any]
) -> list[Any]:
    """The elements that the columns of a tree hold.

    Args:
        wrap: makes a tensor of (leaf number, array).
    """
    match tree.kind:
        case "column":
            return leaves[tree.leaf].tolist()  # type: ignore[no-any-return]  # a list
        case "each":
            return _split(rows(tree.children[0], leaves, wrap), leaves[tree.leaf].tolist())
        case "map":
            pairs = rows(tree.children[0], leaves, wrap)
            return list(map(dict, _split(pairs, leaves[tree.leaf].tolist())))
        case "texts":
            parts = _split(rows(tree.children[0], leaves, wrap), leaves[tree.leaf].tolist())
            return list(map(text_of_bytes, parts))
        case "boxes":
            return list(_tensors(tree, leaves, wrap))
    if tree.kind == "optional":
        there = leaves[tree.leaf].tolist()
        if tree.children[0].kind == "constant":
            return [None] * len(there)
        found = rows(tree.children[0], leaves, wrap)
        return [v if is_there else None for v, is_there in zip(found, there, strict=True)]
    if tree.kind == "record":
        return _records(tree, [rows(child, leaves, wrap) for child in tree.children])
    make: Callable[..., Any] = named_tuple(tree.class_name, tree.fields) if tree.fields else _tuple
    columns = [rows(child, leaves, wrap) for child in tree.children]
    return [make(*parts) for parts in zip(*columns, strict=True)]


def _records(tree: OutputTree, columns: Sequence[list[Any]]) -> list[Any]:
    """Dicts, or objects of a class, by the values under each of their keys."""
    parts = [dict(zip(tree.keys, values, strict=True)) for values in zip(*columns, strict=True)]
    if not tree.class_name:
        return parts
    return [ScriptObject(tree.class_name, {str(k): v for k, v in d.items()}) for d in parts]


def text_of_bytes(numbers: Iterable[int]) -> str:
    """The string of these bytes of UTF-8; a part of a character is a surrogate escape."""
    return decoded(bytes(numbers))  # type: ignore[no-any-return]  # of bytes, a string


def _tuple(*parts: Any) -> tuple[Any, ...]:
    return parts


def _split(values: list[Any], lengths: list[int]) -> list[Any]:
    ends = list(accumulate(lengths))
    return [values[end - n : end] for end, n in zip(ends, lengths, strict=True)]


def _tensors(
    tree: OutputTree, leaves: Sequence[Any], wrap: Callable[[int, np.ndarray], Any]
) -> Iterator[Any]:
    """Tensors that lie one after the other in one array; the first child is how many numbers each
    has, the others are their sizes."""
    lengths, *sizes = tree.children
    counts = leaves[lengths.leaf].tolist()
    shapes = [
        leaves[s.leaf].tolist() if s.kind == "column" else [_number(s, leaves)] * len(counts)
        for s in sizes
    ]
    start = 0
    for k, count in enumerate(counts):
        part = leaves[tree.leaf][start : start + count]
        yield wrap(tree.leaf, part.reshape([s[k] for s in shapes]))
        start += count


def _number(tree: OutputTree, leaves: Sequence[Any]) -> Any:
    return leaves[tree.leaf] if tree.kind == "scalar" else tree.value

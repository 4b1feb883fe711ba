"""The meaning of tg.list and tg.size for the evaluator: a list is a Python list."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from xdsl.ir import Operation, SSAValue

from tensorscript.base.text import float_digits, float_in, place_of, write_text
from tensorscript.dialects.tg.lists import ListOp, SizeOp
from tensorscript.dialects.tg.types import TensorType


class Frame(Protocol):
    """What the evaluator of functions offers."""

    sizes: MutableMapping[str, int]
    values: dict[SSAValue, Any]

    def shape(self, value: SSAValue) -> tuple[int, ...]: ...


def _find(items: list[Any], value: Any) -> int:
    return next((k for k, v in enumerate(items) if v == value), -1)


def _split(values: list[Any], lengths: list[int]) -> list[Any]:
    ends = list(accumulate(lengths))
    return [values[end - n : end] for end, n in zip(ends, lengths, strict=True)]


def _elements(array: np.ndarray) -> list[Any]:
    return list(np.asarray(array).ravel().tolist())


def _steps(items: list[Any], start: int, step: int, count: int) -> list[Any]:
    return [items[start + k * step] for k in range(count)]


_ACTIONS: dict[str, Callable[..., Any]] = {
    "new": list,
    "fill": lambda value, count: [value] * count,
    "from": _elements,
    "box": _elements,
    "length": len,
    "get": lambda items, at: items[at],
    "set": lambda items, at, value: items.__setitem__(at, value),
    "push": lambda items, value: items.append(value),
    "insert": lambda items, at, value: items.insert(at, value),
    "remove": lambda items, at: items.pop(at),
    "clear": lambda items: items.clear(),
    "reverse": lambda items: items.reverse(),
    "slice": _steps,
    "extend": lambda items, other: items.extend(list(other)),
    "sort": lambda items, descending: items.sort(reverse=descending),
    "find": _find,
    "count": lambda items, value: sum(v == value for v in items),
    "equal": lambda left, right: left == right,
    "join": lambda items: [v for part in items for v in part],
    "lengths": lambda items: [len(part) for part in items],
    "split": _split,
    "search": place_of,
    "less": lambda left, right: left < right,
    "digits": lambda items, number, form: items.extend(float_digits(number, form).encode()),
    "write": write_text,
    "parses": lambda items: float_in(items) is not None,
    "parse": lambda items: float_in(items) or 0.0,
}


def run_list(f: Frame, op: ListOp) -> None:
    """One action."""
    arguments = [f.values[v] for v in op.arguments]
    if op.action in ("read", "unbox"):
        (out,) = op.outputs
        assert isinstance(out.type, TensorType)
        array = np.array(arguments[0], out.type.dtype.numpy)
        f.values[out] = array.reshape(f.shape(out))
        return
    result = _ACTIONS[op.action](*arguments)
    if op.outputs:
        f.values[op.outputs[0]] = result


def run_size(f: Frame, op: SizeOp) -> None:
    """The symbol's value from here on."""
    f.sizes[op.symbol] = f.values[op.value]


LIST_ROWS: dict[type[Operation], Callable[[Any, Any], None]] = {
    ListOp: run_list,
    SizeOp: run_size,
}

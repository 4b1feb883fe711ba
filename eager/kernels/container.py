"""Lists, strings and dicts of TorchScript; mutating rows change their first argument."""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import DimensionError, OperatorError

from ..storage import is_tensor
from .scalar import rows

Kernel = Callable[..., Any]
KEYS = ("str", "int", "bool", "float", "complex", "Tensor")


class MissingKeyError(OperatorError, KeyError):
    """A dict has no such key."""


def list_index(size: int, index: int) -> int:
    """`index` counted from the front; DimensionError if it is outside."""
    at = index + size if index < 0 else index
    if not 0 <= at < size:
        raise DimensionError("list index out of range")
    return at


def get_item(items: Sequence[Any], index: int) -> Any:
    return items[list_index(len(items), index)]


def set_item(items: list[Any], index: int, element: Any) -> list[Any]:
    items[list_index(len(items), index)] = element
    return items


def append(items: list[Any], element: Any) -> list[Any]:
    items.append(element)
    return items


def pop(items: list[Any], index: int = -1) -> Any:
    if not items:
        raise DimensionError("pop from empty list")
    return items.pop(list_index(len(items), index))


def delete(items: list[Any], index: int) -> None:
    del items[list_index(len(items), index)]


def same(a: Any, b: Any) -> bool:
    if is_tensor(a) or is_tensor(b):
        return bool((a == b).all()) if is_tensor(a) and is_tensor(b) else False
    return bool(a == b)


def position(items: Sequence[Any], element: Any) -> int:
    for k, x in enumerate(items):
        if same(x, element):
            return k
    raise OperatorError(f"'{script_text(element)}' is not in list")


def remove(items: list[Any], element: Any) -> None:
    for k, x in enumerate(items):
        if same(x, element):
            del items[k]
            return
    raise OperatorError("list.remove(x): x not in list")


def extend_in_place(items: list[Any], other: Sequence[Any]) -> list[Any]:
    items.extend(list(other))
    return items


def repeat_in_place(items: list[Any], n: int) -> list[Any]:
    items[:] = items * n
    return items


def sort_in_place(items: list[Any], reverse: bool = False) -> None:
    items.sort(reverse=reverse)


def sliced(items: Any, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return items[slice(start, end, step)]


def lookup(table: dict[Any, Any], key: Any) -> Any:
    if key not in table:
        raise MissingKeyError(f"KeyError: {script_text(key)}")
    return table[key]


def take(table: dict[Any, Any], key: Any) -> Any:
    found = lookup(table, key)
    del table[key]
    return found


def remove_key(table: dict[Any, Any], key: Any) -> None:
    take(table, key)


def extreme(pick: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """`max(items)` and `min(items)`, which an empty list has none of."""

    def run(items: list[Any]) -> Any:
        if not items:
            raise OperatorError(f"{pick.__name__}() arg is an empty sequence")
        return pick(items)

    return run


def first_item(table: dict[Any, Any]) -> tuple[Any, Any]:
    if not table:
        raise MissingKeyError("popitem(): dictionary is empty")
    key = next(iter(table))
    return key, table.pop(key)


def float_text(x: float) -> str:
    """C++'s text of a float: 17 digits, a dot behind an integral value."""
    if not math.isfinite(x):
        return str(x)
    text = f"{x:.17g}"
    return text if any(c in text for c in ".e") else text + "."


def script_text(x: Any) -> str:
    """`str(x)` as TorchScript prints it (strings unquoted inside containers)."""
    if isinstance(x, bool) or x is None or isinstance(x, (str, int)):
        return str(x)
    if isinstance(x, float):
        return float_text(x)
    if isinstance(x, complex):
        sign = "" if math.copysign(1, x.imag) < 0 else "+"
        return f"{float_text(x.real)}{sign}{float_text(x.imag)}j"
    if isinstance(x, list):
        return "[" + ", ".join(map(script_text, x)) + "]"
    if isinstance(x, tuple):
        inner = ", ".join(map(script_text, x))
        return f"({inner},)" if len(x) == 1 else f"({inner})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{script_text(k)}: {script_text(v)}" for k, v in x.items()) + "}"
    return str(x)


def string_format(text: str, *values: Any) -> str:
    """Only bare `{}` are fields; any other text in braces stays."""
    parts = text.split("{}")
    if len(values) < len(parts) - 1:
        raise OperatorError(f"Too few arguments for format string: {text}")
    if len(values) > len(parts) - 1:
        raise OperatorError(f"Too many arguments for format string: {text}")
    texts = [*map(script_text, values), ""]
    return "".join(a + b for a, b in zip(parts, texts, strict=True))


_SPECIFIER = re.compile(r"%(.)", re.DOTALL)


def percent_format(text: str, *values: Any) -> str:
    left = list(values[0]) if len(values) == 1 and isinstance(values[0], tuple) else list(values)

    def one(match: re.Match[str]) -> str:
        letter = match[1]
        if letter == "%":
            return "%"
        if letter not in "dieEfFsc":
            raise OperatorError(
                f"The specifier %{letter} is not supported in TorchScript format strings"
            )
        if not left:
            raise OperatorError("Too few arguments for format string")
        x = left.pop(0)
        if letter == "s":
            return script_text(x)
        if letter in "eEfF":
            # TorchScript formats single precision.
            x = float(np.float32(x))
        return x if letter == "c" and isinstance(x, str) else f"%{letter}" % x

    out = _SPECIFIER.sub(one, text)
    if left:
        raise OperatorError("Too many arguments for format string")
    return out


def warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, stacklevel=2)


def _per_key(name: str, prefix: str, kernel: Kernel) -> dict[str, Kernel]:
    return {f"aten::{name}.{prefix}{k}": kernel for k in KEYS}


_STRING_TESTS = ("isprintable", "isdecimal", "isnumeric")
_LISTED = ("int", "float", "bool", "Tensor", "str")

KERNELS: dict[str, Kernel] = {
    "aten::len.t": len,
    "aten::len.any": len,
    "aten::len.Tensor": len,
    **_per_key("len", "Dict_", len),
    "aten::__getitem__.t": get_item,
    **_per_key("__getitem__", "Dict_", lookup),
    "aten::_set_item.t": set_item,
    **_per_key("_set_item", "", operator.setitem),
    "aten::append.t": append,
    "aten::extend.t": lambda items, other: items.extend(list(other)),
    "aten::insert.t": lambda items, index, element: items.insert(index, element),
    "aten::pop.t": pop,
    **_per_key("pop", "Dict_", take),
    **_per_key("pop", "Dict_default_", lambda table, key, other: table.pop(key, other)),
    "aten::Delete.t": delete,
    **_per_key("Delete", "Dict_", remove_key),
    "aten::clear.t": lambda items: items.clear(),
    **_per_key("clear", "", lambda table: table.clear()),
    "aten::reverse.t": lambda items: items.reverse(),
    "aten::copy.t": list,
    **_per_key("copy", "Dict_", dict),
    "aten::list.t": list,
    "aten::add.t": lambda a, b: [*a, *b],
    "aten::add_.t": extend_in_place,
    "aten::mul.left_t": lambda items, n: items * n,
    "aten::mul.right_": lambda n, items: items * n,
    "aten::mul_.t": repeat_in_place,
    "aten::slice.t": sliced,
    "aten::select.t": get_item,
    **rows("index", tuple(f"list_{k}" for k in _LISTED), position),
    **rows("remove", _LISTED, remove),
    **rows("count", _LISTED, lambda items, x: sum(same(y, x) for y in items)),
    **rows("sort", (*_LISTED, "any"), sort_in_place),
    **rows("sorted", (*_LISTED, "any"), sorted),
    **rows("__contains__", ("int_list", "str_list", "float_list"), lambda items, x: x in items),
    **_per_key("__contains__", "", lambda table, key: key in table),
    **rows("sum", ("int", "float", "complex", "bool"), sum),
    **rows("any", ("int", "float", "bool", "str"), any),
    **rows("all", ("int", "float", "bool"), all),
    **{f"prim::max.self_{k}": extreme(max) for k in ("int", "float", "bool")},
    **{f"prim::min.self_{k}": extreme(min) for k in ("int", "float", "bool")},
    **{f"prim::max.{k}_list": max for k in ("int", "float", "bool")},
    **{f"prim::min.{k}_list": min for k in ("int", "float", "bool")},
    "prim::rangelist": lambda n: list(range(n)),
    **rows("eq", ("Tensor_list",), lambda a, b: len(a) == len(b) and all(map(same, a, b))),
    **rows("ne", ("Tensor_list",), lambda a, b: not (len(a) == len(b) and all(map(same, a, b)))),
    "aten::dict": dict,
    **_per_key("dict", "", dict),
    **_per_key("dict", "Dict_", dict),
    **_per_key("keys", "", lambda table: list(table.keys())),
    **_per_key("values", "", lambda table: list(table.values())),
    **_per_key("items", "", lambda table: list(table.items())),
    **_per_key("get", "", lambda table, key: table.get(key)),
    **_per_key("get", "default_", lambda table, key, other: table.get(key, other)),
    **_per_key("setdefault", "", lambda table, key, other: table.setdefault(key, other)),
    **_per_key("update", "", lambda table, other: table.update(other)),
    **_per_key("popitem", "", first_item),
    "aten::str": script_text,
    "aten::format": string_format,
    "aten::percentFormat": percent_format,
    **{f"aten::{n}": getattr(str, n) for n in _STRING_TESTS},
    "aten::bin": bin,
    "aten::oct": oct,
    "aten::hex": hex,
    "aten::hash.generic": hash,
    "aten::warn": warn,
}

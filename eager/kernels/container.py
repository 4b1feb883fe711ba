"""Lists, strings and dicts of TorchScript; mutating rows change their first argument."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.errors import DimensionError, OperatorError
from tensorscript.base.text import nonzero_slice, single_text

from ..storage import is_tensor
from .scalar import rows
from .script_hash import script_hash
from .script_text import script_text

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
    if not items:
        raise DimensionError("pop index out of range")
    del items[list_index(len(items), index)]


def same(a: Any, b: Any) -> bool:
    if is_tensor(a) or is_tensor(b):
        return bool(a == b) if is_tensor(a) and is_tensor(b) else False
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


def unsortable(items: list[Any]) -> OperatorError:
    """The refusal to sort a list of these."""
    kinds = list(map(_kind, items))
    if other := next((kind for kind in kinds if kind != kinds[0]), ""):
        return OperatorError(
            f"Only values of same type can be compared. Found {kinds[0]} and {other}"
        )
    return OperatorError(
        "Only list of Tensors, ints, floats, bools, strs, a User Defined Class that defines "
        "the __lt__ compare method or Tuples of aforementioned types can be sorted, got list "
        f"of {kinds[0]}"
    )


def _check_sortable(items: list[Any]) -> None:
    if items and isinstance(items[0], (list, dict)):
        raise unsortable(items)


def _kind(x: Any) -> str:
    """The type of a value as messages write it."""
    if isinstance(x, list):
        return f"List[{_kind(x[0]) if x else 'Tensor'}]"
    if isinstance(x, dict):
        key, value = next(iter(x.items()), ("", None))
        return f"Dict[{_kind(key)}, {_kind(value)}]"
    if isinstance(x, tuple):
        return f"Tuple[{', '.join(map(_kind, x))}]"
    return type(x).__name__


def hash_of(x: Any) -> int:
    return script_hash(x, getattr(x, "class_name", _kind(x)))


def sort_in_place(items: list[Any], reverse: bool = False) -> None:
    _check_sortable(items)
    items.sort(reverse=reverse)


def sorted_copy(items: list[Any]) -> list[Any]:
    _check_sortable(items)
    return sorted(items)


def sliced(items: Any, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return items[nonzero_slice(start, end, step)]


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


_FIELD = re.compile(r"\{(\d*)(?::([^{}]*))?\}")
"""`{}`, and beyond TorchScript `{:spec}` and `{0}`, which it leaves in the text."""


def string_format(text: str, *values: Any) -> str:
    """`text.format(*values)`; text in braces that is no field stays, and so do spare values."""
    numbers = [m[1] for m in _FIELD.finditer(text)]
    is_numbered = all(numbers) if numbers else False
    left = iter(values)

    def one(field: re.Match[str]) -> str:
        number, spec = field.groups()
        if number and not is_numbered:
            return field[0]
        if number and int(number) >= len(values):
            raise OperatorError(f"Too few arguments for format string: {text}")
        value = values[int(number)] if number else next(left, _MISSING)
        if value is _MISSING:
            raise OperatorError(f"Too few arguments for format string: {text}")
        return script_text(value) if not spec else formatted(value, spec)

    return _FIELD.sub(one, text)


_MISSING = object()


def formatted(value: Any, spec: str) -> str:
    """A value by a format specification, as Python formats it."""
    try:
        return format(value, spec)
    except (TypeError, ValueError) as error:
        raise OperatorError(f"{type(error).__name__}: {error}") from error


_SPECIFIER = re.compile(r"%(.?)", re.DOTALL)
_TAGS = {
    str: "String", bool: "Bool", float: "Double", complex: "ComplexDouble", list: "GenericList",
    tuple: "Tuple", dict: "GenericDict", type(None): "None",
}  # fmt: skip


def percent_format(text: str, *values: Any) -> str:
    left = list(values[0]) if len(values) == 1 and isinstance(values[0], tuple) else list(values)

    def one(match: re.Match[str]) -> str:
        letter = match[1]
        if not letter:
            raise OperatorError("Incomplete format specifier")
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
        is_char = isinstance(x, str) and len(x) == 1
        if not (type(x) is int or (is_char if letter == "c" else type(x) is float)):
            wanted = "an int or char" if letter == "c" else "a number"
            found = "Tensor" if is_tensor(x) else _TAGS.get(type(x), "Object")
            raise OperatorError(f"%{letter} requires {wanted} for formatting, but got {found}")
        if letter in "eEfF":
            return single_text(x, letter)
        return str(f"%{letter}" % x)

    out = _SPECIFIER.sub(one, text)
    if left:
        raise OperatorError("Too many arguments for format string")
    return out


def warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, stacklevel=2)


def _per_key(name: str, prefix: str, kernel: Kernel) -> dict[str, Kernel]:
    return {f"aten::{name}.{prefix}{k}": kernel for k in KEYS}


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
    **rows("sorted", (*_LISTED, "any"), sorted_copy),
    **rows("__contains__", ("int_list", "str_list", "float_list"), lambda items, x: x in items),
    **_per_key("__contains__", "", lambda table, key: key in table),
    **rows("sum", ("int", "bool"), sum),
    "aten::sum.float": lambda items: sum(items, 0.0),
    "aten::sum.complex": lambda items: sum(items, 0j),
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
    "aten::bin": bin,
    "aten::oct": oct,
    "aten::hex": hex,
    "aten::hash.generic": hash_of,
    "aten::warn": warn,
}

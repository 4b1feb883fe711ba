"""Calls of operators on lists, dicts, strings and numbers (`native_recipes.py`)."""

from __future__ import annotations

from native_grid import Known
from native_values import INT64, Row, T, t

from tensorscript.dialects.ts.constants import Device

_KEYS: dict[str, tuple[object, object]] = {
    "str": ("a", "b"),
    "int": (1, -2),
    "bool": (True, False),
    "float": (1.5, -2.0),
    "complex": (1j, 2j),
}


def _dicts() -> dict[str, list[Row]]:
    """One overload a type of key."""
    out: dict[str, list[Row]] = {}
    for word, (first, second) in _KEYS.items():
        one, both = {first: 3}, {first: 3, second: 4}
        for name in ("keys", "values", "items", "clear"):
            out[f"{name}.{word}"] = [(both,), ({},)]
        out[f"dict.{word}"] = [([(first, 3), (second, 4)],), ([],)]
        for name in ("len", "copy", "dict"):
            out[f"{name}.Dict_{word}"] = [(both,), ({},)]
        out[f"__contains__.{word}"] = [(one, first), (one, second)]
        out[f"__getitem__.Dict_{word}"] = [(both, second), (one, second)]
        out[f"get.{word}"] = [(both, second), (one, second)]
        out[f"get.default_{word}"] = [(both, second, 7), (one, second, 7)]
        out[f"pop.Dict_{word}"] = [(both, second), (one, second)]
        out[f"pop.Dict_default_{word}"] = [(both, second, 7), (one, second, 7)]
        out[f"Delete.Dict_{word}"] = [(both, second), (one, second)]
        out[f"_set_item.{word}"] = [(one, second, 7), (one, first, 7)]
        out[f"setdefault.{word}"] = [(both, second, 7), (one, second, 7)]
        out[f"popitem.{word}"] = [(both,), (one,), ({},)]
        out[f"update.{word}"] = [(one, {second: 5}), (both, {first: 5})]
    return out


_INTS, _FLOATS, _BOOLS, _STRINGS = [3, 1, 2, 1], [2.5, -1.0, 0.5], [True, False], ["b", "a"]
_RUN_TIME = [Known(3), Known(1), Known(2)]

CONTAINERS: dict[str, list[Row]] = {
    **_dicts(),
    # lists
    "len.t len.any list.t copy.t reverse.t clear.t": [(_INTS,), ([],), (_RUN_TIME,)],
    "Size": [(_INTS,), ([],), (_RUN_TIME,)],
    "sorted.int sort.int": [(_INTS,), ([],)],
    "sorted.float sort.float": [(_FLOATS,)],
    "sorted.bool sort.bool": [(_BOOLS,)],
    "sorted.str sort.str": [(_STRINGS,)],
    "sorted.any sort.any": [(_INTS,)],
    "sum.int": [(_INTS,), (_RUN_TIME,)],
    "sum.float": [(_FLOATS,), ([Known(0.5), Known(2.0)],)],
    "sum.bool": [(_BOOLS,)],
    "sum.complex": [([1j, 2.5 + 1j],)],
    "all.int any.int": [(_INTS,), ([0],), ([Known(0), Known(2)],)],
    "all.float any.float": [(_FLOATS,), ([0.0],)],
    "all.bool any.bool": [(_BOOLS,), ([],), ([Known(True), Known(False)],)],
    "any.str": [(_STRINGS,), ([""],)],
    "pop.t": [(_INTS,), (_INTS, 0), (_INTS, -2), ([], 0), (_INTS, 9)],
    "insert.t": [(_INTS, 1, 7), (_INTS, -1, 7), (_INTS, 99, 7)],
    "Delete.t": [(_INTS, 1), (_INTS, -1), (_INTS, 9)],
    "_set_item.t": [(_INTS, 1, 7), (_INTS, -4, 7), (_INTS, 4, 7)],
    "append.t": [(_INTS, 7), (_RUN_TIME, Known(9))],
    "extend.t add_.t add.t": [(_INTS, [7, 8]), (_INTS, [])],
    "__getitem__.t select.t": [(_INTS, 0), (_INTS, -1), (_INTS, 4), (_RUN_TIME, 1)],
    "slice.t": [(_INTS, 1, 3), (_INTS, None, None, 2), (_INTS, -2)],
    "mul_.t mul.left_t": [(_INTS, 2), (_INTS, 0), (_INTS, -1)],
    "mul.right_": [(2, _INTS)],
    "eq.int_list ne.int_list": [(_INTS, _INTS), (_INTS, [1]), (_RUN_TIME, [Known(3), 1, 2])],
    "eq.float_list ne.float_list": [(_FLOATS, _FLOATS), (_FLOATS, [])],
    "eq.bool_list ne.bool_list": [(_BOOLS, _BOOLS), (_BOOLS, [True])],
    "eq.str_list ne.str_list": [(_STRINGS, _STRINGS), (_STRINGS, ["b"])],
    "index.list_int": [(_INTS, 1), (_INTS, 9)],
    "index.list_float": [(_FLOATS, 0.5)],
    "index.list_bool": [(_BOOLS, False)],
    "index.list_str": [(_STRINGS, "a")],
    "count.int remove.int": [(_INTS, 1), (_INTS, 9)],
    "count.float remove.float": [(_FLOATS, 0.5)],
    "count.bool remove.bool": [(_BOOLS, False)],
    "count.str remove.str": [(_STRINGS, "a"), (_STRINGS, "z")],
    "count.Tensor remove.Tensor": [([T((), "i8", 1, 2), T((), "i8", 2, 3)], T((), "i8", 2, 3))],
    "__contains__.int_list": [(_INTS, 1), (_INTS, 9)],
    "__contains__.float_list": [(_FLOATS, 0.5)],
    "__contains__.str_list": [(_STRINGS, "a")],
    "join": [(", ", _STRINGS), ("-", [])],
    "as_tensor.list tensor": [([1, 2, 3],), ([[1.0, 2.0], [3.0, 4.0]],), ([True],), ([3], INT64)],
    # values
    "warn": [],
    "__is__ __isnot__": [(None, None), (None, 3), (3, 3)],
    "eq.device ne.device": [(Device("cpu"), Device("cpu"))],
    "str": [(7,), (2.5,), (True,), ([1, 2],), ("a",)],
    "index.str": [("abcab", "b"), ("abcab", "z")],
    "__getitem__.str": [("abc", 1), ("abc", -1), ("abc", 3)],
    "slice.str": [("abcdef", 1, 4), ("abcdef", None, None, 2)],
    "split.str": [("a,b,c", ","), ("a b",)],
    "replace": [("banana", "an", "o"), ("banana", "x", "o")],
    "strip lower upper": [("  aBc ",), ("",)],
    "__range_length": [(0, 7, 2), (7, 0, -2), (0, 7, 0), (Known(0), Known(7), Known(3))],
    "__derive_index": [(3, 1, 2), (Known(3), Known(1), Known(2))],
    "Float.str": [("2.5",), ("x",)],
    "Int.str": [("-7",), ("x",)],
    "_get_tracing_state has_torch_function is_scripting is_grad_enabled": [()],
    "item Float.Tensor Int.Tensor Bool.Tensor": [(t(),), (t(1, 1),), (t(2),)],
    "index.list_Tensor": [([T((), "i8", 1, 2), T((), "i8", 2, 3)], T((), "i8", 2, 3))],
}

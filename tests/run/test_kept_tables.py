"""Lists and dicts in attributes that hold lists and dicts: read under keys that the program finds,
and never changed by native code, which would not be seen in the next call."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple  # noqa: UP035 - as programs write

import pytest

import tensorscript as ts
from tensorscript import Tensor, jit, nn  # noqa: F401 - scripts name Tensor

X = ts.ones(1)

LISTS = (List[List[int]], [[1], [2]])  # noqa: UP006 - jit.Attribute takes these
UNDER_INTS = (Dict[int, List[int]], {0: [1], 1: [2, 3]})  # noqa: UP006
UNDER_TEXTS = (Dict[str, List[str]], {"a": ["x"], "b": ["y", "z"]})  # noqa: UP006
PAIRS = (Dict[str, Tuple[int, float]], {"a": (1, 2.0), "b": (3, 4.0)})  # noqa: UP006
DICTS = (Dict[str, Dict[str, int]], {"a": {"x": 1}, "b": {"y": 2}})  # noqa: UP006

READ = {
    "list of lists": (LISTS, "return self.t[i], self.t[i - 1][0]"),
    "lists under ints": (UNDER_INTS, "return self.t[i], i in self.t"),
    "lists under strings": (UNDER_TEXTS, "return self.t[k], len(self.t[k])"),
    "a default": (UNDER_INTS, "return self.t.get(i + 7, [0]), self.t.get(i, [0])"),
    "tuples": (PAIRS, "return self.t[k][1], self.t[k]"),
    "dicts": (DICTS, "return self.t[k]['y']"),
    "all of them": (UNDER_TEXTS, "return [v[0] for v in self.t.values()], self.t[k][0]"),
    "a copy": (UNDER_INTS, "z = self.t[i].copy(); z.append(4); return z, self.t[i]"),
}

CHANGED = {
    "an inner list": (LISTS, "self.t[i].append(5); return self.t[i]"),
    "a list in a dict": (UNDER_INTS, "y = self.t[i]; y[0] = y[0] + 1; return self.t[i], y"),
    "a dict in a dict": (DICTS, "y = self.t[k]; y['q'] = len(y); return self.t[k]"),
    "after a branch": (LISTS, "z = [7] if i > 3 else self.t[i]; z.append(4); return z"),
    "through another list": (LISTS, "z = [[5], self.t[i]]; z[i].append(4); return z"),
    "through a slice": (LISTS, "z = self.t[i:]; z[i - 1].append(4); return z"),
    "after a loop": (
        LISTS,
        "z: List[int] = []\n    for y in self.t:\n        z = y\n    z.append(4)\n    return z",
    ),
}


def loaded(table: tuple[Any, Any], body: str) -> Any:
    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            type_, value = table
            self.t = jit.Attribute(value, type_)

    holder = jit.script(Holder())
    head = "def forward(self, x: Tensor):\n    i = int(x.sum())\n    k = chr(97 + i)\n    "
    holder.define(head + body.replace("; ", "\n    ") + "\n")
    return jit.load(holder.save_to_buffer())


@pytest.mark.parametrize("name", READ)
def test_reads_are_native(name: str) -> None:
    module = loaded(*READ[name])
    native = ts.compile(module, fallback="error", cache=False)
    assert native(X) == module(X)


@pytest.mark.parametrize("name", CHANGED)
def test_changes_are_seen_in_the_next_call(name: str) -> None:
    module, other = loaded(*CHANGED[name]), ts.compile(loaded(*CHANGED[name]), cache=False)
    assert [str(other(X)) for _ in range(3)] == [str(module(X)) for _ in range(3)]

"""The run-time support for lists, for the evaluator of te: strict about references.

A list that is used after it was freed, or that a program leaves behind, is an error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.base.text import float_digits, float_in, place_of, write_text
from tensorscript.dialects.te.lists import ELEMENTS, NESTED, RUNTIME, layout

Value = bool | int | float


class ListError(AssertionError):
    """A program used a list as no valid te program does."""


@dataclass
class List:
    """A list: its elements as bytes, as native code has them."""

    layout: int
    data: np.ndarray
    references: int = 1
    is_fresh: bool = False

    @property
    def size(self) -> int:
        return self.layout & 255

    @property
    def is_nested(self) -> bool:
        return bool(self.layout & 0xFF00)

    @property
    def length(self) -> int:
        return len(self.data) // self.size

    @property
    def inner(self) -> int:
        """The layout of the lists inside."""
        less = self.layout - NESTED
        return less & ~255 | (8 if less & 0xFF00 else self.layout >> 24)

    def view(self, dtype: np.dtype) -> np.ndarray:
        return self.data.view(dtype)

    @property
    def handles(self) -> np.ndarray:
        return self.data.view(np.int64) if self.is_nested else np.zeros(0, np.int64)


class Lists:
    """All lists of one run, by handle."""

    def __init__(self) -> None:
        self.held: dict[int, List] = {}
        self.count = 0

    def __getitem__(self, handle: int) -> List:
        if (found := self.held.get(handle)) is None:
            raise ListError(f"list {handle} does not exist (any more)")
        return found

    def add(self, layout_: int, data: np.ndarray, is_fresh: bool = False) -> int:
        self.count += 1
        self.held[self.count] = List(layout_, data, is_fresh=is_fresh)
        for child in self.held[self.count].handles:
            self.retain(int(child))
        return self.count

    def new(self, layout_: int, count: int) -> int:
        size = layout_ & 255
        return self.add(layout_, np.zeros(max(count, 0) * size, np.uint8), is_fresh=count > 0)

    def retain(self, handle: int) -> None:
        if handle:
            self[handle].references += 1

    def release(self, handle: int) -> None:
        if not handle:
            return
        found = self[handle]
        found.references -= 1
        if found.references == 0:
            for child in found.handles:
                self.release(int(child))
            del self.held[handle]

    def rows(self, handle: int) -> np.ndarray:
        found = self[handle]
        return found.data.reshape(-1, found.size)

    def open(self, handle: int, at: int) -> None:
        found = self[handle]
        self._within(at, found.length + 1)
        found.data = np.insert(self.rows(handle), at, 0, axis=0).ravel()

    def remove(self, handle: int, at: int) -> None:
        found = self[handle]
        self._within(at, found.length)
        if found.is_nested:
            self.release(int(found.handles[at]))
        found.data = np.delete(self.rows(handle), at, axis=0).ravel()

    def clear(self, handle: int) -> None:
        while self[handle].length:
            self.remove(handle, self[handle].length - 1)

    def grow(self, handle: int, count: int) -> None:
        found = self[handle]
        found.data = np.concatenate([found.data, np.zeros(count * found.size, np.uint8)])

    def slice(self, handle: int, start: int, step: int, count: int) -> int:
        at = start + step * np.arange(count)
        if count:
            self._within(int(at.min()), self[handle].length)
            self._within(int(at.max()), self[handle].length)
        return self.add(self[handle].layout, self.rows(handle)[at].ravel())

    def extend(self, handle: int, other: int) -> None:
        for child in self[other].handles:
            self.retain(int(child))
        self[handle].data = np.concatenate([self[handle].data, self[other].data])

    def reverse(self, handle: int) -> None:
        self[handle].data = self.rows(handle)[::-1].ravel()

    def sort(self, handle: int, descending: bool) -> None:
        found = self[handle]
        dtype = "f8" if found.layout & 1 << 16 else "i8" if found.size == 8 else "u1"
        order = np.sort(found.view(np.dtype(dtype)))
        found.data = (order[::-1] if descending else order).copy().view(np.uint8)

    def equal(self, left: int, right: int) -> bool:
        a, b = self[left], self[right]
        if a.length != b.length:
            return False
        if a.is_nested:
            return all(map(self.equal, a.handles.tolist(), b.handles.tolist()))
        dtype = np.dtype("f8") if a.layout & 1 << 16 else np.dtype("u1")
        return bool(np.array_equal(a.view(dtype), b.view(dtype)))

    def join(self, handle: int) -> int:
        children = [self[int(c)].data for c in self[handle].handles]
        return self.add(self[handle].inner, np.concatenate([np.zeros(0, np.uint8), *children]))

    def lengths(self, handle: int) -> int:
        found = np.array([self[int(c)].length for c in self[handle].handles], np.int64)
        return self.add(layout(int64), found.view(np.uint8))

    def split(self, values: int, lengths: int) -> int:
        made, done = [], 0
        for size in self[lengths].view(np.dtype("i8")).tolist():
            made.append(self.slice(values, done, 1, size))
            done += size
        outer = (self[values].layout + NESTED) & ~255 | 8
        out = self.add(outer, np.array(made, np.int64).view(np.uint8))
        for child in made:
            self.release(child)
        return out

    def text(self, handle: int) -> list[int]:
        found: list[int] = self[handle].view(np.dtype("i8")).tolist()
        return found

    def search(self, handle: int, part: int, start: int, step: int) -> int:
        return place_of(self.text(handle), self.text(part), start, step)

    def less(self, left: int, right: int) -> bool:
        return self.text(left) < self.text(right)

    def digits(self, handle: int, number: float, form: int) -> None:
        for code in float_digits(number, form).encode():
            self.element("push", "i64", handle, code)

    def write(self, handle: int, stream: int) -> None:
        write_text(self.text(handle), stream)

    def parses(self, handle: int) -> bool:
        return float_in(self.text(handle)) is not None

    def parse(self, handle: int) -> float:
        return float_in(self.text(handle)) or 0.0

    def element(self, action: str, kind: str, handle: int, *arguments: Value) -> Value | None:
        """get, set, push, find, count of a list of numbers or handles."""
        found = self[handle]
        dtype = ELEMENTS[kind].numpy
        items = found.view(dtype)
        match action:
            case "get":
                self._within(int(arguments[0]), found.length)
                return items[int(arguments[0])].item()  # type: ignore[no-any-return]  # a number
            case "set":
                self._within(int(arguments[0]), found.length)
                items[int(arguments[0])] = arguments[1]
                return None
            case "push":
                more = np.array([arguments[0]], dtype).view(np.uint8)
                found.data = np.concatenate([found.data, more])
                return None
        places = np.flatnonzero(items == arguments[0])
        if action == "count":
            return len(places)
        return int(places[0]) if len(places) else -1

    @staticmethod
    def _within(index: int, length: int) -> None:
        if not 0 <= index < length:
            raise ListError(f"index {index} is outside of a list of {length}")

    def invoke(self, function: str, arguments: list[Value]) -> Value | None:
        """Call a function of `RUNTIME`."""
        name = function.removeprefix("list_")
        action, _, kind = name.rpartition("_")
        if kind in ELEMENTS and f"list_{action}_{kind}" in RUNTIME:
            return self.element(action, kind, int(arguments[0]), *arguments[1:])
        if name == "length":
            return self[int(arguments[0])].length
        run: Callable[..., Value | None] = getattr(self, name)
        return run(*arguments)

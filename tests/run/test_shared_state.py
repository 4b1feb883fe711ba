"""Tensors of one module that share memory: native code sees what a write to one changes.

What attributes share is found when a method is called; a form that was compiled for other tensors
is not taken then. The interpreter is the oracle, and `tests/run/test_compile_state.py` has modules
whose attributes share nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, List, Optional  # noqa: UP035 - as programs write

import pytest

import tensorscript as ts
from tensorscript import Tensor, jit, nn


class Base(nn.Module):
    buf: Tensor
    other: Tensor
    kept: List[Tensor]  # noqa: UP006
    named: Dict[str, Tensor]  # noqa: UP006
    numbers: List[int]  # noqa: UP006
    rows: List[List[int]]  # noqa: UP006
    counts: Dict[str, int]  # noqa: UP006

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("buf", ts.ones(2))
        self.register_buffer("other", ts.zeros(2))
        self.kept = []
        self.named = {"a": ts.zeros(2)}
        self.numbers = [1]
        self.rows = [[1], [2]]
        self.counts = {"a": 1}


class Assigned(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        if c > 0:
            self.other = self.buf
        else:
            self.buf.add_(1)
        return self.other * 1 + x


class InADict(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        if c > 0:
            self.named["a"] = self.buf
        else:
            self.buf.add_(1)
        return self.named["a"] * 1 + x


class InAList(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        if len(self.kept) < 2:
            self.kept.append(self.buf)
        self.buf.add_(1)
        return self.kept[0] * 1 + x


class OneInTwo(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        self.other.add_(1)
        if c > 0:
            t = x * 2
            self.other = t
            self.named["a"] = t
        return self.named["a"] * 1


class View(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        if c > 0:
            self.other = self.buf[:1]
        self.buf.add_(1)
        return self.other * 1


class Chosen(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        self.other = self.buf if c > 0 else x
        self.buf.add_(1)
        return self.other * 1


class Stops(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        self.buf.add_(1)
        out = self.other * 1
        self.other = self.buf if c > 0 else x * 1
        return out


class Argument(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        out = self.buf + self.other
        self.buf = x
        self.other.add_(1)
        x.add_(1)
        return out + self.buf


class ListOfTensors(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        if c > 0:
            self.kept.append(x * c)
        out = x * 1
        for t in self.kept:
            out = out + t
        return out


class ListThatOthersKeep(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        t = x * 2
        self.other.add_(1)
        for _ in range(c):
            self.kept.append(t)
            self.other = t
        return self.other * 1


class Numbers(Base):
    def forward(self, x: Tensor, c: int) -> Tensor:
        for k in range(c):
            self.numbers.append(k)
            self.rows[k % 2].append(self.numbers[-2])
            self.counts[str(k)] = k
        if c == 0 and len(self.numbers) > 3:
            self.numbers.pop(0)
        return x * sum(self.numbers) + len(self.rows[0]) + len(self.counts)


NATIVE = (Assigned, InADict, OneInTwo, Numbers)
"""What is never left to the interpreter."""
CASES = (
    *NATIVE, InAList, View, Chosen, Stops, Argument, ListOfTensors, ListThatOthersKeep,
)  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def held(module: Any) -> Any:
    names = ("buf", "other", "kept", "named", "numbers", "rows", "counts")
    return [plain(getattr(module, name)) for name in names]


@pytest.mark.parametrize("make", CASES, ids=lambda c: c.__name__)
def test_native_calls_change_what_interpreted_ones_do(make: Callable[[], nn.Module]) -> None:
    interpreted, compiled = jit.script(make()), jit.script(make())
    function = ts.compile(compiled)
    own, its = ts.tensor([1.0, 2.0]), ts.tensor([1.0, 2.0])
    for c in (0, 2, 0, 0, 1, 0, 3):
        assert plain(function(own, c)) == plain(interpreted(its, c))
        assert held(compiled) == held(interpreted)
        assert plain(own) == plain(its)
    if make in NATIVE:
        assert function.stats.is_native, function.stats.fallbacks


class Optionals(nn.Module):
    """Attributes and elements that a loop changes from None to a tensor, or among strings."""

    last: Optional[Tensor]  # noqa: UP045
    named: Dict[str, Optional[Tensor]]  # noqa: UP006, UP045

    def __init__(self) -> None:
        super().__init__()
        self.last = None
        self.mode = ""
        self.named = {"a": None}
        self.sums = [ts.zeros(2)]

    def forward(self, x: Tensor, n: int) -> Tensor:
        held: List[Optional[Tensor]] = [None, None]  # noqa: UP006, UP045
        out = x * 0
        for i in range(n):
            before = self.last
            if before is not None:
                out = out + before
            self.last = None if i % 3 == 2 else x * i
            self.mode = "none" if i % 3 == 2 else "some"
            held[0] = held[1]
            held[1] = x * i
            one = self.named["a"]
            if one is None:
                self.named["a"] = x + i
            elif i % 2 == 1:
                self.named["a"] = None
            self.sums[0] = self.sums[0] + 1
        out = out + self.sums[0] + len(self.mode)
        for part in (held[0], self.named["a"]):
            if part is not None:
                out = out + part
        return out


def test_loops_change_what_attributes_and_elements_are() -> None:
    interpreted, compiled = jit.script(Optionals()), jit.script(Optionals())
    function = ts.compile(compiled, fallback="error")
    x = ts.tensor([1.0, 2.0])
    for n in (0, 1, 2, 0, 3, 7, 0, 1, 50):
        assert plain(function(x, n)) == plain(interpreted(x, n))
        for name in ("last", "mode", "named", "sums"):
            assert plain(getattr(compiled, name)) == plain(getattr(interpreted, name))

"""Archives that PyTorch froze whose programs hold objects: loaded, run and saved as PyTorch does.

Frozen code names such an object `CONSTANTS.cN`; what it changes of it stays for the next call.
"""

import io
from typing import Any, List  # noqa: UP035 - as programs write

import pytest

import tensorscript as ts
from tensorscript.base.errors import ArchiveError
from tensorscript.dialects.ts.constants import ObjectLiteral, text_of, value_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
nn = torch.nn


class Counter:
    def __init__(self, n: int, t: torch.Tensor) -> None:
        self.n = n
        self.t = t
        self.names: List[str] = []  # noqa: UP006

    def up(self, x: torch.Tensor) -> torch.Tensor:
        self.n += 1
        self.t = self.t + x
        self.names.append("a")
        return self.t * self.n

    def get(self) -> int:
        return self.n + len(self.names)


class Holder:
    def __init__(self, c: Counter) -> None:
        self.c = c
        self.k = 0

    def go(self, x: torch.Tensor) -> torch.Tensor:
        self.k += 1
        return self.c.up(x) + self.k


class Own(nn.Module):  # type: ignore[misc]  # torch is an optional import
    def __init__(self) -> None:
        super().__init__()
        self.c = torch.jit.script(Counter)(1, torch.zeros(2))
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        y = self.c.up(self.w * x)
        return y, self.c.get()


class Shared(nn.Module):  # type: ignore[misc]  # torch is an optional import
    def __init__(self) -> None:
        super().__init__()
        c = torch.jit.script(Counter)(1, torch.zeros(2))
        self.p = torch.jit.script(Holder)(c)
        self.q = torch.jit.script(Holder)(c)
        self.c = c

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int, int]:
        y = self.c.up(x) + self.p.go(x)
        if bool(x.sum() > 0):
            y = y + self.q.go(x)
        return y, self.c.get(), self.p.k


class InPlace(nn.Module):  # type: ignore[misc]  # torch is an optional import
    def __init__(self) -> None:
        super().__init__()
        self.c = torch.jit.script(Counter)(3, torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.c.t.add_(x)
        return self.c.t + self.c.n


PROGRAMS = (Own, Shared, InPlace)


def _frozen(program: Any) -> bytes:
    made = io.BytesIO()
    torch.jit.save(torch.jit.freeze(torch.jit.script(program().eval())), made)
    return made.getvalue()


def _saved(module: Any) -> bytes:
    made = io.BytesIO()
    ts.jit.save(module, made)
    return made.getvalue()


def _results(side: Any, module: Any) -> list[str]:
    return [str(module(side.tensor([1.0, 2.0 - n]))) for n in range(4)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_state_changes_as_in_torch(program: Any) -> None:
    """Call by call; saved in between; what was saved goes on from there, here and in PyTorch."""
    data = _frozen(program)
    theirs, ours = torch.jit.load(io.BytesIO(data)), ts.jit.load(data)
    assert "CONSTANTS." in theirs.code and ours.code == theirs.code
    assert _results(ts, ours) == _results(torch, theirs)
    again = _saved(ours)
    assert _saved(ts.jit.load(again)) == again
    wanted = _results(torch, theirs)
    assert _results(torch, torch.jit.load(io.BytesIO(again))) == wanted
    assert _results(ts, ts.jit.load(again)) == wanted
    assert _results(ts, ours) == wanted


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled(program: Any) -> None:
    """Native code leaves such a program to the interpreter, and says so."""
    data = _frozen(program)
    compiled = ts.compile(ts.jit.load(data))
    assert _results(ts, compiled) == _results(torch, torch.jit.load(io.BytesIO(data)))
    told = "an object among the constants of an archive"
    assert all(told in each for each in compiled.stats.fallbacks) and compiled.stats.fallbacks


def test_two_modules_of_one_archive_are_apart() -> None:
    data = _frozen(Own)
    first, second = ts.jit.load(data), ts.jit.load(data)
    before = _results(ts, first)
    assert _results(ts, second) == before != _results(ts, first)


def test_state_that_the_class_does_not_have() -> None:
    data = _frozen(Own)
    broken = data.replace(b"X\x01\x00\x00\x00n", b"X\x01\x00\x00\x00m")
    assert broken != data
    with pytest.raises(ArchiveError):
        ts.jit.load(broken)(ts.ones(2))


def test_text_names_the_class_alone() -> None:
    literal = ObjectLiteral("__torch__.C", lambda: 3)
    assert literal.get() == 3 and literal != ObjectLiteral("__torch__.C")
    read = value_of(text_of(literal))
    assert isinstance(read, ObjectLiteral) and read.class_name == "__torch__.C"
    with pytest.raises(ValueError, match="a text does not hold the object"):
        read.get()

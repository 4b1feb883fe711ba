"""Compiled methods that change their module: tensors and numbers of self go in and out."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035 - as programs write

import pytest

import tensorscript as torch
from tensorscript import jit, nn
from tensorscript.base.errors import NotCompilable

X = torch.tensor([1.0, 2.0])


class Numbers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.t = 0.0
        self.on = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n += 1
        self.t = self.t * 0.5 + 1.0
        if self.n > 2:
            self.on = not self.on
        return x * self.n + self.t


class InLoops(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.part = Numbers()

    def forward(self, x: torch.Tensor, k: int) -> Tuple[torch.Tensor, int]:  # noqa: UP006
        for i in range(k):
            self.n += i
            if i % 2 == 0:
                x = self.part(x)
        return x, self.n


class InBranches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hits = 0
        self.misses = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):
            self.hits += 1
            return x
        self.misses += 1
        return -x


class Statistics(nn.Module):
    mean: torch.Tensor
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = self.mean * 0.5 + x * 0.5
        self.total += x
        self.total[0] = 7.0
        return self.mean + self.total


class Keeps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x
        return x + 1


@jit.script
class Settings:
    def __init__(self, n: int):
        self.n = n


class HoldsObject(nn.Module):
    settings: Settings

    def __init__(self) -> None:
        super().__init__()
        self.settings = Settings(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.settings.n += 1
        return x * self.settings.n


class Shared(nn.Module):
    a: torch.Tensor
    b: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.ones(2))
        self.register_buffer("b", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.b = self.a
        self.a = x * 2
        return self.b


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.n if isinstance(value, Settings) else value


def state(module: Any) -> dict[str, Any]:
    return {
        f"{path}.{name}": plain(getattr(part, name))
        for path, part in module.named_modules()
        for name in part._script_object.attributes
        if name != "training" and name not in part._modules
    }


CASES: dict[str, tuple[Callable[[], nn.Module], list[tuple[Any, ...]]]] = {
    "numbers": (Numbers, [(X,)] * 5),
    "loops": (InLoops, [(X, 3), (X, 40), (X, 0), (X, 3)]),
    "branches": (InBranches, [(X,), (-X,), (X,)]),
    "statistics": (Statistics, [(X,)] * 3),
    "keeps": (Keeps, [(X,), (X + 1,)]),
    "object": (HoldsObject, [(X,)] * 3),
    "shared": (Shared, [(X,)] * 3),
}


@pytest.mark.parametrize("name", CASES)
def test_native_code_changes_the_module_as_the_interpreter_does(name: str) -> None:
    make, calls = CASES[name]
    interpreted, native, compiled = (jit.script(make()) for _ in range(3))
    function = torch.compile(compiled, fallback="error")
    for arguments in calls:
        wanted = plain(interpreted(*arguments))
        with jit.executor("native"):
            assert plain(native(*arguments)) == wanted
        assert plain(function(*arguments)) == wanted
        assert state(native) == state(interpreted) == state(compiled)
    assert function.stats.is_native and len(function.stats.native) == 1
    made = native._home.entry(native._script_object, "forward").native()
    assert made.stats.is_native and len(made.stats.native) == 1, "compiled once"


def test_what_others_change_is_seen() -> None:
    module = jit.script(Numbers())
    function = torch.compile(module)
    function(X)
    module.n = 10
    assert function(X).tolist() == [12.5, 23.5] and module.n == 11


def test_an_attribute_that_is_assigned_an_argument_is_that_tensor() -> None:
    module = jit.script(Keeps())
    function = torch.compile(module)
    mine = X.clone()
    function(mine)
    mine += 1
    assert module.last.tolist() == [2.0, 3.0]


class Grows(nn.Module):
    seen: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = torch.cat([self.seen, x])
        return self.seen.sum()


def test_state_that_changes_its_shape() -> None:
    module = jit.script(Grows())
    function = torch.compile(module)
    found = [function(X).item() for _ in range(12)]
    assert found == [3.0 * k for k in range(1, 13)] and module.seen.shape == (24,)
    assert any("keeps changing its shape" in why for why in function.stats.fallbacks)


class Chunks(nn.Module):
    """A recurrence whose state begins empty, as streaming models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.state = torch.zeros(0)
        self.rate = 0

    @jit.export
    def reset(self) -> None:
        self.state = torch.zeros(0)
        self.rate = 0

    def forward(self, x: torch.Tensor, rate: int) -> torch.Tensor:
        if self.rate != 0 and self.rate != rate:
            self.reset()
        if len(self.state) == 0:
            self.state = torch.zeros([1, x.size(0)])
        self.rate = rate
        self.state = torch.stack([self.state[0] * 0.5 + x])
        return self.state.sum() + x[:: rate // 8]


def test_numbers_of_self_that_decide_about_shapes_are_guarded_constants() -> None:
    interpreted, compiled = jit.script(Chunks()), jit.script(Chunks())
    function = torch.compile(compiled)
    for rate in (8, 8, 16, 16, 8, 8, 16):
        assert plain(function(X, rate)) == plain(interpreted(X, rate))
        assert state(compiled) == state(interpreted)
    kinds = len(function.stats.native)
    compiled.reset(), interpreted.reset()
    for rate in (8, 16, 8):
        assert plain(function(X, rate)) == plain(interpreted(X, rate))
    assert function.stats.is_native and len(function.stats.native) == kinds == 3


class Mode(Enum):
    FIRST = 1
    SECOND = 2


class Structures(nn.Module):
    """Attributes that are no tensors and numbers: their structure is part of the form of state."""

    frames: List[torch.Tensor]  # noqa: UP006
    cache: Dict[str, torch.Tensor]  # noqa: UP006
    counts: Dict[str, int]  # noqa: UP006
    pair: Tuple[torch.Tensor, int]  # noqa: UP006
    maybe: Optional[torch.Tensor]  # noqa: UP045
    history: List[float]  # noqa: UP006

    def __init__(self) -> None:
        super().__init__()
        self.frames = []
        self.cache = {}
        self.counts = {"calls": 0, "a.b": 1}
        self.pair = (torch.zeros(2), 0)
        self.maybe = None
        self.history = []
        self.text = "idle"
        self.mode = Mode.FIRST

    @jit.export
    def window(self, x: torch.Tensor) -> torch.Tensor:
        self.frames.append(x)
        if len(self.frames) > 2:
            self.frames = self.frames[1:]
        return torch.stack(self.frames).sum(0)

    @jit.export
    def cached(self, x: torch.Tensor) -> torch.Tensor:
        if "last" in self.cache:
            x = x + self.cache["last"]
        self.cache["last"] = x
        self.counts["calls"] += 1
        self.counts["a.b"] *= 2
        return x * self.counts["calls"]

    @jit.export
    def paired(self, x: torch.Tensor) -> torch.Tensor:
        held, n = self.pair
        self.pair = (held + x, n + 1)
        return held * n

    @jit.export
    def optional(self, x: torch.Tensor) -> torch.Tensor:
        held = self.maybe
        if held is None:
            held = torch.zeros_like(x)
        self.maybe = held + x
        return held

    @jit.export
    def machine(self, x: torch.Tensor) -> Tuple[torch.Tensor, str]:  # noqa: UP006
        if self.text == "idle":
            self.text = "running"
        elif self.text == "running":
            self.text = "idle"
            return x * 2, self.text
        return x, self.text

    @jit.export
    def switch(self, x: torch.Tensor) -> torch.Tensor:
        if self.mode == Mode.FIRST:
            self.mode = Mode.SECOND
            return x
        self.mode = Mode.FIRST
        return -x

    @jit.export
    def average(self, x: torch.Tensor) -> float:
        self.history.append(float(x.sum()))
        total = 0.0
        for value in self.history:
            total += value
        return total / len(self.history)

    @jit.export
    def inside(self, x: torch.Tensor) -> int:
        if "last" in self.cache:
            self.cache["last"] += x
        else:
            self.cache["last"] = x.clone()
        return len(self.cache)


STRUCTURES = {  # the forms that a method's state takes in six calls
    "window": 3, "cached": 2, "paired": 1, "optional": 2, "machine": 2, "switch": 2, "average": 2,
    "inside": 2,
}  # fmt: skip


@pytest.mark.parametrize("method", STRUCTURES)
def test_lists_dicts_strings_and_optionals_of_self(method: str) -> None:
    interpreted, compiled = jit.script(Structures()), jit.script(Structures())
    function = torch.compile(getattr(compiled, method))
    for k in range(6):
        assert plain(function(X + k)) == plain(getattr(interpreted, method)(X + k))
        assert state(compiled) == state(interpreted)
    assert function.stats.is_native, function.stats.fallbacks
    assert len(function.stats.native) == STRUCTURES[method]


class NamesOfArguments(nn.Module):
    """An argument and an attribute of one name."""

    x: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("x", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.x += x
        x += 1
        return self.x


def test_an_attribute_may_be_called_as_an_argument() -> None:
    interpreted, compiled = jit.script(NamesOfArguments()), jit.script(NamesOfArguments())
    function = torch.compile(compiled, fallback="error")
    for _ in range(3):
        mine, theirs = X.clone(), X.clone()
        assert plain(function(mine)) == plain(interpreted(theirs))
        assert plain(mine) == plain(theirs) == [2.0, 3.0]
        assert state(compiled) == state(interpreted)


class HeldTwice(nn.Module):
    one: List[int]  # noqa: UP006
    other: List[int]  # noqa: UP006

    def __init__(self) -> None:
        super().__init__()
        self.one = [1]
        self.other = [2]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.other = self.one
        self.other.append(3)
        return x * len(self.one)


def test_a_list_that_two_attributes_hold_is_refused_natively_and_interpreted() -> None:
    first, second = jit.script(HeldTwice()), jit.script(HeldTwice())
    function = torch.compile(second)
    for _ in range(3):
        assert plain(function(X)) == plain(first(X))
    assert state(first) == state(second) and not function.stats.is_native
    with pytest.raises(NotCompilable, match="held twice"):
        torch.compile(jit.script(HeldTwice()), (X,), fallback="error")


class Tied(nn.Module):
    """One buffer under two names, and a module that is held twice."""

    a: torch.Tensor
    b: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("b", self.a)
        self.part = Numbers()
        self.again = self.part

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:  # noqa: UP006
        self.a.add_(x)
        return self.again(self.part(self.b * 2)), self.a + self.part.t


class Views(nn.Module):
    """Buffers that are parts of another one."""

    table: torch.Tensor
    row: torch.Tensor
    column: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("row", torch.zeros(3, 2)[1])
        self.register_buffer("table", torch.zeros(3, 2))
        self.register_buffer("column", self.table[:, 1])
        self.row = self.table[1]

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:  # noqa: UP006
        self.row.copy_(x)
        self.column.add_(1.0)
        self.table[0] += self.row
        return self.table.clone(), self.column * self.row[1]


class Overlapping(nn.Module):
    """Buffers of which none holds the memory of both."""

    a: torch.Tensor
    b: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        memory = torch.zeros(3)
        self.register_buffer("a", memory[:2])
        self.register_buffer("b", memory[1:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.a.add_(x)
        return self.b.clone()


@pytest.mark.parametrize("make", [Tied, Views])
def test_attributes_that_share_memory(make: Callable[[], nn.Module]) -> None:
    interpreted, compiled = jit.script(make()), jit.script(make())
    function = torch.compile(compiled, fallback="error")
    for k in range(3):
        assert plain(function(X + k)) == plain(interpreted(X + k))
        assert state(compiled) == state(interpreted)


def test_attributes_that_overlap_are_refused_natively_and_interpreted() -> None:
    first, second = jit.script(Overlapping()), jit.script(Overlapping())
    function = torch.compile(second)
    for _ in range(2):
        assert plain(function(X)) == plain(first(X))
    assert any("self.a, self.b share memory" in f for f in function.stats.fallbacks)


class WrittenByOthers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("h", torch.zeros(2))
        self.cache = [torch.zeros(2), torch.ones(2)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.w + self.h + self.cache[1]

    @jit.export
    def reset(self) -> None:
        self.w.fill_(5.0)

    @jit.export
    def step(self, x: torch.Tensor) -> None:
        self.h.copy_(x)
        self.cache[1].add_(1.0)


def write(module: jit.RecursiveScriptModule, at: int) -> None:
    """One of several ways to write to what `forward` reads."""
    with torch.no_grad():
        match at % 4:
            case 0:
                module.reset()
            case 1:
                module.step(X * at)
            case 2:
                module.w.mul_(at)
            case 3:
                module.w.view(2)[:1] = 7.0


def test_memory_that_others_write_to_is_read_again() -> None:
    interpreted, native = (jit.script(WrittenByOthers()) for _ in range(2))
    entry = native._home.entry(native._script_object, "forward")
    for at in range(12):
        write(interpreted, at)
        wanted = interpreted(X).tolist()
        with jit.executor("native"):
            write(native, at)
            assert native(X).tolist() == wanted, at
        if at == 8:
            settled = entry.native()
    assert entry.native() is settled, "what changes again and again is no constant"
    assert settled.stats.is_native


class Changing(torch.nn.Module):
    """Another program after the first call."""

    def __init__(self) -> None:
        super().__init__()
        self.mode = "first"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.mode == "first":
            self.mode = "later"
            return x + 1
        return x * 3


def test_code_of_a_later_state_has_open_sizes_as_well() -> None:
    compiled = torch.compile(
        Changing(), (torch.TensorSpec(("N", 2), torch.float32),), fallback="error"
    )
    sums = [float(compiled(torch.ones(n, 2)).sum()) for n in (3, 3, 4, 1, 0, 5)]
    assert sums == [12, 18, 24, 6, 0, 30]
    assert compiled.stats.native == ["(Nx2:f32)", "(Nx2:f32)", "(0x2:f32)"]

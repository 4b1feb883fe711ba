"""Compiled methods that change their module: tensors and numbers of self go in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Optional, Tuple  # noqa: UP035 - as programs write

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
    return value.n if hasattr(value, "original_name") else value


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
    assert function.stats.is_native and len(function.stats.native) == kinds == 5


class ChangesList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.listed = [1]
        self.table: Dict[str, int] = {"a": 1}  # noqa: UP006
        self.mode = "a"
        self.maybe = jit.Attribute(None, Optional[int])  # noqa: UP045

    @jit.export
    def grow(self, x: torch.Tensor) -> torch.Tensor:
        self.listed.append(2)
        return x + len(self.listed)

    @jit.export
    def put(self, x: torch.Tensor) -> torch.Tensor:
        self.table["b"] = 2
        return x + len(self.table)

    @jit.export
    def rename(self, x: torch.Tensor) -> torch.Tensor:
        self.mode = "b"
        return x

    @jit.export
    def set(self, x: torch.Tensor) -> torch.Tensor:
        self.maybe = 3
        return x


@pytest.mark.parametrize("method", ["grow", "put", "rename", "set"])
def test_other_changes_are_refused_natively_and_interpreted(method: str) -> None:
    first, second = jit.script(ChangesList()), jit.script(ChangesList())
    function = torch.compile(getattr(second, method))
    for _ in range(2):
        assert plain(function(X)) == plain(getattr(first, method)(X))
    assert state(first) == state(second) and not function.stats.is_native
    with pytest.raises(NotCompilable, match=r"self|neither a tensor nor a number"):
        torch.compile(getattr(jit.script(ChangesList()), method), (X,), fallback="error")


def test_export_refuses_what_changes_state() -> None:
    function = torch.compile(jit.script(Numbers()), (X,))
    with pytest.raises(NotCompilable, match="it updates the attribute 'n'"):
        function.export_object("never_written.o")

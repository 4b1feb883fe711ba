"""Classes, enums, NamedTuples, interfaces, hooks and properties in archives."""

import enum
from typing import NamedTuple

import torch
from archive_program import ArchiveProgram, X, cases_of
from torch import Tensor, nn

CLASSES: dict[str, ArchiveProgram] = {}

case = cases_of(CLASSES)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Point(NamedTuple):
    place: Tensor
    weight: float


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.total = start
        self.seen: list[int] = []

    def add(self, n: int) -> int:
        self.total += n
        self.seen.append(n)
        return self.total

    @property
    def size(self) -> int:
        return len(self.seen)


@case((X, Color.RED), (X, Color.BLUE))
class Enums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.color, self.mode = Color.BLUE, Mode.SLOW

    def forward(self, x: Tensor, color: Color = Color.RED) -> tuple[Tensor, str]:
        if color == self.color:
            x = x * 2
        return x + color.value, self.mode.value + color.name


@case((X,))
class NamedTuples(nn.Module):
    point: Point

    def __init__(self) -> None:
        super().__init__()
        self.point = Point(torch.ones(4), 0.5)

    def forward(self, x: Tensor) -> Point:
        return Point(x + self.point.place, self.point.weight * 2)


@case((X, 3))
class UsesClass(nn.Module):
    def forward(self, x: Tensor, n: int) -> tuple[Tensor, int, int]:
        counter = Counter(1)
        for i in range(n):
            counter.add(i)
        return x * counter.total, counter.size, counter.seen[-1]


class Doubling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Shifting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


@case((X,))
class ModuleInterfaces(nn.Module):
    first: Step
    second: Step

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Doubling(), Shifting()

    def forward(self, x: Tensor) -> Tensor:
        return self.second.forward(self.first.forward(x))


@case((X, 0), (X, 1))
class ChosenModules(nn.Module):
    """A variable chooses among the children of a list, through an interface."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList([Doubling(), Shifting()])

    def forward(self, x: Tensor, k: int) -> Tensor:
        step: Step = self.steps[k]
        return step.forward(x)


@case((X,))
class NestedContainers(nn.Module):
    rows: list[list[Tensor]]
    table: dict[str, dict[str, int]]
    pair: tuple[list[int], dict[str, Tensor]]

    def __init__(self) -> None:
        super().__init__()
        self.rows = [[torch.ones(4)], [torch.zeros(4), torch.arange(4.0)]]
        self.table, self.pair = {"x": {"y": 2}}, ([1, 2], {"t": torch.ones(1)})

    def forward(self, x: Tensor) -> Tensor:
        for row in self.rows:
            for part in row:
                x = x + part
        return x * self.table["x"]["y"] + self.pair[0][1] + self.pair[1]["t"]


@case((X,), (X,), (X,))
class Window(nn.Module):
    """A list of self that grows and shrinks."""

    kept: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.kept = []

    def forward(self, x: Tensor) -> Tensor:
        self.kept.append(x)
        if len(self.kept) > 2:
            self.kept.pop(0)
        return torch.stack(self.kept).sum(0)


@case((X,))
class CustomState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.training = torch.arange(4.0), False

    @torch.jit.export
    def __getstate__(self) -> tuple[Tensor, bool]:
        return self.weight * 10, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[Tensor, bool]) -> None:
        self.weight, self.training = state[0] / 10, state[1]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


@case((X,))
class Properties(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.raw = 2.0

    @property
    def twice(self) -> float:
        return self.raw * 2

    def forward(self, x: Tensor) -> Tensor:
        return x * self.twice


@case((X,))
class ForwardHooks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Doubling()

        def before(self, input: tuple[Tensor]) -> tuple[Tensor]:
            return (input[0] + 1,)

        def after(self, input: tuple[Tensor], output: Tensor) -> Tensor:
            return output - input[0]

        self.inner.register_forward_pre_hook(before)
        self.inner.register_forward_hook(after)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


@case((X,), (X * 2,))
class HooksOfItself(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def before(self, input: tuple[Tensor]) -> tuple[Tensor]:
            return (input[0] + 1,)

        def after(self, input: tuple[Tensor], output: Tensor) -> Tensor:
            return output - input[0]

        self.register_forward_pre_hook(before)
        self.register_forward_hook(after)

    def forward(self, x: Tensor) -> Tensor:
        return x * 2

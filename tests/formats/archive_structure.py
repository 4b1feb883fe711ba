"""Containers of modules, attributes, state of PyTorch's archives."""

from typing import Final

import torch
from archive_program import ArchiveProgram, X, cases_of, values
from torch import Tensor, nn

STRUCTURE: dict[str, ArchiveProgram] = {}

case = cases_of(STRUCTURE)


@case((X,))
class ListOfModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for at, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) + at
        return x


@case((X, "a"), (X, "b"))
class DictOfModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})

    def forward(self, x: Tensor, which: str) -> Tensor:
        out = torch.zeros(3, 2)
        for name, head in self.heads.items():
            if name == which:
                out = out + head(x)
        return out


@case((X,))
class NestedSequential(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        inner = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.5))
        self.body = nn.Sequential(inner, nn.Linear(8, 4), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


@case((X,))
class OptionalSubmodule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used: nn.Module | None = nn.Linear(4, 4)
        self.unused: nn.Module | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.used is not None:
            x = self.used(x)
        if self.unused is not None:
            x = self.unused(x)
        return x


@case((X,))
class ListOfParameters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(values(4)) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for weight in self.weights:
            x = x * weight
        return x


@case((X,))
class SharedSubmodule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


@case((X,))
class TiedWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


@case((X,))
class PlainAttributes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count, self.scale, self.flag, self.name = 3, 0.5, True, "caf\u00e9"
        self.big, self.neg, self.phase = 1 << 40, -7, 1 + 2j
        self.sizes, self.ratios, self.flags = [1, 2], [0.5, 0.25], [True, False]
        self.words, self.pair = ["a", "b"], (1, "x")
        self.place, self.nothing = torch.device("cpu"), None

    def forward(self, x: Tensor) -> tuple[Tensor, str, int, complex]:
        y = x * self.scale + self.count + self.sizes[1] + self.ratios[0]
        if self.flag and self.flags[0]:
            y = y.to(self.place)
        return y, self.name + self.words[0] + self.pair[1], self.big + self.neg, self.phase


@case((X,))
class DictAttributes(nn.Module):
    table: dict[str, int]
    nested: dict[str, list[float]]
    tensors: dict[int, Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.table, self.nested = {"a": 1, "b": 2}, {"k": [1.0, 2.0], "e": []}
        self.tensors = {3: torch.ones(4), 1: torch.arange(4.0)}

    def forward(self, x: Tensor) -> tuple[Tensor, list[str]]:
        for key, tensor in self.tensors.items():
            x = x + tensor * key
        return x * self.table["b"] + len(self.nested["k"]), list(self.nested.keys())


@case((X,))
class TensorLists(nn.Module):
    grids: list[Tensor]
    pairs: list[tuple[int, float]]
    maybe: list[Tensor | None]

    def __init__(self) -> None:
        super().__init__()
        self.grids = [torch.ones(4), torch.arange(4.0)]
        self.pairs, self.maybe = [(1, 0.5), (2, 0.25)], [None, torch.ones(1)]

    def forward(self, x: Tensor) -> Tensor:
        for grid in self.grids:
            x = x + grid
        for times, by in self.pairs:
            x = x * times * by
        last = self.maybe[1]
        return x if last is None else x + last


@case((X,), (X,))
class OptionalTensorState(nn.Module):
    cache: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.cache = None

    def forward(self, x: Tensor) -> Tensor:
        cache = self.cache
        if cache is None:
            cache = torch.zeros_like(x)
        cache = cache + x
        self.cache = cache
        return cache


@case((X,), (X,))
class TupleState(nn.Module):
    state: tuple[Tensor, int]

    def __init__(self) -> None:
        super().__init__()
        self.state = (torch.zeros(4), 0)

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        total, steps = self.state
        self.state = (total + x.sum(0), steps + 1)
        return self.state


@case((X,))
class FinalConstants(nn.Module):
    k: Final[int] = 3
    names: Final[list[str]] = ["p", "q"]
    __constants__ = ["eps"]  # noqa: RUF012 - as models write

    def __init__(self) -> None:
        super().__init__()
        self.eps = 1e-5

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x * self.k + self.eps, len(self.names)


@case((X,))
class UnionAttribute(nn.Module):
    what: int | str

    def __init__(self) -> None:
        super().__init__()
        self.what = "seven"

    def forward(self, x: Tensor) -> Tensor:
        what = self.what
        if isinstance(what, str):
            return x * len(what)
        return x + 1


@case((X,))
class OddNames(nn.Module):
    """Names of attributes that are no identifiers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("by-two", torch.full((4,), 2.0))
        self.register_parameter("p q", nn.Parameter(values(4)))
        self.add_module("a-b", nn.Linear(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        return getattr(self, "a-b")(x) * getattr(self, "by-two") + getattr(self, "p q")

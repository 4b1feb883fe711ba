"""Programs that PyTorch saves and we load: attributes, classes, state, control flow.

`PROGRAMS` maps a name to what makes the scripted or traced program and its inputs. Models stand in
`archive_models`.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class ArchiveProgram:
    """What is saved, and the inputs of its calls in order.

    Attributes:
        tolerance: relative and absolute, of native results.
    """

    make: Callable[[], Any]
    calls: tuple[tuple[Any, ...], ...]
    tolerance: float = 1e-4


PROGRAMS: dict[str, ArchiveProgram] = {}


def case(*calls: tuple[Any, ...], tolerance: float = 1e-4) -> Callable[[Any], Any]:
    """Adds a module class or a function, scripted in eval mode."""

    def add(thing: Any) -> Any:
        def make() -> Any:
            torch.manual_seed(0)
            is_module = isinstance(thing, type) and issubclass(thing, nn.Module)
            return torch.jit.script(thing().eval() if is_module else thing)

        PROGRAMS[thing.__name__] = ArchiveProgram(make, calls, tolerance)
        return thing

    return add


def values(*shape: int) -> Tensor:
    """Fixed numbers between -1 and 1."""
    count = 1
    for extent in shape:
        count *= extent
    return torch.sin(torch.arange(count, dtype=torch.float32) * 1.7).reshape(shape)


X = values(3, 4)


# -- containers of modules -------------------------------------------------------------------------


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


# -- attributes ------------------------------------------------------------------------------------


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


# -- storages --------------------------------------------------------------------------------------


@case((X,))
class ViewsOfOneStorage(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        base = torch.arange(12.0)
        self.register_buffer("head", base[:4])
        self.register_buffer("tail", base[4:8])
        self.register_buffer("columns", base.reshape(3, 4).t())

    def forward(self, x: Tensor) -> Tensor:
        return x * self.head + self.tail + self.columns.sum()


@case((X,))
class NonContiguousParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(values(4, 5).t())

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.t()


@case((X,))
class ExpandedBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("row", torch.arange(4.0).expand(3, 4))
        self.register_buffer("none", torch.empty(0, 3))
        self.register_buffer("zero_dim", torch.tensor(2.5))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.row * self.zero_dim + self.none.numel()


@case((X,))
class ManyDtypes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name in ("float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64"):
            self.register_buffer(f"of_{name}", torch.arange(4).to(getattr(torch, name)))
        self.register_buffer("mask", torch.tensor([True, False, True, True]))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.of_float16.float() + self.of_bfloat16.float() + self.of_float64.float()
        x = x + self.of_int8 + self.of_uint8 + self.of_int16 + self.of_int32 + self.of_int64
        return torch.where(self.mask, x, torch.zeros_like(x))


@case((X,))
class ComplexBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("phase", torch.polar(torch.ones(4), torch.arange(4.0)))

    def forward(self, x: Tensor) -> Tensor:
        return torch.view_as_real(x * self.phase)


@case((X,))
class HalfWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4).half()

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.linear(x, self.fc.weight.float(), self.fc.bias.float())


@case((X,), tolerance=1e-2)
class BFloat16Weights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4).bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.to(torch.bfloat16)).float()


@case((X,))
class TensorConstant(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.tensor([1.0, 2.0, 3.0, 4.0]) * torch.tensor(2)


# -- classes ---------------------------------------------------------------------------------------


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


# -- functions and control flow --------------------------------------------------------------------


@case((X, 2), (X, 5))
def scaled(x: Tensor, k: int) -> Tensor:
    return x * k


@case((X, "a b a c", 2))
def words(x: Tensor, text: str, k: int) -> tuple[Tensor, dict[str, int], str]:
    counts: dict[str, int] = {}
    for word in text.split(" "):
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return x * len(counts), counts, f"{k}-{text.upper()}"


@case((X,), (X * 0.01,))
def until_large(x: Tensor) -> tuple[Tensor, int]:
    steps = 0
    while bool(x.abs().sum() < 100.0) and steps < 20:
        x = x * 2
        steps += 1
        if steps == 17:
            break
    return x, steps


@case((X, 4))
def early_exits(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        if i == 1:
            continue
        x = x + i
        if float(x.max()) > 4.0:
            return x * 10
    return x


@case((X, [1, 2, 3]))
def growing_list(x: Tensor, sizes: list[int]) -> Tensor:
    parts: list[Tensor] = []
    for size in sizes:
        parts.append(x * size)
    return torch.cat(parts, 0)


@case((X, None), (X, X))
def optional_argument(x: Tensor, y: Tensor | None = None) -> Tensor:
    return x if y is None else x + y


@case((X,))
def forked(x: Tensor) -> Tensor:
    tasks: list[torch.jit.Future[Tensor]] = []
    for i in range(3):
        tasks.append(torch.jit.fork(scaled, x, i))
    total = torch.zeros_like(x)
    for task in tasks:
        total = total + torch.jit.wait(task)
    return total


@case((X,))
def contexts(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
    return y


@case(({"a": X, "b": X * 2}, [X, X]))
def nested_inputs(table: dict[str, Tensor], parts: list[Tensor]) -> dict[str, Tensor]:
    out: dict[str, Tensor] = {}
    for name, value in table.items():
        out[name] = value + parts[0]
    out["last"] = parts[-1]
    return out


@case((X, 3), (X, -1))
def asserted(x: Tensor, n: int) -> Tensor:
    if n < 0:
        return x
    assert n > 1, "n is too small"
    if n > 10:
        raise ValueError("n is too large")
    return x[:n]


@case((X,))
def slices(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    y = x.clone()
    y[0, 1:3] = 5.0
    y[:, 0] += 1
    return y, x[..., None, -1], x[x > 0], x[torch.tensor([2, 0])]


@case((X,))
def list_comprehension(x: Tensor) -> tuple[list[int], Tensor]:
    squares = [i * i for i in range(x.size(0))]
    rows = [x[i] * squares[i] for i in range(len(squares))]
    return squares, torch.stack(rows)


@case((X,), (X,), (X,))
class Mutating(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hits = 0
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.hits += 1
        self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        return x - self.mean + self.hits


@case((X,))
class Recursion(nn.Module):
    """Methods that call methods, and an exported one."""

    def inner(self, x: Tensor, by: float = 2.0) -> Tensor:
        return x * by

    @torch.jit.export
    def extra(self, x: Tensor) -> Tensor:
        return self.inner(x, by=3.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.extra(self.inner(x))

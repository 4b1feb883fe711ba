"""Functions, control flow and methods in archives."""

import torch
from archive_program import ArchiveProgram, X, cases_of
from torch import Tensor, nn

FUNCTIONS: dict[str, ArchiveProgram] = {}

case = cases_of(FUNCTIONS)


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

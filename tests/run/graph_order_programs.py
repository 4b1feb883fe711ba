"""Programs whose constants stand in an order that a rule of its own decides."""

import enum

import torch
from torch import Tensor


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def scaled(x: Tensor, k: int = 3, s: float | None = 2.5) -> Tensor:
    return x * k if s is None else x * k + s


def painted(x: Tensor, k: int = 7, c: Color = Color.BLUE) -> Tensor:
    return x + k if c == Color.RED else x - 1


def calls_and_defaults(x: Tensor, n: int) -> Tensor:
    if n > 3:
        return scaled(x, 5)
    elif n < -1:
        return scaled(x, 5, 1.0) + x.mean()
    return torch.softmax(x, -1, dtype=torch.float32)


def forks_with_defaults(x: Tensor) -> Tensor:
    first = torch.jit.fork(scaled, x)
    second = torch.jit.fork(scaled, x * 3, 9)
    third = torch.jit.fork(scaled, x, s=1.5)
    fourth = torch.jit.fork(torch.relu, x)
    done = torch.jit.wait(first) + torch.jit.wait(second)
    return done + torch.jit.wait(third) + torch.jit.wait(fourth) * 5


def enums_in_calls(x: Tensor) -> Tensor:
    y = painted(x, 4, Color.RED)
    return painted(y * 2, c=Color.BLUE) + painted(x)


def lengths_in_loops(x: Tensor, n: int) -> Tensor:
    while n < len([1, 2]):
        x = x + max(4, len([3.0]))
        n += 1
    for i in range(n):
        for j in range(len([5, 6])):
            x = scaled(x * i + j, len((1, 7))) + 1
    return x


def negative_numbers(x: Tensor) -> tuple[Tensor, int, list[float], Tensor]:
    print(x.size(-1), "at")
    return x[1:, None, ..., -1], -1, [-1.5, 2.0], -x * -3


PROGRAMS = [
    calls_and_defaults, forks_with_defaults, enums_in_calls, lengths_in_loops, negative_numbers,
]  # fmt: skip

"""What the tables of archive programs are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class ArchiveProgram:
    """What is saved, and the inputs of its calls in order.

    Attributes:
        tolerance: relative and absolute, of native results.
        is_exact: PyTorch computes it by the engine whose products of bytes saturate nowhere.
    """

    make: Callable[[], Any]
    calls: tuple[tuple[Any, ...], ...]
    tolerance: float = 1e-4
    is_exact: bool = False


def cases_of(
    programs: dict[str, ArchiveProgram],
) -> Callable[..., Callable[[Any], Any]]:
    """A decorator `case(*calls, tolerance=)` that adds a module class or a function to `programs`,
    scripted in eval mode."""

    def case(*calls: tuple[Any, ...], tolerance: float = 1e-4) -> Callable[[Any], Any]:
        return _adding(programs, calls, tolerance)

    return case


def _adding(
    programs: dict[str, ArchiveProgram], calls: tuple[tuple[Any, ...], ...], tolerance: float
) -> Callable[[Any], Any]:
    def add(thing: Any) -> Any:
        def make() -> Any:
            torch.manual_seed(0)
            is_module = isinstance(thing, type) and issubclass(thing, nn.Module)
            return torch.jit.script(thing().eval() if is_module else thing)

        programs[thing.__name__] = ArchiveProgram(make, calls, tolerance)
        return thing

    return add


def values(*shape: int) -> Tensor:
    """Fixed numbers between -1 and 1."""
    count = 1
    for extent in shape:
        count *= extent
    return torch.sin(torch.arange(count, dtype=torch.float32) * 1.7).reshape(shape)


X = values(3, 4)

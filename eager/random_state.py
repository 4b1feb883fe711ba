"""`torch.random`: the state of the generator that operators draw from, kept and put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .random import DEFAULT_GENERATOR, Generator
from .storage import TensorBase

default_generator: Generator = DEFAULT_GENERATOR


def get_rng_state() -> Any:
    """The state of the default generator: a tensor of bytes."""
    return DEFAULT_GENERATOR.get_state()


def set_rng_state(new_state: TensorBase) -> None:
    """Go on from a state that `get_rng_state` gave (here or in PyTorch).

    Raises:
        ValueRangeError: it has another size.
    """
    DEFAULT_GENERATOR.set_state(new_state)


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return DEFAULT_GENERATOR.initial_seed()


def seed() -> int:
    """Start the default generator from a number of the system's; gives it."""
    return DEFAULT_GENERATOR.seed()


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """What is drawn inside does not change what is drawn behind the block."""
    before = DEFAULT_GENERATOR.state_bytes()
    try:
        yield
    finally:
        if enabled:
            DEFAULT_GENERATOR.set_state_bytes(before)

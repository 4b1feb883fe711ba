"""`torch.random`: the state of the default generator."""

from tensorscript.eager.random import manual_seed
from tensorscript.eager.random_state import (
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

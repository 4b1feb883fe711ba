"""What modules ask of `torch.distributed` before they use it: here every process is alone."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def get_world_size(group: Any = None) -> NoReturn:
    """Always refused, as in PyTorch where no group of processes has been made.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        "Default process group has not been initialized, please make sure to call"
        " init_process_group."
    )


def get_rank(group: Any = None) -> NoReturn:
    """Always refused, as `get_world_size`.

    Raises:
        ValueError: always.
    """
    get_world_size(group)

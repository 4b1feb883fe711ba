"""`torch.linalg`: the operators whose names begin with `linalg_`."""

from typing import Any

from tensorscript.base.errors import LinearAlgebraError as LinAlgError
from tensorscript.eager.namespace import lookup

__all__ = ["LinAlgError"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorscript.linalg' has no attribute '{name}'")
    return lookup(f"linalg_{name}")

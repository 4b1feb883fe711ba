"""`torch.masked`: reductions and normalisations that leave masked elements out."""

from typing import Any

from tensorscript.eager.masked import FACES


def __getattr__(name: str) -> Any:
    if name not in FACES:
        raise AttributeError(f"module 'tensorscript.masked' has no attribute '{name}'")
    return FACES[name]

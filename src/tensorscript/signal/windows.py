"""`torch.signal.windows`."""

from typing import Any

from tensorscript.eager.windows import FACES


def __getattr__(name: str) -> Any:
    if name not in FACES:
        raise AttributeError(f"module 'tensorscript.signal.windows' has no attribute '{name}'")
    return FACES[name]

"""`torch.special`: the operators whose names begin with `special_`."""

from typing import Any

from tensorscript.eager.namespace import lookup


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorscript.special' has no attribute '{name}'")
    return lookup(f"special_{name}")

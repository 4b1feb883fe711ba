"""`torch.nn.functional` over eager tensors."""

from typing import Any

from tensorscript.eager.nn.functional import lookup


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorscript.nn.functional' has no attribute '{name}'")
    return lookup(name)

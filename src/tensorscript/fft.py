"""`torch.fft`: the operators whose names begin with `fft_`."""

from typing import Any

from tensorscript.eager.namespace import lookup


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorscript.fft' has no attribute '{name}'")
    return lookup(f"fft_{name}")

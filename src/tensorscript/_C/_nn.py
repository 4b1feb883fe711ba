"""`torch._C._nn`: the operators of neural networks under their own names, as PyTorch's
`nn.functional` calls them."""

from typing import Any

from tensorscript.eager.namespace import lookup


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorscript._C._nn' has no attribute '{name}'")
    return lookup(name)

"""`torch.sparse`: the operators whose names begin with `_sparse_` (`mm`, `addmm`, `sum`)."""

from typing import Any

from tensorscript.eager.namespace import lookup


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorscript.sparse' has no attribute '{name}'")
    return lookup(f"_sparse_{name}")

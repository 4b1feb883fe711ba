"""`torch.functional`: the operators of several shapes of arguments, which `torch` has too."""

from typing import Any

from tensorscript.eager.namespace import lookup

_NAMES = frozenset(
    {
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "broadcast_shapes",
        "broadcast_tensors",
        "cartesian_prod",
        "cdist",
        "chain_matmul",
        "einsum",
        "istft",
        "lu",
        "meshgrid",
        "norm",
        "pca_lowrank",
        "split",
        "stft",
        "svd_lowrank",
        "tensordot",
        "unique",
        "unique_consecutive",
        "unravel_index",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'tensorscript.functional' has no attribute '{name}'")
    return lookup(name)


def __dir__() -> list[str]:
    return sorted(_NAMES)

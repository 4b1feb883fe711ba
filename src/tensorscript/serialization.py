"""`torch.serialization`: checkpoints. Nothing in a file is executed, no class is trusted."""

from typing import Any

from tensorscript.frontends.torchscript.checkpoint import load, save

__all__ = ["load", "save"]
_TRUST = frozenset(
    {
        "add_safe_globals",
        "clear_safe_globals",
        "get_safe_globals",
        "get_unsafe_globals_in_checkpoint",
        "safe_globals",
    }
)


def __getattr__(name: str) -> Any:
    why = ": a file holds plain data and tensors, never objects of classes" * (name in _TRUST)
    raise AttributeError(f"module 'tensorscript.serialization' has no attribute '{name}'{why}")

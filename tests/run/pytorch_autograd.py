"""What PyTorch's tests of TorchScript ask of `torch.autograd.function`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _nested_map(
    condition: Callable[[Any], bool], change: Callable[[Any], Any], _: str | None = None
) -> Callable[[Any], Any]:
    """What changes the values in tuples, lists and dicts for which `condition` holds."""

    def changed(value: Any) -> Any:
        if condition(value):
            return change(value)
        if value is None:
            return None
        if isinstance(value, dict):
            return {key: changed(each) for key, each in value.items()}
        if not isinstance(value, list | tuple):
            raise ValueError(f"no tensors are looked for in {type(value).__name__}")
        parts = [changed(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)

    return changed

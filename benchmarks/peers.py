"""Which libraries are installed, and the one that the programs are written with."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import tensorscript as ts


def have(name: str) -> Any:
    """A library's module, None if it is not installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


torch: Any = have("torch")
lib: Any = torch or ts
"""PyTorch where it is installed, TensorScript elsewhere."""


class _Late:
    """A library that is imported when a program first asks it for something: a process that times
    another one has neither its memory nor its threads."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


jax: Any = _Late("jax")
numba: Any = _Late("numba")
quantize_fx: Any = _Late("torch.ao.quantization.quantize_fx")

"""What layers share: text from a format, and parameters from sizes."""

from __future__ import annotations

from typing import Any, ClassVar

from ... import namespace as ts
from ..module import Module
from ..parameter import Parameter


class Layer(Module):
    """A module whose text is a format over its attributes."""

    _text: ClassVar[str] = ""

    def extra_repr(self) -> str:
        return self._text.format_map(_Attributes(self))


class _Attributes(dict[str, Any]):
    """The attributes of a module as a mapping; `has_x` says whether `x` is there at all."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module

    def __missing__(self, key: str) -> Any:
        if key.startswith("has_"):
            return getattr(self.module, key.removeprefix("has_")) is not None
        return getattr(self.module, key)


def parameter(sizes: Any, device: Any = None, dtype: Any = None) -> Parameter:
    """A parameter of `sizes` whose elements are not set yet."""
    return Parameter(ts.empty(sizes, device=device, dtype=dtype))


def optional_parameter(
    module: Module, name: str, wanted: bool, sizes: Any, device: Any = None, dtype: Any = None
) -> None:
    """Register a parameter of `sizes` under `name`, or None in its place."""
    found = parameter(sizes, device, dtype) if wanted else None
    module.register_parameter(name, found)

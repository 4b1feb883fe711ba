"""How TorchScript's `print`, `str` and `format` show values: C++ streams.

Floats have up to 17 significant digits and a dot behind an integral value, strings inside
containers are not quoted, and tensors are laid out in columns above their type
(ATen/core/Formatting.cpp).
"""

from __future__ import annotations

from typing import Any

from tensorscript.base.tensor_text import tensor_text
from tensorscript.base.text import complex_text, float_text

from ..storage import is_tensor, value


def script_text(x: Any) -> str:
    """`str(x)` as TorchScript has it."""
    match x:
        case str():
            return x
        case None | bool() | int():
            return str(x)
        case float():
            return float_text(x)
        case complex():
            return complex_text(x)
        case list():
            return "[" + ", ".join(map(script_text, x)) + "]"
        case tuple():
            inner = ", ".join(map(script_text, x))
            return f"({inner},)" if len(x) == 1 else f"({inner})"
        case dict():
            items = (f"{script_text(k)}: {script_text(v)}" for k, v in x.items())
            return "{" + ", ".join(items) + "}"
        case _ if is_tensor(x):
            return tensor_text(value(x), f"{x.device.type.upper()}{x.dtype.word}Type")
    return str(x)

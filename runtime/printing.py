"""How TorchScript's `print` and `str` show values: C++ stream formatting.

Floats print with up to 17 significant digits and a trailing dot when integral; strings inside
containers are not quoted.
"""

from __future__ import annotations

import math
from typing import Any

from tensorscript.eager.device import device

from .values import EnumValue


def float_text(value: float) -> str:
    """`1.`, `0.10000000000000001`, `1e+20`, `inf`, `nan`."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = f"{value:.17g}"
    return text if any(c in text for c in ".en") else text + "."


def _complex_text(value: complex) -> str:
    return f"{float_text(value.real)}+{float_text(value.imag)}j"


def script_str(value: Any) -> str:
    """The text of a value as `print` shows it."""
    match value:
        case None | bool() | int():
            return str(value)
        case str():
            return value
        case float():
            return float_text(value)
        case complex():
            return _complex_text(value)
        case list():
            return "[" + ", ".join(map(script_str, value)) + "]"
        case tuple():
            inside = ", ".join(map(script_str, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        case dict():
            items = (f"{script_str(k)}: {script_str(v)}" for k, v in value.items())
            return "{" + ", ".join(items) + "}"
        case device():
            return str(value)
        case EnumValue():
            return repr(value)
    return str(value)

"""How a program's prints and warnings are shown, whoever runs it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any

from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.kernels.script_text import script_text


def show(values: Iterable[Any]) -> None:
    """`print(*values)`."""
    sys.stdout.write(" ".join(map(script_text, values)) + "\n")


def warn(message: str, place: tuple[str, int] | None) -> None:
    """`warnings.warn(message)` from a file and line; Python does not remember the place."""
    if place is None:
        call_overload("aten::warn", (message,))
    else:
        warnings.warn_explicit(message, UserWarning, *place)

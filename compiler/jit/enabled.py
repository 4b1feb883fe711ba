"""Whether scripting is on: `TENSORSCRIPT_JIT`, or else `PYTORCH_JIT`.

The environment is read once, when the API is imported. With scripting off every name of the API
gives back the Python that it was given, so that a debugger works.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

_TRUE, _FALSE = ("1", "true", "yes", "1v"), ("0", "false", "no", "0v")
_SAID = {"0v": "> PyTorch JIT DISABLED", "1v": "> Using PyTorch JIT"}


class Switch:
    """Scripting on or off.

    Args:
        environment: says it.

    Raises:
        ValueError: it says something else than yes or no.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = "TENSORSCRIPT_JIT" if "TENSORSCRIPT_JIT" in environment else "PYTORCH_JIT"
        word = environment.get(name, "1").lower()
        if word not in (*_TRUE, *_FALSE):
            raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")
        if word in _SAID:
            sys.stdout.write(f"{_SAID[word]}\n")
        self.enabled = word in _TRUE


SWITCH = Switch(os.environ)


def jit_enabled() -> bool:
    """Whether scripting is on."""
    return SWITCH.enabled


def enable() -> None:
    """Turn scripting on."""
    SWITCH.enabled = True


def disable() -> None:
    """Turn scripting off: what is scripted from now on stays Python."""
    SWITCH.enabled = False

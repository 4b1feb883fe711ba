"""Whether scripting is on: `TENSORSCRIPT_JIT`, or else `PYTORCH_JIT`."""

from __future__ import annotations

import os

_TRUE, _FALSE = ("1", "true", "yes", "1v"), ("0", "false", "no", "0v")


def jit_enabled() -> bool:
    """What `TENSORSCRIPT_JIT` or else `PYTORCH_JIT` says; True without either.

    Raises:
        ValueError: it says something else than yes or no.
    """
    name = "TENSORSCRIPT_JIT" if "TENSORSCRIPT_JIT" in os.environ else "PYTORCH_JIT"
    word = os.environ.get(name, "1").lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")
    return word in _TRUE

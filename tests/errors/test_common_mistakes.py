"""Mistakes that people make, next to PyTorch: the kind of error, and its first line.

`common_mistakes.txt` holds a statement a line, of layers, functions and methods. It leaves out what
PyTorch refuses for the sake of gradients, in the words of a build without GPUs, or with the names
of its own classes.
"""

from __future__ import annotations

import copy
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

STATEMENTS = [
    line for line in (Path(__file__).parent / "common_mistakes.txt").read_text().splitlines()
    if line and not line.startswith("#")
]  # fmt: skip
KINDS = (
    NotImplementedError, ModuleNotFoundError, FileNotFoundError, IndexError, KeyError, TypeError,
    ValueError, AttributeError, ZeroDivisionError, OverflowError, AssertionError, RuntimeError,
)  # fmt: skip


def values(library: Any) -> dict[str, Any]:
    """What the statements are about."""
    library.manual_seed(0)
    return {
        "torch": library, "nn": library.nn, "F": library.nn.functional, "np": np, "math": math,
        "copy": copy,
        "x": library.ones(2, 3),
        "v": library.ones(3),
        "i": library.arange(3),
        "b": library.tensor([True, False, True]),
        "c": library.ones(3, dtype=library.complex64),
        "image": library.ones(1, 3, 8, 8),
        "leaf": library.ones(2, 3, requires_grad=True),
    }  # fmt: skip


def refusal(statement: str, library: Any) -> tuple[str, str]:
    """The kind of error, and what it says first."""
    try:
        exec(statement, values(library))
    except KINDS as error:
        kind = next(k.__name__ for k in KINDS if isinstance(error, k))
        return kind, re.sub(r"___torch_mangle_\d+\.", "", str(error).partition("\n")[0])
    return "none", ""


@pytest.mark.filterwarnings("ignore")
def test_every_mistake_is_refused() -> None:
    assert not [s for s in STATEMENTS if refusal(s, ts)[0] == "none"]


@pytest.mark.filterwarnings("ignore")
def test_kind_and_words_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    apart = {
        s: (ours, theirs)
        for s in STATEMENTS
        if (ours := refusal(s, ts)) != (theirs := refusal(s, torch))
    }
    assert not apart

"""Imports that wait until something is used."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from types import ModuleType


def imported(name: str) -> ModuleType:
    """A module. What importing makes stays: to look for garbage in it takes a fifth of the time."""
    if name in sys.modules:
        return import_module(name)
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if collects and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # all that is there is old now, without having been looked through
        if collects:
            gc.enable()

"""Switches of PyTorch's executors and fusers.

Programs set them and read them back; they keep their state. There is one fuser here, so none of
them changes a result: what they will mean for it is for the fuser to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace

from tensorscript.base.errors import GuardError
from tensorscript.base.records import dataclass

from .callables import executor

_FUSERS = ("fuser0", "fuser1", "fuser2", "fuser3", "none")


@dataclass
class Switches:
    """The state of all switches.

    Attributes:
        strategy: kinds of specialisation and how many of each.
        onednn: whether PyTorch would hand graphs to oneDNN.
        fuser: the chosen fuser.
    """

    strategy: list[tuple[str, int]] = field(
        default_factory=lambda: [("STATIC", 2), ("DYNAMIC", 10)]
    )
    onednn: bool = False
    fuser: str = "fuser1"


_SWITCHES = Switches()


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Note a strategy, and give the one before; shapes are specialised as `compile` says.

    Raises:
        ValueError: a kind other than STATIC and DYNAMIC.
        TypeError: no list of pairs of a kind and a number.
    """
    for kind, depth in strategy:
        if not isinstance(depth, int):
            raise TypeError(f"a strategy is a list of (kind, how many), not {strategy!r:.100}")
        if kind not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {kind}")
    before, _SWITCHES.strategy = _SWITCHES.strategy, list(strategy)
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Note whether PyTorch would use oneDNN; there is one fuser here."""
    _SWITCHES.onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was told last."""
    return _SWITCHES.onednn


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Choose a fuser by PyTorch's name within; there is one fuser here.

    Raises:
        GuardError: PyTorch has no fuser of that name.
    """
    if name not in _FUSERS:
        raise GuardError(f"unrecognized fuser option (name: {name})")
    before = replace(_SWITCHES)
    _SWITCHES.fuser = name
    if name == "fuser3":
        _SWITCHES.onednn = True
    try:
        yield
    finally:
        _SWITCHES.fuser, _SWITCHES.onednn = before.fuser, before.onednn


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Only means something in script."""
    warnings.warn("Only works in script mode", stacklevel=3)
    yield


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Within, script runs as it did before, or with False in the graph interpreter alone."""
    if should_optimize:
        yield
        return
    with executor("interpreter"):
        yield

"""What a compilation may choose, as one frozen value handed down; its hash is in the cache key."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass

if TYPE_CHECKING:  # what a hit of the disk cache does not need
    from tensorscript.dialects.te.schedule import Schedule

Fallback = Literal["interpret", "error"]
WINOGRAD = (0, 2, 4)
"""Sides of the tiles of Winograd's algorithm that there are, and none."""
BUDGET = 10.0
"""Seconds that the autotuner takes if none are given."""


@dataclass(frozen=True)
class CompileOptions:
    """Options of one compilation.

    Attributes:
        target: `cpu`, a CPU triple, `cuda`, `cuda:sm_90`, or `ptx-emulate`.
        cpu: CPU name for code generation ("" is this machine's).
        strict: no contraction of a*b+c and no reassociation inside reductions.
        fallback: what to do where native code is impossible: run the graph interpreter (visible in
            `stats`) or raise NotCompilable.
        verify: run every level's verifier after every pass.
        cache: use the on-disk object cache.
        cache_dir: its folder, None for the user's cache folder.
        dump_dir: folder that receives every stage's text.
        timed: count the calls of kernels and the time they take, for `f.kernel_times`.
        winograd: convolutions of 3x3 by Winograd's algorithm where that is faster, with tiles of
            this side at most, 2 or 4; 0 for none.
        schedules: steps for the kernels of these names, instead of those that heuristics choose.
    """

    target: str = "cpu"
    cpu: str = ""
    strict: bool = False
    fallback: Fallback = "interpret"
    verify: bool = False
    cache: bool = True
    cache_dir: Path | None = None
    dump_dir: Path | None = None
    timed: bool = False
    winograd: int = 0
    schedules: tuple[tuple[str, Schedule], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            UserError: `winograd` is no side of a tile, or the options are `strict`.
        """
        if type(self.winograd) is not int or self.winograd not in WINOGRAD:
            sides = ", ".join(map(str, WINOGRAD))
            raise UserError(f"winograd is one of {sides}, got {self.winograd!r}")
        if self.winograd and self.strict:
            raise UserError("winograd rounds otherwise than the program says: strict excludes it")

    @property
    def key(self) -> str:
        """What of the options can change the code."""
        neutral = {"cache", "cache_dir", "dump_dir", "fallback", "verify"}
        parts = [f"{f.name}={getattr(self, f.name)}" for f in fields(self) if f.name not in neutral]
        return ";".join(parts)


_NO = ("", "0", "false", "no")


def options_from_environment(options: CompileOptions) -> CompileOptions:
    """Options with what the environment says where they do not: `TENSORSCRIPT_CACHE_DIR`,
    `TENSORSCRIPT_CACHE=0`, `TENSORSCRIPT_VERIFY=1`."""
    directory = os.environ.get("TENSORSCRIPT_CACHE_DIR")
    if directory and options.cache_dir is None:
        options = replace(options, cache_dir=Path(directory))
    if os.environ.get("TENSORSCRIPT_CACHE", "1") in _NO[1:]:
        options = replace(options, cache=False)
    if os.environ.get("TENSORSCRIPT_VERIFY", "") not in _NO:
        options = replace(options, verify=True)
    return options

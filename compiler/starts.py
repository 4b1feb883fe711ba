"""How the disk cache names what a function can be started from (`started.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.backends import target as targets
from tensorscript.base.records import dataclass

from .cache import DiskCache, cache_key, compiler_identity
from .identity import identity_of
from .options import CompileOptions

Kind = tuple[str, tuple[int, ...]]
"""An argument's dtype and shape."""


@dataclass(frozen=True)
class StartedProgram:
    """A function as it was when it was compiled.

    Attributes:
        function: Python's.
        identity: its digest at that time.
        options: how it is compiled.
        key: of its entry in the cache.
    """

    function: Callable[..., Any]
    identity: str
    options: CompileOptions
    key: str

    @property
    def cache(self) -> DiskCache:
        """Where its entries are."""
        return DiskCache(self.options.cache_dir)

    def code_key(self, kinds: Sequence[Kind]) -> str:
        """The key of its code for arguments of these kinds."""
        return cache_key(self.key, repr(tuple(kinds)))


def started_program(target: Any, options: CompileOptions) -> StartedProgram | None:
    """What a function is kept as; None if it is not."""
    if not options.cache or options.verify or options.timed or options.dump_dir is not None:
        return None
    if (identity := identity_of(target)) is None:
        return None
    machine = targets.parse(options.target, options.cpu)
    if machine.is_ptx:
        return None
    parts = ["started", compiler_identity(), identity, options.key, machine.key]
    return StartedProgram(target, identity, options, cache_key(*parts))

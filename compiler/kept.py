"""Specialisations in the disk cache: what tells one from all others, and how it comes back.

The key covers the program's text, the kinds of the arguments, the options, the target, the
compiler's own files and, for a method, all that its object holds. Weights that the object holds
as the code wants them are named by their place in it; what was made of weights (packed, folded) is
kept in the entry. Code that needs weights is an entry of its own, which other programs of the same
layers find by its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorscript.backends import target as targets
from tensorscript.base.records import dataclass
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec

from .cache import DiskCache, cache_key, compiler_identity
from .holdings import Holdings, holdings
from .memory import aligned
from .native import NativeCode
from .options import CompileOptions
from .program import Program
from .specialisations import Specialisations
from .stored import from_metadata, to_metadata

if TYPE_CHECKING:  # importing it takes long
    from .native_module import NativeModule


@dataclass(frozen=True)
class Place:
    """Where a specialisation is kept.

    Attributes:
        key: of its entry.
        held: what the object of a method holds; None for a function.
    """

    key: str
    held: Holdings | None


def place_of(
    program: Program,
    options: CompileOptions,
    specs: Sequence[ArgumentSpec],
    fold: bool,
    known: Specialisations,
) -> Place | None:
    """Where the specialisation for `specs` is kept; None if it is not.

    Args:
        fold: batch norms are folded.
        known: tells which attributes are no constants, and the mode of gradients.
    """
    if not options.cache:
        return None
    held = None
    if program.receiver is not None and (held := holdings(program.receiver)) is None:
        return None
    target = targets.parse(options.target, options.cpu)
    parts = [compiler_identity(), program.digest, program.entry, repr(tuple(specs))]
    parts += [options.key, target.key, repr((fold, *known.changing)), held.digest if held else ""]
    if not known.gradients:
        parts.append("no_grad")
    return Place(cache_key(*parts), held)


def load(
    cache: DiskCache, place: Place
) -> tuple[NativeCode, CallPlan, dict[str, np.ndarray]] | None:
    """What is kept: the code, how it is called, and its weights."""
    if (entry := cache.load(place.key)) is None:
        return None
    own: dict[str, Any] = entry.metadata
    data, code_key = entry.data, own.get("object")
    if code_key is not None:
        if (code := cache.load(code_key)) is None:
            return None
        data = code.data
    held = place.held.arrays if place.held else ()
    sources = {"held": held, "kept": entry.arrays}
    arrays = {name: aligned(sources[where][at]) for name, where, at in own["weights"]}
    found, plan = from_metadata(data, own, tuple(arrays))
    return found, plan, arrays


def store(
    cache: DiskCache, place: Place, code: NativeCode, plan: CallPlan, native: NativeModule
) -> None:
    """Keep a specialisation that depends on nothing else."""
    weights: list[tuple[str, str, int]] = []
    kept: dict[int, tuple[int, np.ndarray]] = {}
    for name, array in native.weights():
        at = place.held.index_of(array) if place.held else None
        if at is None:
            own, _ = kept.setdefault(array.ctypes.data, (len(kept), array))
        weights.append((name, "kept", own) if at is None else (name, "held", at))
    metadata = to_metadata(code, plan) | {"weights": weights}
    data = code.data
    if weights:
        metadata["object"], data = native.object_key, b""
    cache.store(place.key, data, metadata, [array for _, array in kept.values()])

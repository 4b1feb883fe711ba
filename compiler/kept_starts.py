"""What a process writes so that others can start a function from the disk cache (`started.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec, TensorSpec

from .native import NativeCode
from .program import Program
from .specialisations import Specialisation, has_bits
from .stages import print_module
from .starts import Kind, StartedProgram
from .stored_signature import signature_out

LARGEST = 1 << 20
"""Bytes of an object that is kept a second time, for this."""


def keep_start(start: StartedProgram, program: Program, found: Specialisation) -> None:
    """Keep the code of a specialisation that answers calls by itself, and the program."""
    code = found.code
    if found.fast_class is None or not isinstance(code, NativeCode) or code.constants:
        return
    if not found.plan.output.is_plain:
        return
    if (kinds := _kinds(found.specs)) is None or len(code.data) > LARGEST:
        return
    cache, key = start.cache, start.code_key(kinds)
    if cache.load(key) is None:
        cache.store(key, code.data, signature_out(code.signature))
    if cache.load(start.key) is None:
        text = print_module(program.module, locations=True)
        cache.store(start.key, b"", {"program": text, "entry": program.entry})


def _kinds(specs: Sequence[ArgumentSpec]) -> list[Kind] | None:
    """The kinds of arguments, if all are contiguous arrays of known sizes."""
    kinds: list[Kind] = []
    for spec in specs:
        if not isinstance(spec, TensorSpec) or spec.strides is not None or has_bits([spec]):
            return None
        sizes = tuple(size for size in spec.shape if isinstance(size, int))
        if len(sizes) < len(spec.shape):
            return None
        kinds.append((spec.dtype.short, sizes))
    return kinds

"""What an exported program keeps between its calls, in memory of the caller.

`NAME_state` holds the attributes that the program changes, one after the other, and behind them
room for as many new values: a call writes these, and they take the place of the old ones once it
has succeeded. A call that fails changes nothing, and programs with several streams have a state
for each. `NAME_init_state` gives a state the values the module had when it was exported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorscript.backends.llvm.emit_text import c_string
from tensorscript.base.records import dataclass

from .signature import ValueSpec

ALIGN = 64


@dataclass(frozen=True)
class Slot:
    """An attribute.

    Attributes:
        name: its path from the module.
        spec: of the input it is.
        data: its first value.
        result: number of the output that is its new value, or that value if every call gives the
            same number; None if no call changes it.
        offset: in bytes, from the beginning of the state.
    """

    name: str
    spec: ValueSpec
    data: bytes
    result: int | bytes | None
    offset: int = 0


@dataclass(frozen=True)
class Keeping:
    """What one entry keeps: its slots, and the numbers of the outputs that are results, too."""

    slots: tuple[Slot, ...]
    shown: frozenset[int]


@dataclass(frozen=True)
class KeptState:
    """The trailing inputs of an entry, and which outputs are nothing but their new values; or all
    that the entries of one object keep.

    Attributes:
        name: the C name of the object.
        slots: one an input, in order.
        hidden: numbers of the outputs that the caller does not see.
        size: bytes of the values.
    """

    name: str
    slots: tuple[Slot, ...]
    hidden: frozenset[int]
    size: int

    @classmethod
    def of(cls, name: str, entries: Sequence[Keeping]) -> tuple[KeptState, list[KeptState]]:
        """The slots of several entries laid out one after the other, an attribute once; and the
        part of each entry."""
        placed: dict[str, Slot] = {}
        at = 0
        for slot in (slot for entry in entries for slot in entry.slots):
            if slot.name not in placed:
                placed[slot.name] = replace(slot, result=None, offset=at)
                at += len(_padded(slot.data))
        parts = []
        for entry in entries:
            own = tuple(replace(s, offset=placed[s.name].offset) for s in entry.slots)
            results = {s.result for s in own if isinstance(s.result, int)}
            parts.append(cls(name, own, frozenset(results - entry.shown), at))
        return cls(name, tuple(placed.values()), frozenset(), at), parts

    @property
    def room(self) -> int:
        """Bytes of `NAME_state`."""
        return 2 * self.size

    def place_of(self, result: int) -> int:
        """Where a call writes a hidden output."""
        return self.size + next(s.offset for s in self.slots if s.result == result)

    def text(self) -> str:
        """LLVM text of the first values and of `NAME_init_state`."""
        parts = [_padded(s.data) for s in self.slots]
        kinds = ", ".join(f"[{len(p)} x i8]" for p in parts)
        values = ", ".join(f"[{len(p)} x i8] {_literal(p)}" for p in parts)
        first = f"@{self.name}.first_state"
        return f"""
{first} = private unnamed_addr constant <{{ {kinds} }}> <{{ {values} }}>
define void @{self.name}_init_state(ptr %self) {{
  call void @llvm.memcpy.p0.p0.i64(ptr %self, ptr {first}, i64 {self.size}, i1 false)
  ret void
}}
"""


def _padded(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // ALIGN) * ALIGN, b"\0")


def _literal(data: bytes) -> str:
    return c_string(data) if any(data) else "zeroinitializer"

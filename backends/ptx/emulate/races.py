"""Race detection: who touched which bytes last, and whether something orders the two.

For every granule (the widest power of two of bytes that no access so far has split) a region keeps
the last plain writer, and three readers and three atomic users: the first, another thread of the
same block, and one of another block. Two records of one block and one of a second are enough to
answer "is there anybody but me" for every later thread.

An earlier access is ordered before the present one when it was the same thread, when the block
passed a barrier in between, or when their common warp passed `bar.warp.sync`. Nothing else orders
two accesses here; in particular a flag passed between blocks through memory does not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorscript.base.records import dataclass

Ints = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

WIDEST = 16


@dataclass(frozen=True, slots=True)
class Accessors:
    """The threads of one access: ids over the whole launch, and when each was last ordered.

    `thread` is block * padded + index in the block, where `padded` is a multiple of 32.
    """

    thread: Indices
    padded: int
    block_since: Ints
    warp_since: Ints
    now: int
    instruction: int

    def spread(self, count: int) -> Accessors:
        """The same threads, each repeated `count` times."""
        if count == 1:
            return self
        return Accessors(
            np.repeat(self.thread, count),
            self.padded,
            np.repeat(self.block_since, count),
            np.repeat(self.warp_since, count),
            self.now,
            self.instruction,
        )


@dataclass(frozen=True, slots=True)
class Conflict:
    """The two sides of a race; `lane` indexes the accessors of the later side."""

    lane: int
    other_thread: int
    other_instruction: int
    other_kind: str


class _Record:
    """One remembered access per granule: thread (-1 for none), time and instruction."""

    def __init__(self, size: int) -> None:
        self.thread = np.full(size, -1, np.int64)
        self.time = np.zeros(size, np.int32)
        self.instruction = np.zeros(size, np.int32)

    def refine(self, factor: int) -> None:
        self.thread = np.repeat(self.thread, factor)
        self.time = np.repeat(self.time, factor)
        self.instruction = np.repeat(self.instruction, factor)

    def ordered(self, at: Indices, who: Accessors) -> Flags:
        """Where the record is absent, of the same thread, or ordered before `who`."""
        thread, time = self.thread[at], self.time[at]
        same_block = thread // who.padded == who.thread // who.padded
        same_warp = thread >> 5 == who.thread >> 5
        answer: Flags = (
            (thread < 0)
            | (thread == who.thread)
            | (same_block & (time < who.block_since))
            | (same_warp & (time < who.warp_since))
        )
        return answer

    def store(self, at: Indices, who: Accessors, where: Flags | None = None) -> None:
        thread = who.thread
        if where is not None:
            at, thread = at[where], thread[where]
        self.thread[at] = thread
        self.time[at] = who.now
        self.instruction[at] = who.instruction

    def conflict(self, at: Indices, who: Accessors, kind: str) -> Conflict | None:
        thread = self.thread[at]
        if not ((thread >= 0) & (thread != who.thread)).any():
            return None
        racing = ~self.ordered(at, who)
        if not racing.any():
            return None
        lane = int(np.argmax(racing))
        granule = at[lane]
        return Conflict(lane, int(self.thread[granule]), int(self.instruction[granule]), kind)


class _Users:
    """Readers, or atomic users, of each granule."""

    def __init__(self, size: int, kind: str) -> None:
        self.kind = kind
        self.first = _Record(size)
        self.second = _Record(size)
        self.elsewhere = _Record(size)

    def refine(self, factor: int) -> None:
        for record in (self.first, self.second, self.elsewhere):
            record.refine(factor)

    def conflict(self, at: Indices, who: Accessors) -> Conflict | None:
        for record in (self.first, self.second, self.elsewhere):
            if found := record.conflict(at, who, self.kind):
                return found
        return None

    def add(self, at: Indices, who: Accessors) -> None:
        self.first.store(at, who, self.first.ordered(at, who))
        first = self.first.thread[at]
        other = first != who.thread
        if not other.any():
            return
        same_block = first // who.padded == who.thread // who.padded
        self.second.store(at, who, other & same_block & self.second.ordered(at, who))
        self.elsewhere.store(at, who, other & ~same_block & (self.elsewhere.thread[at] < 0))


class Shadow:
    """The access history of one region of `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.granule = WIDEST
        count = -(-size // WIDEST)
        self.writer = _Record(count)
        self.readers = _Users(count, "read")
        self.atomics = _Users(count, "atomic access")

    def check(self, kind: str, offsets: Indices, width: int, who: Accessors) -> Conflict | None:
        """Note an access of `width` aligned bytes at `offsets`; report a race if there is one.

        Args:
            kind: "read", "write" or "atomic".
        """
        if width < self.granule:
            self._refine(width)
        each = width // self.granule
        at = offsets // self.granule
        who = who.spread(each)
        if each > 1:
            at = (at[:, None] + np.arange(each)).reshape(-1)
        found = self._conflict(kind, at, who)
        if found is None:
            return None
        return Conflict(
            found.lane // each, found.other_thread, found.other_instruction, found.other_kind
        )

    def _conflict(self, kind: str, at: Indices, who: Accessors) -> Conflict | None:
        if found := self.writer.conflict(at, who, "write"):
            return found
        if kind != "read" and (found := self.readers.conflict(at, who)):
            return found
        if kind != "atomic" and (found := self.atomics.conflict(at, who)):
            return found
        if kind == "read":
            self.readers.add(at, who)
        elif kind == "atomic":
            self.atomics.add(at, who)
        else:
            self.writer.store(at, who)
            # Two lanes of this very instruction on one granule: the loser of the scatter sees it.
            return self.writer.conflict(at, who, "write")
        return None

    def _refine(self, granule: int) -> None:
        factor = self.granule // granule
        self.granule = granule
        for record in (self.writer, self.readers, self.atomics):
            record.refine(factor)

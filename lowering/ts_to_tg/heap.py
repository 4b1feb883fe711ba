"""What references hold while a program is specialised: tensors' storages, lists, objects."""

from __future__ import annotations

from collections.abc import Mapping

from .values import DictRef, ListRef, ObjectRef, Storage, Value

Ref = Storage | ListRef | DictRef | ObjectRef


class Heap(dict[Ref, Value]):
    """Contents of references. What was imported from outside (constants, objects of the caller)
    has its first content in `imported`, shared by all copies, wherever it was first met.

    A content is never changed, but written anew: `written` are the references for which that was
    done since the heap was copied, in order. The elements of the storages in `stale` may have
    changed by a write to another storage.
    """

    def __init__(self, contents: Mapping[Ref, Value], imported: dict[Ref, Value]) -> None:
        super().__init__(contents)
        self.imported = imported
        self.written: dict[Ref, None] = {}
        self.stale: set[Storage] = set()

    def __setitem__(self, ref: Ref, content: Value) -> None:
        self.written[ref] = None
        super().__setitem__(ref, content)

    def __missing__(self, ref: Ref) -> Value:
        return self.imported[ref]

    def __contains__(self, ref: object) -> bool:
        return super().__contains__(ref) or ref in self.imported

    def branched(self) -> Heap:
        made = Heap(self, self.imported)
        made.stale = set(self.stale)
        return made

    def followed_by(self, branch: Heap) -> Heap:
        """A copy of this heap, now in its place."""
        branch.written = self.written | branch.written
        return branch

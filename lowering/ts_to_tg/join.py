"""Two branches' values put together: what an if gives whose condition is not known.

Values of one kind travel as leaves of the tg.if; values of different kinds are a `Variant`, whose
options travel side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from xdsl.ir import SSAValue

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, select

from .apart import is_lasting, slot_of
from .boxes import boxed_leaves, differing, unboxed
from .builder import Builder
from .element_kinds import joined, of_dict, of_list
from .elements import as_expr, known
from .grown import must_grow
from .heap import Heap, Ref
from .kinds import Kind, chosen_of, kind_of, kind_text, options_of, tag_of, variant
from .merge import (
    Rebuild,
    grown_list,
    leaf_type,
    leaf_value,
    require_one_dict,
    same_type,
    same_value,
)
from .text_values import Textual, is_textual
from .values import (
    ABSENT,
    PERHAPS,
    UNINITIALIZED,
    AwaitCell,
    Compound,
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    Site,
    Tensor,
    Text,
    UnknownString,
    Value,
    Variant,
    is_scalar,
)

MOST_STRINGS = 64
"""Of more strings it is not kept track which one a value is: the running program makes it."""


@dataclass
class Join:
    """Two branches' values put together; `leaves` must be yielded by both."""

    b: Builder
    condition: Expr
    before: Heap
    known_scalars: int
    yes: Heap
    no: Heap
    leaves: list[tuple[Value, Value]] = field(default_factory=list)

    def _tensor(self, yes: Value, no: Value) -> Rebuild:
        """Two tensors; if their shapes differ, as boxes with their sizes."""
        present = no if yes is UNINITIALIZED else yes
        other = present if UNINITIALIZED in (yes, no) else no
        free = differing(self.b, present, other)
        if free == []:
            return self._leaf(yes, no)
        if free is None:
            left, right = leaf_type(yes), leaf_type(no)
            self.b.cannot(f"the branches of an if give {left.data} and {right.data}")
        sides = [
            [UNINITIALIZED] * (1 + len(free))
            if v is UNINITIALIZED
            else boxed_leaves(self.b, v, free)
            for v in (yes, no)
        ]
        shared = False
        for v in (yes, no):
            if isinstance(v, Tensor) and v.storage in self.before:
                v.storage.shared = shared = True
        self.leaves += zip(*sides, strict=True)

        def rebuild(it: Iterator[SSAValue]) -> Value:
            made = unboxed(self.b, present, free, it)
            made.storage.shared = shared
            return made

        return rebuild

    def _leaf(self, yes: Value, no: Value) -> Rebuild:
        present = no if yes is UNINITIALIZED else yes
        if yes is not UNINITIALIZED and no is not UNINITIALIZED:
            left, right = leaf_type(yes), leaf_type(no)
            if not same_type(left, right):
                self.b.cannot(f"the branches of an if give {left.data} and {right.data}")
        aliased = False
        for v in (yes, no):
            if isinstance(v, Tensor) and v.storage in self.before:
                v.storage.shared = aliased = True
        self.leaves.append((yes, no))
        is_tensor = isinstance(present, Tensor)

        def rebuild(it: Iterator[SSAValue]) -> Value:
            made = leaf_value(self.b, next(it))
            if is_tensor:
                made.storage.shared = aliased
            return made

        return rebuild

    def _outer(self, value: Value) -> bool:
        """Whether a scalar can be computed outside of the branches."""
        return value is not UNINITIALIZED and all(
            int(n[1:]) < self.known_scalars for n in as_expr(value).free if n.startswith("$")
        )

    def value(self, yes: Value, no: Value) -> Rebuild:
        """The plan for a pair of values: of one kind, or as a variant."""
        if same_value(yes, no) and not self._is_inner(yes):
            return lambda it: yes
        if Text in (type(yes), type(no)):
            return self._text(yes, no)
        if Variant in (type(yes), type(no)):
            return self._variant(yes, no)
        if {type(yes), type(no)} == {DictRef, ListRef}:
            require_one_dict(self.b, self.yes, yes, self.no, no)
        present, other = (no, UNINITIALIZED) if yes is UNINITIALIZED else (yes, no)
        if other is not UNINITIALIZED and kind_of(present) != kind_of(other):
            if UnknownString in (type(yes), type(no)):
                return self._messages(yes, no)
            return self._variant(yes, no)
        if other is not UNINITIALIZED and self._slot(present) != self._slot(other):
            return self._variant(yes, no)
        if is_scalar(present):
            return self._scalar(yes, no)
        if isinstance(present, Compound):
            return self._tuple(present, yes, no)
        match present:
            case Tensor():
                return self._tensor(yes, no)
            case UnknownString() if other is not UNINITIALIZED:
                return self._messages(yes, no)
            case UnknownString():
                # What it is made of does not leave the branch.
                return lambda it: UnknownString(present.text)
            case ListRef():
                return self._list(yes, no)
            case DictRef() | ObjectRef():
                return self._named(present, yes, no)
        return lambda it: present

    def _text(self, yes: Value, no: Value) -> Rebuild:
        """Two strings, of which the running program makes at least one."""
        given = [v for v in (yes, no) if v is not UNINITIALIZED]
        if any(isinstance(v, UnknownString) for v in given):
            return lambda it: UnknownString("{}")
        if not all(map(is_textual, given)):
            return self._variant(yes, no)
        sides = (v if v is UNINITIALIZED else Textual(v) for v in (yes, no))
        self.leaves.append((next(sides), next(sides)))
        return lambda it: Text(next(it))

    def _messages(self, yes: Value, no: Value) -> Rebuild:
        """Two strings, of which one is not known: for messages only."""
        if all(isinstance(v, str | UnknownString) for v in (yes, no)):
            return lambda it: UnknownString("{}")
        return self.b.cannot(f"the branches of an if give {kind_text(yes)} and {kind_text(no)}")

    def _variant(self, yes: Value, no: Value) -> Rebuild:
        """Values of different kinds: each kind is an option, and a tag says which it is."""
        slots: dict[tuple[Kind, int], list[Value]] = {}
        tags: list[Value] = []
        for at, side in enumerate((yes, no)):
            if side is UNINITIALIZED:
                tags.append(UNINITIALIZED)
                continue
            options = options_of(side)
            keys = self._slots(options)
            for key, option in zip(keys, options, strict=True):
                slots.setdefault(key, [UNINITIALIZED] * 2)[at] = option
            order = list(slots)
            places = [order.index(key) for key in keys]
            tags.append(chosen_of(tag_of(side), places))
        if len(slots) > MOST_STRINGS and is_textual(yes) and is_textual(no):
            return self._text(yes, no)
        tag_plan = self._scalar(*tags)  # its leaf is read first
        parts = [self._option(*pair) for pair in slots.values()]
        return lambda it: variant(as_expr(tag_plan(it)), tuple(p(it) for p in parts))

    def _slot(self, value: Value) -> Kind:
        return slot_of(self.b, self.before, value)

    def _slots(self, options: Sequence[Value]) -> list[tuple[Kind, int]]:
        """What tells the options of one side apart: two new tensors of one kind are two options."""
        found = [self._slot(option) for option in options]
        return [(slot, found[:at].count(slot)) for at, slot in enumerate(found)]

    def _option(self, yes: Value, no: Value) -> Rebuild:
        present = no if yes is UNINITIALIZED else yes
        if is_lasting(self.b, self.before, present):
            return lambda it: present
        return self.value(yes, no)

    def _named(self, present: DictRef | ObjectRef, yes: Value, no: Value) -> Rebuild:
        """Two dicts with the same keys, or objects of one class, that the branches made."""
        sides: list[Mapping[object, Value] | None] = []
        for side, heap in ((yes, self.yes), (no, self.no)):
            if side is not UNINITIALIZED and side in self.before:
                side.shared = True
            sides.append(None if side is UNINITIALIZED else heap[side])
        if DictRef in (type(yes), type(no)) and None not in sides:
            self._require_order(yes, no)
        names = dict.fromkeys(k for s in sides if s is not None for k in s)
        parts = {
            k: self.value(*(UNINITIALIZED if s is None else s.get(k, ABSENT) for s in sides))
            for k in names
        }
        sites = tuple(s for v in (yes, no) if isinstance(v, DictRef) for s in v.sites)
        is_shared = any(v is not UNINITIALIZED and v in self.before for v in (yes, no))

        def rebuild(it: Iterator[SSAValue]) -> Value:
            made: DictRef | ObjectRef
            if isinstance(present, DictRef):
                made = DictRef(sites, present.type)
            else:
                made = ObjectRef(present.class_name)
            made.shared = is_shared
            self.b.heap[made] = {k: p(it) for k, p in parts.items()}
            return made

        return rebuild

    def _require_order(self, yes: DictRef, no: DictRef) -> None:
        """Keys of a dict come in one order, whichever branch put them in.

        Raises:
            ListGrows: they do not; these will be run-time dicts.
        """
        left, right = list(self.yes[yes]), list(self.no[no])
        both = [k for k in dict.fromkeys((*left, *right)) if k in right]
        if both != right:
            found = joined(of_dict(self.b, yes, self.yes), of_dict(self.b, no, self.no))
            must_grow(self.b, (*yes.sites, *no.sites), found, "dicts with keys in different orders")

    def _is_inner(self, value: Value) -> bool:
        """Whether a reference was made inside a branch."""
        if isinstance(value, Tensor):
            return value.storage not in self.before
        if isinstance(value, ListRef | DictRef | ObjectRef):
            return value not in self.before
        if isinstance(value, Expr):
            return not self._outer(value)
        if isinstance(value, Text):
            return True
        if isinstance(value, Variant):
            return any(map(self._is_inner, (value.tag, *value.options)))
        is_compound = isinstance(value, Compound)
        return is_compound and any(map(self._is_inner, value.elements))

    def _scalar(self, yes: Value, no: Value) -> Rebuild:
        if yes is not UNINITIALIZED and no is not UNINITIALIZED:
            left, right = as_expr(yes), as_expr(no)
            if self._outer(yes) and self._outer(no):
                chosen = self.b.shortened(known(select(self.condition, left, right)))
                return lambda it: chosen
            return self._leaf(yes, no)
        present = no if yes is UNINITIALIZED else yes
        return (lambda it: present) if self._outer(present) else self._leaf(yes, no)

    def _tuple(self, present: Compound, yes: Value, no: Value) -> Rebuild:
        size = len(present.elements)
        sides = []
        for side in (yes, no):
            if side is UNINITIALIZED:
                sides.append((UNINITIALIZED,) * size)
            else:
                sides.append(side.elements)
        parts = [self.value(t, f) for t, f in zip(*sides, strict=True)]
        return lambda it: present.with_elements(tuple(p(it) for p in parts))

    def _grown(self, yes: Value, no: Value, like: Grown) -> Rebuild:
        """Two lists, of which at least one is a run-time list."""
        sites: tuple[Site, ...] = ()
        element = like.element
        columns: list[Sequence[Value]] = []
        for side, heap in ((yes, self.yes), (no, self.no)):
            content = None if side is UNINITIALIZED else heap[side]
            if content is None:
                columns.append([UNINITIALIZED] * len(like.columns))
                continue
            found = content.element if isinstance(content, Grown) else like.element
            element = joined(element, found) or element
            sites = (*sites, *side.sites)
            columns.append(content.columns if isinstance(content, Grown) else ())
        if element != like.element or any(len(c) != len(like.columns) for c in columns):
            must_grow(self.b, sites, element, "the branches of an if give lists of different kinds")
        parts = [self._leaf(t, f) for t, f in zip(*columns, strict=True)]
        frozen = any(isinstance(side, ListRef) and side.frozen for side in (yes, no))
        return lambda it: grown_list(self.b, like, (p(it) for p in parts), sites, frozen)

    def _list(self, yes: Value, no: Value) -> Rebuild:
        heaps = ((yes, self.yes), (no, self.no))
        contents = [heap[side] for side, heap in heaps if side is not UNINITIALIZED]
        like = next((c for c in contents if isinstance(c, Grown)), None)
        if like is not None:
            return self._grown(yes, no, like)
        if len(contents) == 2 and len(contents[0]) != len(contents[1]):
            sites = (*yes.sites, *no.sites)
            found = [of_list(self.b, side, heap) for side, heap in heaps]
            must_grow(
                self.b,
                sites,
                joined(*found),
                "the branches of an if give lists of different lengths",
            )
        left = None if yes is UNINITIALIZED else self.yes[yes]
        right = None if no is UNINITIALIZED else self.no[no]
        size = len(left if left is not None else right or ())
        for side, elements in ((yes, left), (no, right)):
            if elements is not None and side in self.before:
                side.shared = True
        parts = self._elements(
            left if left is not None else (UNINITIALIZED,) * size,
            right if right is not None else (UNINITIALIZED,) * size,
        )

        given = [v for v in (yes, no) if isinstance(v, ListRef)]
        sites, frozen = tuple(s for v in given for s in v.sites), any(v.frozen for v in given)

        def rebuild(it: Iterator[SSAValue]) -> Value:
            made = AwaitCell() if type(given[0]) is AwaitCell else ListRef(sites, frozen=frozen)
            made.shared = True
            self.b.heap[made] = tuple(p(it) for p in parts)
            return made

        return rebuild

    def _elements(self, left: Sequence[Value], right: Sequence[Value]) -> list[Rebuild]:
        if len(left) != len(right):
            self.b.cannot("the branches of an if give lists of different lengths")
        return [self.value(t, f) for t, f in zip(left, right, strict=True)]

    def content(self, ref: Ref, yes: Value, no: Value) -> Rebuild:
        """The plan for the contents of one reference."""
        if isinstance(ref, AwaitCell) and len(yes) != len(no):
            return lambda it: PERHAPS
        if isinstance(ref, ListRef) and len(yes) != len(no):
            found = joined(of_list(self.b, ref, self.yes), of_list(self.b, ref, self.no))
            must_grow(
                self.b, ref.sites, found, "the branches of an if give lists of different lengths"
            )
        if isinstance(yes, SSAValue):
            self.leaves.append((yes, no))
            return next
        if isinstance(yes, tuple):
            parts = self._elements(yes, no)
            return lambda it: tuple(p(it) for p in parts)
        if isinstance(ref, ObjectRef) and set(yes) != set(no):
            self.b.cannot("the branches of an if set different attributes")
        if isinstance(ref, DictRef):
            self._require_order(ref, ref)
        keys = dict.fromkeys((*yes, *no))
        named = {k: self.value(yes.get(k, ABSENT), no.get(k, ABSENT)) for k in keys}
        return lambda it: {k: p(it) for k, p in named.items()}

"""Abstract values as trees of leaves: what control flow carries, and how it is put together again.

A leaf is a tensor or a scalar that must travel as an SSA value. `flatten` takes a value apart,
`Shape.rebuild` makes the same value of other leaves; `Join` does both for two branches at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, const, select
from tensorscript.dialects.tg.types import ListType, ScalarType, TensorType, tensor

from .boxes import Boxed, boxed_leaves, differing, unboxed, visible
from .builder import Builder
from .elements import as_expr, known
from .grown import joined, must_grow, new_grown, of_list, perform
from .heap import Heap, Ref
from .sizes import same_size
from .values import (
    UNINITIALIZED,
    ComplexTensor,
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    Site,
    Tensor,
    TupleValue,
    UnknownString,
    Value,
    is_scalar,
)

LeafType = TensorType | ScalarType | ListType
Rebuild = Callable[[Iterator[SSAValue]], Value]


def leaf_type(value: Value) -> LeafType:
    if isinstance(value, Boxed):
        return ListType.of(value.tensor.dtype)
    if isinstance(value, SSAValue):
        assert isinstance(value.type, ListType)
        return value.type
    if isinstance(value, Tensor):
        return tensor(value.dtype, value.shape)
    return ScalarType(as_expr(value).dtype)


def leaf_value(b: Builder, ssa: SSAValue) -> Value:
    if isinstance(ssa.type, ListType):
        return ssa
    return b.fresh(ssa) if isinstance(ssa.type, TensorType) else b.scalar_of(ssa)


def leaf_ssa(b: Builder, value: Value) -> SSAValue:
    if isinstance(value, SSAValue):
        return value
    if isinstance(value, Boxed):
        return perform(b, "box", [b.ssa(value.tensor)], ListType.of(value.tensor.dtype))
    return b.ssa(value) if isinstance(value, Tensor) else b.scalar_operand(value)


def same_type(a: LeafType, b: LeafType) -> bool:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return (
            a.dtype is b.dtype
            and a.rank == b.rank
            and all(same_size(x, y) for x, y in zip(a.shape, b.shape, strict=True))
        )
    return a == b


def default_of(b: Builder, value: Value) -> Value:
    """Any value of the type of `value`, where nothing will read it."""
    if isinstance(value, Boxed | SSAValue):
        return perform(b, "new", (), leaf_type(value))
    if isinstance(value, Tensor):
        return b.full(value.shape, 0, value.dtype)
    return {bool_: False, int64: 0, float64: 0.0}[as_expr(value).dtype]


def placeholder(b: Builder, heap: Heap, value: Value) -> Value | None:
    """Any value of the form of `value` (whose lists are in `heap`), which nothing will read; None
    if there is none."""
    if isinstance(value, Tensor):
        shape = [s if visible(b, s) else const(0) for s in value.shape]
        return b.full(shape, 0, value.dtype)
    if is_scalar(value):
        return default_of(b, value)
    if isinstance(value, TupleValue | ComplexTensor):
        parts = [placeholder(b, heap, v) for v in value.elements]
        return None if any(p is None for p in parts) else value.with_elements(tuple(parts))
    if isinstance(value, ListRef):
        made = ListRef(value.sites, value.type)
        content = heap[value]
        if isinstance(content, Grown):
            b.heap[made] = new_grown(b, content.element)
            return made
        items = [placeholder(b, heap, v) for v in content]
        b.heap[made] = tuple(items)
        return None if any(p is None for p in items) else made
    return None


def same_value(a: Value, b: Value) -> bool:
    """Whether both are certainly the same value (references by identity)."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.is_same(b)
    if isinstance(a, ComplexTensor) and isinstance(b, ComplexTensor):
        return a.is_same(b)
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        return len(a.elements) == len(b.elements) and all(map(same_value, a.elements, b.elements))
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, Expr | ListRef | DictRef | ObjectRef):
        return False
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)


def same_content(a: Value, b: Value) -> bool:
    """Whether two heap contents are certainly the same."""
    if a is b:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same_value(a[k], b[k]) for k in a)
    return False


def flatten(b: Builder, value: Value, leaves: list[Value]) -> Rebuild:
    """Append the leaves of `value`; the result rebuilds it of SSA values."""
    if isinstance(value, Tensor):
        leaves.append(value)
        # In the first iteration the carried tensor is this one: writes must not pass for writes to
        # a copy.
        value.storage.shared = True

        def rebuild_tensor(it: Iterator[SSAValue]) -> Value:
            made: Tensor = leaf_value(b, next(it))
            made.storage.shared = True
            return made

        return rebuild_tensor
    if is_scalar(value):
        leaves.append(value)
        return lambda it: leaf_value(b, next(it))
    if isinstance(value, TupleValue | ComplexTensor):
        parts = [flatten(b, v, leaves) for v in value.elements]
        return lambda it: value.with_elements(tuple(p(it) for p in parts))
    if isinstance(value, ListRef):
        content = b.heap[value]
        if isinstance(content, Grown):
            leaves.extend(content.columns)
            return lambda it: grown_list(b, content, it, value.sites)
        value.shared = True
        parts = [flatten(b, v, leaves) for v in content]

        def rebuild_list(it: Iterator[SSAValue]) -> Value:
            made = ListRef(value.sites, value.type)
            made.shared = True
            b.heap[made] = tuple(p(it) for p in parts)
            return made

        return rebuild_list
    if isinstance(value, DictRef | ObjectRef):
        b.cannot("a dict or an object that a loop replaces")
    return lambda it: value


def grown_list(
    b: Builder, like: Grown, leaves: Iterator[SSAValue], sites: tuple[Site, ...]
) -> ListRef:
    """A run-time list of the kind of `like` with other columns."""
    made = ListRef(sites)
    b.heap[made] = Grown(like.element, tuple(next(leaves) for _ in like.columns))
    return made


def require_alike(b: Builder, before: Heap, old: Value, after: Heap, new: Value) -> None:
    """What a loop carries keeps its form.

    Raises:
        ListGrows: a list does not, as a known one; it has to be a run-time list.
    """
    if isinstance(old, TupleValue) and isinstance(new, TupleValue):
        for p, q in zip(old.elements, new.elements, strict=False):
            require_alike(b, before, p, after, q)
    if isinstance(old, ListRef) and isinstance(new, ListRef):
        require_alike_contents(b, before, old, after, new)


def require_alike_contents(
    b: Builder, before: Heap, old: ListRef, after: Heap, new: ListRef
) -> None:
    """`require_alike` for the contents of lists, which may be those of one list at two times."""
    left, right = before[old], after[new]
    known_left, known_right = (not isinstance(c, Grown) for c in (left, right))
    if known_left and known_right and len(left) == len(right):
        for p, q in zip(left, right, strict=True):
            require_alike(b, before, p, after, q)
        return
    if not known_left and not known_right and left.element == right.element:
        return
    sites = (*(old.sites if known_left or not known_right else ()), *new.sites)
    elements = of_list(b, old, before), of_list(b, new, after)
    must_grow(b, sites, joined(*elements), "a list whose length a loop changes")


def changed_keys(before: Value, after: Value) -> set[object]:
    """Of two contents of a dict or object: whose values differ; all if the keys do."""
    if list(before) != list(after):
        return set(after)
    return {k for k in after if not same_value(before[k], after[k])}


def content_leaves(
    b: Builder, content: Value, leaves: list[Value], keys: Collection[object] = ()
) -> Rebuild:
    """`flatten` for a heap content; of a dict or object only for the values under `keys`."""
    if isinstance(content, SSAValue):
        held = b.fresh(content)
        leaves.append(held)
        return next
    if isinstance(content, tuple):
        parts = [flatten(b, v, leaves) for v in content]
        return lambda it: tuple(p(it) for p in parts)
    named = {k: flatten(b, content[k], leaves) if k in keys else None for k in content}
    return lambda it: {k: content[k] if p is None else p(it) for k, p in named.items()}


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
        """The plan for a pair of values."""
        if same_value(yes, no) and not self._is_inner(yes):
            return lambda it: yes
        present = no if yes is UNINITIALIZED else yes
        other = no if present is yes else UNINITIALIZED
        if is_scalar(present) and (is_scalar(other) or other is UNINITIALIZED):
            return self._scalar(yes, no)
        if isinstance(present, Tensor) and (isinstance(other, Tensor) or other is UNINITIALIZED):
            return self._tensor(yes, no)
        if isinstance(present, str | UnknownString) and isinstance(other, str | UnknownString):
            return lambda it: UnknownString("{}")
        if isinstance(present, TupleValue | ComplexTensor):
            return self._tuple(present, yes, no)
        if isinstance(present, ListRef) and (isinstance(other, ListRef) or other is UNINITIALIZED):
            return self._list(yes, no)
        if other is UNINITIALIZED and not isinstance(present, DictRef | ObjectRef):
            return lambda it: present
        return self.b.cannot(f"the branches of an if give {_kind(yes)} and {_kind(no)}")

    def _is_inner(self, value: Value) -> bool:
        """Whether a reference was made inside a branch."""
        if isinstance(value, Tensor):
            return value.storage not in self.before
        if isinstance(value, ListRef | DictRef | ObjectRef):
            return value not in self.before
        if isinstance(value, Expr):
            return not self._outer(value)
        is_compound = isinstance(value, TupleValue | ComplexTensor)
        return is_compound and any(map(self._is_inner, value.elements))

    def _scalar(self, yes: Value, no: Value) -> Rebuild:
        if yes is not UNINITIALIZED and no is not UNINITIALIZED:
            left, right = as_expr(yes), as_expr(no)
            if left.dtype is not right.dtype:
                self.b.cannot(f"the branches of an if give {left.dtype} and {right.dtype}")
            if self._outer(yes) and self._outer(no):
                chosen = self.b.shortened(known(select(self.condition, left, right)))
                return lambda it: chosen
            return self._leaf(yes, no)
        present = no if yes is UNINITIALIZED else yes
        return (lambda it: present) if self._outer(present) else self._leaf(yes, no)

    def _tuple(self, present: TupleValue | ComplexTensor, yes: Value, no: Value) -> Rebuild:
        size = len(present.elements)
        sides = []
        for side in (yes, no):
            if side is UNINITIALIZED:
                sides.append((UNINITIALIZED,) * size)
            elif type(side) is type(present) and len(side.elements) == size:
                sides.append(side.elements)
            else:
                self.b.cannot(f"the branches of an if give {_kind(yes)} and {_kind(no)}")
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
        return lambda it: grown_list(self.b, like, (p(it) for p in parts), sites)

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

        sites = tuple(s for v in (yes, no) if v is not UNINITIALIZED for s in v.sites)

        def rebuild(it: Iterator[SSAValue]) -> Value:
            made = ListRef(sites)
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
        if list(yes) != list(no):
            self.b.cannot("the branches of an if set different keys or attributes")
        named = {k: self.value(yes[k], no[k]) for k in yes}
        return lambda it: {k: p(it) for k, p in named.items()}


def _kind(value: Value) -> str:
    if isinstance(value, Tensor):
        return "a tensor"
    if is_scalar(value):
        return f"a number ({as_expr(value).dtype})"
    return type(value).__name__


def changed_refs(before: Heap, *after: Heap) -> list[Ref]:
    """References whose content some `after` changed."""
    refs = dict.fromkeys(before)
    for heap in after:
        refs |= dict.fromkeys(r for r in heap if r in before)
    return [r for r in refs if any(not same_content(before[r], a[r]) for a in after)]

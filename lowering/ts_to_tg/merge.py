"""Abstract values as trees of leaves: what control flow carries, and how it is put together again.

A leaf is a tensor or a scalar that must travel as an SSA value. `flatten` takes a value apart,
`Shape.rebuild` makes the same value of other leaves; `Join` does both for two branches at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.tg.types import ListType, ScalarType, TensorType, tensor

from .boxes import Boxed, visible
from .builder import Builder
from .element_kinds import MapElement, joined, of_dict, of_list
from .elements import as_expr
from .grown import must_grow, new_grown
from .heap import Heap, Ref
from .kinds import is_constant
from .list_actions import perform
from .sizes import same_size
from .text_values import TEXT, Textual, text_column
from .values import (
    ComplexTensor,
    Compound,
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    Site,
    Tensor,
    Text,
    TupleValue,
    Value,
    Variant,
    is_scalar,
)

LeafType = TensorType | ScalarType | ListType
Rebuild = Callable[[Iterator[SSAValue]], Value]


def leaf_type(value: Value) -> LeafType:
    """The type of the SSA value that carries a leaf."""
    if isinstance(value, Boxed):
        return ListType.of(value.tensor.dtype)
    if isinstance(value, Textual):
        return TEXT
    if isinstance(value, SSAValue):
        assert isinstance(value.type, ListType)
        return value.type
    if isinstance(value, Tensor):
        return tensor(value.dtype, value.shape)
    return ScalarType(as_expr(value).dtype)


def leaf_value(b: Builder, ssa: SSAValue) -> Value:
    """What an SSA value that carries a leaf stands for."""
    if isinstance(ssa.type, ListType):
        return ssa
    return b.fresh(ssa) if isinstance(ssa.type, TensorType) else b.scalar_of(ssa)


def leaf_ssa(b: Builder, value: Value) -> SSAValue:
    """The SSA value that carries a leaf; made if there is none."""
    if isinstance(value, SSAValue):
        return value
    if isinstance(value, Boxed):
        return perform(b, "box", [b.ssa(value.tensor)], ListType.of(value.tensor.dtype))
    if isinstance(value, Textual):
        return text_column(b, value.value)
    return b.ssa(value) if isinstance(value, Tensor) else b.scalar_operand(value)


def same_type(a: LeafType, b: LeafType) -> bool:
    """Whether one SSA value can carry leaves of both types."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return (
            a.dtype is b.dtype
            and a.rank == b.rank
            and all(same_size(x, y) for x, y in zip(a.shape, b.shape, strict=True))
        )
    return a == b


def default_of(b: Builder, value: Value) -> Value:
    """Any value of the type of `value`, where nothing will read it."""
    if isinstance(value, Boxed | Textual | SSAValue):
        return perform(b, "new", (), leaf_type(value))
    if isinstance(value, Tensor):
        return b.full(value.shape, 0, value.dtype)
    return {bool_: False, int64: 0, float64: 0.0}[as_expr(value).dtype]


NOTHING = object()


def placeholder(b: Builder, heap: Heap, value: Value) -> Value:
    """Any value of the form of `value` (whose lists are in `heap`), which nothing will read;
    `NOTHING` if there is none."""
    if isinstance(value, Tensor):
        shape = [s if visible(b, s) else const(0) for s in value.shape]
        return b.full(shape, 0, value.dtype)
    if is_scalar(value):
        return default_of(b, value)
    if isinstance(value, Compound):
        parts = [placeholder(b, heap, v) for v in value.elements]
        missing = any(p is NOTHING for p in parts)
        return NOTHING if missing else value.with_elements(tuple(parts))
    if isinstance(value, ListRef):
        made = ListRef(value.sites, value.type)
        content = heap[value]
        if isinstance(content, Grown):
            b.heap[made] = new_grown(b, content.element)
            return made
        items = [placeholder(b, heap, v) for v in content]
        b.heap[made] = tuple(items)
        return NOTHING if any(p is NOTHING for p in items) else made
    if isinstance(value, DictRef):
        named = {k: placeholder(b, heap, v) for k, v in heap[value].items()}
        held = DictRef(value.sites, value.type)
        b.heap[held] = named
        return NOTHING if any(v is NOTHING for v in named.values()) else held
    if is_constant(value):
        return value
    if isinstance(value, Text):
        return Text(perform(b, "new", (), TEXT))
    if isinstance(value, Variant):
        options = [placeholder(b, heap, v) for v in value.options]
        missing = any(p is NOTHING for p in options)
        return NOTHING if missing else Variant(const(0), tuple(options))
    return NOTHING


def same_value(a: Value, b: Value) -> bool:
    """Whether both are certainly the same value (references by identity)."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.is_same(b)
    if isinstance(a, ComplexTensor) and isinstance(b, ComplexTensor):
        return a.is_same(b)
    if isinstance(a, Variant) and isinstance(b, Variant):
        same = a.tag is b.tag and len(a.options) == len(b.options)
        return same and all(map(same_value, a.options, b.options))
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
    if isinstance(value, Text):
        leaves.append(value.column)
        return lambda it: Text(next(it))
    if isinstance(value, Compound):
        parts = [flatten(b, v, leaves) for v in value.elements]
        return lambda it: value.with_elements(tuple(p(it) for p in parts))
    if isinstance(value, ListRef):
        content = b.heap[value]
        if isinstance(content, Grown):
            leaves.extend(content.columns)
            return lambda it: grown_list(b, content, it, value.sites, value.frozen)
        value.shared = True
        parts = [flatten(b, v, leaves) for v in content]

        def rebuild_list(it: Iterator[SSAValue]) -> Value:
            made = ListRef(value.sites, value.type, value.frozen)
            made.shared = True
            b.heap[made] = tuple(p(it) for p in parts)
            return made

        return rebuild_list
    if isinstance(value, Variant):
        leaves.append(value.tag)
        options = [flatten(b, v, leaves) for v in value.options]
        return lambda it: Variant(leaf_value(b, next(it)), tuple(p(it) for p in options))
    if isinstance(value, DictRef):
        value.shared = True
        items = {k: flatten(b, v, leaves) for k, v in b.heap[value].items()}

        def rebuild_dict(it: Iterator[SSAValue]) -> Value:
            made = DictRef(value.sites, value.type)
            made.shared = True
            b.heap[made] = {k: p(it) for k, p in items.items()}
            return made

        return rebuild_dict
    if isinstance(value, ObjectRef):
        b.cannot("an object that a loop replaces")
    return lambda it: value


def grown_list(
    b: Builder,
    like: Grown,
    leaves: Iterator[SSAValue],
    sites: tuple[Site, ...],
    frozen: bool,
) -> ListRef:
    """A run-time list of the kind of `like` with other columns."""
    made = ListRef(sites, frozen=frozen)
    b.heap[made] = Grown(like.element, tuple(next(leaves) for _ in like.columns))
    return made


def require_alike(b: Builder, before: Heap, old: Value, after: Heap, new: Value) -> None:
    """What a loop carries keeps its form.

    Raises:
        NotCompilable: it would no longer be seen that a list must not be changed.
        ListGrows: a list does not, as a known one; it has to be a run-time list.
    """
    if isinstance(old, TupleValue) and isinstance(new, TupleValue):
        for p, q in zip(old.elements, new.elements, strict=False):
            require_alike(b, before, p, after, q)
    if isinstance(old, ListRef) and isinstance(new, ListRef):
        if new.frozen and not old.frozen:
            b.cannot("a list that the caller keeps in place of one of the program's own")
        require_alike_contents(b, before, old, after, new)
    if isinstance(old, DictRef) and isinstance(new, DictRef):
        left, right = before[old], after[new]
        if list(left) != list(right):
            require_one_dict(b, before, old, after, new)
        for key in left:
            require_alike(b, before, left[key], after, right[key])


def require_one_dict(b: Builder, before: Heap, old: Value, after: Heap, new: Value) -> None:
    """Two dicts with different keys, or of which one is a run-time dict, have to be of one form.

    Raises:
        ListGrows: they are not, and will be run-time dicts.
    """
    sides = ((before, old), (after, new))
    known = [(heap, v) for heap, v in sides if isinstance(v, DictRef)]
    grown = [heap[v] for heap, v in sides if isinstance(v, ListRef)]
    if not known or not all(isinstance(g, Grown) for g in grown):
        return
    elements = [of_dict(b, v, heap) for heap, v in known] + [g.element for g in grown]
    if not all(e is None or isinstance(e, MapElement) for e in elements):
        return
    wanted = joined(*elements) if len(elements) == 2 else elements[0]
    sites = [site for _, v in known for site in v.sites]
    must_grow(b, sites, wanted, "dicts with different keys")


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


def changed_refs(before: Heap, *after: Heap) -> list[Ref]:
    """References whose content some `after` changed."""
    refs = [ref for heap in after for ref in heap.written if ref in before]
    changed = (r for r in refs if any(not same_content(before[r], a[r]) for a in after))
    return list(dict.fromkeys(changed))

"""What a loop carries, found by a fixpoint.

At first nothing that could be a reference is assumed to change; whatever one evaluation of the body
changes is carried in the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from xdsl.ir import Block, SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError
from tensorscript.base.records import dataclass
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ScalarType

from .apart import is_lasting, slot_of
from .boxes import boxed_leaves, differing, unboxed
from .builder import Builder
from .elements import as_expr
from .heap import Heap, Ref
from .kinds import (
    Kind,
    chosen_of,
    fitted,
    is_constant,
    kind_of,
    kind_text,
    options_of,
    tag_of,
    variant,
)
from .merge import (
    NOTHING,
    LeafType,
    Rebuild,
    changed_keys,
    changed_refs,
    flatten,
    leaf_ssa,
    leaf_type,
    leaf_value,
    placeholder,
    require_alike,
    require_alike_contents,
    require_one_dict,
    same_type,
    same_value,
)
from .text_values import is_textual, text_column
from .trials import Evaluate, Raised, Trial, attempt, within
from .values import (
    UNINITIALIZED,
    Compound,
    DictRef,
    ListRef,
    ObjectRef,
    Storage,
    Tensor,
    Text,
    Value,
    Variant,
)
from .variants import each_option

MOST_OPTIONS = 16
"""So many kinds of values, or known strings, a loop may carry in one place."""

Path = tuple[object, ...]
"""Where a value stands in what a loop carries: its number, or a reference and the place in what it
holds; then places in tuples."""


@dataclass
class LoopState:
    """The assumption about a loop: which carried values and references change; of a dict or an
    object, the values under which keys."""

    b: Builder
    initial: list[Value]
    varying: set[int]
    refs: dict[Ref, set[object]]
    before: Heap
    boxed: dict[Path, list[int]] = field(default_factory=dict)
    made: set[Storage] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.outside = self.before.branched()

    def iterate(self, max_trip: Value, condition: Value, body: Evaluate) -> list[Value] | None:
        """One evaluation of the body; None if the assumption had to grow."""
        b = self.b
        leaves: list[Value] = []
        plans = {k: self._flatten((k,), self.initial[k], leaves) for k in sorted(self.varying)}
        contents = [self._flatten_content(r, b.heap[r], leaves) for r in self.refs]
        types = [leaf_type(v) for v in leaves]
        block = Block(arg_types=[ScalarType(int64), *types])
        outer = b.heap

        def run() -> list[Value]:
            counter = b.scalar_of(block.args[0])
            b.bounds[str(counter.value)] = as_expr(max_trip)
            it = iter(block.args[1:])
            values = [plans[k](it) if k in plans else v for k, v in enumerate(self.initial)]
            for ref, plan in zip(self.refs, contents, strict=True):
                b.heap[ref] = plan(it)
            self._flow((outer, self.initial), (b.heap, values))
            try:
                return body([counter, *values])
            except OperatorError as error:  # the loop may run no time at all
                raise Raised(error.message) from error

        trial = attempt(b, block, run)
        if trial.raised is not None:
            b.cannot(f"the loop always raises: {trial.raised}")
        proceed, *after = trial.results
        if self._grow(trial, after) or self._grow_stale(trial):
            return None
        results = within(b, trial, lambda: self._yields(types, after, trial))
        block.add_op(
            tg.YieldOp([within(b, trial, lambda: [b.scalar_operand(proceed)])[0], *results])
        )
        op = tg.LoopOp(
            b.scalar_operand(max_trip),
            b.scalar_operand(condition),
            [leaf_ssa(b, v) for v in leaves],
            block,
        )
        it, before = iter(b.emit(op).outputs), b.heap.branched()
        values = [plans[k](it) if k in plans else v for k, v in enumerate(self.initial)]
        for ref, plan in zip(self.refs, contents, strict=True):
            b.heap[ref] = plan(it)
        self._flow((before, self.initial), (trial.heap, after), (b.heap, values))
        for k in plans:
            for option in options_of(values[k]):
                if isinstance(option, Tensor) and not self._lasts(option):
                    group = b.may_alias.group(option.storage)
                    option.storage.shared = any(s.origin for s in group)
        return values

    def _lasts(self, value: Value) -> bool:
        """Whether a value is a tensor of before the loop."""
        is_own = isinstance(value, Tensor) and value.storage in self.made
        return not is_own and is_lasting(self.b, self.outside, value)

    def _slot(self, value: Value) -> Kind:
        """What tells options of a carried value apart."""
        return slot_of(self.b, self.outside, value) if self._lasts(value) else kind_of(value)

    def _flow(self, *sides: tuple[Heap, Sequence[Value]]) -> None:
        """What is carried in one of these is, or becomes, what is carried in the others."""
        for k in self.varying:
            held = ((heap, values[k]) for heap, values in sides)
            self.b.may_alias.unite(*held, lasting=self._lasts)
        for ref in self.refs:
            self.b.may_alias.unite(*((heap, ref) for heap, _ in sides), lasting=self._lasts)

    def _flatten(self, path: Path, value: Value, leaves: list[Value]) -> Rebuild:
        """`flatten` of a carried value; a tensor whose shape changes travels as a box."""
        if isinstance(value, Compound):
            pairs = enumerate(value.elements)
            parts = [self._flatten((*path, n), v, leaves) for n, v in pairs]
            return lambda it: value.with_elements(tuple(p(it) for p in parts))
        if isinstance(value, Variant):
            return self._flatten_variant(path, value, leaves)
        if path not in self.boxed or not isinstance(value, Tensor):
            return flatten(self.b, value, leaves)
        value.storage.shared = True
        free, b = self.boxed[path], self.b
        leaves += boxed_leaves(b, value, free)

        def rebuild(it: Iterator[SSAValue]) -> Value:
            made = unboxed(b, value, free, it)
            made.storage.shared = True
            return made

        return rebuild

    def _flatten_variant(self, path: Path, value: Variant, leaves: list[Value]) -> Rebuild:
        leaves.append(value.tag)
        pairs = enumerate(value.options)
        parts = [self._flatten_option((*path, n), v, leaves) for n, v in pairs]

        def rebuild(it: Iterator[SSAValue]) -> Value:
            tag = as_expr(leaf_value(self.b, next(it)))
            return Variant(tag, tuple(p(it) for p in parts))

        return rebuild

    def _flatten_option(self, path: Path, value: Value, leaves: list[Value]) -> Rebuild:
        return (lambda it: value) if self._lasts(value) else self._flatten(path, value, leaves)

    def _flatten_content(self, ref: Ref, content: Value, leaves: list[Value]) -> Rebuild:
        """`_flatten` of what a reference holds; of a dict or an object only of what changes."""
        if isinstance(content, SSAValue):
            leaves.append(self.b.fresh(content))
            return next
        if isinstance(content, tuple):
            parts = [self._flatten((ref, n), v, leaves) for n, v in enumerate(content)]
            return lambda it: tuple(p(it) for p in parts)
        keys = self.refs[ref]
        named = {k: self._flatten((ref, k), content[k], leaves) for k in content if k in keys}
        return lambda it: {k: named[k](it) if k in named else v for k, v in content.items()}

    def _widened(self, old: Value, new: Value, heap: Heap) -> Value:
        """What is carried at first, with options for the kinds that an iteration adds to it;
        `NOTHING` if it adds none. The iterations change constants (`None` to a tensor) or the ranks
        of tensors."""
        if UNINITIALIZED in (old, new) or same_value(old, new):
            return NOTHING
        if is_textual(old) and is_textual(new):
            return self._widened_text(old, new)
        kinds = set(map(self._slot, options_of(old)))
        new_ones = {self._slot(v): v for v in options_of(new)}
        more = [v for slot, v in new_ones.items() if slot not in kinds]
        changes = (*options_of(old), *more)
        if not more or not (any(map(self._is_known, changes)) or _are_tensors(changes)):
            return NOTHING
        if len(kinds) + len(more) > MOST_OPTIONS:
            self.b.cannot("a loop that makes ever more strings or kinds of values")
        added = [v if self._lasts(v) else placeholder(self.b, heap, v) for v in more]
        self.made |= {v.storage for v in added if isinstance(v, Tensor) and not self._lasts(v)}
        if NOTHING in added:
            self.b.cannot(f"a value that a loop changes from {kind_text(old)} to {kind_text(new)}")
        return Variant(tag_of(old), (*options_of(old), *added))

    def _is_known(self, value: Value) -> bool:
        return is_constant(value) or self._lasts(value)

    def _widened_text(self, old: Value, new: Value) -> Value:
        """A string is one of a few known ones, or made by the running program."""
        if isinstance(old, Text):
            return NOTHING
        options = tuple(dict.fromkeys((*options_of(old), *options_of(new))))
        if isinstance(new, Text) or len(options) > MOST_OPTIONS:
            if not self.b.finds_sizes:
                self.b.cannot("a loop that makes ever more strings")
            return Text(text_column(self.b, old))
        return NOTHING if len(options) == len(options_of(old)) else Variant(tag_of(old), options)

    def _box(self, path: Path, old: Value, new: Value) -> bool:
        """Whether a tensor in a carried value changes its shape in a way that is new."""
        if isinstance(old, Compound) and type(new) is type(old):
            pairs = zip(old.elements, new.elements, strict=False)
            return any([self._box((*path, n), p, q) for n, (p, q) in enumerate(pairs)])
        if isinstance(old, Variant):
            if not self._has_options(old, new):
                return False
            pairs = zip(old.options, fitted(old, new, self._slot).options, strict=True)
            return any([self._box((*path, n), p, q) for n, (p, q) in enumerate(pairs)])
        if not isinstance(old, Tensor) or not isinstance(new, Tensor):
            return False
        known = self.boxed.get(path, [])
        found = differing(self.b, new, old)
        if found is None or set(found) <= set(known):
            return False
        self.boxed[path] = sorted({*known, *found})
        return True

    def _box_content(self, ref: Ref, old: Value, new: Value) -> bool:
        """`_box` of what a reference holds."""
        if isinstance(old, tuple) and isinstance(new, tuple):
            old, new = dict(enumerate(old)), dict(enumerate(new))
        if not isinstance(old, dict) or not isinstance(new, dict):
            return False
        return any([self._box((ref, k), old[k], new[k]) for k in old if k in new])

    def _grow(self, trial: Trial, after: list[Value]) -> bool:
        grew = False
        changed = changed_refs(self.b.heap, trial.heap)
        for k, (old, new) in enumerate(zip(self.initial, after, strict=True)):
            wider = self._widened(old, new, trial.heap)
            if wider is not NOTHING:
                self.initial[k] = wider
                self.varying.add(k)
                grew = True
        grew |= any([self._widen_content(r, trial.heap) for r in changed])
        if grew:
            return True
        pairs = [(k, self.initial[k], after[k]) for k in sorted(self.varying)]
        grew = any([self._box((k,), old, new) for k, old, new in pairs])
        grew |= any([self._box_content(r, self.b.heap[r], trial.heap[r]) for r in self.refs])
        for k, (old, new) in enumerate(zip(self.initial, after, strict=True)):
            if k in self.varying or same_value(old, new):
                continue
            grew = True
            if old is UNINITIALIZED:
                first = placeholder(self.b, trial.heap, new)
                if first is NOTHING:
                    self.b.cannot("a value that only exists after a loop's first iteration")
                self.initial[k] = first
            elif not isinstance(old, Variant | Text) and kind_of(old) != kind_of(new):
                require_one_dict(self.b, self.before, old, trial.heap, new)
                self.b.cannot(
                    f"a value that a loop changes from {kind_text(old)} to {kind_text(new)}"
                )
            self.varying.add(k)
        for ref in changed:
            keys = self.refs.get(ref)
            found = set[object]()
            if isinstance(ref, DictRef):
                self._require_keys(ref, trial.heap)
            if isinstance(ref, DictRef | ObjectRef):
                found = changed_keys(self.b.heap[ref], trial.heap[ref])
            if keys is None or found - keys:
                self.refs[ref] = found if keys is None else keys | found
                grew = True
        return grew

    def _widen_content(self, ref: Ref, after: Heap) -> bool:
        """`_widened` of what a reference holds: before the loop it is the same, with options."""
        old, new = _named(self.b.heap[ref]), _named(after[ref])
        wider = {k: self._widened(old[k], new[k], after) for k in old if k in new}
        wider = {k: v for k, v in wider.items() if v is not NOTHING}
        if not wider or (isinstance(ref, ListRef) and len(old) != len(new)):
            return False
        content = old | wider
        is_list = isinstance(ref, ListRef)
        self.b.heap[ref] = tuple(content.values()) if is_list else content
        self.refs.setdefault(ref, set()).update(wider)
        return True

    def _grow_stale(self, trial: Trial) -> bool:
        """What an iteration leaves stale is so in the next one."""
        new = {s for s in trial.heap.stale - self.b.heap.stale if s in self.b.heap}
        self.b.heap.stale |= new
        return bool(new)

    def _require_keys(self, ref: DictRef, heap: Heap) -> None:
        """A dict whose keys an iteration changes is a run-time one."""
        if list(self.b.heap[ref]) != list(heap[ref]) and ref.sites:
            require_one_dict(self.b, self.b.heap, ref, heap, ref)

    def _fitted(self, first: Value, last: Value) -> Value:
        """What an iteration leaves, in the form in which it is carried."""
        if isinstance(first, Variant):
            last = self._one_a_slot(last)
            if not self._has_options(first, last):
                self.b.cannot(
                    f"a value that a loop changes from {kind_text(first)} to {kind_text(last)}"
                )
            return fitted(first, last, self._slot)
        if isinstance(first, Text) and is_textual(last):
            return Text(text_column(self.b, last))
        return last

    def _has_options(self, like: Variant, value: Value) -> bool:
        """Whether a value is always one of the options of `like`."""
        return set(map(self._slot, like.options)).issuperset(map(self._slot, options_of(value)))

    def _one_a_slot(self, value: Value) -> Value:
        """Of several tensors that one iteration made, the one that is meant: they end with it."""
        options = options_of(value)
        slots = [self._slot(v) for v in options]
        distinct = list(dict.fromkeys(slots))
        if len(distinct) == len(slots):
            return value
        merged: list[Value] = []
        for slot in distinct:
            own = [v for v, its in zip(options, slots, strict=True) if its == slot]
            numbers = iter(range(len(own)))
            places = [next(numbers) if its == slot else 0 for its in slots]
            merged.append(self._chosen(variant(chosen_of(value.tag, places), own)))
        return variant(chosen_of(value.tag, [distinct.index(s) for s in slots]), merged)

    def _chosen(self, value: Value) -> Value:
        """A variant of tensors as one new tensor."""
        if not isinstance(value, Variant):
            return value
        apart, self.b.apart = self.b.apart, False
        try:
            return each_option(self.b, value, lambda option: [option])[0]
        finally:
            self.b.apart = apart

    def _fitted_content(self, ref: Ref, last: Value) -> Value:
        """`_fitted` of what a reference holds; of a dict or an object only of what changes."""
        first = self.before[ref]
        if isinstance(first, tuple) and isinstance(last, tuple) and len(first) == len(last):
            return tuple(self._fitted(*pair) for pair in zip(first, last, strict=True))
        if isinstance(first, dict) and isinstance(last, dict):
            both = [k for k in self.refs[ref] if k in first and k in last]
            fits = {k: self._fitted(first[k], last[k]) for k in both}
            return {k: fits[k] if k in fits else last[k] for k in last}
        return last

    def _yields(self, types: Sequence[LeafType], after: list[Value], trial: Trial) -> list[Value]:
        b = self.b
        leaves: list[Value] = []
        for k in sorted(self.varying):
            first, last = self.initial[k], self._fitted(self.initial[k], after[k])
            require_alike(b, self.before, first, trial.heap, last)
            self._flatten((k,), last, leaves)
        for ref in self.refs:
            if isinstance(ref, ListRef):
                require_alike_contents(b, self.before, ref, trial.heap, ref)
            self._flatten_content(ref, self._fitted_content(ref, trial.heap[ref]), leaves)
        if len(leaves) != len(types):
            b.cannot("the structure of what a loop carries changes")
        for value, expected in zip(leaves, types, strict=True):
            found = leaf_type(value)
            if not same_type(expected, found):
                b.cannot(f"a loop changes a value from {expected.data} to {found.data}")
        return [leaf_ssa(b, v) for v in leaves]


def _named(content: Value) -> dict[object, Value]:
    """What a reference holds, by index or by key; nothing for a storage or a run-time list."""
    if isinstance(content, tuple):
        return dict(enumerate(content))
    return {k: content[k] for k in content} if isinstance(content, dict) else {}


def _are_tensors(values: Iterable[Value]) -> bool:
    return all(isinstance(value, Tensor) for value in values)

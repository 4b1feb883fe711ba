"""Unknown branches and loops: evaluated on copies of the heap, then joined.

```
ts.if with a condition known now   -->  the taken branch, in place
ts.if, one branch raises           -->  tg.assert, then the other branch in place
ts.if, else                        -->  tg.if over what the branches change
ts.loop, short or impossible else  -->  unrolled
ts.loop, else                      -->  tg.loop carrying what an iteration changes
```
What a loop carries is found by a fixpoint: at first nothing that could be a reference is assumed to
change; whatever one evaluation of the body changes is carried in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import NotCompilable, OperatorError
from tensorscript.dialects.te.expr import Expr, unary
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.lists import ListOp
from tensorscript.dialects.tg.types import ScalarType

from .boxes import boxed_leaves, differing, unboxed
from .builder import Builder
from .elements import as_expr
from .grown import ListGrows
from .heap import Heap, Ref
from .join import Join
from .kinds import fitted, is_constant, kind_of, kind_text, options_of, tag_of
from .merge import (
    NOTHING,
    LeafType,
    Rebuild,
    changed_keys,
    changed_refs,
    content_leaves,
    default_of,
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
from .values import (
    UNINITIALIZED,
    Compound,
    DictRef,
    ListRef,
    ObjectRef,
    Tensor,
    Text,
    Value,
    Variant,
    is_scalar,
)

UNROLL_OPS = 192
"""A loop is unrolled at once if trips x ops of its body stay below this."""
LONG = 1 << 20
"""The ops of a body that is not to be unrolled."""
UNROLL_LISTS = 2048
"""So many ops a loop may become, rather than have a list that it changes be a run-time list."""
UNROLL_TRIPS = 2048
"""A loop that cannot be a tg.loop is unrolled up to so many iterations."""
ENDLESS = (1 << 63) - 1
"""The trip count of a loop that only its condition ends."""

MOST_OPTIONS = 16
"""So many kinds of values, or known strings, a loop may carry in one place."""

Evaluate = Callable[[Sequence[Value]], list[Value]]
"""Evaluates a block of ts with these block arguments and gives what it yields."""


Path = tuple[int, ...]
"""Where a value stands in what a loop carries: its number, then places in tuples."""


class Raised(Exception):
    """The program raises here, certainly (relative to the branch being evaluated)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass
class _Trial:
    """Ops, heap and results of an evaluation that is not yet part of the program."""

    block: Block
    scope: dict[tuple[object, ...], Operation]
    heap: Heap
    results: list[Value]
    raised: str | None = None


def discard(block: Block) -> None:
    """Drop the ops of a block that will not be used."""
    for op in list(block.walk()):
        op.drop_all_references()


def attempt(b: Builder, block: Block, evaluate: Callable[[], list[Value]]) -> _Trial:
    """Evaluate into `block` on a copy of the heap; leaves the builder as it was."""
    outer, heap = b.block, b.heap
    b.block, b.heap = block, heap.branched()
    b.scopes.append({})
    results: list[Value] = []
    raised: str | None = None
    try:
        results = evaluate()
    except Raised as error:
        raised = error.message
    except (NotCompilable, ListGrows):
        discard(block)
        raise
    finally:
        trial = _Trial(block, b.scopes.pop(), b.heap, results, raised)
        b.block, b.heap = outer, heap
    return trial


def adopt(b: Builder, trial: _Trial) -> list[Value]:
    """Make a trial part of the current block."""
    for op in list(trial.block.ops):
        op.detach()
        b.block.add_op(op)
    b.heap = trial.heap
    b.scopes[-1].update(trial.scope)
    return trial.results


def branch(b: Builder, condition: Expr, yes: Evaluate, no: Evaluate) -> list[Value]:
    """The values of an if whose condition is not known.

    Raises:
        NotCompilable: the branches' values or effects have no common type.
    """

    def guarded(evaluate: Evaluate) -> list[Value]:
        try:
            return evaluate([])
        except OperatorError as error:
            raise Raised(error.message) from error

    known_scalars = len(b.scalars)
    trials = [attempt(b, Block(), lambda e=e: guarded(e)) for e in (yes, no)]  # type: ignore[misc]
    left, right = trials
    if left.raised is not None and right.raised is not None:
        raise Raised(left.raised)
    if left.raised is not None or right.raised is not None:
        bad, good = (left, right) if left.raised is not None else (right, left)
        must = unary("not", condition) if bad is left else condition
        discard(bad.block)
        b.emit(tg.AssertOp(b.scalar_operand(must), bad.raised or ""))
        return adopt(b, good)
    join = Join(b, condition, b.heap, known_scalars, left.heap, right.heap)
    plans = [join.value(t, f) for t, f in zip(left.results, right.results, strict=True)]
    refs = changed_refs(b.heap, left.heap, right.heap)
    contents = [join.content(r, left.heap[r], right.heap[r]) for r in refs]
    outputs = _emit_if(b, condition, left, right, join.leaves)
    it = iter(outputs)
    values = [p(it) for p in plans]
    for ref, plan in zip(refs, contents, strict=True):
        b.heap[ref] = plan(it)
    return values


def _emit_if(
    b: Builder,
    condition: Expr,
    left: _Trial,
    right: _Trial,
    leaves: list[tuple[Value, Value]],
) -> Sequence[SSAValue]:
    """The tg.if that yields `leaves`, none if nothing is left to do."""
    if not leaves and not any(_has_effect(t.block) for t in (left, right)):
        discard(left.block)
        discard(right.block)
        return ()
    types = []
    sides: list[list[SSAValue]] = [[], []]
    for pair in leaves:
        present = pair[1] if pair[0] is UNINITIALIZED else pair[0]
        for side, (trial, value) in enumerate(zip((left, right), pair, strict=True)):

            def materialise(value: Value = value, present: Value = present) -> list[Value]:
                if isinstance(value, SSAValue):
                    return [value]
                actual = default_of(b, present) if value is UNINITIALIZED else value
                return [leaf_ssa(b, actual)]

            sides[side] += _within(b, trial, materialise)
        ssa = sides[1 if pair[0] is UNINITIALIZED else 0][-1]
        types.append(ssa.type)
    for trial, values in zip((left, right), sides, strict=True):
        trial.block.add_op(tg.YieldOp(values))
    op = tg.IfOp(b.scalar_operand(condition), types, left.block, right.block)
    return b.emit(op).outputs


def _within(b: Builder, trial: _Trial, run: Callable[[], list[Value]]) -> list[Value]:
    """Emit more ops at the end of a trial."""
    outer, heap = b.block, b.heap
    b.block, b.heap = trial.block, trial.heap
    b.scopes.append(trial.scope)
    try:
        return run()
    finally:
        b.scopes.pop()
        b.block, b.heap = outer, heap


def _has_effect(block: Block) -> bool:
    return any(
        isinstance(op, tg.AssertOp) or (isinstance(op, ListOp) and op.writes) for op in block.walk()
    )


def loop(
    b: Builder, max_trip: Value, condition: Value, carried: list[Value], body: Evaluate, size: int
) -> list[Value]:
    """The values a ts.loop leaves behind. `body` takes (counter, carried...) and gives
    (condition, carried...); `size` is the number of its ops."""
    if condition is False or (isinstance(max_trip, int) and max_trip <= 0):
        return carried
    is_known = isinstance(max_trip, int) and condition is True
    if is_known and max_trip * size <= UNROLL_OPS:
        try:
            return _unrolled(b, max_trip, carried, body, UNROLL_TRIPS)
        except _Unknown:
            pass
    try:
        return _dynamic(b, max_trip, condition, carried, body)
    except (NotCompilable, ListGrows) as error:
        most = UNROLL_LISTS // size if isinstance(error, ListGrows) else UNROLL_TRIPS
        if not is_known or most < max_trip != ENDLESS:
            raise
        try:
            return _unrolled(b, max_trip, carried, body, most)
        except _Unknown:
            raise error from None


class _Unknown(Exception):
    """Unrolling met a condition that is not known, or too many trips."""


def _unrolled(
    b: Builder, max_trip: int, carried: list[Value], body: Evaluate, most: int
) -> list[Value]:
    """All iterations, one behind the other; at most `most`."""

    def run() -> list[Value]:
        values = carried
        for i in range(max_trip):
            if i >= most:
                raise _Unknown
            condition, *values = body([i, *values])
            if isinstance(condition, Expr) and i + 1 < max_trip:
                raise _Unknown
            if condition is False:
                break
        return values

    written = set(b.written)
    try:
        trial = attempt(b, Block(), run)
    except (_Unknown, NotCompilable):
        b.written = written
        raise
    if trial.raised is not None:
        adopt(b, trial)
        raise Raised(trial.raised)
    return adopt(b, trial)


def _may_vary(value: Value) -> bool:
    """Carried from the start if the body replaces it: numbers change in nearly every loop."""
    return is_scalar(value)


def _dynamic(
    b: Builder, max_trip: Value, condition: Value, carried: list[Value], body: Evaluate
) -> list[Value]:
    """A tg.loop over what an iteration changes."""
    varying = {k for k, v in enumerate(carried) if _may_vary(v)}
    state = _LoopState(b, list(carried), varying, {}, b.heap)
    ranks = sum(v.rank for v in carried if isinstance(v, Tensor))
    for _ in range(len(carried) + len(b.heap) + ranks + MOST_OPTIONS + 2):
        if (done := state.iterate(max_trip, condition, body)) is not None:
            return done
    return b.cannot("what the loop carries does not settle")


@dataclass
class _LoopState:
    """The assumption about a loop: which carried values and references change; of a dict or an
    object, the values under which keys."""

    b: Builder
    initial: list[Value]
    varying: set[int]
    refs: dict[Ref, set[object]]
    before: Heap
    boxed: dict[Path, list[int]] = field(default_factory=dict)

    def iterate(self, max_trip: Value, condition: Value, body: Evaluate) -> list[Value] | None:
        """One evaluation of the body; None if the assumption had to grow."""
        b = self.b
        leaves: list[Value] = []
        plans = {k: self._flatten((k,), self.initial[k], leaves) for k in sorted(self.varying)}
        contents = [content_leaves(b, b.heap[r], leaves, keys) for r, keys in self.refs.items()]
        types = [leaf_type(v) for v in leaves]
        block = Block(arg_types=[ScalarType(int64), *types])

        def run() -> list[Value]:
            counter = b.scalar_of(block.args[0])
            b.bounds[str(counter.value)] = as_expr(max_trip)
            it = iter(block.args[1:])
            values = [plans[k](it) if k in plans else v for k, v in enumerate(self.initial)]
            for ref, plan in zip(self.refs, contents, strict=True):
                b.heap[ref] = plan(it)
            try:
                return body([counter, *values])
            except OperatorError as error:  # the loop may run no time at all
                raise Raised(error.message) from error

        trial = attempt(b, block, run)
        if trial.raised is not None:
            b.cannot(f"the loop always raises: {trial.raised}")
        proceed, *after = trial.results
        if self._grow(trial, after):
            discard(block)
            return None
        results = _within(b, trial, lambda: self._yields(types, after, trial))
        block.add_op(
            tg.YieldOp([_within(b, trial, lambda: [b.scalar_operand(proceed)])[0], *results])
        )
        op = tg.LoopOp(
            b.scalar_operand(max_trip),
            b.scalar_operand(condition),
            [leaf_ssa(b, v) for v in leaves],
            block,
        )
        it = iter(b.emit(op).outputs)
        values = [plans[k](it) if k in plans else v for k, v in enumerate(self.initial)]
        for ref, plan in zip(self.refs, contents, strict=True):
            b.heap[ref] = plan(it)
        for k in plans:
            if isinstance(first := self.initial[k], Tensor):
                values[k].storage.shared = bool(first.storage.origin)
        return values

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
        parts = [self._flatten((*path, n), v, leaves) for n, v in pairs]

        def rebuild(it: Iterator[SSAValue]) -> Value:
            tag = as_expr(leaf_value(self.b, next(it)))
            return Variant(tag, tuple(p(it) for p in parts))

        return rebuild

    def _widened(self, old: Value, new: Value, heap: Heap) -> Value:
        """What is carried at first, with options for the kinds that an iteration adds to it;
        `NOTHING` if it adds none. The iterations change constants only: `None` to a tensor."""
        if UNINITIALIZED in (old, new) or same_value(old, new):
            return NOTHING
        if is_textual(old) and is_textual(new):
            return self._widened_text(old, new)
        kinds = {kind_of(v) for v in options_of(old)}
        more = [v for v in options_of(new) if kind_of(v) not in kinds]
        if not more or not any(map(is_constant, (*options_of(old), *more))):
            return NOTHING
        if len(kinds) + len(more) > MOST_OPTIONS:
            self.b.cannot("a loop that makes ever more strings or kinds of values")
        added = [placeholder(self.b, heap, v) for v in more]
        if NOTHING in added:
            self.b.cannot(f"a value that a loop changes from {kind_text(old)} to {kind_text(new)}")
        return Variant(tag_of(old), (*options_of(old), *added))

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
            pairs = zip(old.options, fitted(old, new).options, strict=True)
            return any([self._box((*path, n), p, q) for n, (p, q) in enumerate(pairs)])
        if not isinstance(old, Tensor) or not isinstance(new, Tensor):
            return False
        known = self.boxed.get(path, [])
        found = differing(self.b, new, old)
        if found is None or set(found) <= set(known):
            return False
        self.boxed[path] = sorted({*known, *found})
        return True

    def _grow(self, trial: _Trial, after: list[Value]) -> bool:
        grew = False
        for k, (old, new) in enumerate(zip(self.initial, after, strict=True)):
            wider = self._widened(old, new, trial.heap)
            if wider is not NOTHING:
                self.initial[k] = wider
                self.varying.add(k)
                grew = True
        if grew:
            return True
        pairs = [(k, self.initial[k], after[k]) for k in sorted(self.varying)]
        grew = any([self._box((k,), old, new) for k, old, new in pairs])
        changed = changed_refs(self.b.heap, trial.heap)
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

    def _require_keys(self, ref: DictRef, heap: Heap) -> None:
        """A dict whose keys an iteration changes is a run-time one."""
        if list(self.b.heap[ref]) != list(heap[ref]) and ref.sites:
            require_one_dict(self.b, self.b.heap, ref, heap, ref)

    def _yields(self, types: Sequence[LeafType], after: list[Value], trial: _Trial) -> list[Value]:
        b = self.b
        leaves: list[Value] = []
        for k in sorted(self.varying):
            first, last = self.initial[k], after[k]
            if isinstance(first, Variant):
                last = fitted(first, last)
            if isinstance(first, Text) and is_textual(last):
                last = Text(text_column(b, last))
            require_alike(b, self.before, first, trial.heap, last)
            self._flatten((k,), last, leaves)
        for ref in self.refs:
            if isinstance(ref, ListRef):
                require_alike_contents(b, self.before, ref, trial.heap, ref)
            content_leaves(b, trial.heap[ref], leaves, self.refs[ref])
        if len(leaves) != len(types):
            b.cannot("the structure of what a loop carries changes")
        for value, expected in zip(leaves, types, strict=True):
            found = leaf_type(value)
            if not same_type(expected, found):
                b.cannot(f"a loop changes a value from {expected.data} to {found.data}")
        return [leaf_ssa(b, v) for v in leaves]

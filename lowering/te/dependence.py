"""Which statements touch the same elements: access summaries and conservative dependence tests.

Two accesses conflict when at least one writes and they may meet in one element. A test asks about
two iterations of the loops in question; every answer "no" is proven from ranges, everything else
counts as a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import contiguous_strides
from tensorscript.dialects.te.expr import Expr, add, const, mul, sub, var
from tensorscript.dialects.te.ops import (
    AcrossOp,
    AllocOp,
    AssignOp,
    CallOp,
    ForOp,
    LetOp,
    MatricesOp,
    MultiplyOp,
    ScanOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.polynomial import Polynomial, atoms, combine, polynomial
from tensorscript.dialects.te.ranges import Interval, Prover, loop_interval
from tensorscript.dialects.te.rewriting import loads, substitute, walk
from tensorscript.dialects.te.simplify import Simplifier
from tensorscript.dialects.walks import walk_ops

from .nest import Nest, expressions

WRITE = "write"
READ = "read"


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One touch of a buffer. `indices` None: any element. `mode`: read, write or a combiner."""

    buffer: str
    indices: tuple[Expr, ...] | None
    mode: str
    op: Operation
    loops: tuple[ForOp, ...]

    @property
    def writes(self) -> bool:
        return self.mode != READ


@cache
def loads_of(e: Expr) -> tuple[Expr, ...]:
    """The loads of an expression; remembered."""
    return tuple(loads(e))


def accesses(nest: Nest, op: Operation) -> list[Access]:
    """Everything `op` and its body touch, in program order."""
    key = ("accesses", op)
    if (found := nest.cache.get(key)) is None:
        found = nest.cache[key] = list(_collect(nest, op, tuple(nest.enclosing(op))))
    return found  # type: ignore[return-value]  # the key says what is kept


def _collect(nest: Nest, op: Operation, loops: tuple[ForOp, ...]) -> Iterator[Access]:
    for e in expressions(op):
        for n in loads_of(e):
            yield Access(str(n.value), n.args, READ, op, loops)
        for name in e.free & nest.mutable if nest.mutable else ():
            yield Access(name, (), READ, op, loops)
    if isinstance(op, (StoreOp, UpdateOp)):
        mode = op.combiner if isinstance(op, UpdateOp) else WRITE
        yield Access(op.buffer, op.indices, mode, op, loops)
    elif isinstance(op, AcrossOp):
        for mode in (READ, WRITE):
            yield Access(op.buffer, (), mode, op, loops)
    elif isinstance(op, MatricesOp):
        yield Access(str(op.target.value), None, WRITE, op, loops)
    elif isinstance(op, MultiplyOp):
        yield Access(str(op.sums.value), None, WRITE, op, loops)
    elif isinstance(op, (AssignOp, VarOp)):
        yield Access(op.var, (), WRITE, op, loops)
    elif isinstance(op, ScanOp):
        for mode in (READ, WRITE):
            yield Access(op.carried, (), mode, op, loops)
    elif isinstance(op, CallOp):
        for argument in op.arguments:
            if argument.op == "var" and argument.value in nest.buffers:
                yield Access(str(argument.value), None, WRITE, op, loops)
    inner = (*loops, op) if isinstance(op, ForOp) else loops
    for region in op.regions:
        for child in region.block.ops:
            yield from _collect(nest, child, inner)


def body_accesses(nest: Nest, ops: Iterable[Operation]) -> list[Access]:
    return [a for op in ops for a in accesses(nest, op)]


def private(ops: Iterable[Operation]) -> set[str]:
    """Buffers and scalars that live inside the statements (new in each iteration around them)."""
    found: set[str] = set()
    for top in ops:
        for op in (top, *walk_ops(top)):
            if isinstance(op, AllocOp):
                found.add(op.buffer.name)
            elif isinstance(op, (VarOp, LetOp)):
                found.add(op.var)
    return found


def commuting(a: Access, b: Access) -> bool:
    """Updates with one combiner may change places."""
    return a.mode == b.mode and a.mode not in (READ, WRITE)


def relevant_pairs(
    first: Sequence[Access], second: Sequence[Access], reductions_commute: bool = True
) -> Iterator[tuple[Access, Access]]:
    """Pairs (a of first, b of second) on one buffer with at least one write."""
    written: dict[str, list[Access]] = {}
    touched: dict[str, list[Access]] = {}
    for b in second:
        touched.setdefault(b.buffer, []).append(b)
        if b.writes:
            written.setdefault(b.buffer, []).append(b)
    for a in first:
        for b in (touched if a.writes else written).get(a.buffer, ()):
            if not (reductions_commute and commuting(a, b)):
                yield a, b


def fixed_names(nest: Nest, loop: ForOp) -> frozenset[str]:
    """Names that have one value throughout one execution of `loop`."""
    key = ("fixed", loop)
    if (found := nest.cache.get(key)) is None:
        inside = {o.var for o in walk_ops(loop) if isinstance(o, (ForOp, LetOp))} | {loop.var}
        names = {p.name for p in nest.func.params} | {outer.var for outer in nest.enclosing(loop)}
        names |= {outer.chunk for outer in nest.enclosing(loop) if outer.chunk is not None}
        names |= nest.lets.keys() - inside
        found = nest.cache[key] = frozenset(names - nest.mutable)
    return found  # type: ignore[return-value]  # the key says what is kept


def _separates(index: Expr, name: str, fixed: frozenset[str]) -> bool:
    """Whether different values of variable `name` certainly give different values of `index`."""
    slope = 0
    for monomial, coefficient in polynomial(index).items():
        if len(monomial) == 1 and monomial[0].op == "var" and monomial[0].value == name:
            slope = coefficient
        elif any(not atom.free <= fixed or loads_of(atom) for atom in monomial):
            return False
    return slope != 0


def may_meet(nest: Nest, a: Access, b: Access, loop: ForOp, relations: dict[str, str]) -> bool:
    """Whether `a` and `b` may touch one element in two iterations of `loop`'s nest.

    `relations` says for loop variables how b's iteration relates to a's: "<" (b's is later, so a's
    is less), ">" or "="; the rest of the variables inside `loop` are unrelated.
    """
    if a.indices is None or b.indices is None:
        return True
    if not a.indices:
        return True
    fixed = fixed_names(nest, loop)
    unequal = [name for name, r in relations.items() if r != "="]
    equal = frozenset(name for name, r in relations.items() if r == "=")
    for i, j in zip(a.indices, b.indices, strict=True):
        if i is j and len(unequal) == 1 and _separates(i, unequal[0], fixed | equal):
            return False
    return not _disjoint(nest, a, b, loop, relations, fixed)


def _disjoint(
    nest: Nest,
    a: Access,
    b: Access,
    loop: ForOp,
    relations: dict[str, str],
    fixed: frozenset[str],
) -> bool:
    assert a.indices is not None and b.indices is not None  # asked by may_meet
    ranges = dict(nest.ranges(loop))
    left: dict[str, Expr] = {}
    right: dict[str, Expr] = {}
    _bind_loops(a, loop, relations, ranges, left, "'")
    _bind_loops(b, loop, relations, ranges, right, '"')
    here, there = nest.guards(a.op), nest.guards(b.op)
    for e in (*a.indices, *b.indices, *here, *there):
        for name in e.free:
            if name not in fixed and name not in relations:
                left.setdefault(name, var(name + "'"))
                right.setdefault(name, var(name + '"'))
    first = [substitute(e, left) for e in a.indices]
    second = [substitute(e, right) for e in b.indices]
    facts = [substitute(e, left) for e in here] + [substitute(e, right) for e in there]
    prover = Prover(ranges, facts)
    if any(_apart(prover, i, j) for i, j in zip(first, second, strict=True)):
        return True
    if not any(_divides(e) for e in (*first, *second)):
        return False
    simplify = Simplifier(ranges)
    first.extend(_wholes(first))
    second.extend(_wholes(second))
    if (buffer := nest.buffers.get(a.buffer)) is not None and len(a.indices) > 1:
        strides = contiguous_strides(buffer.shape)
        first.append(_linear(first, strides))
        second.append(_linear(second, strides))
    return any(
        _apart(prover, simplify(i), simplify(j)) for i, j in zip(first, second, strict=False)
    )


def _bind_loops(
    access: Access,
    loop: ForOp,
    relations: dict[str, str],
    ranges: dict[str, Interval],
    values: dict[str, Expr],
    mark: str,
) -> None:
    """Give the loop variables of one side their own names and ranges.

    For "<" side b is side a's value + 1 + gap; for ">" side a is side b's value + 1 + gap.
    """
    from_root = access.loops[access.loops.index(loop) :] if loop in access.loops else access.loops
    for inner in from_root:
        name = inner.var
        relation = relations.get(name)
        plain = name if relation is not None else name + mark
        if plain not in ranges:
            start, extent = substitute(inner.start, values), substitute(inner.extent, values)
            ranges[plain] = loop_interval(start, extent, ranges)
        if relation is None:
            values[name] = var(plain)
        elif (relation == "<" and mark == '"') or (relation == ">" and mark == "'"):
            gap = f"{name}^"
            room = inner.extent.value if inner.extent.is_const else None
            most = None if room is None else max(int(str(room)) - 2, 0)
            # The later iteration is one of the loop's, too.
            last = _greatest(ranges[name]) if inner is loop else ()
            ranges[gap] = Interval(0, most, (), tuple(sub(sub(e, var(name)), 1) for e in last))
            values[name] = add(add(var(name), var(gap)), 1)


def _greatest(range_: Interval) -> tuple[Expr, ...]:
    """Upper bounds of what has this range."""
    return range_.above if range_.hi is None else (*range_.above, const(range_.hi))


def _apart(prover: Prover, i: Expr, j: Expr) -> bool:
    gap = combine(polynomial(i), polynomial(j), -1)
    if not _indices(prover, gap):
        return False
    return prover.positive(gap) or prover.positive(combine({}, gap, -1))


def _indices(prover: Prover, p: Polynomial) -> bool:
    return all(prover.tame(atom) for atom in atoms(p))


@cache
def _divides(e: Expr) -> bool:
    return any(n.op in ("floordiv", "mod") for n in walk(e))


def _wholes(indices: Sequence[Expr]) -> list[Expr]:
    """x for each pair of indices `x // n` and `x % n` (they fix it together)."""
    quotients = {e.args for e in indices if e.op == "floordiv"}
    return [e.args[0] for e in indices if e.op == "mod" and e.args in quotients]


def _linear(indices: Sequence[Expr], strides: Sequence[Expr]) -> Expr:
    total = const(0)
    for index, stride in zip(indices, strides, strict=False):
        total = add(total, mul(index, stride))
    return total


def carried(nest: Nest, loop: ForOp, reductions_commute: bool) -> str | None:
    """Why iterations of `loop` depend on each other, or None if they certainly do not."""
    body = list(loop.block.ops)
    own = private(body)
    touched = [a for a in body_accesses(nest, body) if a.buffer not in own]
    for a, b in relevant_pairs(touched, touched, reductions_commute):
        if may_meet(nest, a, b, loop, {loop.var: "<"}):
            return f"{_said(a)} and {_said(b)} may meet in different iterations of {loop.var}"
    return None


def _said(a: Access) -> str:
    inside = "..." if a.indices is None else ", ".join(map(str, a.indices))
    word = {READ: "the read of", WRITE: "the store to"}.get(a.mode, "the update of")
    return f"{word} {a.buffer}[{inside}]"


def ordered_conflict(
    nest: Nest, first: Sequence[Access], second: Sequence[Access], loop: ForOp, relation: str
) -> str | None:
    """A conflict between `first` and a `second` access whose iteration of `loop` is related so."""
    for a, b in relevant_pairs(first, second):
        if may_meet(nest, a, b, loop, {loop.var: relation}):
            return f"{_said(a)} and {_said(b)} may meet"
    return None


def has_effects(loop: ForOp, kinds: tuple[type[Operation], ...] = (CallOp, WhileOp)) -> str | None:
    """A statement of these kinds inside: it cannot run out of order or several at a time."""
    for op in walk_ops(loop):
        if isinstance(op, kinds):
            return f"{op.name} inside"
    return None

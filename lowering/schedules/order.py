"""Sorts for the CPU: a kernel that states ranks becomes a merge sort, or a selection of a few.

```
for e in 0 .. n {                                key[0:n] = x[0:n]
  rank[] = 0                                     sort blocks of 32 by rank, as lanes
  for j in 0 .. n { rank[] += x[j] < x[e] } -->  while width < n { merge runs of `width`, twice }
  y[rank[]] = x[e]                               y[e] = key[e]
}
```
The order is whatever the ranks state: `before(j, e)` is taken from the kernel. A later element
never comes before an equal earlier one, so that merging keeps the sort stable. The inner step of a
merge has no branch to mispredict. Where only the first few are wanted, they are held sorted in a
small buffer and most elements fail one comparison with the last of them.

Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.4 (merging) and 5.2.1 (insertion).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bool_, int32, int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import (
    Expr,
    binary,
    cast,
    const,
    load,
    select,
    substitute,
    transform,
    var,
    walk,
)
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssignOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)

from ..te.affine import known
from ..te.lanes import vectorize_map
from ..te.rebuild import copy_all, substituting

BLOCK = 32
"""Elements that are ranked against each other before merging starts."""
MOST_HELD = 128
"""The longest list that selection holds; insertion into it is linear."""
SCARCE = 4
"""Selection pays where the line has this many times more elements than are kept."""


@dataclass(frozen=True)
class _Line:
    """One line to sort.

    Attributes:
        axis: name of the loop over its elements.
        size: their number.
        kept: how many of the first are wanted.
        before: whether element `j` comes before the element at `axis`, over both and their keys.
        key: the load of the element's key in it.
        stores: where results go, with the rank as `RANK`.
    """

    axis: str
    size: Expr
    kept: Expr
    before: Expr
    key: Expr
    stores: tuple[StoreOp, ...]

    @property
    def dtype(self) -> DType:
        return self.key.dtype

    @property
    def needs_index(self) -> bool:
        """Results hold more of an element than its key."""
        nothing = const(0, self.dtype)
        return any(self.axis in self.result(s.value, nothing, var(self.axis)).free
                   for s in self.stores)  # fmt: skip

    def key_at(self, index: Expr) -> Expr:
        return substitute(self.key, {self.axis: index})

    def result(self, e: Expr, key: Expr, index: Expr) -> Expr:
        """A stored value for an element of the given key and index."""
        keyed = transform(e, lambda n: key if n is self.key else None)
        return substitute(keyed, {self.axis: index})

    def precedes(self, j: Expr, e: Expr, earlier: Expr) -> Expr:
        """Whether key `j` comes before key `e`; `earlier`: whether j's place in the line is."""

        def visit(n: Expr) -> Expr | None:
            if n.op == "load":
                return e if n is self.key else j
            return earlier if _is_tie_break(n, self.axis) else None

        return transform(self.before, visit)


RANK = load("rank", (), int64)


def _is_tie_break(e: Expr, axis: str) -> bool:
    return e.op == "lt" and e.args == (var("j"), var(axis))


@dataclass(frozen=True)
class Ranking:
    """A kernel that ranks the elements of lines: the loops around, and one line."""

    loops: list[ForOp]
    line: _Line


def ranking_of(func: FuncOp) -> Ranking | None:
    """The ranking that a kernel computes; None if it has another form."""
    loops: list[ForOp] = []
    body = list(func.block.ops)
    while len(body) == 1 and isinstance(body[0], ForOp):
        loops.append(body[0])
        body = list(body[0].block.ops)
    line = _line(loops, body)
    return None if line is None else Ranking(loops, line)


def sorted_lines(func: FuncOp, ranking: Ranking, vector_bytes: int) -> list[Operation]:
    """The nest that sorts each line, or selects from it; its merges are of single elements."""
    made = _sorted_line(ranking.line)
    for loop in reversed(ranking.loops):
        if loop.var != ranking.line.axis:
            made = [ForOp(loop.var, loop.extent, made)]
    return made


def _line(loops: list[ForOp], body: list[Operation]) -> _Line | None:
    """The line of a kernel in the form that `tg_to_te` gives a sort."""
    ranking = next((op for op in body if isinstance(op, ForOp) and op.is_reduction), None)
    if ranking is None or not isinstance(update := ranking.block.first_op, UpdateOp):
        return None
    before = update.value
    if before.op != "cast" or ranking.var != "j":
        return None
    before = before.args[0]
    axis = next((f for f in loops if any(_is_tie_break(n, f.var) for n in walk(before))), None)
    if axis is None:
        return None
    key = next(n for n in walk(before) if n.op == "load" and axis.var in n.free)
    last, kept = body[-1], axis.extent
    if isinstance(last, IfOp):
        kept, body = last.condition.args[1], list(last.then_body.block.ops)
    stores = tuple(op for op in body if isinstance(op, StoreOp) and op.buffer != "rank")
    return _Line(axis.var, axis.extent, kept, before, key, stores)


def _sorted_line(line: _Line) -> list[Operation]:
    kept, size = known(line.kept), known(line.size)
    few = kept is not None and kept <= MOST_HELD
    if kept is not None and few and (size is None or size >= SCARCE * kept):
        return _Selection(line, kept).build()
    return _Merge(line).build()


def _copy_out(line: _Line, keys: str, places: str) -> list[Operation]:
    """Store the results of the first elements from the sorted keys and their indices."""
    e = var("place")
    key, index = load(keys, [e], line.dtype), load(places, [e], int64)
    stores: list[Operation] = []
    for s in line.stores:
        where = [transform(i, lambda n: e if n is RANK else None) for i in s.indices]
        stores.append(StoreOp(s.buffer, where, line.result(s.value, key, index)))
    return vectorize_map(ForOp("place", line.kept, stores), BLOCK)


# --- all of a line ------------------------------------------------------------------------------


class _Merge:
    """Writes the merge sort of one line: `a` and `b` take turns, the result is in `b`."""

    def __init__(self, line: _Line) -> None:
        self.line = line
        self.n = line.size
        self.indexed = line.needs_index

    def build(self) -> list[Operation]:
        line = self.line
        buffers = [AllocOp(Buffer(f"key_{k}", line.dtype, (self.n,)), "stack") for k in "ab"]
        if self.indexed:
            buffers += [AllocOp(Buffer(f"index_{k}", int64, (self.n,)), "stack") for k in "ab"]
        e = var("element")
        copy = ForOp("element", self.n, [StoreOp("key_a", [e], line.key_at(e))])
        out: list[Operation] = [*buffers, *vectorize_map(copy, BLOCK), self._blocks()]
        size = known(self.n)
        if size is None or size > BLOCK:
            width = var("width")
            rounds = [
                *self._merges("b", "a", width),
                *self._merges("a", "b", width * 2),
                AssignOp("width", width * 4),
            ]
            out += [VarOp("width", const(BLOCK)), WhileOp(width < self.n, rounds)]
        return [*out, *_copy_out(line, "key_b", "index_b")]

    def _blocks(self) -> Operation:
        """Every block of `a` sorted into `b`: the elements are lanes, each counts its rank."""
        start = var("block") * BLOCK
        j, lane = start + var("j"), start + var("lane")
        here, other = load("key_a", [lane], self.line.dtype), load("key_a", [j], self.line.dtype)
        before = self.line.precedes(other, here, j < lane)
        place = start + cast(load("ranks", [var("lane")], int32), int64)
        stores: list[Operation] = [StoreOp("key_b", [place], here)]
        if self.indexed:
            stores.append(StoreOp("index_b", [place], lane))

        def lanes(body: list[Operation]) -> Operation:
            return ForOp("lane", BLOCK, body, "vector")

        def guarded(body: list[Operation]) -> list[Operation]:
            return [IfOp(lane < self.n, body)]

        step = UpdateOp("ranks", [var("lane")], "add", cast(before, int32))
        count = binary("min", const(BLOCK), self.n - start)
        return ForOp(
            "block",
            (self.n + (BLOCK - 1)) // BLOCK,
            [
                AllocOp(Buffer("ranks", int32, (const(BLOCK),)), "reg"),
                _renamed(lanes([StoreOp("ranks", [var("lane")], const(0, int32))]), "0"),
                ForOp("j", count, [_renamed(lanes(guarded([step])), "1")], reduction=True),
                _renamed(lanes(guarded(stores)), "2"),
            ],
        )

    def _merges(self, source: str, target: str, width: Expr) -> list[Operation]:
        """Neighbouring runs of `source`, `width` long, merged into `target`."""
        names = _Names(target)
        low, middle, high = (var(names(n)) for n in ("low", "middle", "high"))
        left, right, out = (var(names(n)) for n in ("left", "right", "out"))
        step = self._step(source, target, names)
        rest = [
            *self._rest(source, target, names("rest_l"), left, out, middle - left),
            *self._rest(source, target, names("rest_r"), right, out + (middle - left),
                        high - right),
        ]  # fmt: skip
        body: list[Operation] = [
            LetOp(str(middle.value), binary("min", low + width, self.n)),
            LetOp(str(high.value), binary("min", middle + width, self.n)),
            VarOp(str(left.value), low),
            VarOp(str(right.value), middle),
            VarOp(str(out.value), low),
            WhileOp(binary("and", left < middle, right < high), step),
            *rest,
            AssignOp(str(low.value), high),
        ]
        return [VarOp(str(low.value), const(0)), WhileOp(low < self.n, body)]

    def _step(self, source: str, target: str, names: _Names) -> list[Operation]:
        """Move the element that comes first; both are read, so that nothing branches."""
        dtype = self.line.dtype
        left, right, out = (var(names(n)) for n in ("left", "right", "out"))
        key_l, key_r = (var(names(n), dtype) for n in ("key_l", "key_r"))
        takes = var(names("takes"), bool_)
        lets: list[Operation] = [
            LetOp(str(key_l.value), load(f"key_{source}", [left], dtype)),
            LetOp(str(key_r.value), load(f"key_{source}", [right], dtype)),
            LetOp(str(takes.value), self.line.precedes(key_r, key_l, const(0, bool_))),
        ]
        stores: list[Operation] = [StoreOp(f"key_{target}", [out], select(takes, key_r, key_l))]
        if self.indexed:
            at_l, at_r = var(names("at_l")), var(names("at_r"))
            lets.append(LetOp(str(at_l.value), load(f"index_{source}", [left], int64)))
            lets.append(LetOp(str(at_r.value), load(f"index_{source}", [right], int64)))
            stores.append(StoreOp(f"index_{target}", [out], select(takes, at_r, at_l)))
        taken = cast(takes, int64)
        return [
            *lets,
            *stores,
            AssignOp(str(left.value), left + (1 - taken)),
            AssignOp(str(right.value), right + taken),
            AssignOp(str(out.value), out + 1),
        ]

    def _rest(
        self, source: str, target: str, name: str, start: Expr, out: Expr, count: Expr
    ) -> list[Operation]:
        """What is left of one run when the other is used up."""
        at, dtype = var(name), self.line.dtype
        stores: list[Operation] = [
            StoreOp(f"key_{target}", [out + at], load(f"key_{source}", [start + at], dtype))
        ]
        if self.indexed:
            moved = load(f"index_{source}", [start + at], int64)
            stores.append(StoreOp(f"index_{target}", [out + at], moved))
        return [ForOp(name, count, stores)]


@dataclass(frozen=True)
class _Names:
    """Names of one of the two merges of a round."""

    suffix: str

    def __call__(self, stem: str) -> str:
        return f"{stem}_{self.suffix}"


def _renamed(loop: Operation, suffix: str) -> Operation:
    """A copy of a loop over `lane` whose variable is unique in the function."""
    assert isinstance(loop, ForOp)
    own = f"{loop.var}{suffix}"
    body = copy_all(loop.block.ops, substituting({loop.var: var(own)}))
    return ForOp(own, loop.extent, body, loop.kind.data)


# --- the first few ------------------------------------------------------------------------------


class _Selection:
    """Writes the selection of the first `kept` elements of a line."""

    def __init__(self, line: _Line, kept: int) -> None:
        self.line, self.kept = line, kept

    def build(self) -> list[Operation]:
        line, dtype = self.line, self.line.dtype
        e, key, held = var("element"), var("key", dtype), var("held")
        last = load("held_key", [const(self.kept - 1)], dtype)
        never = const(0, bool_)
        better = select(held < self.kept, const(1, bool_), line.precedes(key, last, never))
        clear = ForOp("clear", self.kept, [StoreOp("held_key", [var("clear")], const(0, dtype))])
        line_loop = ForOp(
            "element",
            line.size,
            [LetOp("key", line.key_at(e)), IfOp(better, self._insert(e, key, held))],
        )
        return [
            AllocOp(Buffer("held_key", dtype, (const(self.kept),)), "stack"),
            AllocOp(Buffer("held_index", int64, (const(self.kept),)), "stack"),
            clear,
            VarOp("held", const(0)),
            line_loop,
            *_copy_out(line, "held_key", "held_index"),
        ]

    def _insert(self, e: Expr, key: Expr, held: Expr) -> list[Operation]:
        """Move up what comes after the new element, from the last place down."""
        line, dtype = self.line, self.line.dtype
        slot = var("slot")
        previous = load("held_key", [slot - 1], dtype)
        comes_before = line.precedes(key, previous, const(0, bool_))
        shift: list[Operation] = [
            StoreOp("held_key", [slot], previous),
            StoreOp("held_index", [slot], load("held_index", [slot - 1], int64)),
            AssignOp("slot", slot - 1),
        ]
        return [
            VarOp("slot", binary("min", held, const(self.kept - 1))),
            WhileOp(select(slot > 0, comes_before, const(0, bool_)), shift),
            StoreOp("held_key", [slot], key),
            StoreOp("held_index", [slot], e),
            AssignOp("held", binary("min", held + 1, const(self.kept))),
        ]

"""Gathers whose lanes turn out to lie near each other: two vectors, and a permutation of them.

```
x[floor(0.59 (16 o + v))], v = 0 .. 16      x[b .. b + 32], b that of lane 0, permuted
```
A gather costs a load a lane. Where positions are computed, neighbouring lanes mostly read
neighbouring elements: whether all of a register lie within two vectors from its first one, or the
least one, is seen when the loop runs, and branches predict it. Positions that are read from memory
may be anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.rewriting import walk

from .emit_context import Context
from .emit_places import Evaluate, Target
from .emit_scope import element_count
from .emit_text import Code
from .emit_types import splat, vector_of
from .emit_windows import joined

_ELEMENTS = {8: "qi", 16: "hi", 32: "d", 64: "q"}
"""What AVX-512 calls the elements that it permutes, by their bits."""
REGISTER = 512
"""Bits of what is permuted at a time, at most."""
_WIDTHS = (REGISTER // 4, REGISTER // 2, REGISTER)


def may_be_near(context: Context, target: Target) -> bool:
    """Whether to look, when the loop runs, if the lanes of an access lie near each other."""
    if context.gpu or not context.options.picks_bytes or target.kind != "indexed":
        return False
    bits, lanes = 8 * target.dtype.itemsize, _lanes(context, target)
    if bits * lanes not in _WIDTHS or context.width % lanes:
        return False
    count = context.resolve(element_count(target.place.buffer))
    if count.is_const and int(count) < 2 * lanes:
        return False
    if not context.scope.read.isdisjoint(target.index.free):
        return False
    return not any(e.op == "load" for e in walk(target.index))


def near_or(
    context: Context, target: Target, stored: str, evaluate: Evaluate, gather: Callable[[], str]
) -> str:
    """The lanes of an access from two vectors where they lie in these, else what `gather` emits."""
    code, lanes = context.code, _lanes(context, target)
    offsets = context.widen(evaluate(context, target.index), target.index.dtype, context.width)
    # Evaluated here, for both ways to use.
    room = context.resolve(element_count(target.place.buffer)) - 2 * lanes
    last = evaluate(context, room).text
    firsts, fits = range(0, context.width, lanes), ""
    parts = []
    for at in firsts:
        part = _Part(context, target, at, lanes, offsets)
        found = part.fits(last)
        fits = code.let(f"and i1 {fits}, {found}") if fits else found
        parts.append(part)
    near, far, join = (code.name(n) for n in ("near", "far", "join"))
    code.branch(fits, near, far)
    code.start(near)
    picked = joined(code, f"i{8 * target.dtype.itemsize}", [p.picked() for p in parts], lanes)
    kind = vector_of(f"i{8 * target.dtype.itemsize}", context.width)
    if kind != stored:
        picked = code.let(f"bitcast {kind} {picked} to {stored}")
    code.end(f"br label %{join}")
    code.start(far)
    with context.branch_cache():
        gathered = gather()
    end = code.block
    code.end(f"br label %{join}")
    code.start(join)
    return code.let(f"phi {stored} [ {picked}, %{near} ], [ {gathered}, %{end} ]")


def _lanes(context: Context, target: Target) -> int:
    """Of a register."""
    return min(context.width, REGISTER // (8 * target.dtype.itemsize))


class _Part:
    """Emits the lanes of an access that fill a register, from lane `at` on."""

    def __init__(self, context: Context, target: Target, at: int, lanes: int, offsets: str) -> None:
        self.code, self.target, self.lanes = context.code, target, lanes
        self.mask = context.mask and _cut(self.code, "i1", context.mask, context.width, at, lanes)
        own = _cut(self.code, "i64", offsets, context.width, at, lanes)
        self.first = self._least(own)
        start = context.splat(self.first, "i64", lanes)
        self.apart = self.code.let(f"sub {vector_of('i64', lanes)} {own}, {start}")

    def _least(self, own: str) -> str:
        """The first lane's position; the least one where positions may begin again."""
        kind = vector_of("i64", self.lanes)
        if any(e.op in ("mod", "select") for e in walk(self.target.index)):
            return self.code.call("i64", f"llvm.vector.reduce.smin.v{self.lanes}i64", [(kind, own)])
        return self.code.let(f"extractelement {kind} {own}, i64 0")

    def fits(self, last: str) -> str:
        """i1: two vectors, which start at `last` or before, hold all lanes that are on."""
        code, lanes = self.code, self.lanes
        wide, bits = vector_of("i64", lanes), f"<{lanes} x i1>"
        near = code.let(f"icmp ult {wide} {self.apart}, {splat(int64, lanes, 2 * lanes)}")
        if self.mask is not None:
            off = code.let(f"xor {bits} {self.mask}, splat (i1 true)")
            near = code.let(f"or {bits} {near}, {off}")
        found = code.call("i1", f"llvm.vector.reduce.and.v{lanes}i1", [(bits, near)])
        for test in (f"sge i64 {self.first}, 0", f"sle i64 {self.first}, {last}"):
            found = code.let(f"and i1 {found}, {code.let(f'icmp {test}')}")
        return found

    def picked(self) -> str:
        """The elements as integers."""
        code, lanes, size = self.code, self.lanes, self.target.dtype.itemsize
        element, place = f"i{8 * size}", self.target.place
        kind = vector_of(element, lanes)
        vectors = []
        for start in (0, lanes):
            at = code.let(f"add i64 {self.first}, {start}") if start else self.first
            pointer = code.let(
                f"getelementptr inbounds {element}, {place.pointer_type} {place.pointer}, i64 {at}",
                "p",
            )
            loaded = f"load {kind}, {place.pointer_type} {pointer}, align {size}"
            vectors.append(code.let(loaded))
        picks = self.apart
        if size < 8:
            picks = code.let(f"trunc {vector_of('i64', lanes)} {self.apart} to {kind}")
        name = f"llvm.x86.avx512.vpermi2var.{_ELEMENTS[8 * size]}.{8 * size * lanes}"
        return code.call(kind, name, [(kind, vectors[0]), (kind, picks), (kind, vectors[1])])


def _cut(code: Code, element: str, value: str, width: int, at: int, lanes: int) -> str:
    """`lanes` lanes of a vector of `width` from `at` on."""
    if lanes == width:
        return value
    kind = vector_of(element, width)
    picks = ", ".join(f"i32 {k}" for k in range(at, at + lanes))
    return code.let(f"shufflevector {kind} {value}, {kind} poison, <{lanes} x i32> <{picks}>")

"""Schur forms of stacks of Hessenberg matrices by shifted QR iterations (LAPACK's lahqr).

A step applies one reflection to each matrix, from both sides, and so moves the bulge that an
iteration's first one makes one row down. Matrices are at different places: each has a window that
is under way, which ends above eigenvalues that are found (Golub and Van Loan, Matrix Computations,
7.5). What a step changes are few rows and columns, which are stored where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Builder
from .complex_tensors import AnyTensor
from .elements import known
from .emission import Body
from .factors import Column, trips
from .loops import loop
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    made,
    minus,
    only,
    plus,
    read,
    size,
    times,
)
from .reflections import Reflector, reflector
from .shifts import ULP, Shift, Window, shift_of
from .sizes import simplify
from .values import ComplexTensor, Tensor, Value

_TINY = 2.0**-1022
_TRIES = 30
"""So many iterations per row, of ten rows at least, an eigenvalue may take."""


@dataclass(frozen=True)
class Schur:
    """H = Z T Z^H, T triangular but for blocks of order 2 of real matrices.

    Attributes:
        info: (B), 0 or the number, from 1, of the eigenvalue that was not found.
    """

    t: AnyTensor
    z: AnyTensor
    info: Tensor


def schur(b: Builder, h: AnyTensor, z: AnyTensor) -> Schur:
    """The Schur forms of Hessenberg matrices (B, n, n); Z (B, any, n) is multiplied from the
    right."""
    count, n, _ = h.shape
    most = simplify(_TRIES * binary("max", n, 10))

    def step(arguments: Sequence[Value]) -> list[Value]:
        _, now, vectors, before, bottom, place, tries = arguments
        tops = _tops(b, now, bottom, place, before)
        at = _Step(b, Window(now, tops, bottom, tries), place)
        after = at.from_right(at.from_left())
        state = [
            b.compute([count], int64, lambda body, i, k=k: at.next(body, i[0], most)[k])  # type: ignore[misc]
            for k in range(3)
        ]
        left = b.pointwise(lambda e: binary("ge", e, 0), state[0], dtype=bool_, compute=int64)
        return [b.item(b.apply("aten::any", left)), after, at.from_right(vectors), tops, *state]

    ends = b.compute([count], int64, lambda body, i: n - 1)
    zeros, nowhere = b.full([count], 0, int64), b.full([count], -1, int64)
    start: list[Value] = [h, z, zeros, ends, nowhere, zeros]
    # A bulge takes a step a row, and finding that there is an eigenvalue one more.
    steps = trips(simplify(most * n * (n + 1)))
    t, q, _, bottom, _, _ = loop(b, steps, known(n > 0), start, step, 512)
    info = b.compute(
        [count],
        int64,
        lambda body, i: binary("max", -1 - body.read(bottom, i, int64), const(0)),
    )
    return Schur(t, q, info)


def _tops(b: Builder, h: AnyTensor, bottom: Tensor, place: Tensor, before: Tensor) -> Tensor:
    """The first row of the window that ends at `bottom`: left of its diagonal there is as good as
    nothing. It stays what it was (`before`) until the bulge of an iteration is out."""
    (count,) = bottom.shape
    window = Window(h, bottom, bottom, bottom)

    def top(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        inside = binary("and", r[0] > 0, r[0] <= body.read(bottom, i, int64))
        return select(binary("and", inside, _is_small(body, window, i[0], r[0])), r[0], const(0))

    found = b.reduce([count], [_searched(b, bottom, place)], int64, "max", top)

    def kept(body: Body, i: list[Expr]) -> Expr:
        old, new = (body.read(t, i, int64) for t in (before, found))
        return select(binary("ge", body.read(place, i, int64), 0), old, new)

    return b.compute([count], int64, kept)


def _searched(b: Builder, bottom: Tensor, place: Tensor) -> Expr:
    """How many rows of the matrices a search goes through where an iteration is to begin: 0 while
    bulges are on their way."""

    def rows(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        moves = binary("ge", body.read(place, r, int64), 0)
        return select(moves, const(0), body.read(bottom, r, int64) + 1)

    most = b.reduce([], bottom.shape, int64, "max", rows)
    return b.size(b.scalar_of(b.scalar_operand(b.item(most))))


def _is_small(body: Body, w: Window, k: Expr, row: Expr) -> Expr:
    """Whether the entry left of the diagonal may be called 0 (Ahues and Tisseur, "A new deflation
    criterion for the QR algorithm", 1997)."""
    n = w.h.shape[-1]
    least = cast(n, float64) * (_TINY / ULP)
    here, before = w.at(body, k, row, row), w.at(body, k, row - 1, row - 1)
    left, above = size(w.at(body, k, row, row - 1)), size(w.at(body, k, row - 1, row))
    around = size(before) + size(here)
    outside = [
        select(row > 1, size(w.at(body, k, row - 1, row - 2)), const(0.0, float64)),
        select(row + 1 < n, size(w.at(body, k, row + 1, row)), const(0.0, float64)),
    ]
    around = select(around.equals(0), outside[0] + outside[1], around)
    gap = size(minus(before, here))
    off = binary("max", left, above), binary("min", left, above)
    on = binary("max", size(here), gap), binary("min", size(here), gap)
    whole = on[0] + off[0]
    lost, kept = off[1] * (off[0] / whole), ULP * (on[1] * (on[0] / whole))
    small = binary("and", left <= ULP * around, lost <= binary("max", least, kept))
    return binary("or", left <= least, small)


_IDLE, _STARTS, _GOES_ON = 0, 1, 2


class _Step:
    """One reflection of each matrix; none where a window has become an eigenvalue or a pair."""

    def __init__(self, b: Builder, window: Window, place: Tensor) -> None:
        """`place` (B) is where the bulge is, or -1 before an iteration."""
        self.b, self.window, self.place = b, window, place
        self.count, self.n, _ = window.h.shape
        self.shift: Shift = shift_of(b, window)
        self.width = self.shift.width
        self.kinds = b.compute([self.count], int64, lambda body, i: self._kind(body, i[0]))
        self.first = self._places()
        vector = made(b, window.h, [self.count, self.width], self._vector)
        self.found: Reflector = reflector(b, vector, Column(0))

    def _kind(self, body: Body, k: Expr) -> Expr:
        top, bottom = self.window.ends(body, k)
        moves = binary("ge", body.read(self.place, [k], int64), 0)
        begun = select(top + (self.width - 1) <= bottom, const(_STARTS), const(_IDLE))
        return select(bottom < 0, const(_IDLE), select(moves, const(_GOES_ON), begun))

    def kind(self, body: Body, k: Expr) -> Expr:
        return body.read(self.kinds, [k], int64)

    def _places(self) -> Tensor:
        """The first row of each reflection."""

        def start(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            top, bottom = self.window.ends(body, i[0])
            inside = binary("and", r[0] > top, r[0] + (self.width - 1) <= bottom)
            begins = binary("and", inside, self.shift.may_start(body, i[0], r[0]))
            return select(begins, r[0], top)

        rows = _searched(self.b, self.window.bottom, self.place)
        starts = self.b.reduce([self.count], [rows], int64, "max", start)

        def first(body: Body, i: list[Expr]) -> Expr:
            place = body.read(self.place, i, int64)
            return select(binary("ge", place, 0), place, body.read(starts, i, int64))

        return self.b.compute([self.count], int64, first)

    def _vector(self, body: Body, i: list[Expr]) -> Number:
        """What the reflection takes to its first entry; 0 where a step is idle."""
        k, kind = i[0], self.kind(body, i[0])
        first, (_, bottom) = body.read(self.first, [k], int64), self.window.ends(body, k)
        *others, begun = self.shift.vector(body, k, first)
        for d, e in reversed(list(enumerate(others))):
            begun = chosen(i[1].equals(d), e, begun)
        column = self.window.at(body, k, first + i[1], first - 1)
        moved = only(binary("and", kind.equals(_GOES_ON), first + i[1] <= bottom), column)
        return chosen(kind.equals(_STARTS), begun, moved)

    def _row(self, body: Body, k: Expr, d: Expr) -> tuple[Expr, Expr]:
        """The row (or column) that takes part in place d, and its place: at the end of the matrix
        the last one once more."""
        first = body.read(self.first, [k], int64)
        row = binary("min", first + d, self.n - 1)
        return row, row - first

    def _parted(self) -> AnyTensor:
        """The matrices with 0 where their windows begin."""
        w = self.window

        def corner(body: Body, k: Expr) -> list[Expr]:
            top, _ = w.ends(body, k)
            return [k, top, binary("max", top - 1, const(0))]

        def value(body: Body, i: list[Expr]) -> Number:
            inside = binary("or", body.read(self.place, i, int64) >= 0, corner(body, i[0])[1] < 1)
            return only(inside, read(body, w.h, corner(body, i[0])))

        return self._stored(w.h, [self.count], lambda body, d: corner(body, d[0]), value)

    def from_left(self) -> AnyTensor:
        """The matrices with their rows mixed; zeros come where the bulge was."""
        h, v, width = self._parted(), self.found, self.width

        def inner(body: Body, i: list[Expr]) -> Number:
            parts = [
                times(
                    conjugate(read(body, v.entries, [i[0], const(d)])),
                    read(body, h, [i[0], self._row(body, i[0], const(d))[0], i[1]]),
                )
                for d in range(width)
            ]
            return _total(parts)

        sums = made(self.b, h, [self.count, self.n], inner)

        def value(body: Body, i: list[Expr]) -> Number:
            (row, at), kind = self._row(body, i[0], i[1]), self.kind(body, i[0])
            weight = times(conjugate(read(body, v.tau, i[:1])), read(body, v.entries, [i[0], at]))
            old = read(body, h, [i[0], row, i[2]])
            mixed = minus(old, times(weight, read(body, sums, [i[0], i[2]])))
            corner = chosen(kind.equals(_STARTS), mixed, body.read(v.beta, i[:1], float64))
            before = binary("and", i[2].equals(row - at - 1), binary("ne", kind, _IDLE))
            return chosen(before, only(at.equals(0), corner), mixed)

        def rows(body: Body, d: list[Expr]) -> list[Expr]:
            return [d[0], self._row(body, d[0], d[1])[0], d[2]]

        return self._stored(h, [self.count, const(width), self.n], rows, value)

    def from_right(self, c: AnyTensor) -> AnyTensor:
        """Matrices (B, m, n) with their columns mixed."""
        v, width, m = self.found, self.width, c.shape[1]

        def inner(body: Body, i: list[Expr]) -> Number:
            parts = [
                times(
                    read(body, c, [*i, self._row(body, i[0], const(d))[0]]),
                    read(body, v.entries, [i[0], const(d)]),
                )
                for d in range(width)
            ]
            return _total(parts)

        sums = made(self.b, c, [self.count, m], inner)

        def value(body: Body, i: list[Expr]) -> Number:
            column, at = self._row(body, i[0], i[2])
            weight = times(read(body, v.tau, i[:1]), conjugate(read(body, v.entries, [i[0], at])))
            old = read(body, c, [i[0], i[1], column])
            return minus(old, times(read(body, sums, i[:2]), weight))

        def columns(body: Body, d: list[Expr]) -> list[Expr]:
            return [d[0], d[1], self._row(body, d[0], d[2])[0]]

        return self._stored(c, [self.count, m, const(width)], columns, value)

    def _stored(
        self,
        base: AnyTensor,
        extents: list[Expr],
        places: Callable[[Body, list[Expr]], list[Expr]],
        value: Callable[[Body, list[Expr]], Number],
    ) -> AnyTensor:
        """`base` with some elements replaced; one that is named twice has the same value twice."""
        values = made(self.b, base, extents, value)
        if isinstance(base, ComplexTensor) and isinstance(values, ComplexTensor):
            return ComplexTensor(
                self._scattered(base.real, values.real, extents, places),
                self._scattered(base.imag, values.imag, extents, places),
            )
        assert isinstance(base, Tensor) and isinstance(values, Tensor)
        return self._scattered(base, values, extents, places)

    def _scattered(
        self,
        base: Tensor,
        values: Tensor,
        extents: list[Expr],
        places: Callable[[Body, list[Expr]], list[Expr]],
    ) -> Tensor:
        def make(body: Body, d: list[Expr]) -> tuple[list[Expr], Expr]:
            return places(body, d), body.read(values, d, float64)

        return self.b.scatter(base, extents, make)

    def next(self, body: Body, k: Expr, most: Expr) -> list[Expr]:
        """The window's bottom, the place of the bulge and the number of tries after the step; the
        bottom is below -1 where an eigenvalue took more than `most` tries."""
        top, bottom = self.window.ends(body, k)
        kind, first = self.kind(body, k), body.read(self.first, [k], int64)
        tries = body.read(self.window.tries, [k], int64)
        deflates = binary("and", kind.equals(_IDLE), binary("ge", bottom, 0))
        more = select(kind.equals(_STARTS), tries + 1, tries)
        fails = more > most
        ends = binary("or", kind.equals(_IDLE), binary("or", fails, first + 1 >= bottom))
        lower = select(deflates, top - 1, bottom)
        return [
            select(binary("and", fails, binary("ge", bottom, 0)), -2 - bottom, lower),
            select(ends, const(-1), first + 1),
            select(deflates, const(0), more),
        ]


def _total(parts: Sequence[Number]) -> Number:
    total = parts[0]
    for e in parts[1:]:
        total = plus(total, e)
    return total

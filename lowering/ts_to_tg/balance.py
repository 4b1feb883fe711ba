"""Balanced matrices, of stacks: similar ones whose rows and columns are of like lengths, and whose
isolated eigenvalues stand at the ends of the diagonal (LAPACK's gebal; Parlett and Reinsch,
"Balancing a matrix for calculation of eigenvalues and eigenvectors", 1969).

Rows and columns change places until those between `low` and `high` have company, and are scaled by
powers of 2, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder
from .complex_tensors import AnyTensor
from .elements import as_expr, known
from .emission import Body
from .factors import Column, trips
from .loops import loop
from .matrix_elements import Number, is_zero, made, read, square, times
from .sizes import simplify
from .values import Tensor, Value

_SWEEPS = 100
_WORTH = 0.95
"""A row is scaled if that makes it and its column together shorter by this factor."""
_BOUND = 2.0**400
"""What lengths and scales stay below, and above its inverse."""
_ONE = const(1.0, float64)


@dataclass(frozen=True)
class Balanced:
    """Row i of `data` (B, n, n) is row order[i] of the matrix, over scale[i]; its columns times
    that."""

    data: AnyTensor
    order: Tensor
    scale: Tensor

    def undone(self, b: Builder, vectors: AnyTensor) -> AnyTensor:
        """The columns (B, n, n) for the matrix, of those for `data`."""

        def place(body: Body, d: list[Expr]) -> tuple[list[Expr], Expr]:
            return [d[0], body.read(self.order, d, int64)], d[1]

        zeros = b.full(self.order.shape, 0, int64)
        whence = b.scatter(zeros, self.order.shape, place)

        def entry(body: Body, i: list[Expr]) -> Number:
            row = body.read(whence, i[:2], int64)
            scale = body.read(self.scale, [i[0], row], float64)
            return times(read(body, vectors, [i[0], row, i[2]]), scale)

        return made(b, vectors, vectors.shape, entry)


def balanced(b: Builder, a: AnyTensor) -> Balanced:
    """Of a stack (B, n, n)."""
    count, n, _ = a.shape
    order: Tensor = b.compute([count, n], int64, lambda body, i: i[1])
    low, high = b.full([count], 0, int64), b.compute([count], int64, lambda body, i: n - 1)
    order, high = _isolated(b, a, order, low, high, by_rows=True)
    order, low = _isolated(b, a, order, low, high, by_rows=False)

    def moved(body: Body, i: list[Expr]) -> Number:
        return read(body, a, [i[0], *(body.read(order, [i[0], e], int64) for e in i[1:])])

    ordered = made(b, a, a.shape, moved)
    scale = _scales(b, ordered, low, high)

    def scaled(body: Body, i: list[Expr]) -> Number:
        row, column = (body.read(scale, [i[0], e], float64) for e in i[1:])
        return times(read(body, ordered, i), column / row)

    return Balanced(made(b, a, a.shape, scaled), order, scale)


def _isolated(
    b: Builder, a: AnyTensor, order: Tensor, low: Tensor, high: Tensor, by_rows: bool
) -> tuple[Tensor, Tensor]:
    """The order in which rows with nothing beside the diagonal come last, and where the others end;
    or columns first, and where the others begin."""
    count, n, _ = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        _, now, end = arguments
        ends = (low, end) if by_rows else (end, high)

        def inside(body: Body, k: Expr, at: Expr) -> Expr:
            first, last = (body.read(t, [k], int64) for t in ends)
            return binary("and", binary("ge", at, first), at <= last)

        def beside(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            own, other = (body.read(now, [i[0], e], int64) for e in (i[1], r[0]))
            place = [own, other] if by_rows else [other, own]
            counts = binary("and", inside(body, i[0], r[0]), binary("ne", i[1], r[0]))
            zero = is_zero(read(body, a, [i[0], *place]))
            return select(counts, select(zero, const(0), const(1)), const(0))

        company = b.reduce([count, n], [n], int64, "max", beside)
        nobody = const(-1) if by_rows else n

        def alone(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            is_alone = body.read(company, [i[0], r[0]], int64).equals(0)
            return select(binary("and", inside(body, i[0], r[0]), is_alone), r[0], nobody)

        found = b.reduce([count], [n], int64, "max" if by_rows else "min", alone)

        def swapped(body: Body, i: list[Expr]) -> Expr:
            one, other = body.read(found, i[:1], int64), body.read(end, i[:1], int64)
            source = select(i[1].equals(one), other, select(i[1].equals(other), one, i[1]))
            return body.read(now, [i[0], select(one.equals(nobody), i[1], source)], int64)

        def moved(body: Body, i: list[Expr]) -> Expr:
            old = body.read(end, i, int64)
            is_found = binary("ne", body.read(found, i, int64), nobody)
            return select(is_found, old - 1 if by_rows else old + 1, old)

        some = b.pointwise(lambda e: binary("ne", e, nobody), found, dtype=bool_, compute=int64)
        goes_on = b.item(b.apply("aten::any", some))
        after = b.compute([count, n], int64, swapped), b.compute([count], int64, moved)
        return [goes_on, *after]

    start: list[Value] = [order, high if by_rows else low]
    ordered, end = loop(b, trips(n), known(n > 0), start, step, 512)
    return ordered, end


def _scales(b: Builder, a: AnyTensor, low: Tensor, high: Tensor) -> Tensor:
    """What columns are to be multiplied with, and rows to be divided by, (B, n)."""
    count, n, _ = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, scale, quiet = arguments
        row = Column(known(as_expr(number) % n))

        def length(is_row: bool) -> Tensor:
            """Of the row, or of the column, as it is scaled now."""

            def entry(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
                at = [row.at(body), r[0]] if is_row else [r[0], row.at(body)]
                factors = [body.read(scale, [i[0], e], float64) for e in at]
                first, last = (body.read(t, i, int64) for t in (low, high))
                inside = binary("and", binary("ge", r[0], first), r[0] <= last)
                e = square(times(read(body, a, [i[0], *at]), factors[1] / factors[0]))
                return select(inside, e, const(0.0, float64))

            return b.reduce([count], [n], float64, "add", entry)

        across, down = length(True), length(False)

        def factor(body: Body, i: list[Expr]) -> Expr:
            r, c = (call("sqrt", body.read(t, i, float64)) for t in (across, down))
            first, last = (body.read(t, i, int64) for t in (low, high))
            fine = binary("and", c * r > 0, c * r < _BOUND)
            ratio = call("log2", select(fine, r / c, _ONE))
            # The power of 2 after which neither is more than twice the other.
            up = call("ceil", (ratio - 1) * 0.5)
            power = select(
                ratio > 1, up, select(ratio < -1, -call("ceil", (-ratio - 1) * 0.5), 0.0)
            )
            found = call("exp2", power)
            shorter = c * found + r / found < _WORTH * (c + r)
            old = body.read(scale, [i[0], row.at(body)], float64)
            possible = binary("and", old * found < _BOUND, old * found > 1 / _BOUND)
            at = row.at(body)
            for e in (shorter, possible, binary("ge", at, first), at <= last):
                fine = binary("and", fine, e)
            return select(fine, found, _ONE)

        factors = b.compute([count], float64, factor)

        def after(body: Body, i: list[Expr]) -> Expr:
            f = body.read(factors, i[:1], float64)
            old = body.read(scale, i, float64)
            return select(i[1].equals(row.at(body)), old * f, old)

        changed = b.item(b.apply("aten::any", b.apply("aten::ne", factors, 1.0)))
        # A whole sweep of rows must find nothing to do.
        rested = b.shortened(known(select(changed, const(0), as_expr(quiet) + 1)))
        goes_on = known(binary("lt", as_expr(rested), n))
        return [goes_on, b.compute([count, n], float64, after), rested]

    start: list[Value] = [b.full([count, n], 1.0, float64), 0]
    steps = trips(simplify(_SWEEPS * n))
    scale: Tensor = loop(b, steps, known(n > 0), start, step, 512)[0]
    return scale

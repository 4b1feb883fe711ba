"""Rows of eigenvalues and eigenvectors of general matrices, which are complex.

Balancing, Hessenberg form, Schur form, and back substitution (LAPACK's geev). Real matrices stay
real as long as they can: their complex eigenvalues come in exact pairs, the one above the real axis
first, and an eigenvalue that is real has a real vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, complex_dtype, float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .balance import Balanced, balanced
from .builder import Builder, Rows
from .complex_numbers import Pair
from .complex_tensors import AnyTensor
from .elements import as_expr
from .emission import Body
from .factors import Column, trips
from .hessenberg import reduced
from .loops import loop
from .matrices import Stack, refuse, square
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    made,
    negative,
    nonzero,
    only,
    over,
    plus,
    read,
    real_part,
    size,
    summed,
    times,
)
from .matrix_elements import square as length_squared
from .schur import Schur, schur
from .schur_blocks import triangular, values_of
from .shifts import ULP
from .sizes import simplify
from .values import ComplexTensor, Tensor, Value

_ZERO, _ONE = const(0.0, float64), const(1.0, float64)
_HUGE = 2.0**459
"""Greater numbers, and those less than its inverse, make matrices be scaled as a whole."""


@dataclass(frozen=True)
class _Found:
    """The stack of an operand; its matrices times `factors` (B), balanced; their Schur forms."""

    stack: Stack
    factors: Tensor
    balanced: Balanced
    schur: Schur

    @property
    def is_real(self) -> bool:
        return not self.stack.dtype.is_complex

    def back(self, b: Builder, values: ComplexTensor) -> AnyTensor:
        """The eigenvalues of the operand."""

        def value(body: Body, i: list[Expr]) -> Number:
            return over(read(body, values, i), body.read(self.factors, i[:1], float64))

        found = made(b, values, values.shape, value)
        return self.stack.back(b, found, complex_dtype(self.stack.dtype))


def _schur(b: Builder, x: AnyTensor, name: str, wants_vectors: bool) -> _Found:
    a = square(b, x, name)
    _refuse_infinite(b, a)
    factors = _factors(b, a.data)

    def shrunk(body: Body, i: list[Expr]) -> Number:
        return times(read(body, a.data, i), body.read(factors, i[:1], float64))

    even = balanced(b, made(b, a.data, a.data.shape, shrunk))
    found = schur(b, *reduced(b, even.data, wants_vectors))
    refuse(
        b,
        found.info,
        a.rows,
        f"torch.{name}: {{batch}}The algorithm failed to converge because the input matrix is"
        " ill-conditioned or has too many repeated eigenvalues (error code: {at}).",
        bool(a.lead),
    )
    return _Found(a, factors, even, found)


def _factors(b: Builder, a: AnyTensor) -> Tensor:
    """What brings the entries of each matrix where their squares are numbers, (B)."""
    count, n, _ = a.shape

    def entry(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return size(read(body, a, [i[0], *r]))

    largest = b.reduce([count], [n, n], float64, "max", entry)

    def factor(body: Body, i: list[Expr]) -> Expr:
        top = body.read(largest, i, float64)
        up = select(top < 1 / _HUGE, const(2.0**600, float64), _ONE)
        return select(top > _HUGE, const(2.0**-560, float64), up)

    return b.compute([count], float64, factor)


def _refuse_infinite(b: Builder, a: Stack) -> None:
    def bad(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = size(read(body, a.data, r))
        return select((e - e).equals(0), const(0), const(1))

    found = b.reduce([], a.data.shape, int64, "max", bad)
    is_fine = binary("le", b.item(found), 0)
    b.check(is_fine, "torch.linalg.eig: input tensor should not contain infs or NaNs.")


# --- vectors --------------------------------------------------------------------------------------

_LARGE = 2.0**100
_LARGEST = 2.0**900


def _substituted(b: Builder, t: ComplexTensor, values: ComplexTensor) -> AnyTensor:
    """The eigenvectors of triangular matrices, in columns, with no entry that is too large to be
    squared. Of equal eigenvalues one is taken to be a rounding step away (LAPACK's trevc)."""
    count, n, _ = t.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, x = arguments
        row = Column(simplify(n - 1 - as_expr(number)))

        def inner(body: Body, i: list[Expr], r: list[Expr]) -> Number:
            e = only(r[0] > row.at(body), read(body, t, [i[0], row.at(body), r[0]]))
            return times(e, read(body, x, [i[0], r[0], i[1]]))

        sums = summed(b, t, [count, n], [n], inner)

        def entry(body: Body, i: list[Expr]) -> Number:
            here, top = row.at(body), negative(read(body, sums, i))
            value = read(body, values, i)
            gap = plus(read(body, t, [i[0], here, here]), negative(value))
            least = binary("max", ULP * size(value), const(2.0**-900, float64))
            least = binary("max", least, size(top) / _LARGEST)
            solved = over(top, chosen(size(gap) < least, least, gap))
            return chosen(i[1].equals(here), _ONE, only(i[1] > here, solved))

        found = made(b, t, [count, n], entry)

        def after(body: Body, i: list[Expr]) -> Number:
            e = read(body, found, [i[0], i[2]])
            factor = select(size(e) > _LARGE, _ONE / size(e), _ONE)
            new = chosen(i[1].equals(row.at(body)), e, read(body, x, i))
            return times(new, factor)

        return [True, made(b, t, t.shape, after)]

    zeros = made(b, t, t.shape, lambda body, i: _ZERO)
    vectors: AnyTensor = loop(b, trips(n), True, [zeros], step, 64)[0]
    return vectors


def _vectors(b: Builder, found: _Found, values: ComplexTensor) -> AnyTensor:
    """Eigenvectors of length 1, in columns, of the operand's matrices."""
    t, z = triangular(b, found.schur)
    whole = b.apply("aten::bmm", z, _substituted(b, t, values))
    x = _turned(b, found.balanced.undone(b, whole), values, found.is_real)
    count, n, _ = x.shape

    def length(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return length_squared(read(body, x, [i[0], r[0], i[1]]))

    lengths = b.reduce([count, n], [n], float64, "add", length)

    def entry(body: Body, i: list[Expr]) -> Number:
        value = read(body, values, [i[0], i[2]])
        assert isinstance(value, Pair)
        second = value.imag < 0 if found.is_real else const(False, bool_)
        column = select(second, i[2] - 1, i[2])
        e = read(body, x, [i[0], i[1], column])
        norm = call("sqrt", body.read(lengths, [i[0], column], float64))
        return over(chosen(second, conjugate(e), e), nonzero(norm))

    return made(b, x, x.shape, entry)


def _turned(b: Builder, x: AnyTensor, values: ComplexTensor, is_real: bool) -> AnyTensor:
    """Columns whose largest entry is real. Of real matrices a real eigenvalue's column is real, but
    for rounding: the real part has the sign that it had."""
    count, n, _ = x.shape
    rows = simplify(binary("max", n, 1))  # no matrix of order 0 has a largest entry
    squares = b.compute([count, rows, n], float64, lambda body, i: length_squared(read(body, x, i)))
    largest = b.apply("aten::argmax", squares, 1)

    def entry(body: Body, i: list[Expr]) -> Number:
        at = body.read(largest, [i[0], i[2]], int64)
        top, value = read(body, x, [i[0], at, i[2]]), read(body, values, [i[0], i[2]])
        phase = over(conjugate(top), nonzero(call("sqrt", length_squared(top))))
        found = times(read(body, x, i), phase)
        found = chosen(i[1].equals(at), real_part(found), found)
        assert isinstance(value, Pair)
        if not is_real:
            return found
        alone = real_part(found) * call("copysign", _ONE, real_part(top))
        return chosen(value.imag.equals(0), alone, found)

    return made(b, x, x.shape, entry)


def _eig(b: Builder, x: AnyTensor, *_: Value) -> Value:
    found = _schur(b, x, "linalg.eig", True)
    values = values_of(b, found.schur.t)
    vectors = _vectors(b, found, values)
    a = found.stack
    return found.back(b, values), a.back(b, vectors, complex_dtype(a.dtype))


def _eigvals(b: Builder, x: AnyTensor, *_: Value) -> Value:
    found = _schur(b, x, "linalg.eigvals", False)
    return found.back(b, values_of(b, found.schur.t))


GENERAL_EIGENVALUES: Rows = {"aten::linalg_eig": _eig, "aten::linalg_eigvals": _eigvals}

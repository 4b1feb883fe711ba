"""What Schur forms say: eigenvalues, and triangular matrices.

Blocks of order 2 on the diagonal of real forms have two eigenvalues, often conjugate ones; complex
rotations of their rows and columns make them triangular.
"""

from __future__ import annotations

from tensorscript.base.dtypes import complex128, float64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from . import complex_numbers as numbers
from .builder import Builder
from .complex_numbers import Pair
from .complex_tensors import AnyTensor, complex_of
from .emission import Body
from .matrix_elements import (
    Number,
    chosen,
    conjugate,
    made,
    nonzero,
    over,
    plus,
    read,
    times,
)
from .matrix_elements import square as length_squared
from .schur import Schur
from .values import ComplexTensor, Tensor

_ZERO, _ONE = const(0.0, float64), const(1.0, float64)


class Blocks:
    """The blocks of order 2 of real Schur forms: their eigenvalues, and the rotations that make
    them triangular. A row of none is a block of its own."""

    def __init__(self, t: Tensor) -> None:
        self.t = t

    def _at(self, body: Body, k: Expr, row: Expr, column: Expr) -> Expr:
        last = self.t.shape[-1] - 1
        inside = [binary("max", binary("min", e, last), const(0)) for e in (row, column)]
        return body.read(self.t, [k, *inside], float64)

    def begins(self, body: Body, k: Expr, row: Expr) -> Expr:
        below = binary("ne", self._at(body, k, row + 1, row), 0)
        return binary("and", row + 1 < self.t.shape[-1], below)

    def ends(self, body: Body, k: Expr, row: Expr) -> Expr:
        return binary("and", row > 0, binary("ne", self._at(body, k, row, row - 1), 0))

    def _parts(self, body: Body, k: Expr, row: Expr) -> tuple[Pair, Pair, Expr]:
        """Of the block that begins in `row`: its first eigenvalue less the last entry, its second
        one less that, and the entry below (LAPACK's lanv2)."""
        a, right = self._at(body, k, row, row), self._at(body, k, row, row + 1)
        below, d = self._at(body, k, row + 1, row), self._at(body, k, row + 1, row + 1)
        half = 0.5 * (a - d)
        sizes = [call("abs", right), call("abs", below)]
        most, least = binary("max", *sizes), binary("min", *sizes)
        sign = call("copysign", _ONE, right) * call("copysign", _ONE, below)
        scale = nonzero(binary("max", call("abs", half), most))
        square_ = (half / scale) * half + (most / scale) * (least * sign)
        root = call("sqrt", scale) * call("sqrt", call("abs", square_))
        apart = half + call("copysign", root, half)
        other = -(most / nonzero(apart)) * (least * sign)
        is_pair, is_lower = square_ < 0, right.equals(0)
        real = [select(is_lower, e, f) for e, f in ((_ZERO, apart), (a - d, other))]
        first, second = (
            Pair(select(is_pair, half, e), select(is_pair, f, _ZERO))
            for e, f in zip(real, (root, -root), strict=True)
        )
        return first, second, below

    def value(self, body: Body, i: list[Expr]) -> Pair:
        """An eigenvalue."""
        k, row = i
        begins, ends = self.begins(body, k, row), self.ends(body, k, row)
        start = select(ends, row - 1, row)
        first, second, _ = self._parts(body, k, start)
        apart = numbers.chosen(ends, second, first)
        last = self._at(body, k, start + 1, start + 1)
        inside = Pair(last + apart.real, apart.imag)
        alone = Pair(self._at(body, k, row, row), _ZERO)
        return numbers.chosen(binary("or", begins, ends), inside, alone)

    def turn(self, body: Body, k: Expr, column: Expr) -> tuple[Number, Number, Expr]:
        """What a column and its partner are multiplied with, and the partner."""
        begins, ends = self.begins(body, k, column), self.ends(body, k, column)
        first, _, below = self._parts(body, k, select(ends, column - 1, column))
        length = nonzero(call("sqrt", length_squared(first) + below * below))
        own, other = over(first, length), below / length
        cosine = chosen(ends, conjugate(own), own)
        sine = select(ends, -other, other)
        partner = select(begins, column + 1, select(ends, column - 1, column))
        is_alone = partner.equals(column)
        return chosen(is_alone, _ONE, cosine), select(is_alone, _ZERO, sine), partner


def values_of(b: Builder, t: AnyTensor) -> ComplexTensor:
    """The eigenvalues (B, n) of Schur forms, in the order of the diagonal."""
    shape = t.shape[:2]
    if isinstance(t, ComplexTensor):
        found = b.apply("aten::diagonal", t, 0, -2, -1)
        assert isinstance(found, ComplexTensor)
        return found
    blocks = Blocks(t)
    real = b.compute(shape, float64, lambda body, i: blocks.value(body, i).real)
    return ComplexTensor(
        real, b.compute(shape, float64, lambda body, i: blocks.value(body, i).imag)
    )


def triangular(b: Builder, found: Schur) -> tuple[ComplexTensor, ComplexTensor]:
    """T and Z of Schur forms, made complex, with T triangular."""
    t, z = (complex_of(b, x, complex128) for x in (found.t, found.z))
    if isinstance(found.t, ComplexTensor):
        return t, z
    blocks = Blocks(found.t)

    def columns(body: Body, i: list[Expr], x: AnyTensor) -> Number:
        cosine, sine, partner = blocks.turn(body, i[0], i[2])
        other = read(body, x, [i[0], i[1], partner])
        return plus(times(read(body, x, i), cosine), times(other, sine))

    def rows(body: Body, i: list[Expr]) -> Number:
        cosine, sine, partner = blocks.turn(body, i[0], i[1])
        other = read(body, turned[0], [i[0], partner, i[2]])
        return plus(times(read(body, turned[0], i), conjugate(cosine)), times(other, sine))

    turned = [
        made(b, x, x.shape, lambda body, i, x=x: columns(body, i, x))  # type: ignore[misc]
        for x in (t, z)
    ]
    upper, right = made(b, t, t.shape, rows), turned[1]
    assert isinstance(upper, ComplexTensor) and isinstance(right, ComplexTensor)
    return upper, right

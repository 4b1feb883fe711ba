"""What starts an iteration of QR on Hessenberg matrices: shifts, and the first reflection's vector.

Real matrices take two shifts at once, so that they stay real (Francis, "The QR transformation",
1961); complex ones take one (Wilkinson). Formulas, and the shifts for matrices that the usual ones
do not move, are those of LAPACK's lahqr.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import float64, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from . import complex_numbers as numbers
from .builder import Builder
from .complex_numbers import Pair
from .complex_tensors import AnyTensor
from .emission import Body
from .matrix_elements import (
    Number,
    chosen,
    is_zero,
    made,
    minus,
    nonzero,
    or_one,
    over,
    plus,
    read,
    real_part,
    size,
    times,
)
from .values import ComplexTensor, Tensor

ULP = 2.0**-52
_STUCK = 10
"""After so many iterations without an eigenvalue the shifts are taken from elsewhere."""
_ZERO, _ONE = const(0.0, float64), const(1.0, float64)


@dataclass(frozen=True)
class Window:
    """The part of each Hessenberg matrix that is under way: rows and columns from `top` to `bottom`
    (-1 where all is done), and how many iterations it has had; all (B)."""

    h: AnyTensor
    top: Tensor
    bottom: Tensor
    tries: Tensor

    def at(self, body: Body, k: Expr, row: Expr, column: Expr) -> Number:
        """An entry; the next one inside where there is none."""
        last = self.h.shape[-1] - 1
        inside = [binary("max", binary("min", e, last), const(0)) for e in (row, column)]
        return read(body, self.h, [k, *inside])

    def ends(self, body: Body, k: Expr) -> tuple[Expr, Expr]:
        return body.read(self.top, [k], int64), body.read(self.bottom, [k], int64)

    def stuck(self, body: Body, k: Expr) -> tuple[Expr, Expr]:
        """Whether it is time for a shift from the window's top, or from its bottom."""
        tries = body.read(self.tries, [k], int64) + 1
        at_bottom = (tries % (2 * _STUCK)).equals(0)
        return binary("and", (tries % _STUCK).equals(0), binary("ne", tries % (2 * _STUCK), 0)), (
            at_bottom
        )


class DoubleShift:
    """Of real matrices: two shifts, real or conjugate."""

    width = 3
    """So many rows a reflection mixes."""

    def __init__(self, b: Builder, window: Window) -> None:
        self.window = window
        count = window.h.shape[0]
        block = [
            b.compute([count], float64, lambda body, i, k=k: self._block(body, i[0])[k])  # type: ignore[misc]
            for k in range(4)
        ]
        self.parts = [
            b.compute([count], float64, lambda body, i, k=k: _roots(body, block, i)[k])  # type: ignore[misc]
            for k in range(3)
        ]

    def _block(self, body: Body, k: Expr) -> list[Expr]:
        """h11, h21, h12, h22 of the matrix whose eigenvalues are the shifts."""
        w, (top, bottom) = self.window, self.window.ends(body, k)
        at_top, at_bottom = w.stuck(body, k)
        head = size(w.at(body, k, top + 1, top)) + size(w.at(body, k, top + 2, top + 1))
        tail = size(w.at(body, k, bottom, bottom - 1))
        tail = tail + size(w.at(body, k, bottom - 1, bottom - 2))
        other = select(at_top, head, tail)
        corner = select(at_top, top, bottom)
        off = real_part(w.at(body, k, corner, corner)) + 0.75 * other
        places = [(bottom - 1, bottom - 1), (bottom, bottom - 1), (bottom - 1, bottom)]
        usual = [real_part(w.at(body, k, *at)) for at in (*places, (bottom, bottom))]
        exceptional = binary("or", at_top, at_bottom)
        odd = [off, other, -0.4375 * other, off]
        return [select(exceptional, x, y) for x, y in zip(odd, usual, strict=True)]

    def vector(self, body: Body, k: Expr, m: Expr) -> list[Number]:
        """The first column of (H - s)(H - t), but for its length, if the window began at m."""
        w = self.window
        first, second, imag = (body.read(t, [k], float64) for t in self.parts)
        here, after = (real_part(w.at(body, k, at, at)) for at in (m, m + 1))
        below, right = (real_part(w.at(body, k, *at)) for at in ((m + 1, m), (m, m + 1)))
        scale = nonzero(call("abs", here - second) + call("abs", imag) + call("abs", below))
        low = below / scale
        found = [
            low * right + (here - first) * ((here - second) / scale) + imag * (imag / scale),
            low * (here + after - first - second),
            low * real_part(w.at(body, k, m + 2, m + 1)),
        ]
        whole = nonzero(call("abs", found[0]) + call("abs", found[1]) + call("abs", found[2]))
        return [e / whole for e in found]

    def may_start(self, body: Body, k: Expr, m: Expr) -> Expr:
        """Whether two small entries below the diagonal let an iteration start at row m."""
        w = self.window
        v = [real_part(e) for e in self.vector(body, k, m)]
        around = [size(w.at(body, k, at, at)) for at in (m - 1, m, m + 1)]
        lost = size(w.at(body, k, m, m - 1)) * (call("abs", v[1]) + call("abs", v[2]))
        return lost <= ULP * call("abs", v[0]) * (around[0] + around[1] + around[2])


def _roots(body: Body, block: Sequence[Tensor], i: list[Expr]) -> list[Expr]:
    """The real parts of both eigenvalues, and the imaginary part of the first; of two real ones
    twice that nearer to h22."""
    h11, h21, h12, h22 = (body.read(t, i, float64) for t in block)
    scale = call("abs", h11) + call("abs", h12) + call("abs", h21) + call("abs", h22)
    fine = nonzero(scale)
    h11, h21, h12, h22 = (e / fine for e in (h11, h21, h12, h22))
    mean = (h11 + h22) * 0.5
    det = (h11 - mean) * (h22 - mean) - h12 * h21
    root = call("sqrt", call("abs", det))
    above, below = mean + root, mean - root
    near = select(call("abs", above - h22) <= call("abs", below - h22), above, below)
    pair = binary("ge", det, _ZERO)
    real = select(pair, mean, near) * scale
    return [real, real, select(pair, root * scale, _ZERO)]


class SingleShift:
    """Of complex matrices: the eigenvalue of the last block of order 2 that is nearer to its
    corner."""

    width = 2

    def __init__(self, b: Builder, window: Window) -> None:
        self.window = window
        h = window.h
        self.shift = made(b, h, [h.shape[0]], lambda body, i: self._shift(body, i[0]))

    def _shift(self, body: Body, k: Expr) -> Number:
        w, (top, bottom) = self.window, self.window.ends(body, k)
        at_top, at_bottom = w.stuck(body, k)
        corner = w.at(body, k, bottom, bottom)
        high = plus(w.at(body, k, top, top), 0.75 * size(w.at(body, k, top + 1, top)))
        low = plus(corner, 0.75 * size(w.at(body, k, bottom, bottom - 1)))
        beside = [w.at(body, k, *at) for at in ((bottom - 1, bottom), (bottom, bottom - 1))]
        product = times(_root(beside[0]), _root(beside[1]))
        half = times(minus(w.at(body, k, bottom - 1, bottom - 1), corner), const(0.5, float64))
        scale = nonzero(binary("max", size(product), size(half)))
        x, y = over(half, scale), over(product, scale)
        root = times(_root(plus(times(x, x), times(y, y))), scale)
        assert isinstance(half, Pair) and isinstance(root, Pair)
        away = half.real / scale * root.real + half.imag / scale * root.imag < 0
        root = numbers.chosen(away, numbers.neg(root), root)
        less = times(product, over(product, or_one(plus(half, root))))
        usual = chosen(is_zero(product), corner, minus(corner, less))
        return chosen(at_top, high, chosen(at_bottom, low, usual))

    def vector(self, body: Body, k: Expr, m: Expr) -> list[Number]:
        """The first column of H - s, but for its length, if the window began at m."""
        w = self.window
        here = minus(w.at(body, k, m, m), read(body, self.shift, [k]))
        below = w.at(body, k, m + 1, m)
        scale = nonzero(size(here) + size(below))
        return [over(here, scale), over(below, scale)]

    def may_start(self, body: Body, k: Expr, m: Expr) -> Expr:
        """Whether two small entries below the diagonal let an iteration start at row m."""
        w = self.window
        here, below = self.vector(body, k, m)
        around = [size(w.at(body, k, at, at)) for at in (m, m + 1)]
        lost = size(w.at(body, k, m, m - 1)) * size(below)
        return lost <= ULP * (size(here) * (around[0] + around[1]))


Shift = DoubleShift | SingleShift


def shift_of(b: Builder, window: Window) -> Shift:
    kind = SingleShift if isinstance(window.h, ComplexTensor) else DoubleShift
    return kind(b, window)


def _root(x: Number) -> Pair:
    assert isinstance(x, Pair)
    return numbers.sqrt(x)

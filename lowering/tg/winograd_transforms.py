"""The transforms of Winograd's minimal filtering for kernels of 3 elements, as few additions.

F(m, 3) gives m neighbouring outputs of a filter g of 3 elements over m + 2 inputs d with m + 2
multiplications instead of 3m: y = A^T [(G g) * (B^T d)]. The matrices are those of Lavin and Gray,
"Fast Algorithms for Convolutional Neural Networks" (2015); in two dimensions a transform is applied
along the rows and along the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tensorscript.dialects.te.expr import Expr

Line = Sequence[Expr]

TILES = (2, 4)
"""Sides of the tiles of the output."""

FILTERS: dict[int, tuple[tuple[float, ...], ...]] = {
    2: ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
    4: (
        (1 / 4, 0, 0),
        (-1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6),
        (1 / 24, -1 / 12, 1 / 6),
        (0, 0, 1),
    ),
}
"""G by the side of a tile."""


def _inputs_of_2(d: Line) -> list[Expr]:
    return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]


def _inputs_of_4(d: Line) -> list[Expr]:
    even, odd = d[4] - d[2] * 4.0, d[3] - d[1] * 4.0
    near, far = d[4] - d[2], (d[3] - d[1]) * 2.0
    first, last = near + (d[0] - d[2]) * 4.0, (d[5] - d[3]) - far * 2.0
    return [first, even + odd, even - odd, near + far, near - far, last]


def _outputs_of_2(m: Line) -> list[Expr]:
    return [m[0] + (m[1] + m[2]), (m[1] - m[2]) - m[3]]


def _outputs_of_4(m: Line) -> list[Expr]:
    near, far = m[1] + m[2], m[3] + m[4]
    apart, wide = m[1] - m[2], m[3] - m[4]
    return [(m[0] + near) + far, apart + wide * 2.0, near + far * 4.0, (apart + wide * 8.0) + m[5]]


INPUTS: dict[int, Callable[[Line], list[Expr]]] = {2: _inputs_of_2, 4: _inputs_of_4}
"""B^T by the side of a tile."""
OUTPUTS: dict[int, Callable[[Line], list[Expr]]] = {2: _outputs_of_2, 4: _outputs_of_4}
"""A^T by the side of a tile."""


def in_both(transform: Callable[[Line], list[Expr]], square: Sequence[Line]) -> list[list[Expr]]:
    """A transform along the columns of a square, then along its rows."""
    columns = [transform(column) for column in zip(*square, strict=True)]
    return [transform(row) for row in zip(*columns, strict=True)]


def filters(weights: np.ndarray, tile: int) -> np.ndarray:
    """G g G^T of (O, C, 3, 3) as (positions, C, O), in float64 until they are done."""
    matrix = np.array(FILTERS[tile])
    wide: np.ndarray = np.einsum(
        "ak,ockl,bl->abco", matrix, weights.astype(np.float64), matrix, optimize=True
    )
    flat = wide.reshape(-1, *wide.shape[2:]).astype(weights.dtype)
    return np.ascontiguousarray(flat)


def filter_body(taps: Sequence[Line], tile: int) -> list[list[Expr]]:
    """The same of one kernel, as expressions."""
    rows = FILTERS[tile]

    def along(line: Line) -> list[Expr]:
        return [_weighted(row, line) for row in rows]

    return in_both(along, taps)


def _weighted(factors: Sequence[float], line: Line) -> Expr:
    terms = [e if f == 1 else e * f for f, e in zip(factors, line, strict=True) if f]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total

"""What products, distances and solvers ask of the dtypes and sizes of matrices."""

from __future__ import annotations

import math
from typing import Any

from tensorscript.base.dtypes import bfloat16, float16, int32
from tensorscript.base.operand_dtypes import unimplemented

from ..kernels.linalg import same_dtype
from ..kernels.shapes import normal_dim
from ..storage import array
from .words import Demand, Ints, each, require, sizes_of


def _linear(input: Any, weight: Any, bias: Any = None) -> None:
    ranks = array(input).ndim, array(weight).ndim
    require(
        min(ranks) > 0,
        "both arguments to linear need to be at least 1D, but they are "
        f"{ranks[0]}D and {ranks[1]}D",
    )
    if bias is None:
        return
    require(
        bias.dtype is input.dtype,
        f"self and mat2 must have the same dtype, but got {bias.dtype.word} and {input.dtype.word}",
    )
    *batch, _ = sizes_of(input)
    out, given = sizes_of(weight)[:-1], sizes_of(bias)
    if len(out) == 1 and len(given) == 1:
        require(
            given[0] in (1, out[0]),
            f"The expanded size of the tensor ({out[0]}) must match the existing size ({given[0]}) "
            f"at non-singleton dimension 1.  Target sizes: {[math.prod(batch), *out]}.  Tensor "
            f"sizes: {given}",
        )


def _addr(self: Any, vec1: Any, vec2: Any, *_: Any) -> None:
    """The outer product is what `self` broadcasts to, never the reverse."""
    if array(vec1).ndim != 1 or array(vec2).ndim != 1:
        return  # the kernel names the argument
    sizes, wanted = sizes_of(self), [array(vec1).size, array(vec2).size]
    for at, n in enumerate(sizes[::-1]):
        target = wanted[1 - at] if at < 2 else n
        require(
            n in (1, target),
            f"The expanded size of the tensor ({target}) must match the existing size ({n}) at "
            f"non-singleton dimension {1 - at}.  Target sizes: {wanted}.  Tensor sizes: {sizes}",
        )


def _dot(self: Any, tensor: Any) -> None:
    require(
        self.dtype is tensor.dtype,
        f"dot : expected both vectors to have same dtype, but found {self.dtype.word} and "
        f"{tensor.dtype.word}",
    )
    ranks = array(self).ndim, array(tensor).ndim
    require(ranks == (1, 1), f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
    n, m = array(self).size, array(tensor).size
    require(
        n == m,
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number "
        f"of elements, but got {n} and {m} elements respectively",
    )


def _addmv(self: Any, mat: Any, vec: Any, *_: Any) -> None:
    ranks = array(mat).ndim, array(vec).ndim, array(self).ndim
    require(
        ranks[:2] == (2, 1) and ranks[2] <= 1,
        "vector + matrix @ vector expected, got {2}, {0}, {1}".format(*ranks),
    )


def _mv(self: Any, vec: Any) -> None:
    ranks = array(self).ndim, array(vec).ndim
    require(ranks == (2, 1), f"vector + matrix @ vector expected, got 1, {ranks[0]}, {ranks[1]}")


def _linalg_cross(self: Any, other: Any, dim: int = -1) -> None:
    normal_dim(dim, array(self).ndim)


# -- distances ------------------------------------------------------------------------------------
def _cdist(x1: Any, x2: Any, p: float = 2.0, *_: Any) -> None:
    for at, x in enumerate((x1, x2), 1):
        require(
            x.dtype.is_floating_point,
            f"cdist only supports floating-point dtypes, X{at} got: {x.dtype.word}",
        )
    _exponent("cdist", p)
    for at, x in enumerate((x1, x2), 1):
        rank = array(x).ndim
        require(rank >= 2, f"X{at} must have at least two dimensions.")
        if x.dtype in (bfloat16, float16):
            raise unimplemented("cdist", x.dtype)
    columns = sizes_of(x1)[-1], sizes_of(x2)[-1]
    require(
        columns[0] == columns[1],
        f"X1 and X2 must have the same number of columns. X1: {columns[0]} X2: {columns[1]}",
    )


def _pdist(self: Any, p: float = 2.0) -> None:
    _exponent("pdist", p)


def _exponent(name: str, p: float) -> None:
    require(p >= 0, f"{name} only supports non-negative p values")


def _close(self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, *_: Any) -> None:
    for name, found in (("rtol", rtol), ("atol", atol)):
        require(found >= 0, f"{name} must be greater than or equal to zero, but got {found:g}")


# -- solvers --------------------------------------------------------------------------------------
def _solved(name: str) -> Demand:
    """Right-hand sides, and the square matrices that they are solved by."""

    def check(self: Any, input2: Any, *_: Any) -> None:
        for word, x in (("b", self), ("A", input2)):
            n = array(x).ndim
            require(
                n >= 2, f"{word} should have at least 2 dimensions, but has {n} dimensions instead"
            )
        require(
            self.dtype is input2.dtype,
            f"Expected b and A to have the same dtype, but found b of type {self.dtype.word} and A "
            f"of type {input2.dtype.word} instead.",
        )
        b, a = sizes_of(self)[-2:], sizes_of(input2)[-2:]
        require(
            a[0] == a[1],
            f"A must be batches of square matrices, but they are {a[0]} by {a[1]} matrices",
        )
        require(
            a[0] == b[0],
            f"Incompatible matrix sizes for {name}: each A matrix is {a[1]} by {a[1]} but each b "
            f"matrix is {b[0]} by {b[1]}",
        )

    return check


def _lstsq(self: Any, b: Any, *_: Any) -> None:
    ranks = array(self).ndim, array(b).ndim
    require(ranks[0] >= 2, "torch.linalg.lstsq: input must have at least 2 dimensions.")
    require(ranks[1] >= 1, "torch.linalg.lstsq: other must have at least 1 dimension.")
    require(
        0 <= ranks[0] - ranks[1] <= 1,
        "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
        "(input.dim() - other.dim()) <= 1",
    )


def _lu_solve(lu: Any, pivots: Any, b: Any, left: bool = True, *_: Any) -> None:
    require(
        lu.dtype is b.dtype,
        "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
        f"{lu.dtype.word} and B of type {b.dtype.word} instead",
    )
    require(
        pivots.dtype is int32,
        "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32",
    )
    a, rows, given = sizes_of(lu), sizes_of(pivots), sizes_of(b)
    require(
        len(a) >= 2, "torch.linalg.lu_solve: The input tensor LU must have at least 2 dimensions."
    )
    require(
        a[-1] == a[-2],
        f"torch.linalg.lu_solve: A must be batches of square matrices, but they are {a[-2]} by "
        f"{a[-1]} matrices",
    )
    require(len(given) >= 2, "linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    require(
        bool(rows) and rows[-1] == a[-1],
        "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix",
    )
    require(
        rows == a[:-1],
        "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots "
        f"with shape {rows} instead",
    )
    require(
        given[-2 if left else -1] == a[-1],
        f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'}"
        f" = B ({a[-2]}x{a[-1]} and {given[-2]}x{given[-1]})",
    )


def _tensorsolve(self: Any, other: Any, dims: Ints | None = None) -> None:
    for dim in dims or ():
        normal_dim(dim, array(self).ndim)
    require(
        self.dtype is other.dtype,
        "linalg.solve: Expected A and B to have the same dtype, but found A of type "
        f"{self.dtype.word} and B of type {other.dtype.word} instead",
    )


def _ormqr(self: Any, tau: Any, other: Any, *_: Any) -> None:
    for name, x in (("tau", tau), ("other", other)):
        require(
            x.dtype is self.dtype,
            f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype"
            f"{self.dtype.word} and {name} has dtype {x.dtype.word}",
        )


MATRICES: dict[str, Demand] = {
    **each(_addmv, "addmv"),
    **each(_mv, "mv"),
    **each(_dot, "dot", "vdot"),
    **each(_linear, "linear"),
    **each(_addr, "addr"),
    **each(_linalg_cross, "linalg_cross"),
    **each(same_dtype, "_euclidean_dist"),
    **each(_cdist, "cdist"),
    **each(_pdist, "pdist"),
    **each(_close, "isclose", "allclose"),
    **each(_solved("cholesky_solve"), "cholesky_solve"),
    **each(_solved("triangular_solve"), "triangular_solve"),
    **each(_lstsq, "linalg_lstsq"),
    **each(_lu_solve, "linalg_lu_solve"),
    **each(lambda self, data, pivots: _lu_solve(data, pivots, self), "lu_solve"),
    **each(_tensorsolve, "linalg_tensorsolve"),
    **each(_ormqr, "ormqr"),
}
"""Overloads to what they ask, in the words of PyTorch."""

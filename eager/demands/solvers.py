"""What solvers and decompositions ask of the dtypes and sizes of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import int32

from ..kernels.shapes import check_broadcast, normal_dim
from ..storage import array
from .words import Demand, Ints, each, require, sizes_of


def _solved(name: str, words: str) -> Demand:
    """Right-hand sides, and the square matrices that they are solved by."""

    def check(self: Any, input2: Any, *_: Any) -> None:
        for word, x in (("b", self), ("A", input2)):
            n = array(x).ndim
            require(n >= 2, f"{words.format(word)} {n} dimensions instead")
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
    a, given = sizes_of(self), sizes_of(b)
    of_vectors = len(given) == 1 or (len(a) - 1 == len(given) and given == a[:-1])
    at = -1 if of_vectors else -2
    require(
        a[-2] == given[at],
        f"torch.linalg.lstsq: input.size(-2) should match other.size({at})",
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


def _solve(A: Any, B: Any, *_: Any) -> None:
    require(array(B).ndim > 0, "linalg.solve: The input tensor B must have at least 2 dimensions.")


def _solve_triangular(
    self: Any,
    B: Any,
    upper: bool,
    left: bool = True,
    *_: Any,
) -> None:
    name = "linalg.solve_triangular"
    for word, x in (("A", self), ("B", B)):
        require(array(x).ndim >= 2, f"{name}: The input tensor {word} must have at least 2 "
                "dimensions.")  # fmt: skip
    (m, n), (r, c) = sizes_of(self)[-2:], sizes_of(B)[-2:]
    require(
        m == n, f"{name}: A must be batches of square matrices, but they are {m} by {n} matrices"
    )
    require(
        (r if left else c) == m,
        f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
        f"({m}x{n} and {r}x{c})",
    )
    check_broadcast(np.empty(sizes_of(B)[:-2]), np.empty(sizes_of(self)[:-2]))


def _ldl_solve(LD: Any, pivots: Any, B: Any, *_: Any) -> None:
    if min(array(LD).ndim, array(B).ndim) < 2:
        return  # the kernel says so
    (m, n), (r, c) = sizes_of(LD)[-2:], sizes_of(B)[-2:]
    require(
        m == r,
        f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {n} by {n} but "
        f"each b matrix is {r} by {c}",
    )


def _lu_of(name: str) -> Demand:
    return lambda self, *_: require(
        array(self).ndim >= 2,
        f"{name}: Expected tensor with 2 or more dimensions. Got size: {sizes_of(self)} instead",
    )


def _lu_unpack(LU_data: Any, LU_pivots: Any, *_: Any) -> None:
    require(
        LU_pivots.dtype is int32,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
        "Note: this function is intended to be used with the output produced by "
        "torch.linalg.lu_factor",
    )


def _matrix_power(self: Any, n: int) -> None:
    sizes = sizes_of(self)
    require(
        len(sizes) < 2 or sizes[-1] == sizes[-2],
        "linalg.matrix_power: A must be batches of square matrices, but they are "
        f"{sizes[-2:][0] if sizes else 0} by {sizes[-1] if sizes else 0} matrices",
    )


def _pinv(self: Any, *options: Any) -> None:
    has_room = self.dtype.is_floating_point or self.dtype.is_complex
    require(
        array(self).ndim >= 2 and has_room,
        f"linalg.pinv({self.dtype.word}{{{sizes_of(self)}}}): expected a tensor with 2 or more "
        "dimensions of float, double, cfloat or cdouble types",
    )
    m, n = sizes_of(self)[-2:]
    require(
        m == n or options[-1:] != (True,),  # hermitian
        f"linalg.eigh: A must be batches of square matrices, but they are {m} by {n} matrices",
    )


def _cond(self: Any, p: Any = None) -> None:
    sizes = sizes_of(self)
    require(len(sizes) >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, 2, -2):
        require(
            sizes[-1] == sizes[-2],
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {sizes[-2]} "
            f"by {sizes[-1]} matrices",
        )


def _ormqr(self: Any, tau: Any, other: Any, left: bool = True, *_: Any) -> None:
    for name, x in (("input", self), ("other", other)):
        require(array(x).ndim >= 2, f"torch.ormqr: {name} must have at least 2 dimensions.")
    at = -2 if left else -1
    require(
        sizes_of(other)[at] >= sizes_of(tau)[-1] if array(tau).ndim else True,
        f"torch.ormqr: other.shape[{at}] must be greater than or equal to tau.shape[-1]",
    )
    require(
        sizes_of(other)[at] == sizes_of(self)[-2],
        f"torch.ormqr: other.shape[{at}] must be equal to input.shape[-2]",
    )
    for name, x in (("tau", tau), ("other", other)):
        require(
            x.dtype is self.dtype,
            f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype"
            f"{self.dtype.word} and {name} has dtype {x.dtype.word}",
        )


SOLVED: dict[str, Demand] = {
    **each(
        _solved("cholesky_solve", "{} should have at least 2 dimensions, but has"),
        "cholesky_solve",
    ),
    **each(
        _solved("triangular_solve", "torch.triangular_solve: Expected {} to have at least 2 "
                "dimensions, but it has"),
        "triangular_solve",
    ),
    **each(_lstsq, "linalg_lstsq"),
    **each(_lu_solve, "linalg_lu_solve"),
    **each(lambda self, data, pivots: _lu_solve(data, pivots, self), "lu_solve"),
    **each(_tensorsolve, "linalg_tensorsolve"),
    **each(_solve, "linalg_solve", "linalg_solve_ex"),
    **each(_solve_triangular, "linalg_solve_triangular"),
    **each(_ldl_solve, "linalg_ldl_solve"),
    **each(_lu_of("linalg.lu"), "linalg_lu"),
    **each(_lu_of("torch.lu_factor"), "linalg_lu_factor", "linalg_lu_factor_ex"),
    **each(_lu_unpack, "lu_unpack"),
    **each(_matrix_power, "linalg_matrix_power", "matrix_power"),
    **each(
        _pinv, "linalg_pinv", "linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float",
        "linalg_pinv.rcond_tensor", "pinverse",
    ),
    **each(_cond, "linalg_cond", "linalg_cond.p_str"),
    **each(_ormqr, "ormqr"),
}  # fmt: skip
"""Overloads to what they ask, in the words of PyTorch."""

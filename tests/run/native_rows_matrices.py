"""Calls of decompositions of matrices (`native_recipes.py`)."""

from __future__ import annotations

from native_values import Row, T

_FLOATS = ("f4", "f8")


def _m(*shape: int) -> list[T]:
    return [T(shape, dtype) for dtype in _FLOATS]


_SQUARE: list[Row] = [(x,) for x in (*_m(4, 4), *_m(2, 3, 3), *_m(1, 1), T((3, 4), "f4"),
                                     T((3,), "f4"), T((3, 3), "i8"), T((3, 3), "f2"),
                                     T((0, 3, 3), "f4"), T((2, 0, 0), "f8"), T((3, 3), "c8"),
                                     T((2, 3, 3), "c16"))]  # fmt: skip

MATRIX_ROWS: dict[str, list[Row]] = {
    "inverse linalg_inv linalg_inv_ex det linalg_det slogdet linalg_slogdet logdet": _SQUARE,
    "linalg_tensorinv": [(T((2, 3, 6), "f8"),), (T((2, 3, 6), "f8"), 1)],
    "linalg_tensorsolve": [(T((2, 3, 6), "f8"), T((2, 3), "f8"))],
    "matrix_exp linalg_matrix_exp": [
        (T((4, 4), "f4"),), (T((2, 3, 3), "f8"),), (T((3, 3), "c16"),),
    ],
    "linalg_solve linalg_solve_ex": [
        (T((4, 4), "f8"), T((4, 2), "f8")),
        (T((4, 4), "f4"), T((4,), "f4")),
        (T((2, 3, 3), "f8"), T((2, 3), "f8")),
        (T((3, 3), "f8"), T((2, 3), "f8"), False),
        (T((2, 3, 3), "f8"), T((3, 2), "f8")),
        (T((3, 3), "f8"), T((3, 2), "f4")),
        (T((3, 3), "f8"), T((4, 2), "f8")),
        (T((2, 3, 3), "c16"), T((3, 2), "c16")),
    ],
    "linalg_solve_triangular": [
        (T((3, 3), "c16"), T((4, 3), "c16"), True, False),
        (T((4, 4), "f8"), T((4, 2), "f8"), True),
        (T((4, 4), "f8"), T((4, 2), "f8"), False, True, True),
        (T((2, 3, 3), "f8"), T((4, 3), "f8"), True, False),
    ],
    "triangular_solve": [
        (T((4, 2), "f8"), T((4, 4), "f8")),
        (T((4, 2), "f8"), T((2, 4, 4), "f8"), False, True, True),
    ],
    "linalg_lu linalg_lu_factor linalg_lu_factor_ex _lu_with_info": [
        (T((4, 4), "f8"),), (T((2, 5, 3), "f4"),), (T((2, 3, 5), "f8"),),
        (T((3, 3), "f8"), False), (T((4, 3), "c16"),),
    ],
    "linalg_ldl_factor linalg_ldl_factor_ex": [
        *_SQUARE, (T((5, 5), "c16"), True), (T((2, 4, 4), "f8"), True),
    ],
    "linalg_ldl_solve": [
        (T((3, 3), "f8"), T((3,), "i4"), T((3, 2), "f8")),
        (T((2, 3, 3), "c16"), T((2, 3), "i4"), T((3, 2), "c16"), True),
        (T((3, 3), "f8"), T((3,), "i4"), T((4, 2), "f8")),
    ],
    "linalg_cholesky cholesky linalg_cholesky_ex": [(T((3, 3), "f8"),), (T((1, 1), "f4"),)],
    "geqrf": [(T((4, 3), "f8"),), (T((2, 3, 4), "f4"),), (T((4, 4), "c16"),), (T((3,), "f8"),)],
    "linalg_householder_product orgqr": [
        (T((4, 3), "f8"), T((2,), "f8")), (T((2, 3, 3), "c16"), T((2, 3), "c16")),
        (T((2, 3), "f8"), T((2,), "f8")), (T((3, 2), "f8"), T((3,), "f8")),
    ],
    "ormqr": [
        (T((4, 3), "f8"), T((3,), "f8"), T((4, 2), "f8")),
        (T((4, 3), "c16"), T((3,), "c16"), T((4, 2), "c16"), True, True),
        (T((4, 3), "c16"), T((3,), "c16"), T((2, 4), "c16"), False),
        (T((4, 3), "f8"), T((3,), "f8"), T((3, 2), "f8")),
    ],
    "cholesky_solve": [
        (T((2, 2), "f8"), T((2, 2), "f8")),
        (T((2, 2, 1), "f8"), T((2, 2), "f8"), True), (T((2, 2), "c16"), T((2, 2), "c16"), True),
    ],
    "cholesky_inverse": [(T((3, 3), "f8"),), (T((2, 3, 3), "f8"), True)],
    "linalg_qr": [
        (T((4, 4), "f8"),), (T((5, 3), "f4"),), (T((2, 3, 5), "f8"),),
        (T((5, 3), "f8"), "complete"), (T((5, 3), "f8"), "r"), (T((5, 3), "f8"), "x"),
        (T((4, 3), "c16"),),
    ],
    "qr": [(T((5, 3), "f8"),), (T((5, 3), "f8"), False)],
    "linalg_eigvalsh": [(T((4, 4), "f8"),), (T((2, 5, 5), "f4"), "U"), (T((2, 2), "f8"), "x"),
                        (T((3, 3), "c16"),)],
    "linalg_eigh": [(T((4, 4), "f8"),), (T((2, 5, 5), "f4"), "U")],
    "linalg_eig linalg_eigvals": [*_SQUARE, (T((5, 5), "f8"),), (T((2, 6, 6), "c16"),)],
    "linalg_svdvals": [(T((4, 4), "f8"),), (T((2, 5, 3), "f4"),), (T((3, 6), "f8"),),
                       (T((2, 3, 4), "c16"),), (T((0, 2, 5), "f4"),)],
    "linalg_svd": [(T((4, 4), "f8"),), (T((2, 5, 3), "f4"), False)],
    "linalg_matrix_norm": [
        *((T((2, 3, 4), "f8"), p) for p in (1, -1, 2, -2, float("inf"), float("-inf"), 3)),
        (T((2, 3, 4), "f4"), 2, [0, 2], True), (T((2, 3, 4), "c16"), 2), (T((3, 4), "c8"), 1),
    ],
    "linalg_matrix_norm.str_ord": [(T((2, 3, 4), "f8"),), (T((2, 3, 4), "f4"), "nuc", [2, 0])],
    "linalg_norm": [
        (T((2, 3), "f8"),), (T((2, 3), "f4"), 2), (T((4,), "f8"), 3), (T((2, 3, 4), "f8"), 1),
    ],
    "linalg_norm.ord_str": [(T((2, 3), "f8"), "nuc"), (T((4,), "f8"), "fro")],
    "nuclear_norm": [(T((2, 3), "f8"),), (T((2, 3, 4), "f8"), True)],
    "nuclear_norm.dim": [(T((2, 3, 4), "f8"), [0, 1])],
    "linalg_cond": [(T((3, 3), "f8"), *p) for p in ((), (2,), (-2,), (1,))],
    "linalg_cond.p_str": [(T((2, 3, 3), "f8"), "fro"), (T((3, 3), "f8"), "nuc")],
    "linalg_matrix_rank": [(T((4, 3), "f8"), 0.5), (T((3, 3), "f4"), 2.0, True)],
    "linalg_matrix_rank.tol_tensor": [(T((4, 3), "f8"), T((), "f8"))],
    "linalg_matrix_rank.atol_rtol_float": [(T((2, 4, 3), "f8"),), (T((4, 3), "f8"), 1.0, 0.5)],
    "linalg_matrix_rank.atol_rtol_tensor": [(T((4, 3), "f8"), T((), "f8"), None)],
    "linalg_pinv": [
        (T((4, 3), "f8"), 0.1), (T((3, 3), "f8"), 0.1, True), (T((3, 4), "c16"), 0.1),
    ],
    "linalg_pinv.rcond_tensor": [(T((4, 3), "f8"), T((), "f8"))],
    "linalg_pinv.atol_rtol_float": [(T((2, 3, 4), "f8"),), (T((2, 3), "f8"), 1.0)],
    "linalg_pinv.atol_rtol_tensor": [(T((4, 3), "f8"), T((), "f8"), None)],
    "pinverse": [(T((4, 3), "f4"),)],
    "linalg_lstsq": [
        (T((5, 3), "f8"), T((5, 2), "f8")), (T((5, 3), "f8"), T((5, 2), "f8"), None, "x"),
        (T((5, 3), "f8"), T((5, 2), "f8"), None, "gels"),
        (T((5, 3), "f8"), T((5, 2), "f8"), None, "gelsd"),
        (T((2, 3, 5), "f8"), T((2, 3, 2), "f8"), None, "gelss"),
        (T((2, 5, 3), "c16"), T((2, 5, 2), "c16"), None, "gels"),
    ],
    "svd": [(T((4, 3), "f8"),), (T((4, 3), "f8"), False), (T((4, 3), "f8"), True, False)],
}  # fmt: skip

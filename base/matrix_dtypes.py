"""Decompositions of matrices that PyTorch has for float32, float64 and their complex dtypes alone:
a row names PyTorch's kernel or message.

Some check the dtype first (`linalg.inv: Expected a floating point or complex tensor as input. Got
Int`), others leave it to the kernel of LAPACK. Rows were taken from PyTorch 2.13 on a CPU by
calling each operator with each dtype.
"""

from __future__ import annotations


def _by_name(rows: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {name: kernel for kernel, names in rows.items() for name in names}


_LAPACK_SINGLE = "This function doesn't handle types other than float and double"


def _expected(name: str) -> str:
    return f"{name}: Expected a floating point or complex tensor as input. Got {{word}}"


def _too_low(name: str) -> str:
    return f"{name}: Low precision dtypes not supported. Got {{word}}"


_LEFT_TO_THE_KERNEL = {
    "cholesky_cpu": ("cholesky",),
    "cholesky_inverse_out_cpu": ("cholesky_inverse",),
    "cholesky_solve_cpu": ("cholesky_solve",),
    "geqrf_cpu": ("geqrf",),
    "linalg_eigh_cpu": ("linalg_eigh", "linalg_eigvalsh"),
    "lu_cpu": ("_lu_with_info", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex"),
    "orgqr_cpu": ("linalg_householder_product", "orgqr"),
    "ormqr_cpu": ("ormqr",),
    "triangular_solve_cpu": ("linalg_solve_triangular", "triangular_solve"),
    _LAPACK_SINGLE: ("linalg_lstsq", "linalg_matrix_rank"),
}

NOT_WHOLE = _by_name(
    _LEFT_TO_THE_KERNEL
    | {
        "Unknown Complex ScalarType for {word}": ("linalg_eig", "linalg_eigvals"),
        _expected("linalg.inv"): ("linalg_inv_ex", "linalg_tensorinv"),
        _expected("linalg.matrix_exp"): ("linalg_matrix_exp", "matrix_exp"),
        _expected("linalg.solve"): ("linalg_tensorsolve",),
        _expected("linalg.svd"): ("linalg_cond", "linalg_svdvals", "svd"),
        _expected("linalg.vecdot"): ("linalg_vecdot",),
    }
)
"""Refuse integers and bools."""

NOT_HALF = _by_name(
    _LEFT_TO_THE_KERNEL
    | {
        "cholesky_cpu": ("cholesky", "linalg_cholesky", "linalg_cholesky_ex"),
        "geqrf_cpu": ("geqrf", "linalg_qr", "qr"),
        "ldl_factor_kernel_cpu": ("linalg_ldl_factor", "linalg_ldl_factor_ex"),
        "ldl_solve_kernel_cpu": ("linalg_ldl_solve",),
        "linalg.lu_solve_cpu": ("linalg_lu_solve", "lu_solve"),
        "linalg_eig_out_cpu": ("linalg_eig", "linalg_eigvals"),
        "linalg_svd_cpu": ("linalg_cond", "linalg_svd", "linalg_svdvals", "svd"),
        "lu_cpu": (
            *_LEFT_TO_THE_KERNEL["lu_cpu"],
            "linalg_solve", "linalg_solve_ex", "linalg_tensorsolve",
        ),
        _too_low("linalg.det"): ("det", "linalg_det"),
        _too_low("linalg.inv"): ("inverse", "linalg_inv", "linalg_inv_ex", "linalg_tensorinv"),
        _too_low("linalg.slogdet"): ("linalg_slogdet", "slogdet"),
        _too_low("logdet"): ("logdet",),
    }
)  # fmt: skip
"""Refuse float16 and bfloat16."""

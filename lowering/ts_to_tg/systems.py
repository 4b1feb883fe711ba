"""Rows of systems of linear equations: solutions, inverses, determinants."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import float64, int32, int64
from tensorscript.dialects.te.expr import Expr, const, select

from . import factors
from .builder import Builder, Rows
from .complex_tensors import AnyTensor, copied
from .emission import Body
from .factors import LU
from .matrices import Stack, beside, diagonal, identity_like, matrix, refuse, square, transposed
from .matrix_elements import Number, chosen, made, read
from .sizes import product, same_size
from .values import ComplexTensor, Tensor, Value

Row = Callable[..., Value]

_SINGULAR = (
    "{batch}The diagonal element {at} is zero, the inversion could not be completed because the"
    " input matrix is singular."
)
_NO_SOLUTION = "{batch}The solver failed because the input matrix is singular."
_NAN = float("nan")


# --- systems --------------------------------------------------------------------------------------


def _inverse(name: str) -> Row:
    def row(b: Builder, x: AnyTensor, *_: Value) -> Value:
        a = square(b, x, name)
        of = factors.lu(b, a.data)
        refuse(b, of.info, a.rows, f"{name}: {_SINGULAR}", bool(a.lead))
        return a.back(b, factors.lu_solved(b, of, identity_like(b, a.data, a.rows)))

    return row


def _inv_ex(b: Builder, x: AnyTensor, check: Value = False, *_: Value) -> Value:
    a = square(b, x, "linalg.inv_ex")
    of = factors.lu(b, a.data)
    if check:
        refuse(b, of.info, a.rows, f"linalg.inv_ex: {_SINGULAR}", bool(a.lead))
    found = _unless(b, of.info, factors.lu_solved(b, of, identity_like(b, a.data, a.rows)))
    return a.back(b, found), a.back(b, of.info, int32)


def _unless(b: Builder, info: Tensor, x: AnyTensor) -> AnyTensor:
    """The matrices of a stack, NaN where `info` is not 0."""

    def make(body: Body, i: list[Expr]) -> Number:
        fine = body.read(info, i[:1], int64).equals(0)
        return chosen(fine, read(body, x, i), const(_NAN, float64))

    return made(b, x, x.shape, make)


def _system(b: Builder, x: AnyTensor, y: AnyTensor, left: Value) -> tuple[Stack, Stack, bool]:
    """The stack of the matrices, as AX = B asks for them, and of the right sides; whether those
    are vectors."""
    square(b, x, "linalg.solve")
    if x.dtype is not y.dtype:
        b.error(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type"
            f" {x.dtype.word} and B of type {y.dtype.word} instead"
        )
    batch = x.shape[:-1]
    vector = y.rank == 1 or (y.rank == x.rank - 1 and all(map(same_size, y.shape, batch)))
    right = b.apply("aten::unsqueeze", y, -1) if vector else y
    inner = right.shape[-2] if left else right.shape[-1]
    equation = "AX = B" if left else "XA = B"
    b.require_same(
        inner,
        x.shape[-1],
        f"linalg.solve: Incompatible shapes of A and B for the equation {equation}"
        f" ({x.shape[-2]}x{x.shape[-1]} and {right.shape[-2]}x{right.shape[-1]})",
    )
    if not left:
        x, right = transposed(b, x), transposed(b, right)
    a, sides = beside(b, x, right, "linalg.solve")
    return a, sides, vector


def _solved(b: Builder, x: AnyTensor, y: AnyTensor, left: Value) -> tuple[AnyTensor, Stack, LU]:
    a, sides, vector = _system(b, x, y, left)
    of = factors.lu(b, a.data)
    found = sides.back(b, _unless(b, of.info, factors.lu_solved(b, of, sides.data)))
    found = found if left else transposed(b, found)
    return (b.apply("aten::squeeze", found, -1) if vector else found), a, of


def _solve(b: Builder, x: AnyTensor, y: AnyTensor, left: Value = True, *_: Value) -> AnyTensor:
    found, a, of = _solved(b, x, y, left)
    message = f"torch.linalg.solve: {_NO_SOLUTION}"
    refuse(b, of.info, a.rows, message, x.rank > 2)
    return found


def _solve_ex(
    b: Builder, x: AnyTensor, y: AnyTensor, left: Value = True, check: Value = False, *_: Value
) -> Value:
    found, a, of = _solved(b, x, y, left)
    if check:
        refuse(b, of.info, a.rows, f"torch.linalg.solve: {_NO_SOLUTION}", x.rank > 2)
    info = square(b, x, "linalg.solve")
    own = of.info if len(info.lead) == len(a.lead) else factors.lu(b, info.data).info
    return found, info.back(b, own, int32)


def _triangular(
    b: Builder, x: AnyTensor, y: AnyTensor, upper: Value, left: Value = True, unit: Value = False,
    *_: Value,
) -> AnyTensor:  # fmt: skip
    if x.dtype is not y.dtype:
        b.error(
            "linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type"
            f" {x.dtype.word} and B of type {y.dtype.word} instead"
        )
    if not left:
        x, y, upper = transposed(b, x), transposed(b, y), not upper
    a, sides = beside(b, x, y, "linalg.solve_triangular")
    found = factors.substituted(b, a.data, sides.data, lower=not upper, unit=bool(unit))
    out = sides.back(b, found)
    return out if left else transposed(b, out)


def _triangular_solve(
    b: Builder, y: AnyTensor, x: AnyTensor, upper: Value = True, turned: Value = False,
    unit: Value = False, *_: Value,
) -> Value:  # fmt: skip
    """The older form: the right side first, and a copy of the matrix beside the solution."""
    square(b, x, "triangular_solve"), matrix(b, y, "triangular_solve")
    a = transposed(b, x) if turned else x
    found = _triangular(b, a, y, bool(upper) != bool(turned), True, unit)
    lead = found.shape[:-2]
    return found, copied(b, b.apply("aten::expand", x, [*lead, *x.shape[-2:]]))


def _tensor_inverse(b: Builder, x: AnyTensor, ind: Value = 2, *_: Value) -> Value:
    """The inverse of the map from the dimensions behind `ind` to those before."""
    if not isinstance(ind, int) or ind <= 0:
        b.error("Expected a strictly positive integer for 'ind'")
    before, behind = product(x.shape[:ind]), product(x.shape[ind:])
    b.require_same(
        before,
        behind,
        "Expected self to satisfy the requirement prod(self.shape[ind:]) =="
        f" prod(self.shape[:ind]), but got {behind} != {before}",
    )
    found = _inverse("linalg.tensorinv")(b, b.apply("aten::reshape", x, [before, behind]))
    return b.apply("aten::reshape", found, [*x.shape[ind:], *x.shape[:ind]])


def _tensor_solution(
    b: Builder, x: AnyTensor, y: AnyTensor, dims: Value = None, *_: Value
) -> Value:
    if dims:
        x = b.apply("aten::movedim", x, dims, list(range(x.rank - len(dims), x.rank)))
    shape, total = x.shape[y.rank :], product(y.shape)
    lead = product(x.shape[: y.rank])
    b.require_same(
        product(shape),
        lead,
        "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) =="
        f" prod(self.shape[:other.ndim]), but got {product(shape)} != {lead}",
    )
    system = b.apply("aten::reshape", x, [total, product(shape)])
    found = _solve(b, system, b.apply("aten::reshape", y, [total]))
    return b.apply("aten::reshape", found, list(shape))


# --- determinants ---------------------------------------------------------------------------------


def _determinant(name: str) -> Row:
    def row(b: Builder, x: AnyTensor, *_: Value) -> Value:
        a = square(b, x, name)
        of = factors.lu(b, a.data)
        total = b.apply("aten::prod.dim_int", diagonal(b, of.packed), 1)
        return a.back(b, b.apply("aten::mul", total, of.sign))

    return row


def _sign_and_log(b: Builder, x: AnyTensor, name: str) -> tuple[Stack, AnyTensor, Tensor]:
    """The sign (of complex numbers the phase) of the determinants, and the logarithms of their
    sizes."""
    a = square(b, x, name)
    of = factors.lu(b, a.data)
    entries = diagonal(b, of.packed)
    signs = b.apply("aten::prod.dim_int", b.apply("aten::sgn", entries), 1)
    logs = b.apply("aten::log", b.apply("aten::abs", entries))
    return a, b.apply("aten::mul", signs, of.sign), b.apply("aten::sum.dim_IntList", logs, [1])


def _slogdet(b: Builder, x: AnyTensor, *_: Value) -> Value:
    a, sign, log = _sign_and_log(b, x, "linalg.slogdet")
    return a.back(b, sign), a.back(b, log)


def _logdet(b: Builder, x: AnyTensor, *_: Value) -> Value:
    """NaN of a negative real determinant."""
    a, sign, log = _sign_and_log(b, x, "logdet")
    if isinstance(sign, ComplexTensor):
        return a.back(b, b.apply("aten::add", b.apply("aten::log", sign), log))

    def real(s: Expr, e: Expr) -> Expr:
        return select(s < 0, const(_NAN, float64), e)

    return a.back(b, b.pointwise(real, sign, log, dtype=float64, compute=float64))


SYSTEM: Rows = {
    **{f"aten::{name}": _inverse("linalg.inv") for name in ("inverse", "linalg_inv")},
    "aten::linalg_inv_ex": _inv_ex,
    "aten::linalg_solve": _solve,
    "aten::linalg_solve_ex": _solve_ex,
    "aten::linalg_solve_triangular": _triangular,
    "aten::triangular_solve": _triangular_solve,
    **{f"aten::{name}": _determinant("linalg.det") for name in ("det", "linalg_det")},
    **{f"aten::{name}": _slogdet for name in ("slogdet", "linalg_slogdet")},
    "aten::linalg_tensorinv": _tensor_inverse,
    "aten::linalg_tensorsolve": _tensor_solution,
    "aten::logdet": _logdet,
}

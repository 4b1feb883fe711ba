"""Rows that decompose matrices: factors, eigenvalues, singular values; and the exponential."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import float64, int32, int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from . import factors, reflections, rotations
from .branches import branch
from .builder import Builder, Rows
from .complex_tensors import AnyTensor, converted, copied
from .elements import as_expr, known
from .emission import Body
from .loops import loop
from .matrices import Stack, beside, identity_like, matrix, refuse, refuse_nan, square
from .matrix_elements import Number, adjoint, chosen, conjugate, made, only, read, real_part, times
from .sizes import product, same_size, simplify
from .values import Tensor, Value

Row = Callable[..., Value]

# --- factorisations -------------------------------------------------------------------------------


def _pivoted(b: Builder, name: str, pivot: Value) -> None:
    if not pivot:
        b.error(f"{name}: LU without pivoting is not implemented on the CPU")


def _lu_factor_ex(b: Builder, x: AnyTensor, pivot: Value = True, check: Value = False) -> Value:
    _pivoted(b, "linalg.lu_factor", pivot)
    a = matrix(b, x, "linalg.lu_factor")
    of = factors.lu(b, a.data)
    if check:
        refuse(
            b,
            of.info,
            a.columns,
            "linalg.lu_factor: U[{at},{at}] is zero and using it on lu_solve would result in a"
            " division by zero.",
            bool(a.lead),
        )
    return a.back(b, of.packed), a.back(b, of.pivots, int32), a.back(b, of.info, int32)


def triangles(b: Builder, packed: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """L with ones on its diagonal, and U, of packed factors (B, m, n)."""
    count, m, n = packed.shape
    inner = simplify(binary("min", m, n))

    def lower(body: Body, i: list[Expr]) -> Number:
        below = only(i[2] < i[1], read(body, packed, i))
        return chosen(i[2].equals(i[1]), const(1.0, float64), below)

    def upper(body: Body, i: list[Expr]) -> Number:
        return only(binary("ge", i[2], i[1]), read(body, packed, i))

    return made(b, packed, [count, m, inner], lower), made(b, packed, [count, inner, n], upper)


def permutation_matrix(b: Builder, order: Tensor) -> Tensor:
    """P (B, m, m) has a 1 where row order[j] of the matrix is row j of the product."""
    count, rows = order.shape
    one, zero = const(1, float64), const(0, float64)

    def moved(body: Body, i: list[Expr]) -> Expr:
        return select(body.read(order, [i[0], i[2]], int64).equals(i[1]), one, zero)

    return b.compute([count, rows, rows], float64, moved)


def _lu(b: Builder, x: AnyTensor, pivot: Value = True, *_: Value) -> Value:
    _pivoted(b, "linalg.lu", pivot)
    a = matrix(b, x, "linalg.lu")
    of = factors.lu(b, a.data)
    permutation = permutation_matrix(b, of.order)
    return tuple(a.back(b, t, a.dtype) for t in (permutation, *triangles(b, of.packed)))


def _cholesky(b: Builder, x: AnyTensor, upper: Value) -> tuple[Stack, AnyTensor, Tensor]:
    a = square(b, x, "linalg.cholesky")
    given = adjoint(b, a.data) if upper else a.data
    factor, info = factors.cholesky(b, given)
    return a, a.back(b, adjoint(b, factor) if upper else factor), info


_NOT_POSITIVE = (
    "linalg.cholesky: {batch}The factorization could not be completed because the input is not"
    " positive-definite (the leading minor of order {at} is not positive-definite)."
)


def _cholesky_row(b: Builder, x: AnyTensor, upper: Value = False, *_: Value) -> Value:
    a, found, info = _cholesky(b, x, upper)
    refuse(b, info, a.rows, _NOT_POSITIVE, bool(a.lead))
    return found


def _cholesky_ex(b: Builder, x: AnyTensor, upper: Value = False, check: Value = False) -> Value:
    a, found, info = _cholesky(b, x, upper)
    if check:
        refuse(b, info, a.rows, _NOT_POSITIVE, bool(a.lead))
    return found, a.back(b, info, int32)


def _cholesky_solve(
    b: Builder, y: AnyTensor, x: AnyTensor, upper: Value = False, *_: Value
) -> Value:
    for name, t in (("b", y), ("u", x)):
        if t.rank < 2:
            b.error(
                f"{name} should have at least 2 dimensions, but has {t.rank} dimensions instead"
            )
    a, sides = beside(b, x, y, "cholesky_solve")
    return sides.back(b, _from_both_sides(b, a.data, sides.data, upper))


def _from_both_sides(b: Builder, factor: AnyTensor, x: AnyTensor, upper: Value) -> AnyTensor:
    """The solution of a system by its Cholesky factor."""
    lower = adjoint(b, factor) if upper else factor
    half = factors.substituted(b, lower, x, lower=True)
    return factors.substituted(b, adjoint(b, lower), half, lower=False)


def _cholesky_inverse(b: Builder, x: AnyTensor, upper: Value = False, *_: Value) -> Value:
    a = square(b, x, "cholesky_solve")
    return a.back(b, _from_both_sides(b, a.data, identity_like(b, a.data, a.rows), upper))


def _qr(b: Builder, x: AnyTensor, mode: Value = "reduced", *_: Value) -> Value:
    a = matrix(b, x, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        b.error(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r',"
            " or 'complete'"
        )
    q, r = reflections.qr(b, a.data)
    inner = simplify(binary("min", a.rows, a.columns))
    if mode != "complete" and not same_size(inner, a.rows):
        q, r = (b.apply("aten::narrow", t, d, 0, inner) for t, d in ((q, 2), (r, 1)))
    first = converted(b, b.full([0], 0, float64), x.dtype) if mode == "r" else a.back(b, q)
    return first, a.back(b, r)


def _packed_qr(b: Builder, x: AnyTensor, *_: Value) -> Value:
    a = matrix(b, x, "torch.geqrf")
    return tuple(a.back(b, t) for t in reflections.reflected(b, a.data))


# --- eigenvalues and singular values --------------------------------------------------------------


def symmetric_parts(b: Builder, a: Stack, uplo: str) -> tuple[Tensor, AnyTensor]:
    """Eigenvalues and vectors of the symmetric (Hermitian) matrices that one triangle of a stack
    says, whose diagonal is real."""

    refuse_nan(
        b,
        a,
        "linalg.eigh: {batch}The algorithm failed to converge because the input matrix is"
        " ill-conditioned or has too many repeated eigenvalues (error code: 1).",
    )

    def whole(body: Body, i: list[Expr]) -> Number:
        mirrored = i[1] < i[2] if uplo == "L" else i[1] > i[2]
        at = [i[0], select(mirrored, i[2], i[1]), select(mirrored, i[1], i[2])]
        e = read(body, a.data, at)
        inside = chosen(mirrored, conjugate(e), e)
        return chosen(i[1].equals(i[2]), real_part(e), inside)

    return rotations.symmetric(b, made(b, a.data, a.data.shape, whole))


def _symmetric(b: Builder, x: AnyTensor, uplo: Value, name: str) -> tuple[Stack, Tensor, AnyTensor]:
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        b.error(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    a = square(b, x, name)
    return a, *symmetric_parts(b, a, uplo.upper())


def _eigh(b: Builder, x: AnyTensor, uplo: Value = "L", *_: Value) -> Value:
    a, values, vectors = _symmetric(b, x, uplo, "linalg.eigh")
    return a.back(b, values), a.back(b, vectors)


def _eigvalsh(b: Builder, x: AnyTensor, uplo: Value = "L", *_: Value) -> Value:
    a, values, _vectors = _symmetric(b, x, uplo, "linalg.eigvalsh")
    return a.back(b, values)


def singular_parts(b: Builder, a: Stack) -> tuple[AnyTensor, Tensor, AnyTensor]:
    """U (B, m, m), singular values (B, min(m, n)) and V (B, n, n)."""
    count = simplify(binary("min", a.rows, a.columns))
    refuse_nan(
        b,
        a,
        "linalg.svd: {batch}The algorithm failed to converge because the input matrix contained"
        " non-finite values.",
    )

    def tall(_: Sequence[Value]) -> list[Value]:
        left, values, right = rotations.singular(b, a.data)
        return [left, b.apply("aten::narrow", values, 1, 0, count), right]

    def wide(_: Sequence[Value]) -> list[Value]:
        right, values, left = rotations.singular(b, adjoint(b, a.data))
        return [left, b.apply("aten::narrow", values, 1, 0, count), right]

    is_tall = known(b.unsized(binary("ge", a.rows, a.columns)))
    if isinstance(is_tall, Expr):
        left, values, right = branch(b, is_tall, tall, wide)
    else:
        left, values, right = (tall if is_tall else wide)(())
    return left, values, right


def _svd(b: Builder, x: AnyTensor, full: Value = True, driver: Value = None, *_: Value) -> Value:
    a = matrix(b, x, "linalg.svd")
    left, values, right = singular_parts(b, a)
    if not full:
        count = values.shape[1]
        left, right = (b.apply("aten::narrow", t, 2, 0, count) for t in (left, right))
    return tuple(a.back(b, t) for t in (left, values, adjoint(b, right)))


def _old_svd(
    b: Builder, x: AnyTensor, some: Value = True, compute: Value = True, *_: Value
) -> Value:
    """The older form: V and not its transpose; without vectors, zeros."""
    a = matrix(b, x, "svd")
    if not compute:
        values = a.back(b, singular_parts(b, a)[1])
        zeros = [b.full([*a.lead, n, n], 0, float64) for n in (a.rows, a.columns)]
        return converted(b, zeros[0], x.dtype), values, converted(b, zeros[1], x.dtype)
    left, found, right = _svd(b, x, not some)
    return left, found, adjoint(b, right)


def _svdvals(b: Builder, x: AnyTensor, driver: Value = None, *_: Value) -> Value:
    a = matrix(b, x, "linalg.svdvals")
    return a.back(b, singular_parts(b, a)[1])


# --- the exponential ------------------------------------------------------------------------------


def _exponential(b: Builder, x: AnyTensor, *_: Value) -> Value:
    """Scaling and squaring of the Taylor series, to the precision of float64."""
    a = square(b, x, "linalg.matrix_exp", narrow=True)
    if product(a.data.shape).is_int(0):
        return copied(b, x)
    rows = b.apply("aten::sum.dim_IntList", b.apply("aten::abs", a.data), [2])
    # What is not finite makes its own matrix NaN, and must not say how others are scaled.
    size = b.item(b.apply("aten::max", b.apply("aten::nan_to_num", rows, 0.0, 0.0)))
    halved = call("ceil", call("log2", binary("max", size, 2.0**-1000))) + 1.0
    halvings = b.scalar_of(b.scalar_operand(known(binary("max", halved, 0.0))))

    def shrunk(body: Body, i: list[Expr]) -> Number:
        return times(read(body, a.data, i), call("exp2", -body.scalar(halvings, float64)))

    scaled = made(b, a.data, a.data.shape, shrunk)

    def term(arguments: Sequence[Value]) -> list[Value]:
        number, last, total = arguments
        divisor = b.full((), known(as_expr(number) + 1), float64)
        following = b.apply("aten::div", b.apply("aten::bmm", last, scaled), divisor)
        return [True, following, b.apply("aten::add", total, following)]

    one = identity_like(b, a.data, a.rows)
    _, series = loop(b, 19, True, [one, one], term, 64)

    def squared(arguments: Sequence[Value]) -> list[Value]:
        return [True, b.apply("aten::bmm", arguments[1], arguments[1])]

    count = b.shortened(known(cast(halvings, int64)))
    (found,) = loop(b, count, True, [series], squared, 64)
    return a.back(b, found)


DECOMPOSITION: Rows = {
    "aten::linalg_lu": _lu,
    "aten::linalg_lu_factor": lambda b, x, pivot=True: _lu_factor_ex(b, x, pivot)[:2],
    "aten::linalg_lu_factor_ex": _lu_factor_ex,
    "aten::_lu_with_info": lambda b, x, pivot=True, check=True: _lu_factor_ex(b, x, pivot, check),
    **{f"aten::{name}": _cholesky_row for name in ("cholesky", "linalg_cholesky")},
    "aten::linalg_cholesky_ex": _cholesky_ex,
    "aten::cholesky_solve": _cholesky_solve,
    "aten::cholesky_inverse": _cholesky_inverse,
    "aten::geqrf": _packed_qr,
    "aten::linalg_qr": _qr,
    "aten::qr": lambda b, x, some=True: _qr(b, x, "reduced" if some else "complete"),
    "aten::linalg_eigh": _eigh,
    "aten::linalg_eigvalsh": _eigvalsh,
    "aten::linalg_svd": _svd,
    "aten::svd": _old_svd,
    "aten::linalg_svdvals": _svdvals,
    **{f"aten::{name}": _exponential for name in ("matrix_exp", "linalg_matrix_exp")},
}

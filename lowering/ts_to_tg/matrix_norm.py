"""Rows of matrices' norms, and of what is read off singular values: condition, rank,
pseudo-inverse, least squares."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import float32, float64, int64, real_dtype
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor, converted
from .decomposition import singular_parts, symmetric_parts
from .dims import dimension, dtype_of
from .elements import as_expr, known
from .emission import Body
from .matrices import Stack, matrix, square
from .matrix_elements import adjoint
from .reduction import combine
from .sizes import simplify
from .slicing import select_at
from .values import Tensor, Value

Row = Callable[..., Value]

_EPSILON = {float32: 2.0**-23, float64: 2.0**-52}
_WORDS = {"inf": math.inf, "-inf": -math.inf}


def _matrix_norm(
    b: Builder, x: AnyTensor, order: Value = "fro", dims: Value = (-2, -1), keepdim: Value = False,
    dtype: Value = None, *_: Value,
) -> Tensor:  # fmt: skip
    """fro, nuc, 1, -1, 2, -2, inf, -inf of the matrices that two dimensions span."""
    kind = dtype_of(dtype, x.dtype)
    if not (kind.is_floating_point or kind.is_complex):
        b.error(
            "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got "
            f"{x.dtype.word}"
        )
    if order in ("nuc", 2, -2) and x.dtype.bits < 32:
        b.error(f"linalg.matrix_norm: Low precision dtypes not supported. Got {x.dtype.word}")
    rows, columns = (dimension(b, d, x.rank) for d in dims)
    given = converted(b, x, kind)
    if order == "fro":
        return b.apply("aten::linalg_vector_norm", given, 2, [rows, columns], keepdim)
    number = _WORDS.get(order, order) if isinstance(order, str) else order
    if number in (1, -1, math.inf, -math.inf):
        found = _sums(b, given, rows, columns, number)
    elif number in ("nuc", 2, -2):
        found = _of_values(b, given, rows, columns, number)
    else:
        b.error(f"linalg.matrix_norm: Order {order} not supported.")
    if not keepdim:
        return found
    for d in sorted((rows, columns)):
        found = b.apply("aten::unsqueeze", found, d)
    return found


def _sums(b: Builder, x: AnyTensor, rows: int, columns: int, order: float) -> Tensor:
    """The largest or smallest sum of sizes of a row (inf) or a column (1)."""
    summed, kept = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = b.apply("aten::sum.dim_IntList", b.apply("aten::abs", x), [summed], True)
    if order > 0:  # the largest of no sums is 0
        found = combine(b, sums, [kept], True, "max", sums.dtype)
        found = b.pointwise(lambda e: binary("max", e, const(0, e.dtype)), found)
    else:
        found = b.apply("aten::amin", sums, [kept], True)
    return b.apply("aten::squeeze", found, [rows, columns])


def _of_values(b: Builder, x: AnyTensor, rows: int, columns: int, order: Value) -> Tensor:
    a = matrix(b, b.apply("aten::movedim", x, [rows, columns], [-2, -1]), "linalg.svdvals")
    if order == 2 and any(s.is_int(0) for s in (a.rows, a.columns)):
        return b.full(a.lead, 0, real_dtype(x.dtype))
    values = singular_parts(b, a)[1]
    if order == "nuc":
        return _back(b, a, b.apply("aten::sum.dim_IntList", values, [1]))
    return _back(b, a, select_at(b, values, 1, 0 if order == 2 else -1))


def _back(b: Builder, a: Stack, found: Tensor) -> Tensor:
    """A real result for each matrix."""
    return b.cast(b.apply("aten::reshape", found, list(a.lead)), real_dtype(a.dtype))


def _norm(
    b: Builder, x: AnyTensor, order: Value = None, dims: Value = None, keepdim: Value = False,
    dtype: Value = None, *_: Value,
) -> Tensor:  # fmt: skip
    """The 2-norm of everything, or a vector or matrix norm by the number of dimensions."""
    if order is None:
        return _vector(b, x, 2, dims, keepdim, dtype)
    over = list(range(x.rank)) if dims is None else dims
    if len(over) == 2:
        return _matrix_norm(b, x, order, over, keepdim, dtype)
    if len(over) != 1 or order in ("fro", "nuc"):
        b.error(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got"
            f" {x.rank}D."
        )
    return _vector(b, x, _WORDS.get(order, order), over, keepdim, dtype)


def _vector(b: Builder, x: AnyTensor, *rest: Value) -> Tensor:
    return b.apply("aten::linalg_vector_norm", x, *rest)


# --- singular values ------------------------------------------------------------------------------


def _spectrum(b: Builder, a: Stack, hermitian: Value) -> Tensor:
    """Singular values in descending order, or sizes of eigenvalues."""
    if hermitian:
        return b.apply("aten::abs", symmetric_parts(b, a, "L")[0])
    return singular_parts(b, a)[1]


def _cutoff(b: Builder, a: Stack, values: Tensor, atol: Value, rtol: Value) -> Tensor:
    """(B,): the size at and below which a singular value counts as zero."""
    longest = cast(simplify(binary("max", a.rows, a.columns)), float64)
    least = longest * _EPSILON[real_dtype(a.dtype)]

    def number(body: Body, value: Value, i: list[Expr]) -> Expr:
        if not isinstance(value, Tensor):
            return body.scalar(value, float64)
        return body.broadcast(value, i, float64)

    def make(body: Body, i: list[Expr]) -> Expr:
        absolute = const(0.0, float64) if atol is None else number(body, atol, i)
        if rtol is not None:
            relative = number(body, rtol, i)
        else:
            relative = least
            if atol is not None:
                relative = select(absolute > 0, const(0.0, float64), relative)
        return binary("max", absolute, relative * body.read(largest, i, float64))

    largest = b.apply("aten::amax", values, [1], False)
    return b.compute([a.count], float64, make)


def _scalar_tolerances(b: Builder, a: Stack, *tolerances: Value) -> None:
    """Tolerances that are tensors are numbers, or one for each matrix."""
    for t in tolerances:
        if isinstance(t, Tensor) and t.rank and len(a.lead) != 1:
            b.cannot("a tolerance for each matrix of a batch of several dimensions")


def _rank(
    b: Builder, x: AnyTensor, atol: Value = None, rtol: Value = None, hermitian: Value = False
) -> AnyTensor:
    if x.rank < 2:
        b.error("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    a = square(b, x, "linalg.matrix_rank") if hermitian else matrix(b, x, "linalg.matrix_rank")
    _scalar_tolerances(b, a, atol, rtol)
    if any(s.is_int(0) for s in x.shape):
        return b.full(a.lead, 0, int64)
    values = _spectrum(b, a, hermitian)
    limit = _cutoff(b, a, values, atol, rtol)
    over = b.apply("aten::gt", values, b.apply("aten::unsqueeze", limit, 1))
    return a.back(b, b.apply("aten::sum.dim_IntList", over, [1]), int64)


def _pseudo_inverse(
    b: Builder, x: AnyTensor, atol: Value = None, rtol: Value = None, hermitian: Value = False
) -> AnyTensor:
    """Through the singular (hermitian: eigen) values above the cut-off."""
    a = matrix(b, x, "linalg.pinv")
    _scalar_tolerances(b, a, atol, rtol)
    if any(s.is_int(0) for s in x.shape):
        return converted(b, b.full([*a.lead, a.columns, a.rows], 0, float64), x.dtype)
    if hermitian:
        values, left = symmetric_parts(b, a, "L")
        right = left
    else:
        left, values, right = singular_parts(b, a)
        count = values.shape[1]
        left, right = (b.apply("aten::narrow", t, 2, 0, count) for t in (left, right))
    limit = _cutoff(b, a, b.apply("aten::abs", values), atol, rtol)

    def weight(body: Body, i: list[Expr]) -> Expr:
        e = body.read(values, i, float64)
        size = select(e < 0, -e, e)
        kept = size > body.read(limit, i[:1], float64)
        return select(kept, const(1.0, float64) / select(kept, e, 1.0), const(0.0, float64))

    weights = b.compute(values.shape, float64, weight)
    scaled = b.apply("aten::mul", right, b.apply("aten::unsqueeze", weights, 1))
    return a.back(b, b.apply("aten::bmm", scaled, adjoint(b, left)))


def _condition(b: Builder, x: AnyTensor, order: Value = None, *_: Value) -> Tensor:
    """The ratio of the extreme singular values, or |A| |A^-1| in another norm."""
    a = matrix(b, x, "linalg.cond")
    if any(size.is_int(0) for size in x.shape):
        return b.full(a.lead, 0, real_dtype(a.dtype))
    if order not in (None, 2, -2):
        return _condition_by_inverse(b, x, order)
    values = singular_parts(b, a)[1]
    ends = [select_at(b, values, 1, k) for k in (0, -1)]
    return _back(b, a, b.apply("aten::div", *(ends[::-1] if order == -2 else ends)))


def _condition_by_inverse(b: Builder, x: AnyTensor, order: Value) -> Tensor:
    """Infinite where the matrix is singular."""
    square(b, x, "linalg.cond")
    inverse, info = b.call("aten::linalg_inv_ex", x, False)
    sizes = [_matrix_norm(b, t, order) for t in (x, inverse)]
    found = b.apply("aten::mul", *sizes)
    return b.apply("aten::masked_fill", found, b.apply("aten::ne", info, 0), math.inf)


def _least_squares(
    b: Builder, x: AnyTensor, y: AnyTensor, rcond: Value = None, driver: Value = None, *_: Value
) -> Value:
    """Solution, residuals, rank and singular values; which of them there are, the driver says."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        b.error(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    if x.dtype is not y.dtype:
        b.error(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {x.dtype.word} and other's dtype {y.dtype.word}"
        )
    a = matrix(b, x, "torch.linalg.lstsq")
    vector = y.rank == x.rank - 1
    right = b.apply("aten::unsqueeze", y, -1) if vector else y
    solution = b.apply("aten::matmul", _pseudo_inverse(b, x, None, 1e-15), right)
    empty = b.full([0], 0, real_dtype(x.dtype))
    residuals = empty
    if driver not in (None, "gelsy") and not vector:
        residuals = _residuals(b, a, x, right, solution, driver)
    solution = b.apply("aten::squeeze", solution, -1) if vector else solution
    rank = b.full([0], 0, int64) if driver == "gels" else _rank(b, x)
    by_values = driver in ("gelss", "gelsd")
    spectrum = a.back(b, singular_parts(b, a)[1]) if by_values else empty
    return solution, residuals, rank, spectrum


def _residuals(
    b: Builder, a: Stack, x: AnyTensor, y: AnyTensor, solution: AnyTensor, driver: str
) -> Tensor:
    """The squares of what is left of each right side, of more equations than unknowns; `gelss` and
    `gelsd` give none of a matrix of less than full rank."""
    is_tall = known(a.rows > a.columns)
    if is_tall is False:
        return b.full([0], 0, real_dtype(x.dtype))
    rest = b.apply("aten::abs", b.apply("aten::sub", y, b.apply("aten::matmul", x, solution)))
    squares = b.apply("aten::sum.dim_IntList", b.apply("aten::mul", rest, rest), [-2])
    if driver == "gels" and is_tall is True:
        return squares
    if a.lead:
        b.cannot(f"residuals by {driver} of a batch, whose number of dimensions is its rank's")
    has_any = as_expr(is_tall)
    if driver != "gels":
        rank = _rank(b, x)
        assert isinstance(rank, Tensor)
        has_any = binary("and", has_any, as_expr(b.item(rank)).equals(a.columns))
    return b.apply("aten::narrow", squares, 0, 0, known(select(has_any, squares.shape[0], 0)))


def _older(fn: Callable[..., AnyTensor], is_relative: bool) -> Row:
    """The overloads of one tolerance."""

    def row(b: Builder, x: AnyTensor, tolerance: Value, hermitian: Value = False) -> AnyTensor:
        pair = (None, tolerance) if is_relative else (tolerance, 0.0)
        return fn(b, x, *pair, hermitian)

    return row


MATRIX_NORM: Rows = {
    "aten::linalg_matrix_norm": _matrix_norm,
    "aten::linalg_norm": _norm,
    "aten::nuclear_norm": lambda b, x, keepdim=False: _matrix_norm(b, x, "nuc", (-2, -1), keepdim),
    "aten::nuclear_norm.dim": lambda b, x, dims, keepdim=False: _matrix_norm(
        b, x, "nuc", dims, keepdim
    ),
    "aten::linalg_cond": _condition,
    "aten::linalg_matrix_rank": _older(_rank, is_relative=False),
    "aten::linalg_matrix_rank.atol_rtol_float": _rank,
    "aten::linalg_matrix_rank.atol_rtol_tensor": _rank,
    "aten::linalg_pinv": _older(_pseudo_inverse, is_relative=True),
    "aten::linalg_pinv.atol_rtol_float": _pseudo_inverse,
    "aten::linalg_pinv.atol_rtol_tensor": _pseudo_inverse,
    "aten::pinverse": lambda b, x, rcond=1e-15: _pseudo_inverse(b, x, None, rcond),
    "aten::linalg_lstsq": _least_squares,
}

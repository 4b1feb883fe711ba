"""Rows of matrix products: one contraction over index maps."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.dtypes import DType, int64
from tensorscript.base.errors import OperatorError
from tensorscript.base.operand_dtypes import demand_of
from tensorscript.base.out_dtypes import check_product_dtype
from tensorscript.base.subscripts import equation_of
from tensorscript.dialects.te.expr import Expr, binary, const, known_as, select

from .builder import Builder, Rows
from .complex_tensors import converted
from .dims import dtype_of
from .elements import compute_dtype
from .emission import Body
from .values import ComplexTensor, Tensor, Value
from .view import transpose, unsqueeze


def check_types(b: Builder, x: Tensor | ComplexTensor, y: Tensor | ComplexTensor) -> None:
    if x.dtype is not y.dtype:
        b.error(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{cpp_name(x.dtype)} != {cpp_name(y.dtype)}"
        )


def product_of(b: Builder, x: Tensor, y: Tensor, dtype: DType | None = None) -> Tensor:
    """(..., n, k) @ (..., k, m) with broadcast batch dimensions; rounded to `dtype`, theirs if
    that is not given."""
    check_types(b, x, y)
    n, k, m = x.shape[-2], x.shape[-1], y.shape[-1]
    if x.rank == 2 and y.rank == 2:
        message = f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {y.shape[-2]}x{m})"
    else:
        message = (
            f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {k}]"
            f" but got: [{y.shape[0]}, {y.shape[-2]}]."
        )
    b.require_same(k, y.shape[-2], message)
    batch = b.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    wide = compute_dtype(x.dtype)

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        def lead(t: Tensor) -> list[Expr]:
            return body.aligned(t.shape[:-2], i[: len(batch)], batch)

        left = body.read(x, [*lead(x), i[-2], r[0]], wide)
        return left * body.read(y, [*lead(y), r[0], i[-1]], wide)

    return b.contract((*batch, n, m), [k], dtype or x.dtype, make)


def with_bias(b: Builder, sums: Tensor, bias: Tensor | None, dtype: DType) -> Tensor:
    """Sums of products, as wide as they were accumulated, plus a bias: rounded to `dtype` once, as
    PyTorch rounds half types."""
    if bias is None:
        return b.cast(sums, dtype)
    return b.cast(b.call("aten::add", sums, bias), dtype)


def matmul(b: Builder, x: Tensor, y: Tensor, *_: Value, dtype: DType | None = None) -> Tensor:
    """All rank combinations of torch.matmul."""
    if not x.rank or not y.rank:
        b.error(
            f"both arguments to matmul need to be at least 1D, but they are {x.rank}D and {y.rank}D"
        )
    left = unsqueeze(b, x, 0) if x.rank == 1 else x
    right = unsqueeze(b, y, 1) if y.rank == 1 else y
    out = product_of(b, left, right, dtype)
    if x.rank == 1 and y.rank == 1:
        return b.apply("tg::view", out, [])
    if x.rank == 1:
        return b.apply("aten::squeeze", out, -2)
    return b.call("aten::squeeze", out, -1) if y.rank == 1 else out


def _mm(b: Builder, x: Tensor, y: Tensor, *_: Value, dtype: DType | None = None) -> Tensor:
    if x.rank != 2:
        b.error("self must be a matrix")
    if y.rank != 2:
        b.error("mat2 must be a matrix")
    return product_of(b, x, y, dtype)


def _bmm(b: Builder, x: Tensor, y: Tensor, *_: Value, dtype: DType | None = None) -> Tensor:
    if x.rank != 3:
        b.error("batch1 must be a 3D tensor")
    if y.rank != 3:
        b.error("batch2 must be a 3D tensor")
    return product_of(b, x, y, dtype)


def linear(b: Builder, x: Tensor, weight: Tensor, bias: Tensor | None = None, *_: Value) -> Tensor:
    wide = x.dtype if bias is None else compute_dtype(x.dtype)
    if weight.rank == 1:
        out = matmul(b, x, weight, dtype=wide)
    elif x.rank == 1:
        out = matmul(b, weight, x, dtype=wide)
    else:
        out = _linear(b, x, weight, wide)
    return with_bias(b, out, bias, x.dtype)


def _linear(b: Builder, x: Tensor, weight: Tensor, dtype: DType) -> Tensor:
    """x @ weight.T with the leading dimensions kept; no view is taken."""
    check_types(b, x, weight)
    rows = x.shape[-2] if x.rank == 2 else b.call("aten::numel", x) // x.shape[-1]
    b.require_same(
        x.shape[-1],
        weight.shape[1],
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and"
        f" {weight.shape[1]}x{weight.shape[0]})",
    )
    wide = compute_dtype(x.dtype)

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return body.read(x, [*i[:-1], r[0]], wide) * body.read(weight, [i[-1], r[0]], wide)

    return b.contract((*x.shape[:-1], weight.shape[0]), [x.shape[-1]], dtype, make)


def scaled_sum(
    b: Builder, base: Tensor, product: Tensor, beta: Value, alpha: Value, dtype: DType | None = None
) -> Tensor:
    """beta * base + alpha * product, rounded to `dtype` (by default the product's); base is not
    read if beta is 0."""
    dtype = dtype or product.dtype
    wide = compute_dtype(dtype)
    if known_as(beta, 0):
        return b.pointwise(lambda p, a: p * a, product, alpha, dtype=dtype, compute=wide)
    if known_as(beta, 1) and known_as(alpha, 1):
        return b.pointwise(lambda e, p: e + p, base, product, dtype=dtype, compute=wide)

    def scaled(e: Expr, p: Expr, s: Expr, a: Expr) -> Expr:
        part = s * e if s.op == "const" else select(binary("eq", s, 0), const(0, s.dtype), s * e)
        return part + a * p

    return b.pointwise(scaled, base, product, beta, alpha, dtype=dtype, compute=wide)


def _addmm(
    b: Builder, base: Tensor, x: Tensor, y: Tensor, beta: Value = 1, alpha: Value = 1, *_: Value
) -> Tensor:
    wide = compute_dtype(x.dtype)
    return scaled_sum(b, base, _mm(b, x, y, dtype=wide), beta, alpha, x.dtype)


def _baddbmm(
    b: Builder, base: Tensor, x: Tensor, y: Tensor, beta: Value = 1, alpha: Value = 1, *_: Value
) -> Tensor:
    wide = compute_dtype(x.dtype)
    return scaled_sum(b, base, _bmm(b, x, y, dtype=wide), beta, alpha, x.dtype)


def _addmv(
    b: Builder, base: Tensor, x: Tensor, y: Tensor, beta: Value = 1, alpha: Value = 1, *_: Value
) -> Tensor:
    wide = compute_dtype(x.dtype)
    return scaled_sum(b, base, matmul(b, x, y, dtype=wide), beta, alpha, x.dtype)


def _inner(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Tensor:
    if not x.rank or not y.rank:
        return b.apply("aten::mul", x, y)
    return matmul(b, x, transpose(b, y, -1, -2) if y.rank > 1 else y)


def _outer(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Tensor:
    return b.apply("aten::mul", unsqueeze(b, x, 1), unsqueeze(b, y, 0))


def _dot(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Tensor:
    if x.rank != 1 or y.rank != 1:
        b.error(f"1D tensors expected, but got {x.rank}D and {y.rank}D tensors")
    return matmul(b, x, y)


def _einsum_terms(b: Builder, equation: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """Subscripts per operand and of the result; an ellipsis becomes upper-case marks."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        b.error("einsum(): the number of subscripts in the equation does not match the number of"
            " operands")  # fmt: skip
    marks = "\u0391\u0392\u0393\u0394\u0395\u0396\u0397\u0398"
    longest = 0
    for k, (term, t) in enumerate(zip(terms, tensors, strict=True)):
        if "..." in term:
            extra = t.rank - len(term) + 3
            longest = max(longest, extra)
            terms[k] = term.replace("...", marks[len(marks) - extra :] if extra else "")
        if len(terms[k]) != t.rank:
            b.error(
                f"einsum(): the number of subscripts in the equation ({len(terms[k])}) does not"
                f" match the number of dimensions ({t.rank}) for operand {k} and no ellipsis was"
                " given"
            )
    lead = marks[len(marks) - longest :] if longest else ""
    if not arrow:
        letters = sorted({c for term in terms for c in term if c not in marks})
        right = lead + "".join(c for c in letters if sum(t.count(c) for t in terms) == 1)
    return terms, right.replace("...", lead)


def einsum(b: Builder, equation: str, tensors: list[Tensor], *_: Value) -> Tensor:
    terms, out = _einsum_terms(b, equation, tensors)
    sizes: dict[str, Expr] = {}
    for term, t in zip(terms, tensors, strict=True):
        for c, size in zip(term, t.shape, strict=True):
            if c not in sizes or sizes[c].is_int(1):
                sizes[c] = size
            elif not size.is_int(1):
                b.require_unbroadcast(
                    size, sizes[c], f"einsum(): operands do not broadcast with subscript {c}"
                )
    summed = [c for c in sizes if c not in out]
    dtype = b.result_type(*tensors)
    operands_with = [sum(c in term for term in terms) for c in summed]
    if any(count > 1 for count in operands_with):
        _check_product(b, dtype)
    if 1 in operands_with and not dtype.is_floating_point:
        dtype = int64  # as `sum` has it, which PyTorch takes for what no other operand has
    wide = compute_dtype(dtype)

    def value(body: Body, at: dict[str, Expr]) -> Expr:
        total: Expr | None = None
        for term, t in zip(terms, tensors, strict=True):
            index = [const(0) if s.is_int(1) else at[c] for c, s in zip(term, t.shape, strict=True)]
            element = body.read(t, index, wide)
            total = element if total is None else total * element
        assert total is not None
        return total

    shape = [sizes[c] for c in out]
    if not summed and len(tensors) == 1:
        return _permuted(b, tensors[0], terms[0], out)
    if not summed:
        return b.compute(shape, dtype, lambda body, i: value(body, dict(zip(out, i, strict=True))))
    if len(tensors) > 2:
        return _pairwise(b, terms, out, tensors)
    return b.contract(
        shape,
        [sizes[c] for c in summed],
        dtype,
        lambda body, i, r: value(
            body, dict(zip(out, i, strict=True)) | dict(zip(summed, r, strict=True))
        ),
    )


def _permuted(b: Builder, x: Tensor, term: str, out: str) -> Tensor:
    """A view, as in PyTorch, of an operand with nothing to add: diagonals, in the order `out`."""
    while (c := next((c for c in term if term.count(c) > 1), None)) is not None:
        first, second = term.index(c), term.rindex(c)
        x = b.apply("aten::diagonal", x, 0, first, second)
        term = term[:first] + term[first + 1 : second] + term[second + 1 :] + c
    return b.apply("aten::permute", x, [term.index(c) for c in out])


def _check_product(b: Builder, dtype: DType) -> None:
    """Refuse elements of which there is no product of matrices."""
    if demand := demand_of("aten::bmm"):
        try:
            demand.check((dtype,))
        except OperatorError as refusal:
            raise b.placed(refusal) from None


def _pairwise(b: Builder, terms: list[str], out: str, tensors: list[Tensor]) -> Tensor:
    """Contract the first two operands, keep what the others or the result need."""
    needed = set(out).union(*terms[2:])
    kept = "".join(dict.fromkeys(c for c in terms[0] + terms[1] if c in needed))
    first = einsum(b, f"{terms[0]},{terms[1]}->{kept}", tensors[:2])
    return einsum(b, f"{','.join([kept, *terms[2:]])}->{out}", [first, *tensors[2:]])


def _into_dtype(name: str, tensors: int) -> Callable[..., Value]:
    """The overload that also says the dtype of the result, to which half types are widened."""

    def row(b: Builder, *arguments: Value) -> Value:
        given, rest = arguments[:tensors], arguments[tensors + 1 :]
        asked = dtype_of(arguments[tensors], given[-1].dtype)
        try:
            check_product_dtype(given[-1].dtype, asked)
        except OperatorError as refusal:
            raise b.placed(refusal) from None
        check_types(b, *given[-2:])
        return b.call(name, *(converted(b, t, asked) for t in given), *rest)

    return row


INTO_DTYPE: Rows = {
    "aten::mm.dtype": _into_dtype("aten::mm", 2),
    "aten::bmm.dtype": _into_dtype("aten::bmm", 2),
    "aten::addmm.dtype": _into_dtype("aten::addmm", 3),
    "aten::baddbmm.dtype": _into_dtype("aten::baddbmm", 3),
}
"""Of complex numbers, too."""
LINALG: Rows = {
    **INTO_DTYPE,
    "aten::matmul": matmul,
    "aten::linalg_matmul": matmul,
    "aten::mm": _mm,
    "aten::bmm": _bmm,
    "aten::mv": matmul,
    "aten::dot": _dot,
    "aten::vdot": _dot,
    "aten::inner": _inner,
    "aten::outer": _outer,
    "aten::ger": _outer,
    "aten::linear": linear,
    "aten::addmm": _addmm,
    "aten::addmv": _addmv,
    "aten::addbmm": lambda b, base, x, y, beta=1, alpha=1: scaled_sum(
        b, base, einsum(b, "bnk,bkm->nm", [x, y]), beta, alpha
    ),
    "aten::baddbmm": _baddbmm,
    "aten::einsum": einsum,
    "aten::einsum.sublist": lambda b, *pairs: einsum(b, *equation_of(pairs)),
}

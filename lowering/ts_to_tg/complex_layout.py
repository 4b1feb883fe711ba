"""Complex rows of operators that move numbers or combine them linearly: the real row on each part.

Which arguments are numbers, and not places or masks, says a table; in a list every element is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import bool_, float16, float32, float64, int32, int64, real_dtype

from .builder import Builder, Rows
from .complex_tensors import (
    AnyTensor,
    complex_full,
    converted,
    copied,
    pairs_of,
    parts_of,
)
from .dims import dtype_asked, dtype_of
from .sizes import simplify
from .values import ComplexTensor, Tensor, Value
from .view import is_contiguous, matrix_h, matrix_transpose, strides_of

Row = Callable[..., Value]

_MOVED = """
    permute transpose swapaxes swapdims movedim moveaxis t numpy_T mT squeeze unsqueeze expand
    expand_as broadcast_to diagonal unfold detach detach_ alias requires_grad_ select slice narrow
    split split_with_sizes chunk unsafe_chunk unsafe_split unsafe_split_with_sizes unbind view
    reshape _unsafe_view flatten ravel unflatten view_as reshape_as flip roll repeat tile rot90
    fliplr flipud tensor_split hsplit vsplit diag diag_embed trace linalg_diagonal diagflat tril
    triu index_select gather index take take_along_dim embedding sum sum_to_size mean cumsum
    pixel_shuffle pixel_unshuffle channel_shuffle fft_fftshift fft_ifftshift lift_fresh cpu nansum
    as_strided repeat_interleave cat concat concatenate stack hstack vstack dstack column_stack
    row_stack meshgrid cartesian_prod block_diag atleast_1d atleast_2d atleast_3d
    broadcast_tensors"""

OF_NUMBERS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_MOVED.split(), (0,)),
    **dict.fromkeys(("dsplit", "im2col", "col2im", "combinations"), (0,)),
    "put": (0, 2),
    "diff": (0, 3, 4),
    "where": (1, 2),
    **dict.fromkeys(("masked_fill", "index_put", "_index_put_impl", "masked_scatter"), (0, 2)),
    **dict.fromkeys(
        ("scatter", "scatter_add", "index_add", "index_copy", "index_fill", "pad"), (0, 3)
    ),
    "constant_pad_nd": (0, 2),
    **dict.fromkeys(("select_scatter", "slice_scatter", "diagonal_scatter"), (0, 1)),
    **dict.fromkeys(("copy", "fill"), (0, 1)),
}
"""Operators that treat both parts alike -> which of their arguments are numbers."""

_KEEPS_DTYPE = frozenset(("copy", "fill", "masked_fill", "index_put", "_index_put_impl"))
"""Operators whose result has the dtype of their first argument."""


def _split(b: Builder, value: Value, dtype: object) -> tuple[Value, Value]:
    if isinstance(value, list):
        pairs = [_split(b, v, dtype) for v in value]
        return [p for p, _ in pairs], [q for _, q in pairs]
    if value is None:
        return None, None
    return parts_of(b, value, real_dtype(dtype))  # type: ignore[arg-type]  # a DType


def _joined(real: Value, imag: Value) -> Value:
    """Results of both parts as one."""
    if isinstance(real, Tensor):
        return ComplexTensor(real, imag)
    if isinstance(real, list | tuple) and real and isinstance(real[0], Tensor):
        return type(real)(_joined(p, q) for p, q in zip(real, imag, strict=True))
    return real


def _flat(values: Sequence[Value]) -> list[Value]:
    return [v for value in values for v in (_flat(value) if isinstance(value, list) else [value])]


def by_parts(name: str, row: Row) -> Row:
    """`row` on real and on imaginary parts."""
    numbers = OF_NUMBERS[name]

    def run(b: Builder, *arguments: Value) -> Value:
        if len(arguments) <= numbers[0]:  # where of a condition alone
            return row(b, b.apply("aten::ne", arguments[0], 0))
        given = [v for v in _flat([arguments[k] for k in numbers if k < len(arguments)])
                 if v is not None]  # fmt: skip
        if name in _KEEPS_DTYPE and not isinstance(given[0], ComplexTensor):
            return b.cannot("complex numbers written into real ones")
        dtype = given[0].dtype if name in _KEEPS_DTYPE else b.result_type(*given)
        sides: list[list[Value]] = [list(arguments), list(arguments)]
        for k in numbers:
            if k < len(arguments):
                sides[0][k], sides[1][k] = _split(b, arguments[k], dtype)
        return _joined(row(b, *sides[0]), row(b, *sides[1]))

    return run


# --- what needs a row of its own -----------------------------------------------------------------


def _stride(b: Builder, x: ComplexTensor, dim: Value = None, *_: Value) -> Value:
    """Strides count numbers, not parts."""
    strides = list(strides_of(x.real))
    if pairs_of(x) is not None:
        strides = [simplify(s // 2) for s in strides]
    return strides if dim is None else strides[dim]


def _is_contiguous(b: Builder, x: ComplexTensor, *_: Value) -> bool:
    pairs = pairs_of(x)
    return is_contiguous(x.real if pairs is None else pairs)


def _contiguous(b: Builder, x: ComplexTensor, *_: Value) -> AnyTensor:
    return x if _is_contiguous(b, x) else copied(b, x)


def _to(b: Builder, x: AnyTensor, *arguments: Value) -> AnyTensor:
    """All overloads of to."""
    target = dtype_asked(x, arguments)
    flags = [a for a in arguments if isinstance(a, bool)]
    out = converted(b, x, target)
    return copied(b, out) if out is x and len(flags) > 1 and flags[1] else out


def _to_layout(b: Builder, x: AnyTensor, dtype: Value = None, *_: Value) -> AnyTensor:
    return converted(b, x, dtype_of(dtype, x.dtype))


def _count(b: Builder, x: ComplexTensor, *rest: Value) -> Value:
    return b.call("aten::count_nonzero", b.call("aten::ne", x, 0), *rest)


def _truth(name: str) -> Row:
    """all, any: of numbers that are not 0."""
    return lambda b, x, *rest: b.call(name, b.call("aten::ne", x, 0), *rest)


def _adjoint(row: Row) -> Row:
    """A transposition, of the conjugate numbers."""

    def run(b: Builder, x: ComplexTensor, *_: Value) -> ComplexTensor:
        turned = b.call("aten::conj_physical", x)
        return ComplexTensor(row(b, turned.real), row(b, turned.imag))

    return run


COMPLEX_LAYOUT: Rows = {
    "aten::stride": _stride,
    "aten::is_contiguous": _is_contiguous,
    "aten::contiguous": _contiguous,
    "aten::clone": lambda b, x, *_: copied(b, x),
    "aten::to": _to,
    "aten::to.dtype_layout": _to_layout,
    "aten::_to_copy": _to_layout,
    "aten::type_as": lambda b, x, y, *_: converted(b, x, y.dtype),
    "aten::zero": lambda b, x, *_: complex_full(b, x.shape, 0, x.dtype),
    "aten::count_nonzero": _count,
    **{f"aten::{name}": _truth(f"aten::{name}") for name in ("all", "any", "all.dim", "any.dim")},
    **{
        f"aten::{name}": lambda b, x, t=dtype: converted(b, x, t)
        for name, dtype in (
            ("float", float32), ("double", float64), ("half", float16), ("long", int64),
            ("int", int32), ("bool", bool_),
        )
    },
    "aten::mH": _adjoint(matrix_transpose("mH")),
    "aten::adjoint": _adjoint(matrix_transpose("adjoint()")),
    "aten::matrix_H": _adjoint(matrix_h),
}  # fmt: skip

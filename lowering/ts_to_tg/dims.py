"""Dimension numbers and sizes as operators take them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from tensorscript.base.dtypes import BY_CODE, DType, float64
from tensorscript.base.errors import NotKnown
from tensorscript.dialects.te.expr import Expr, binary, cast, const

from .builder import Builder
from .elements import as_expr
from .sizes import product, simplify
from .values import ComplexTensor, Tensor, Value


def dimension(b: Builder, dim: Value, rank: int) -> int:
    """A dimension counted from either end as 0 <= d < rank (0-dim tensors have -1 and 0)."""
    if not isinstance(dim, int):
        b.cannot("a dimension that is not known")
    span = max(rank, 1)
    if not -span <= dim < span:
        b.error(
            f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got"
            f" {dim})"
        )
    return dim % span


def dimensions(b: Builder, dims: Value, rank: int) -> list[int]:
    """The dimensions to reduce: all for None or []."""
    if dims is None or dims == []:
        return list(range(rank))
    items = dims if isinstance(dims, list) else [dims]
    found = [dimension(b, d, rank) for d in items]
    if len(set(found)) != len(found):
        b.error(f"dim {found[0]} appears multiple times in the list of dims")
    return sorted(found) if rank else []


def size_of(value: Value) -> Expr:
    """A size given as an int or as an expression."""
    return simplify(as_expr(value))


def sizes_of(b: Builder, values: Value) -> tuple[Expr, ...]:
    """A list of sizes; what the program computes gets a name."""
    items = values if isinstance(values, list | tuple) else [values]
    sizes = tuple(size_of(v) for v in items)
    named = tuple(_size(b, size, sizes) for size in sizes)
    if any(map(_is_computed, sizes)):
        _check_room(b, sizes)
    return named


def _check_room(b: Builder, sizes: Sequence[Expr]) -> None:
    """Their bytes are counted in 64 bits: what wraps around would be written past its memory."""
    total = const(float(_WIDEST), float64)
    for size in sizes:
        total = total * cast(size, float64)
    b.check(binary("lt", total, 2.0**62), "Storage size calculation overflowed")


def _is_computed(size: Expr) -> bool:
    """Whether the program gives the size; those of slices are bounded by what there is."""
    return any(n.startswith("$") for n in size.free) and not (
        size.op == "max" and any(a.is_int(0) for a in size.args)
    )


_WIDEST = 16
"""Bytes of an element of the widest dtype."""


def _size(b: Builder, size: Expr, sizes: tuple[Expr, ...]) -> Expr:
    if size.op == "const" and int(str(size.value)) < 0:
        b.error(f"Trying to create tensor with negative dimension {size}: {list(sizes)}")
    if not any(n.startswith("$") for n in size.free):
        return size
    if _is_computed(size):
        b.check(binary("ge", size, 0), "Trying to create tensor with negative dimension")
    return b.size(size)


def literal(b: Builder, size: Expr, what: str) -> int:
    """A size that has to be a number here."""
    if size.op != "const":
        b.cannot(f"{what} must be known, not {size}")
    return int(str(size.value))


def dtype_of(code: Value, default: DType) -> DType:
    """The dtype of a TorchScript dtype argument, `default` for None."""
    if isinstance(code, Expr):
        raise NotKnown("a dtype that is not known")
    return default if code is None else BY_CODE[code]


def dtype_asked(x: Tensor | ComplexTensor, arguments: Sequence[Value]) -> DType:
    """The dtype that any overload of `to` gives `x`: that of another tensor, or a dtype's code; it
    stands before the flags, behind which an int is a memory format."""
    for a in takewhile(lambda a: not isinstance(a, bool), arguments):
        if isinstance(a, Tensor | ComplexTensor):
            return a.dtype
        if isinstance(a, int | Expr):
            return dtype_of(a, x.dtype)
    return x.dtype


def element_count(x: Tensor) -> Expr:
    return product(x.shape)


def keep(shape: Sequence[Expr], dims: Sequence[int], keepdim: bool) -> tuple[Expr, ...]:
    """The shape after reducing `dims`."""
    if keepdim:
        return tuple(const(1) if d in dims else s for d, s in enumerate(shape))
    return tuple(s for d, s in enumerate(shape) if d not in dims)


def rejoined(
    rank: int, dims: Sequence[int], i: Sequence[Expr], r: Sequence[Expr], keepdim: bool
) -> list[Expr]:
    """The operand's index for a result index `i` and reduction index `r`."""
    inner, outer = iter(r), iter(i)
    out = []
    for d in range(rank):
        if d in dims:
            out.append(next(inner))
            if keepdim:
                next(outer)
        else:
            out.append(next(outer))
    return out

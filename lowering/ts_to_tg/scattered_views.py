"""Rows that give a tensor with a part of it replaced, and views with strides of the program's own.

select_scatter and its kind are a copy whose view is written: what `x[k] = source` does, as a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.te.buffers import contiguous_strides
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, select, var
from tensorscript.dialects.te.rewriting import substitute

from .builder import Builder, Rows
from .dims import sizes_of
from .elements import known
from .emission import Body
from .reshape import reshaped
from .sizes import product, same_size, simplify
from .slicing import select_at, slice_at
from .values import Tensor, Value
from .view import diagonal, expand, indices_of, is_contiguous, require_known_order, view


def replaced(part_of: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`x` with the view that `part_of` takes replaced by `source`."""

    def row(b: Builder, x: Tensor, source: Tensor, *places: Value) -> Tensor:
        out = b.copied(x)
        part = part_of(b, out, *places)
        message = (
            "expected src to have a size equal to the slice of self. src size ="
            f" [{', '.join(map(str, source.shape))}], slice size ="
            f" [{', '.join(map(str, part.shape))}]"
        )
        b.require_alike(source.shape, part.shape, message)
        b.write(part, b.cast(expand(b, source, list(part.shape)), x.dtype))
        return out

    return row


def as_strided(
    b: Builder, x: Tensor, size: Value, stride: Value, offset: Value = None, *_: Value
) -> Tensor:
    """A view of the memory that `x` is a view of, which has to be in order; from the place of the
    first element of `x` on if no offset is given."""
    require_known_order(b, x)
    memory = Tensor(x.storage, x.storage.shape, None, x.storage.strides)
    if not is_contiguous(memory):
        b.cannot("strides over memory that is not in row-major order")
    steps, sizes = list(sizes_of(b, stride)), list(sizes_of(b, size))
    first = _place(x) if offset is None else sizes_of(b, [offset])[0]
    last = first
    for n, step in zip(sizes, steps, strict=True):
        last = last + (n - 1) * step
    flat = reshaped(b, memory, (product(memory.shape),))
    if not any(s.is_int(0) for s in sizes):
        inside = known(binary("lt", simplify(last - product(memory.shape)), 0))
        if inside is False and x.storage.origin:
            b.cannot("strides over memory behind an argument")
        b.check(
            inside,
            "setStorage: sizes, strides and storage offset require a storage that is out of bounds",
        )
    at = first
    for k, (n, step) in enumerate(zip(sizes, steps, strict=True)):
        at = at + (const(0) if n.is_int(1) else var(f"i{k}")) * step
    return view(flat, sizes, [simplify(at)], _plain(sizes, steps))


def _place(x: Tensor) -> Expr:
    """Where the first element of a view lies in its memory."""
    first = {f"i{d}": const(0) for d in range(x.rank)}
    at = const(0)
    for e, size in zip(indices_of(x), x.storage.shape, strict=True):
        at = at * size + substitute(e, first)
    return simplify(at)


def _plain(sizes: Sequence[Expr], steps: Sequence[Expr]) -> list[Expr] | None:
    """The strides, None where they are those of a contiguous tensor."""
    same = all(map(same_size, steps, contiguous_strides(tuple(sizes))))
    return None if same else list(steps)


def _strided_scatter(b: Builder, x: Tensor, source: Tensor, *places: Value) -> Tensor:
    if x.indices is not None or not is_contiguous(x):
        b.cannot("strides over a tensor that is a view itself")
    return replaced(as_strided)(b, x, source, *places)


def _filled_diagonal(b: Builder, x: Tensor, value: Value, wraps: Value = False) -> Tensor:
    """A number where all indices are equal; `wraps` begins again below a tall matrix, one row
    after its end."""
    if x.rank < 2:
        b.error("dimensions must larger than 1")
    for n in x.shape[2:] if x.rank > 2 else ():
        b.require_same(n, x.shape[0], "all dimensions of input must be of equal length")
    if x.rank > 2:
        b.require_same(x.shape[1], x.shape[0], "all dimensions of input must be of equal length")
    tall = bool(wraps) and x.rank == 2

    def make(body: Body, i: list[Expr]) -> Expr:
        first = i[0] % (x.shape[1] + 1) if tall else i[0]
        here = all_of([first.equals(other) for other in i[1:]])
        return select(here, body.scalar(value, x.dtype), body.read(x, i, x.dtype))

    return b.compute(x.shape, x.dtype, make)


SCATTERED_VIEW: Rows = {
    "aten::select_scatter": replaced(select_at),
    "aten::slice_scatter": replaced(slice_at),
    "aten::diagonal_scatter": replaced(diagonal),
    "aten::as_strided": as_strided,
    "aten::as_strided_scatter": _strided_scatter,
    "aten::fill_diagonal": _filled_diagonal,
}

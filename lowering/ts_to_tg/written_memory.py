"""Memory that an in-place operator writes while it reads: what it refuses, as eager mode does.

Which operators refuse is the table `base/overlap.py`. What is known when compiling is refused then;
of sizes and places that the program finds, the program asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from tensorscript.base import overlap
from tensorscript.base.errors import NotCompilable
from tensorscript.dialects.te.buffers import contiguous_strides
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, unary
from tensorscript.dialects.te.rewriting import substitute

from .builder import Builder, overlaps_itself, repeated_if
from .sizes import product, same_size, simplify
from .values import ComplexTensor, Tensor, Value
from .view import indices_of, strides_of


def check_written(
    b: Builder, name: str, x: Tensor | ComplexTensor, operands: Sequence[Value]
) -> None:
    """Refuse to write to `x` if the in-place overload `name` may not, given its other operands.

    Raises:
        OperatorError: elements of `x` share memory, or a part of it is read.
        NotCompilable: elements of `x` share memory, and what it holds depends on the order.
    """
    if name.partition(".")[0] in overlap.COPIES and _holds(x, operands[0]):
        return
    if not overlap.may_repeat(name):
        _check_repeats(b, x.real if isinstance(x, ComplexTensor) else x)
        for repeated in repeated_if(x) if isinstance(x, Tensor) else ():
            b.check(unary("not", repeated), overlap.MESSAGE)
    elif overlaps_itself(x) and name.partition(".")[0] not in overlap.UNIFORM:
        raise NotCompilable(f"{name} writes to elements that share memory, one after the other")
    if isinstance(x, Tensor) and not overlap.may_share_partly(name):
        for read in _tensors(operands):
            _check_shares(b, x, read)


def _holds(x: Tensor | ComplexTensor, read: Value) -> bool:
    """Whether what is read are the very elements of `x`."""
    return isinstance(x, Tensor) and isinstance(read, Tensor) and x.is_same(read)


def _check_repeats(b: Builder, x: Tensor) -> None:
    """Refuse a view of an argument that repeats its elements by strides of 0, if it does, too: a
    row of one that is expanded does not."""
    steps = zip(indices_of(x), x.storage.strides or (), strict=False)
    told = set[str]().union(*(index.free for index, step in steps if not step.is_int(0)))
    repeated = [n for d, n in enumerate(x.shape) if f"i{d}" not in told and not n.is_int(1)]
    if not x.storage.strides or not repeated:
        return
    once = all_of([binary("le", n, 1) for n in repeated])
    b.check(_any_of(binary("eq", product(x.shape), 0), once), overlap.MESSAGE)


def _tensors(values: Sequence[Value]) -> Iterator[Tensor]:
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif isinstance(v, list | tuple):
            yield from _tensors(v)


def _check_shares(b: Builder, x: Tensor, read: Tensor) -> None:
    """Refuse a part of `x` as an operand; of tensors with gaps it is not asked."""
    if x.storage is not read.storage or x.is_same(read) or not (_is_dense(x) and _is_dense(read)):
        return
    gap = simplify(_start(read) - _start(x))
    size, count = product(x.shape), product(read.shape)
    alike = x.rank == read.rank and all(map(same_size, strides_of(x), strides_of(read)))
    if alike and same_size(size, count) and _is_multiple(gap, size):
        return  # rows of one tensor: the same or apart
    behind, before = binary("le", size, gap), binary("le", simplify(gap + count), 0)
    fine = _any_of(behind, before, binary("eq", size, 0), binary("eq", count, 0))
    if alike:
        fine = _any_of(fine, all_of((binary("eq", gap, 0), binary("eq", size, count))))
    b.check(fine, overlap.SHARED)


def _any_of(*conditions: Expr) -> Expr:
    return reduce(lambda a, c: binary("or", a, c), conditions)


def _is_multiple(gap: Expr, size: Expr) -> bool:
    return same_size(simplify(binary("floordiv", gap, size)) * size, gap)


def _start(x: Tensor) -> Expr:
    """The place of the first element in the storage."""
    zeros = {f"i{d}": const(0) for d in range(x.rank)}
    steps = x.storage.strides or contiguous_strides(x.storage.shape)
    at = const(0)
    for index, step in zip(indices_of(x), steps, strict=True):
        at = at + substitute(index, zeros) * step
    return simplify(at)


def _is_dense(x: Tensor) -> bool:
    """Whether the elements lie side by side, in any order of the dimensions."""
    steps = [(s, n) for s, n in zip(strides_of(x), x.shape, strict=True) if not n.is_int(1)]
    expected: Expr = const(1)
    while steps:
        if (found := next((p for p in steps if same_size(p[0], expected)), None)) is None:
            return False
        steps.remove(found)
        expected = simplify(expected * found[1])
    return True

"""Which readers of a product take its columns by equal parts, as the cell of an LSTM does.

```
%g = tg.contract %h, %w : [8, 512]
%c = tg.pointwise %g, .. <f(a0[i0, i1], a0[i0, i1 + 128], a0[i0, i1 + 256], ..)> : [8, 128]
```
Such readers become stages of the product's kernel: what they take lies in columns a part apart, so
that a task which has the same columns of all parts needs nothing of another task
(`schedules/product_parts.py`). That pays where there are few rows, for then a pass over the product
is no small share of the work; many rows are better cut for the caches.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import float32, float64
from tensorscript.dialects.te.expr import Expr, const, var
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.tg.ops import ComputeOp, ConstantOp, ContractOp

from ..te.affine import coefficient, known
from .bodies import node_count, reads_of

MOST_ROWS = 32
COLUMNS = 32
"""A part is a multiple of this: of the tiles of every machine."""


def is_cut(product: ContractOp, most_nodes: int) -> bool:
    """All that read the product take parts of one width, it is of few rows by a constant, and
    nothing keeps the readers from being computed right behind it, by so many nodes at most."""
    readers = list(dict.fromkeys(use.operation for use in product.result.uses))
    if not readers or not _is_small(product) or not _multiplies_constant(product):
        return False
    found = [op for op in readers if isinstance(op, ComputeOp) and takes_parts(op, product)]
    if len(found) < len(readers) or any(op.type.shape != found[0].type.shape for op in found):
        return False
    if node_count(product.expr) + sum(node_count(op.expr) for op in found) > most_nodes:
        return False
    return _follow(found, product)


def _is_small(product: ContractOp) -> bool:
    rows = 1
    for size in product.type.shape[:-1]:
        rows *= known(size) or MOST_ROWS + 1
    return product.type.rank > 1 and rows <= MOST_ROWS and product.type.dtype in (float32, float64)


def _multiplies_constant(product: ContractOp) -> bool:
    """What the product's columns are read from is a constant, which is packed once."""
    column = f"i{product.type.rank - 1}"
    across = [
        value
        for number, value in enumerate(product.inputs)
        if any(column in index.free for at in reads_of(product.expr, number) for index in at)
    ]
    return bool(across) and all(isinstance(value.owner, ConstantOp) for value in across)


def _follow(readers: list[ComputeOp], product: ContractOp) -> bool:
    """The readers read each other's elements and what is there before the product, no more."""
    waiting, between = set(readers), set[Operation]()
    op = product.next_op
    while op is not None and waiting:
        if isinstance(op, ComputeOp) and op in waiting:
            waiting.discard(op)
            if not all(_may_read(op, number, readers, between) for number in range(len(op.inputs))):
                return False
        else:
            between.add(op)
        op = op.next_op
    return not waiting


def _may_read(
    reader: ComputeOp, number: int, readers: list[ComputeOp], between: set[Operation]
) -> bool:
    owner = reader.inputs[number].owner
    if owner in readers:
        here = reader.type.shape
        return all(_is_here(at, here) for at in reads_of(reader.expr, number))
    return owner not in between


def takes_parts(reader: ComputeOp, product: ContractOp) -> bool:
    """The reader has the product's rows, and each of its columns is of one in every part."""
    own, shape = reader.type.shape, product.type.shape
    width, columns = known(own[-1]), known(shape[-1])
    if own[:-1] != shape[:-1] or width is None or columns is None:
        return False
    if width % COLUMNS or columns % width or columns == width:
        return False
    return all(
        _is_in_part(at, own, width)
        for number, value in enumerate(reader.inputs)
        if value is product.result
        for at in reads_of(reader.expr, number)
    )


def _is_in_part(indices: tuple[Expr, ...], shape: tuple[Expr, ...], width: int) -> bool:
    """The indices are those of the reader's element, but for whole parts."""
    *rows, column = indices
    name = f"i{len(rows)}"
    start = known(substitute(column, {name: const(0)}))
    if start is None or start % width or coefficient(column, name) is not const(1):
        return False
    return _is_here((*rows, var(name)), shape)


def _is_here(indices: tuple[Expr, ...], shape: tuple[Expr, ...]) -> bool:
    """The indices are those of the reader's element."""
    return all(
        index is var(f"i{d}") or (shape[d].is_int(1) and index.is_int(0))
        for d, index in enumerate(indices)
    )

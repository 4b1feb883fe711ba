"""Which products are read by their rows right behind them, as a softmax or a norm does.

```
%h = tg.contract %x, %w : [4096, 256]
%m = tg.reduce %h "max" : [4096]             stages of one kernel, with one shared dimension
%y = tg.pointwise %h, %m : [4096, 256]
```
A task that has whole rows finds them in its caches, and what only its rows' readers want of a
product is never written to memory (`schedules/product_rows.py`). That pays where a product is
short: a deep one takes so long that the passes behind it are no share of it, and is better cut for
the caches.
"""

from __future__ import annotations

from math import prod

from tensorscript.base.dtypes import float32, float64
from tensorscript.dialects.tg.ops import ContractOp

from ..te.affine import known

LEAST_ROWS = 128
"""Enough for several tasks of whole rows; of a deeper product as many as its steps, for each task
goes over all columns."""
LEAST_COLUMNS, MOST_COLUMNS = 32, 2048
"""Of a row that is worth vectors along itself, and some of which stay in the second cache."""
MOST_DEPTH = 256
"""Of a product of as many rows as the program finds."""
MOST_BYTES = 1 << 20
"""Of the matrix that all rows are multiplied with: each task goes over all of it."""


def keeps_rows(product: ContractOp) -> bool:
    """Whether readers of the product's rows are computed behind these: a plain product of many
    rows, or of as many as the program finds, a near matrix that all of them are multiplied with,
    and a depth that is not larger than all that."""
    *rows, columns = (known(size) for size in product.type.shape)
    depth = [known(extent) for extent in product.extents.data]
    if columns is None or not LEAST_COLUMNS <= columns <= MOST_COLUMNS or None in depth:
        return False
    if product.type.dtype not in (float32, float64) or not _is_plain(product):
        return False
    steps = prod(size or 0 for size in depth)
    if not 0 < steps * columns * product.type.dtype.itemsize <= MOST_BYTES:
        return False
    if None in rows:
        return steps <= MOST_DEPTH
    return prod(size or 0 for size in rows) >= max(LEAST_ROWS, steps)


def _is_plain(product: ContractOp) -> bool:
    """One factor is read by rows and not by columns, the other by columns and not by rows."""
    body, column = product.expr, f"i{product.type.rank - 1}"
    if body.op != "mul" or any(factor.op != "load" for factor in body.args):
        return False
    rows = {f"i{d}" for d in range(product.type.rank - 1)}
    x, y = sorted(body.args, key=lambda factor: column in factor.free)
    return column in y.free - x.free and bool(rows & x.free) and not rows & y.free

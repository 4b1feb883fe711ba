"""Rows of adaptive maximum pooling: values and where they stand.

Output `o` of a dimension covers [o * size // outputs, ceil((o + 1) * size / outputs)). The place is
the first maximum of the window, or its last NaN, as one number over the spatial dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, add, all_of, binary, call, const, mul, select
from tensorscript.dialects.tg.ops import identity

from .builder import Builder, Rows
from .dims import literal
from .elements import compute_dtype
from .emission import Body
from .sizes import product, simplify
from .values import Tensor, Value


@dataclass(frozen=True)
class Bins:
    """The windows of one dimension; `longest` is the size of the largest one."""

    size: int
    outputs: int

    @property
    def longest(self) -> int:
        spans = [(o * self.size // self.outputs, self.end(o)) for o in range(self.outputs)]
        return max((stop - start for start, stop in spans), default=0)

    def end(self, o: int) -> int:
        return -(-(o + 1) * self.size // self.outputs)

    def cell(self, o: Expr, k: Expr) -> tuple[Expr, list[Expr]]:
        """The position of cell `k` of window `o`, and when it belongs to the window."""
        if self.outputs and self.size % self.outputs == 0:
            return simplify(o * (self.size // self.outputs) + k), []
        at = (o * self.size) // self.outputs + k
        stop = ((o + 1) * self.size + (self.outputs - 1)) // self.outputs
        return at, [binary("lt", at, stop)]


def _bins(b: Builder, x: Tensor, n: int, sizes: Value) -> list[Bins]:
    items = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    outputs = items * n if len(items) == 1 else items
    if len(outputs) != n:
        b.error(f"adaptive_max_pool{n}d(): internal error: output_size.size() must be {n}")
    if x.rank not in (n + 1, n + 2):
        shape = ", ".join(map(str, x.shape))
        b.error(
            f"adaptive_max_pool{n}d(): Expected {n + 1}D or {n + 2}D tensor, but got: [{shape}]"
        )
    extents = [literal(b, s, "the size of an adaptively pooled dimension") for s in x.shape[-n:]]
    for d, extent in enumerate(extents):
        if not extent:
            b.error(
                f"adaptive_max_pool{n}d(): Expected input to have non-zero size for non-batch"
                f" dimensions, but input has sizes [{', '.join(map(str, x.shape))}] with dimension"
                f" {x.rank - n + d} being empty"
            )
    return [Bins(e, int(o)) for e, o in zip(extents, outputs, strict=True)]


def _window(bins: Sequence[Bins], i: Sequence[Expr], r: Sequence[Expr]) -> tuple[list[Expr], Expr]:
    n = len(bins)
    cells = [v.cell(o, k) for v, o, k in zip(bins, i[-n:], r, strict=True)]
    return [*i[:-n], *(at for at, _ in cells)], all_of([c for _, more in cells for c in more])


def adaptive_max(n: int) -> Callable[..., Value]:
    """adaptive_max_pool of `n` spatial dimensions: (values, places)."""

    def row(b: Builder, x: Tensor, sizes: Value, *_: Value) -> Value:
        bins = _bins(b, x, n, sizes)
        wide = compute_dtype(x.dtype)
        shape = (*x.shape[:-n], *(const(v.outputs) for v in bins))
        extents = [const(v.longest) for v in bins]
        none = product(x.shape[-n:])

        def value(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            at, inside = _window(bins, i, r)
            return select(inside, body.read(x, at, wide), identity("max", wide))

        best = b.reduce(shape, extents, wide, "max", value)

        def place(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            at, inside = _window(bins, i, r)
            e = body.read(x, at, wide)
            flat = const(0)
            for position, size in zip(at[-n:], x.shape[-n:], strict=True):
                flat = add(mul(flat, size), position)
            key = select(e.equals(body.read(best, i, wide)), flat, none)
            if wide.is_floating_point:
                key = select(call("isnan", e), -1 - flat, key)
            return select(inside, key, none)

        keys = b.reduce(shape, extents, int64, "min", place)
        return b.cast(best, x.dtype), b.pointwise(lambda e: select(e < 0, -1 - e, e), keys)

    return row


ADAPTIVE_MAX: Rows = {f"aten::adaptive_max_pool{n}d": adaptive_max(n) for n in (1, 2, 3)}

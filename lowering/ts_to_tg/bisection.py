"""Rows that look values up among sorted bounds: searchsorted, bucketize.

Each value halves the bounds that are left by itself, in a loop of as many steps as there are
halvings:

```
start, end = 0, n                                 of each value
repeat: middle = (start + end) / 2
        if bounds[middle] < value: start = middle + 1 else: end = middle
```
The steps are PyTorch's own, so that among bounds that are not sorted, or that are not numbers, the
same place is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import bool_, float64, int32, int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .elements import compute_dtype, known
from .emission import Body
from .loops import LONG, loop
from .sizes import sizes_text
from .values import Tensor, Value

Before = Callable[[Expr, Expr], Expr]
"""Whether a bound lies before a value."""


def bisected(b: Builder, bounds: Tensor, x: Value, before: Before) -> Tensor:
    """How many of the bounds along the last dimension lie before each value (integers of 32 or 64
    bits)."""
    wide = compute_dtype(b.result_type(bounds, x))
    shape = x.shape if isinstance(x, Tensor) else ()
    count = bounds.shape[-1]
    n = known(count)
    kind = int32 if isinstance(n, int) and n < 1 << 30 else int64  # a sum of two fits
    one, size = const(1, kind), cast(count, kind)

    def is_before(body: Body, i: list[Expr], middle: Expr) -> Expr:
        lead = [] if bounds.rank == 1 else i[:-1]
        sought = body.read(x, i, wide) if isinstance(x, Tensor) else body.scalar(x, wide)
        at = cast(binary("min", middle, size - 1), int64)
        return before(body.read(bounds, [*lead, at], wide), sought)

    def step(arguments: Sequence[Value]) -> list[Value]:
        _, start, end = arguments

        def half(of_start: bool) -> Tensor:
            def make(body: Body, i: list[Expr]) -> Expr:
                low, high = body.read(start, i, kind), body.read(end, i, kind)
                middle = binary("shr", low + high, one)
                behind = binary("and", low < high, is_before(body, i, middle))
                if of_start:
                    return select(behind, middle + one, low)
                return select(behind, high, middle)

            return b.compute(shape, kind, make)

        return [True, half(True), half(False)]

    ends = [b.full(shape, 0, kind), b.compute(shape, kind, lambda body, i: size)]
    found: Tensor = loop(b, _halvings(count), True, ends, step, LONG)[0]
    return found


def _halvings(count: Expr) -> Value:
    """After how many steps nothing is left of so many bounds, or one step more."""
    if isinstance(n := known(count), int):
        return n.bit_length()
    exponent = call("log2", cast(binary("max", count, 1), float64))
    return cast(call("floor", exponent), int64) + 2


def _places(b: Builder, bounds: Tensor, x: Value, is_int32: bool, right: bool) -> Tensor:
    """Before which of the bounds along the last dimension each value belongs."""
    op = "gt" if right else "ge"

    def before(bound: Expr, value: Expr) -> Expr:
        # NaN is above every number: it lies behind each bound that is not above it.
        return binary("eq", binary(op, bound, value), const(False, bool_))

    return b.cast(bisected(b, bounds, x, before), int32 if is_int32 else int64)


def _searchsorted(
    b: Builder,
    bounds: Tensor,
    x: Value,
    int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    *_: Value,
) -> Tensor:
    if side == "left" and right:
        b.error(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left"
            " while right was True"
        )
    if isinstance(x, Tensor) and bounds.rank != 1:
        b.require_alike(
            bounds.shape[:-1],
            x.shape[:-1] if x.rank else (const(1),),
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1"
            " dimensions of boundaries tensor and input value tensor must match, but we got"
            f" boundaries tensor {sizes_text(bounds.shape)} and input value tensor"
            f" {sizes_text(x.shape)}",
        )
    if sorter is not None:
        b.require_alike(
            sorter.shape,
            bounds.shape,
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary"
            f" tensor {sizes_text(bounds.shape)}and got sorter tensor {sizes_text(sorter.shape)}",
        )
        bounds = b.apply("aten::gather", bounds, -1, sorter)
    return _places(b, bounds, x, int32, right or side == "right")


BISECTION: Rows = {
    "aten::bucketize": lambda b, x, bounds, int32=False, right=False: _places(
        b, bounds, x, int32, right
    ),
    "aten::searchsorted": _searchsorted,
}

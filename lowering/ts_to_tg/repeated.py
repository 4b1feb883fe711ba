"""`repeat_interleave`: every element as often as a number says, or each as often as its own.

The result's element j comes from the place before which as many places end as at or before j: a
running sum of how many end where, and where they end is the running sum of the counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import int32, int64
from tensorscript.dialects.te.expr import Expr, binary, const
from tensorscript.dialects.tg import ops as tg

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .dims import dimension, size_of, sizes_of
from .elements import as_expr, known
from .emission import Body
from .sizes import simplify
from .values import Tensor, Value


def _repeated_alike(
    b: Builder, x: Tensor, times: Value, dim: Value = None, output_size: Value = None, *_: Value
) -> Tensor:
    """Every slice of a dimension as often as one number says."""
    if dim is None or not x.rank:
        x = b.call("aten::reshape", x, [-1])
    d = dimension(b, dim or 0, x.rank)
    count = as_expr(times)
    b.check(binary("ge", count, const(0)), "Repeats must be non-negative")
    made = b.size(size_of(simplify(x.shape[d] * count)))
    if output_size is not None:
        wanted = size_of(output_size)
        b.require_same(
            wanted,
            made,
            f"repeat_interleave: Invalid output_size, expected {made} but got {wanted}",
        )
    shape = [*x.shape[:d], made, *x.shape[d + 1 :]]

    def make(body: Body, i: list[Expr]) -> Expr:
        step = body.embed(count)
        return body.read(x, [e // step if k == d else e for k, e in enumerate(i)], x.dtype)

    return b.compute(shape, x.dtype, make, tg.ViewOp if count.is_const else tg.GatherOp)


def _repeated_places(b: Builder, repeats: Tensor, size: Value = None, *_: Value) -> Tensor:
    """Place k as often as `repeats` says, in order."""
    if repeats.rank != 1:
        b.error("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (int32, int64):
        b.unimplemented("repeat_interleave_cpu", repeats.dtype)
    fine = b.item(b.apply("aten::all", b.apply("aten::ge", repeats, 0)))
    b.check(fine, "repeats can not be negative")
    total = b.item(b.apply("aten::sum", repeats))
    if size is not None:
        b.check(
            known(binary("eq", as_expr(total), as_expr(size))),
            "allocated size does not match required size",
        )
    (count,) = sizes_of(b, [total if size is None else size])
    ends = b.apply("aten::cumsum", repeats, 0)

    def end(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        return [body.read(ends, d, int64)], const(1)

    # The last ones end behind the result.
    steps = b.scatter(b.full((simplify(count + 1),), 0, int64), ends.shape, end, "add")
    found = b.apply("aten::cumsum", b.apply("aten::narrow", steps, 0, 0, count), 0)
    return b.cast(found, repeats.dtype)


def repeated(
    b: Builder, x: AnyTensor, repeats: Tensor, dim: Value = None, size: Value = None, *_: Value
) -> AnyTensor:
    x = b.apply("aten::reshape", x, [-1]) if dim is None else x
    d = dimension(b, 0 if dim is None else dim, x.rank)
    count = x.shape[d] if x.rank else const(1)
    b.take_above_one(*repeats.shape)
    if not repeats.rank or repeats.shape[0].is_int(1):
        repeats = b.apply("aten::expand", b.apply("aten::reshape", repeats, [1]), [count])
    b.require_same(
        repeats.shape[0],
        count,
        "repeats must have the same size as input along dim, but got repeats.size(0) ="
        f" {repeats.shape[0]} and input.size({d}) = {count}",
    )
    return b.apply("aten::index_select", x, d, _repeated_places(b, repeats, size))


REPEATED: Rows = {
    "aten::repeat_interleave": _repeated_alike,
    "aten::repeat_interleave.Tensor": _repeated_places,
    "aten::repeat_interleave.self_Tensor": repeated,
}

"""Rows that compare, test and choose; their results are bool tensors or selections."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import DType, bool_, promote_types
from tensorscript.dialects.te.expr import Expr, binary, call, const, select, unary

from .builder import Builder, Rows
from .elements import compute_dtype
from .emission import Body
from .pointwise import absolute
from .scalar_truth import TRUTH
from .values import Tensor, Value


def comparison(op: str) -> Callable[..., Tensor]:
    def row(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
        wide = compute_dtype(b.result_type(x, y))
        given = b.operands(x, y)
        return b.pointwise(lambda p, q: binary(op, p, q), *given, dtype=bool_, compute=wide)

    return row


def test(name: str, for_integers: bool) -> Callable[..., Tensor]:
    """isnan and its kind; integers have one answer."""

    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        if not x.dtype.is_floating_point:
            return b.full(x.shape, for_integers, bool_)
        wide = compute_dtype(x.dtype)
        return b.pointwise(lambda e: call(name, e), x, dtype=bool_, compute=wide)

    return row


def logical(op: str) -> Callable[..., Tensor]:
    def row(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
        return b.pointwise(lambda p, q: binary(op, p, q), x, y, dtype=bool_, compute=bool_)

    return row


def _logical_not(b: Builder, x: Tensor, *_: Value) -> Tensor:
    return b.pointwise(lambda e: unary("not", e), x, dtype=bool_, compute=bool_)


def chosen(b: Builder, condition: Tensor, yes: Value, no: Value, dtype: DType) -> Tensor:
    """select(condition, yes, no) broadcast, in `dtype`."""
    tensors = [v for v in (condition, yes, no) if isinstance(v, Tensor)]
    shape = b.broadcast_shapes(*(t.shape for t in tensors))
    wide = compute_dtype(dtype)

    def make(body: Body, i: list[Expr]) -> Expr:
        def side(v: Value) -> Expr:
            if not isinstance(v, Tensor):
                return body.scalar(v, wide)
            return body.broadcast(v, i, wide, shape)

        return select(body.broadcast(condition, i, bool_, shape), side(yes), side(no))

    return b.compute(shape, dtype, make)


def where(b: Builder, condition: Tensor, yes: Value = None, no: Value = None, *_: Value) -> Value:
    if yes is None or no is None:
        return b.call("aten::nonzero_numpy", condition)
    if condition.dtype is not bool_:
        condition = b.cast(condition, bool_)
    return chosen(b, condition, yes, no, b.result_type(yes, no))


def _masked_fill(b: Builder, x: Tensor, mask: Tensor, value: Value, *_: Value) -> Tensor:
    if mask.dtype is not bool_:
        b.error(
            "masked_fill_ only supports boolean masks, but got mask with dtype " + mask.dtype.name
        )
    return chosen(b, mask, value, x, x.dtype)


def _isclose(
    b: Builder,
    x: Tensor,
    y: Tensor,
    rtol: Value = 1e-5,
    atol: Value = 1e-8,
    equal_nan: bool = False,
    *_: Value,
) -> Tensor:
    if not x.dtype.is_floating_point:
        x, y = b.cast(x, b.default_dtype), b.cast(y, b.default_dtype)

    def fn(p: Expr, q: Expr, r: Expr, a: Expr) -> Expr:
        close = binary("le", absolute(p - q), a + r * absolute(q))
        finite = binary("and", call("isfinite", p), call("isfinite", q))
        near = binary("or", p.equals(q), binary("and", finite, close))
        if equal_nan:
            both = binary("and", call("isnan", p), call("isnan", q))
            near = binary("or", near, both)
        return near

    wide = compute_dtype(promote_types(x.dtype, y.dtype))
    return b.pointwise(fn, x, y, rtol, atol, dtype=bool_, compute=wide)


def _infinite(positive: bool) -> Callable[..., Tensor]:
    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        if not x.dtype.is_floating_point:
            return b.full(x.shape, False, bool_)
        end = const(float("inf") if positive else float("-inf"), compute_dtype(x.dtype))
        return b.pointwise(lambda e: e.equals(end), x, dtype=bool_, compute=compute_dtype(x.dtype))

    return row


_WORDS = {
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "not_equal": "ne",
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip

COMPARISON: Rows = {
    "aten::eq.Tensor_list": TRUTH["aten::eq"],
    "aten::ne.Tensor_list": TRUTH["aten::ne"],
    **{f"aten::{word}": comparison(op) for word, op in _WORDS.items()},
    "aten::isnan": test("isnan", False),
    "aten::isinf": test("isinf", False),
    "aten::isfinite": test("isfinite", True),
    "aten::isposinf": _infinite(True),
    "aten::isneginf": _infinite(False),
    "aten::logical_and": logical("and"),
    "aten::logical_or": logical("or"),
    "aten::logical_xor": logical("xor"),
    "aten::logical_not": _logical_not,
    "aten::where": where,
    "aten::masked_fill": _masked_fill,
    "aten::isclose": _isclose,
}

"""Random expressions: vector code gives bit for bit what scalar code gives, and NumPy agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
from emit_harness import Compiled, parse_te
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorscript.backends.llvm.emit_context import EmitOptions
from tensorscript.base.dtypes import DType, bool_, float32, int64
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, select, unary, var
from tensorscript.dialects.te.ops import ForOp, IfOp, LetOp, StoreOp, functions

SIZE, WIDTH = 23, 8
DATA: dict[str, np.ndarray[Any, Any]] = {
    "x": np.random.default_rng(0).standard_normal(SIZE).astype("f4") * 9,
    "n": np.random.default_rng(1).integers(-20, 20, SIZE),
    "p": np.random.default_rng(2).integers(0, 2, SIZE).astype(bool),
}
DATA["x"][3], DATA["x"][11] = np.nan, -0.0
INDEX = var("i")
REVERSED = const(SIZE - 1) - INDEX


def leaf(dtype: DType) -> st.SearchStrategy[Expr]:
    name = {float32: "x", int64: "n", bool_: "p"}[dtype]
    reads = [load(name, [at], dtype) for at in (INDEX, REVERSED, const(5))]
    if dtype is float32:
        return st.sampled_from([*reads, const(1.5, float32), const(-0.0, float32)])
    if dtype is bool_:
        return st.sampled_from([*reads, const(True, bool_), INDEX < 9, INDEX * 2 >= 7])
    return st.sampled_from([*reads, const(3), const(-4), INDEX, REVERSED * 3])


def tree(dtype: DType, depth: int) -> st.SearchStrategy[Expr]:
    if depth == 0:
        return leaf(dtype)

    def below(d: DType) -> st.SearchStrategy[Expr]:
        return tree(d, depth - 1)

    def pairs(ops: list[str], d: DType) -> st.SearchStrategy[Expr]:
        return st.builds(binary, st.sampled_from(ops), below(d), below(d))

    chosen = st.builds(select, below(bool_), below(dtype), below(dtype))
    if dtype is bool_:
        tests = pairs(["lt", "le", "eq", "ne"], int64) | pairs(["lt", "ge", "ne"], float32)
        return tests | pairs(["and", "or", "xor"], bool_) | chosen | leaf(dtype)
    if dtype is float32:
        casts = st.builds(cast, below(int64), st.just(float32))
        return pairs(["add", "sub", "mul", "min", "max"], float32) | casts | chosen | leaf(dtype)
    whole = pairs(["add", "sub", "mul", "min", "max", "and", "xor"], int64)
    guarded = st.builds(
        lambda a, b: select(binary("ne", b, 0), binary("floordiv", a, b), const(-1)),
        below(int64), below(int64),
    )  # fmt: skip
    modulo = st.builds(lambda a: binary("mod", a, const(7)), below(int64))
    casts = st.builds(cast, below(bool_), st.just(int64))
    flipped = st.builds(unary, st.just("neg"), below(int64))
    return whole | guarded | modulo | casts | chosen | flipped | leaf(dtype)


def compute(e: Expr, i: np.ndarray[Any, Any]) -> Any:
    """`e` for all indices by NumPy."""
    a = [compute(x, i) for x in e.args]
    numpy = {"floordiv": "floor_divide", "min": "minimum", "max": "maximum", "sub": "subtract",
             "mul": "multiply", "lt": "less", "le": "less_equal", "gt": "greater",
             "ge": "greater_equal", "eq": "equal", "ne": "not_equal", "and": "bitwise_and",
             "or": "bitwise_or", "xor": "bitwise_xor", "neg": "negative"}  # fmt: skip
    match e.op:
        case "const":
            return e.dtype.numpy.type(e.value)
        case "var":
            return i
        case "load":
            return DATA[str(e.value)][a[0]]
        case "select":
            return np.where(a[0], a[1], a[2])
        case "cast":
            return np.asarray(a[0]).astype(e.dtype.numpy)
    return getattr(np, numpy.get(e.op, e.op))(*a)


def run(value: Expr, bind: bool, width: int) -> np.ndarray[Any, Any]:
    """y[i] = value for all i, by a scalar loop or by vectors with a masked tail."""
    module = parse_te(
        f"te.func @k kernel scheduled (x: f32[{SIZE}], n: i64[{SIZE}], p: b1[{SIZE}], "
        f"out y: {value.dtype.short}[{SIZE}]) {{\n}}"
    )
    (function,) = functions(module)
    body = (
        [LetOp("t", value), StoreOp("y", [INDEX], var("t", value.dtype))]
        if bind
        else [StoreOp("y", [INDEX], value)]
    )
    if width == 1:
        function.block.add_op(ForOp("i", SIZE, body))
    else:
        index = LetOp("i", var("o") * width + var("v"))
        guarded = IfOp(INDEX < SIZE, body)
        inner = ForOp("v", width, [index, guarded], "vector")
        function.block.add_op(ForOp("o", -(-SIZE // width), [inner]))
    out = np.zeros(SIZE, value.dtype.numpy)
    assert Compiled(module, EmitOptions(strict=True))(*DATA.values(), out) == 0
    return out


@settings(max_examples=25, deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(st.sampled_from([float32, int64, bool_]).flatmap(lambda d: tree(d, 3)), st.booleans())
def test_random_expressions(value: Expr, bind: bool) -> None:
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(compute(value, np.arange(SIZE)), SIZE)
    scalar, vector = run(value, bind, 1), run(value, bind, WIDTH)
    np.testing.assert_array_equal(scalar, vector)
    np.testing.assert_array_equal(scalar, expected)

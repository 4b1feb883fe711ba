"""Do networks of vectors sort, whatever the width of vectors and the order in which lanes run?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, StringAttr
from xdsl.parser import Parser

import tensorscript as ts
from tensorscript.dialects.te.ops import TE, ForOp, FuncOp, functions
from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import apply
from tensorscript.lowering.te.evaluate import evaluate


def both(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.sort(x)


def values(x: ts.Tensor) -> ts.Tensor:
    return ts.sort(x)[0]


def descending(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.sort(x, 0, True)


def largest(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.topk(x, 5)


def seventh(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.kthvalue(x, 7)


SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.0, -3.0]


def numbers(dtype: str, length: int) -> np.ndarray:
    """Few different ones, all special ones among them."""
    random = np.random.default_rng(length)
    if dtype.startswith("f"):
        return random.choice(SPECIAL, length).astype(dtype)
    ends = np.iinfo(dtype)
    return random.choice([ends.min, ends.max, 0, 1, 2, 5], length).astype(dtype)


def kernel_of(text: str) -> FuncOp:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    module = Parser(context, text).parse_module()
    return next(f for f in functions(module) if f.role.data == "kernel")


def run_sorted(
    program: Any, vector_bytes: int, x: np.ndarray, outputs: list[np.ndarray], seed: int
) -> None:
    """Evaluate the scheduled kernel of `program`, which writes to `outputs`."""
    func = kernel_of(ts.compile(program, (x,), fallback="error").ir("te"))
    loop = func.block.first_op
    assert isinstance(loop, ForOp)
    apply(func, (step("tensorize", loop.var, "sort", vector_bytes),))
    func.properties["level"] = StringAttr("scheduled")
    func.verify()
    names = [p.name for p in func.params]
    evaluate(func, dict(zip(names, [x, *outputs], strict=True)), seed)


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize(("dtype", "length"), [("f4", 40), ("f4", 150), ("f8", 70), ("u1", 90)])
def test_networks_keep_the_order_that_ranks_state(
    dtype: str, length: int, vector_bytes: int
) -> None:
    x = numbers(dtype, length)
    for seed, program in enumerate((both, values)):
        outputs = [np.zeros(length, dtype), np.zeros(length, "i8")][: 2 - seed]
        run_sorted(program, vector_bytes, x, outputs, seed)
        order = np.argsort(x, kind="stable")
        np.testing.assert_array_equal(outputs[0], x[order])
        if seed == 0:
            np.testing.assert_array_equal(outputs[1], order)


@pytest.mark.parametrize(("dtype", "length"), [("f4", 600), ("f8", 601), ("i4", 602)])
def test_selections_keep_the_order_that_ranks_state(dtype: str, length: int) -> None:
    x = numbers(dtype, length)
    outputs = [np.zeros(5, dtype), np.zeros(5, "i8")]
    run_sorted(largest, 64, x, outputs, length)
    order = (length - 1 - np.argsort(x[::-1], kind="stable")[::-1])[:5]
    np.testing.assert_array_equal(outputs[1], order)
    np.testing.assert_array_equal(outputs[0], x[order])


@pytest.mark.parametrize("length", [7, 40, 700])
def test_of_a_kth_value_no_more_is_sorted_than_k(length: int) -> None:
    x = numbers("f4", length)
    compiled = ts.compile(seventh, (x,), fallback="error")
    value, place = compiled(x)
    assert place == np.argsort(x, kind="stable")[6]
    np.testing.assert_array_equal(value, x[place])
    assert "o0: f32[7]" in compiled.ir("te")


@pytest.mark.parametrize(("dtype", "length"), [("f2", 300), ("f4", 70000), ("f8", 300)])
def test_signs_of_zeros_and_nan_move_along(dtype: str, length: int) -> None:
    x = numbers(dtype, length)
    for program, order in (
        (both, np.argsort(x, kind="stable")),
        (descending, length - 1 - np.argsort(x[::-1], kind="stable")[::-1]),
    ):
        result, places = ts.compile(program, (x,), fallback="error")(x)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(result, x[order])
        np.testing.assert_array_equal(np.signbit(result), np.signbit(x[order]))
    alone = ts.compile(values, (x,), fallback="error")(x)
    assert np.signbit(alone).sum() == np.signbit(x).sum()


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8"])
def test_the_ends_of_integers(dtype: str) -> None:
    x = numbers(dtype, 3000)
    compiled = ts.compile(descending, (x,), fallback="error")
    result, places = compiled(x)
    order = 2999 - np.argsort(x[::-1], kind="stable")[::-1]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(result, x[order])


def test_a_tile_stays_in_registers() -> None:
    compiled = ts.compile(values, (np.zeros(2000, "f4"),), fallback="error")
    text = compiled.ir("ll")
    assert "llvm.smin" in text
    assert "gather" not in text


def wide_keys(kind: str, length: int) -> np.ndarray:
    """Keys of 64 bits of which a part, with the place, tells the order, or does not."""
    random = np.random.default_rng(length)
    match kind:
        case "small":
            return random.integers(-9, 9, length)
        case "any":
            return random.integers(-(2**63), 2**63 - 1, length)
        case "pairs":  # neighbours in order differ in the lowest bits
            return random.integers(0, length // 2, length) * 2**50 + random.integers(0, 2, length)
        case "crowded":  # all but one do
            return np.append(random.integers(0, 200, length - 1), np.int64(2**62))
        case "floats":
            return random.standard_normal(length)
    return np.append(1 + 1e-16 * random.integers(0, 99, length - 2), [1e300, np.nan])


@pytest.mark.parametrize("kind", ["small", "any", "pairs", "crowded", "floats", "crowded floats"])
@pytest.mark.parametrize("length", [40, 3001])
def test_keys_that_leave_no_room_for_places(kind: str, length: int) -> None:
    x = wide_keys(kind, length)
    result, places = ts.compile(both, (x,), fallback="error")(x)
    np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(result, x[places])
    result, places = ts.compile(descending, (x,), fallback="error")(x)
    order = length - 1 - np.argsort(x[::-1], kind="stable")[::-1]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(result, x[order])

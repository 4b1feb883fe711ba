"""te.across: every combiner and dtype, by groups of a warp's threads, in the emulator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from emit_gpu_harness import launch
from emit_harness import parse_te
from xdsl.utils.exceptions import VerifyException

from tensorscript.backends.ptx.emulate import BarrierError
from tensorscript.lowering.te.verify import verify_function

SHORT = {"f2": "f16", "f4": "f32", "f8": "f64", "i1": "i8", "u1": "u8", "i2": "i16", "i4": "i32",
         "i8": "i64", "?": "b1"}  # fmt: skip
FLOATS, INTEGERS = ("f2", "f4", "f8"), ("i1", "u1", "i2", "i4", "i8")
COMBINERS: dict[str, tuple[np.ufunc, tuple[str, ...]]] = {
    "add": (np.add, (*FLOATS, *INTEGERS)),
    "mul": (np.multiply, ("f4", "f8", "i4", "i8")),
    "min": (np.minimum, (*FLOATS, *INTEGERS)),
    "max": (np.maximum, (*FLOATS, *INTEGERS)),
    "greater": (np.maximum, ("f4", "f8")),
    "and": (np.bitwise_and, (*INTEGERS, "?")),
    "or": (np.bitwise_or, (*INTEGERS, "?")),
    "xor": (np.bitwise_xor, (*INTEGERS, "?")),
}
CASES = [(name, dtype) for name, (_, dtypes) in COMBINERS.items() for dtype in dtypes]


def kernel(combiner: str, lanes: int, dtype: str, threads: int = 64) -> str:
    short = SHORT[dtype]
    return f"""te.func @k kernel scheduled (x: {short}[64], out y: {short}[64]) {{
      te.for tx in 0 .. {threads} tx {{
        te.alloc reg own: {short}[]
        te.store own[] = x.{short}[tx]
        te.across own {combiner}= {lanes}
        te.store y[tx] = own.{short}[()]
      }}
    }}"""


@pytest.mark.parametrize(("combiner", "dtype"), CASES)
def test_every_thread_has_what_its_group_has(combiner: str, dtype: str) -> None:
    rng = np.random.default_rng(CASES.index((combiner, dtype)))
    # Numbers whose sums and products are exact, so that their order does not matter.
    x = rng.choice([1, 2, 4, 3] if combiner == "mul" else np.arange(-6, 9), 64).astype(dtype)
    lanes = (2, 8, 32)[CASES.index((combiner, dtype)) % 3]
    y = np.zeros_like(x)
    launch(kernel(combiner, lanes, dtype), x, y)
    reduce: Callable[..., np.ndarray] = COMBINERS[combiner][0].reduce
    groups = reduce(x.reshape(-1, lanes), axis=1, dtype=x.dtype)
    np.testing.assert_array_equal(y, np.repeat(groups, lanes))


def test_all_threads_have_the_same_bits() -> None:
    """`greater` tells neither zeros nor NaN apart, so that it depends on who asks which is left."""
    for odd in (-0.0, np.nan):
        x, y = np.zeros(64, "f4"), np.ones(64, "f4")
        x[1::2] = odd
        launch(kernel("greater", 16, "f4"), x, y)
        assert all(len(set(group)) == 1 for group in y.view("u4").reshape(4, 16))


def test_nan_reaches_everybody() -> None:
    for combiner in ("max", "min", "add"):
        x, y = np.arange(64, dtype="f4"), np.zeros(64, "f4")
        x[37] = np.nan
        launch(kernel(combiner, 16, "f4"), x, y)
        assert np.isnan(y[32:48]).all()
        assert not np.isnan(y[48:]).any() and not np.isnan(y[:32]).any()


def test_a_thread_that_is_not_there_is_found() -> None:
    """Half a warp: the mask names threads that do not exist, whose values would be anything."""
    x, y = np.ones(64, "f4"), np.zeros(64, "f4")
    with pytest.raises(BarrierError, match="not a live member"):
        launch(kernel("add", 32, "f4", threads=48), x, y)


def test_a_thread_that_stays_away_is_a_deadlock() -> None:
    text = """te.func @k kernel scheduled (x: f32[64], out y: f32[64]) {
      te.for tx in 0 .. 64 tx {
        te.alloc reg own: f32[]
        te.store own[] = x.f32[tx]
        te.if x.f32[tx] < (3.0).f32 {
          te.across own add= 32
        }
        te.sync shared
        te.store y[tx] = own.f32[()]
      }
    }"""
    with pytest.raises(BarrierError, match="deadlock"):
        launch(text, np.arange(64, dtype="f4"), np.zeros(64, "f4"))


def test_it_is_checked() -> None:
    with pytest.raises(VerifyException, match="not 12"):
        parse_te(kernel("add", 12, "f4"))
    with pytest.raises(VerifyException, match="unknown combiner sub"):
        parse_te(kernel("sub", 32, "f4"))
    module = parse_te(kernel("add", 32, "f4"))
    assert "te.across own add= 32" in str(module)
    text = "\n".join(map(str, module.ops))
    assert "\n".join(map(str, parse_te(text).ops)) == text
    (function,) = parse_te(kernel("add", 32, "f4").replace("across own", "across other")).ops
    with pytest.raises(VerifyException, match="there is no buffer other"):
        verify_function(function)

"""te.matrices and te.multiply: fragments and their product, in the emulator and by ptxas."""

from __future__ import annotations

import numpy as np
import pytest
from emit_gpu_harness import launch
from emit_harness import parse_te
from xdsl.utils.exceptions import VerifyException

from tensorscript.backends.ptx.emulate import RaceError
from tensorscript.base.errors import InternalError


def kernel(short: str, x_order: str = "along", y_order: str = "across") -> str:
    """A warp stages x and y, loads their fragments, and writes the 16 by 16 product."""
    return f"""te.func @k kernel scheduled (x: {short}[16, 16], y: {short}[16, 16], out z: f32[16, 16]) {{
      te.for tx in 0 .. 32 tx {{
        te.alloc shared xs: {short}[16, 24]
        te.alloc shared ys: {short}[16, 24]
        te.alloc reg s: f32[8]
        te.alloc reg a: i32[4]
        te.alloc reg b: i32[4]
        te.for i in 0 .. 8 unroll {{
          te.store s[i] = (0.0).f32
          te.store xs[(i * 32 + tx) // 16, tx % 16] = x.{short}[(i * 32 + tx) // 16, tx % 16]
          te.store ys[(i * 32 + tx) // 16, tx % 16] = y.{short}[(i * 32 + tx) // 16, tx % 16]
        }}
        te.sync warp
        te.matrices a.i32[0] = xs.{short}[tx % 16, tx // 16 * 8], {x_order}
        te.matrices b.i32[0] = ys.{short}[tx % 16, tx // 16 * 8], {y_order}
        te.multiply {short} s.f32[0] add= a.i32[0], b.i32[0]
        te.multiply {short} s.f32[4] add= a.i32[0], b.i32[2]
        te.for j in 0 .. 8 unroll {{
          te.store z[tx // 4 + j // 2 % 2 * 8, j // 4 * 8 + tx % 4 * 2 + j % 2] = s.f32[j]
        }}
      }}
    }}"""  # noqa: E501 (a te head is one line)


def bits(x: np.ndarray, short: str) -> np.ndarray:
    return x.astype("f2") if short == "f16" else (x.view("u4") >> 16).astype("u2")


@pytest.mark.parametrize("short", ["f16", "bf16"])
@pytest.mark.parametrize("order", ["across", "along"])
def test_a_product(short: str, order: str) -> None:
    """Along, the four matrices are read as they lie, so that the second factor is turned, and the
    matrices of its upper right and lower left change places."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-8, 9, (16, 16)).astype("f4") for _ in range(2))
    z = np.zeros((16, 16), "f4")
    ptx, _ = launch(kernel(short, y_order=order), bits(x, short), bits(y, short), z)
    blocks = y.reshape(2, 8, 2, 8)
    turned = y if order == "across" else blocks.transpose(0, 3, 2, 1).reshape(16, 16)
    np.testing.assert_array_equal(z, x @ turned)
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f32") == 2
    assert ".local" not in ptx


def test_a_barrier_is_needed() -> None:
    x, z = np.zeros((16, 16), "f2"), np.zeros((16, 16), "f4")
    with pytest.raises(RaceError, match="ldmatrix"):
        launch(kernel("f16").replace("te.sync warp", ""), x, x, z)


def test_texts_and_refusals() -> None:
    module = parse_te(kernel("f16"))
    text = "\n".join(map(str, module.ops))
    assert "te.matrices b.i32[0] = ys.f16[tx % 16, tx // 16 * 8], across" in text
    assert "te.multiply f16 s.f32[4] add= a.i32[0], b.i32[2]" in text
    assert "\n".join(map(str, parse_te(text).ops)) == text
    for old, new, reason in (
        ("te.multiply f16", "te.multiply f32", "no matrix unit for f32"),
        ("s.f32[0] add= a", "a.i32[0] add= a", "sums are a line of float32"),
        ("a.i32[0], b", "s.f32[0], b", "factors are lines of int32"),
        ("= xs.f16[tx % 16, tx // 16 * 8]", "= a.i32[0]", "numbers of 16 bits"),
        ("te.matrices a.i32[0]", "te.matrices s.f32[0]", "into a line of int32"),
    ):
        with pytest.raises(VerifyException, match=reason):
            parse_te(kernel("f16").replace(old, new))
    with pytest.raises(InternalError, match="loaded from shared memory"):
        launch(
            kernel("f16").replace("te.matrices a.i32[0] = xs", "te.matrices a.i32[0] = x"),
            *[np.zeros((16, 16), "f2")] * 2,
            np.zeros((16, 16), "f4"),
        )

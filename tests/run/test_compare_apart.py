"""Are numbers that lie apart compared as they lie, and are the right bits picked?"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from emit_harness import parse_te, run_te

import tensorscript as ts
from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.target import host

KERNEL = """te.func @k kernel scheduled (x: {dtype}[640, {columns}], c: {dtype}, out y: b1[640]) {{
  te.for o in 0 .. 10 serial {{
    te.for v in 0 .. {lanes} vector {{
      te.store y[o * {lanes} + v] = {condition}
    }}
  }}
}}"""


def kernel(dtype: str, columns: int, condition: str, lanes: int = 64) -> str:
    read = f"x.{dtype}[o * {lanes} + v, {columns - 1}]"
    condition = condition.format(x=read, c=f"c.{dtype}")
    return KERNEL.format(dtype=dtype, columns=columns, condition=condition, lanes=lanes)


@pytest.mark.parametrize("condition", ["{x} > {c}", "{c} > {x}", "{x} == {c}", "{c} <= {x}"])
@pytest.mark.parametrize(("dtype", "columns"), [("f32", 3), ("f64", 5), ("i32", 2), ("i16", 7)])
def test_the_right_bits_are_picked(dtype: str, columns: int, condition: str) -> None:
    numpy = np.dtype(f"{dtype[0]}{int(dtype[1:]) // 8}")
    x = np.random.default_rng(columns).integers(-2, 3, (640, columns)).astype(numpy)
    c, found = numpy.type(1), np.zeros(640, "?")
    assert run_te(kernel(dtype, columns, condition), x, c, found) == 0
    wanted = eval(condition.format(x="x[:, -1]", c="c"), {"x": x, "c": c})
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("dtype", "columns", "lanes", "bits"),
    [("f32", 3, 64, True), ("u8", 3, 64, False), ("f32", 3, 32, False), ("f32", 40, 64, False)],
)
def test_what_is_compared_as_it_lies(dtype: str, columns: int, lanes: int, bits: bool) -> None:
    target = replace(
        host(), triple="x86_64-unknown-linux-gnu", cpu="znver5", features="", vector_bytes=64
    )
    module = parse_te(kernel(dtype, columns, "{x} > {c}", lanes))
    text = emit_module(module, target, {}, None)
    assert (f"sext <{lanes} x i1>" in text) == bits


COLUMNS = """te.func @k kernel scheduled (x: f32[{rows}, 3], c: f32, out y: b1[{rows}]) {{
  te.for o in 0 .. {rows} // 64 serial {{
    te.alloc reg s: b1[64]
    te.for a in 0 .. 64 vector {{
      te.store s[a] = x.f32[o * 64 + a, 0] > c.f32
    }}
    te.for b in 0 .. 64 vector {{
      te.update s[b] or= x.f32[o * 64 + b, 1] > c.f32
    }}
    te.for d in 0 .. 64 vector {{
      te.update s[d] or= x.f32[o * 64 + d, 2] > c.f32
    }}
    te.for e in 0 .. 64 vector {{
      te.store y[o * 64 + e] = s.b1[e]
    }}
  }}
}}"""


def test_columns_share_their_vectors() -> None:
    """Three vectors of 64 hold 64 rows: each column reads those, and none that overlaps them."""
    target = replace(
        host(), triple="x86_64-unknown-linux-gnu", cpu="znver5", features="", vector_bytes=64
    )
    text = emit_module(parse_te(COLUMNS.format(rows=640)), target, {}, None)
    starts = re.findall(r"getelementptr inbounds float, ptr %p\.\d+, i64 (\d+)", text)
    assert sorted(set(map(int, starts))) == [0, 64, 128]


def test_bits_of_registers_are_cut_from_their_bytes() -> None:
    """A truncation undoes an extension, which LLVM sees; it does not see that of a comparison."""
    module = parse_te(COLUMNS.format(rows=640))
    text = emit_module(module, host(), {}, None)
    assert text.count("trunc <64 x i8>") == 3
    assert "icmp ne <64 x i8>" not in text


def test_columns_at_the_end_of_their_memory() -> None:
    x, found = np.zeros((640, 3), "f4"), np.zeros(640, "?")
    x[[3, 639, 128], [0, 2, 1]] = 2
    assert run_te(COLUMNS.format(rows=640), x, np.float32(1), found) == 0
    assert np.flatnonzero(found).tolist() == [3, 128, 639]


def any_of_rows(x: ts.Tensor) -> ts.Tensor:
    return (x > 0.5).any(1)


@pytest.mark.parametrize("rows", [64, 1000, 1003])
def test_any_of_short_rows(rows: int) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 3)).astype("f4")
    compiled = ts.compile(any_of_rows, (x,), fallback="error")
    np.testing.assert_array_equal(compiled(x), (x > 0.5).any(1))

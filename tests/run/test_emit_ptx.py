"""te kernels with GPU loops: emitted, assembled to PTX, run by the emulator, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from emit_gpu_harness import TARGET, launch
from emit_harness import parse_te

from tensorscript.backends.ptx.emit import emit_kernel_module
from tensorscript.base.errors import InternalError


def test_pointwise_with_vector_loads() -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 2048), "f4")
    z = np.zeros(2048, "f4")
    text = """te.func @k kernel scheduled (x: f32[2048], y: f32[2048], out z: f32[2048]) {
      te.for bx in 0 .. 4 bx {
        te.for tx in 0 .. 128 tx {
          te.for lane in 0 .. 4 vector {
            te.store z[(bx * 128 + tx) * 4 + lane] = sigmoid(x.f32[(bx * 128 + tx) * 4 + lane] * y.f32[(bx * 128 + tx) * 4 + lane] + (1.0).f32)
          }
        }
      }
    }"""  # noqa: E501 (a te head is one line)
    ptx, kernel = launch(text, x, y, z)
    np.testing.assert_allclose(z, 1 / (1 + np.exp(-(x * y + 1))), rtol=2e-6)
    assert ptx.count("ld.global.v4") == 2 or ptx.count(".v4.") >= 3
    assert ".local" not in ptx
    assert [str(e) for e in (*kernel.grid, *kernel.block)] == ["4", "1", "1", "128", "1", "1"]


def test_guarded_tail_and_symbolic_grid() -> None:
    x, z = np.arange(1000, dtype="f4"), np.zeros(1000, "f4")
    text = """te.func @k kernel scheduled (x: f32[N], out z: f32[N], N: i64, s: f64) {
      te.for bx in 0 .. (N + 127) // 128 bx {
        te.for tx in 0 .. 128 tx {
          te.if bx * 128 + tx < N {
            te.store z[bx * 128 + tx] = x.f32[bx * 128 + tx] * f32(s.f64)
          }
        }
      }
    }"""
    launch(text, x, z, 1000, 2.5)
    np.testing.assert_array_equal(z, x * np.float32(2.5))


def test_row_softmax_in_shared_memory() -> None:
    x = np.random.default_rng(1).standard_normal((3, 100)).astype("f4")
    y = np.zeros((3, 100), "f4")
    tree = "\n".join(
        f"te.sync shared\nte.if tx < {w} {{\nte.update part[tx] OP= part.f32[tx + {w}]\n}}"
        for w in (16, 8, 4, 2, 1)
    )

    def stage(name: str, op: str, start: str, value: str) -> str:
        return f"""te.alloc shared {name}: f32[32]
          te.alloc reg {name}_own: f32[]
          te.store {name}_own[] = {start}
          te.for {name}_o in 0 .. 4 serial {{
            te.if {name}_o * 32 + tx < 100 {{
              te.update {name}_own[] {op}= {value.replace("I", f"{name}_o * 32 + tx")}
            }}
          }}
          te.store {name}[tx] = {name}_own.f32[()]
          {tree.replace("part", name).replace("OP", op)}
          te.sync shared"""

    text = f"""te.func @k kernel scheduled (x: f32[3, 100], out y: f32[3, 100]) {{
      te.for bx in 0 .. 3 bx {{
        te.for tx in 0 .. 32 tx {{
          {stage("most", "max", "(-inf).f32", "x.f32[bx, I]")}
          {stage("total", "add", "(0.0).f32", "exp(x.f32[bx, I] - most.f32[0])")}
          te.for w in 0 .. 4 serial {{
            te.if w * 32 + tx < 100 {{
              te.store y[bx, w * 32 + tx] = exp(x.f32[bx, w * 32 + tx] - most.f32[0]) / total.f32[0]
            }}
          }}
        }}
      }}
    }}"""
    ptx, _ = launch(text, x, y)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-6)
    assert ".local" not in ptx


@pytest.mark.parametrize("dtype", ["f2", "i4", "?", "i8"])
def test_dtypes_and_integer_code(dtype: str) -> None:
    x = (np.random.default_rng(2).standard_normal(64) * 8).astype(dtype)
    short = {"f2": "f16", "i4": "i32", "?": "b1", "i8": "i64"}[dtype]
    z = np.zeros(64, "f4")
    w = np.zeros(64, dtype)
    text = f"""te.func @k kernel scheduled (x: {short}[64], out z: f32[64], out w: {short}[64]) {{
      te.for tx in 0 .. 16 tx {{
        te.for v in 0 .. 4 vector {{
          te.store z[tx * 4 + v] = f32(x.{short}[tx * 4 + v]) + f32((tx * 4 + v) % 7)
          te.store w[tx * 4 + v] = x.{short}[63 - (tx * 4 + v)]
        }}
      }}
    }}"""
    launch(text, x, z, w)
    np.testing.assert_array_equal(z, x.astype("f4") + np.arange(64) % 7)
    np.testing.assert_array_equal(w, x[::-1])


def test_two_loops_on_one_axis_and_local_loops() -> None:
    x = np.arange(40, dtype="i8")
    y, z = np.zeros(40, "i8"), np.zeros(8, "i8")
    text = """te.func @k kernel scheduled (x: i64[40], out y: i64[40], out z: i64[8]) {
      te.for t in 0 .. 40 tx {
        te.var n: i64 = x.i64[t]
        te.var s: i64 = 0
        te.while n > 0 {
          te.assign s = s + n % 10
          te.assign n = n // 10
        }
        te.store y[t] = s
      }
      te.for u in 0 .. 8 tx {
        te.store z[u] = x.i64[u] * 3
      }
    }"""
    _, kernel = launch(text, x, y, z)
    np.testing.assert_array_equal(y, [sum(map(int, str(n))) for n in x])
    np.testing.assert_array_equal(z, x[:8] * 3)
    assert str(kernel.block[0]) == "40"


def test_refusals() -> None:
    bad = """te.func @k kernel scheduled (out z: f32[8]) {
      te.for t in 0 .. 8 tx {
        te.alloc arena a: f32[8]
      }
    }"""
    with pytest.raises(InternalError, match=r"@k: a GPU thread cannot allocate arena a"):
        emit_kernel_module(parse_te(bad), TARGET)
    bad = """te.func @k kernel scheduled (out z: f32[8]) {
      te.for t in 0 .. 8 tx {
      }
      te.for u in 0 .. 4 tx {
        te.sync shared
      }
    }"""
    with pytest.raises(InternalError, match="a barrier inside a guarded loop"):
        emit_kernel_module(parse_te(bad), TARGET)

"""Loops, reductions, host control flow, storage, calls, asserts, parallel loops."""

from __future__ import annotations

import numpy as np
import pytest
from emit_harness import Compiled, parse_te, run_te
from xdsl.utils.exceptions import VerifyException

from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.llvm.emit_context import EmitOptions
from tensorscript.backends.target import host
from tensorscript.base.dtypes import float32
from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.ops import ConstantOp


def test_row_sum_with_vector_accumulators() -> None:
    x = np.random.default_rng(0).standard_normal((5, 103)).astype("f4")
    y = np.zeros(5, "f4")
    text = """te.func @k kernel scheduled (x: f32[5, 103], out y: f32[5]) {
      te.for i in 0 .. 5 serial {
        te.alloc reg acc: f32[16]
        te.for v in 0 .. 16 vector { te.store acc[v] = (0.0).f32 }
        te.for o in 0 .. 7 serial reduce {
          te.for v in 0 .. 16 vector {
            te.if o * 16 + v < 103 { te.update acc[v] add= x.f32[i, o * 16 + v] }
          }
        }
        te.store y[i] = (0.0).f32
        te.for v in 0 .. 16 vector reduce { te.update y[i] add= acc.f32[v] }
      }
    }"""
    text = text.replace(" vector { ", " vector {\n").replace(" { te.up", " {\n te.up")
    text = text.replace("32 }", "32\n}").replace("v] }", "v]\n}")
    assert run_te(text, x, y) == 0
    np.testing.assert_allclose(y, x.sum(1), rtol=1e-5)


@pytest.mark.parametrize("kind", ["serial", "vector"])
@pytest.mark.parametrize("combiner", ["add", "mul", "min", "max", "greater"])
def test_reductions_to_one_element(combiner: str, kind: str) -> None:
    x = np.random.default_rng(1).standard_normal(13).astype("f4")
    y = np.array([1], "f4")
    text = f"""te.func @k kernel scheduled (x: f32[13], inout y: f32[1]) {{
      te.for v in 0 .. 13 {kind} reduce {{
        te.update y[0] {combiner}= x.f32[v]
      }}
    }}"""
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum}
    function = functions.get(combiner, np.maximum)
    assert run_te(text, x, y) == 0
    np.testing.assert_allclose(y[0], function.reduce(x, initial=np.float32(1)), rtol=1e-5)
    if combiner in ("min", "max"):
        x[5] = np.nan
        assert run_te(text, x, y) == 0
        assert np.isnan(y[0])


@pytest.mark.parametrize("combiner", ["and", "or", "xor", "min", "max"])
def test_integer_and_bool_reductions(combiner: str) -> None:
    x = np.random.default_rng(2).integers(-100, 100, 16)
    y = np.array([77])
    text = """te.func @k kernel scheduled (x: i64[16], inout y: i64[1]) {
      te.for v in 0 .. 16 vector reduce {
        te.if x.i64[v] > 0 {
          te.update y[0] COMBINER= x.i64[v]
        }
      }
    }""".replace("COMBINER", combiner)
    names: dict[str, np.ufunc] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    names |= {"min": np.minimum, "max": np.maximum}
    assert run_te(text, x, y) == 0
    assert y[0] == names[combiner].reduce(np.append(x[x > 0], 77))


def test_histogram_lanes_may_meet() -> None:
    x = np.random.default_rng(3).integers(0, 4, 32)
    y = np.zeros(4, "i8")
    text = """te.func @k kernel scheduled (x: i64[32], inout y: i64[4]) {
      te.for o in 0 .. 2 serial {
        te.for v in 0 .. 16 vector {
          te.if x.i64[o * 16 + v] < 3 {
            te.update y[x.i64[o * 16 + v]] add= 1
          }
        }
      }
    }"""
    assert run_te(text, x, y) == 0
    np.testing.assert_array_equal(y, [*np.bincount(x, minlength=4)[:3], 0])


COLLATZ = """te.func @k host logical (out y: i64[1], n: i64) {
  te.var best: i64 = 0
  te.for s in 1 .. n serial {
    te.var c: i64 = s
    te.var steps: i64 = 0
    te.while c != 1 {
      te.if c % 2 == 0 {
        te.assign c = c // 2
      } else {
        te.assign c = 3 * c + 1
      }
      te.assign steps = steps + 1
    }
    te.assign best = max(best, steps)
  }
  te.store y[0] = best
}"""


def test_collatz_is_a_native_loop() -> None:
    y = np.zeros(1, "i8")
    assert run_te(COLLATZ, y, np.int64(1000)) == 0
    assert y[0] == 178


@pytest.mark.parametrize("kind", ["serial", "vector"])
def test_while_with_lanes(kind: str) -> None:
    """Escape times: in a vector loop each lane leaves the while on its own."""
    x, y = np.linspace(-2, 0.5, 16), np.zeros(16, "i8")
    text = f"""te.func @k kernel scheduled (x: f64[16], out y: i64[16]) {{
      te.for v in 0 .. 16 {kind} {{
        te.var z: f64 = (0.0).f64
        te.var n: i64 = 0
        te.while (abs(z.f64) < (2.0).f64) & (n < 50) {{
          te.assign z = z.f64 * z.f64 + x.f64[v]
          te.assign n = n + 1
        }}
        te.store y[v] = n
      }}
    }}"""
    expected = []
    for c in x:
        z, n = 0.0, 0
        while abs(z) < 2 and n < 50:
            z, n = z * z + c, n + 1
        expected.append(n)
    assert run_te(text, x, y) == 0
    np.testing.assert_array_equal(y, expected)


def test_if_else_with_lanes() -> None:
    x, y = np.arange(16, dtype="f4") - 8, np.zeros(16, "f4")
    text = """te.func @k kernel scheduled (x: f32[16], out y: f32[16]) {
      te.for v in 0 .. 16 vector {
        te.let t: f32 = x.f32[v] * (2.0).f32
        te.if x.f32[v] < (0.0).f32 {
          te.store y[v] = -t.f32
        } else {
          te.if v == 9 {
            te.store y[v] = (99.0).f32
          } else {
            te.store y[v] = t.f32 + (1.0).f32
          }
        }
      }
    }"""
    assert run_te(text, x, y) == 0
    expected = np.where(x < 0, -2 * x, 2 * x + 1)
    expected[9] = 99
    np.testing.assert_array_equal(y, expected)


PARALLEL = """te.func @k kernel logical (x: f32[N, 8], out y: f32[N], N: i64, scale: f32) {
  te.let twice: f32 = scale.f32 * (2.0).f32
  te.for i in 0 .. N parallel grain 4 {
    te.assert x.f32[i, 0] < (1000.0).f32, message 'too large'
    te.var s: f32 = (0.0).f32
    te.for j in 0 .. 8 serial {
      te.assign s = s.f32 + x.f32[i, j]
    }
    te.store y[i] = s.f32 * twice.f32
  }
}"""


def test_parallel_loop_forks_by_size() -> None:
    compiled = Compiled(PARALLEL)
    for size, tasks in ((3, []), (7, []), (8, [2]), (101, [2, 8])):
        x, y = np.random.default_rng(size).random((size, 8), "f4"), np.zeros(size, "f4")
        assert compiled(x, y, np.int64(size), np.float32(3)) == 0
        np.testing.assert_allclose(y, x.sum(1) * 6, rtol=1e-5)
        assert compiled.runtime.tasks == tasks


@pytest.mark.parametrize("size", [3, 64])
def test_failure_in_a_parallel_loop(size: int) -> None:
    compiled = Compiled(PARALLEL)
    x, y = np.zeros((size, 8), "f4"), np.zeros(size, "f4")
    x[2, 0] = 5000
    assert compiled(x, y, np.int64(size), np.float32(3)) == 1
    assert compiled.runtime.errors[0] == (1, "too large")


HOST = """te.func @inner kernel logical (x: f32[N], out y: f32[N], N: i64, on: b1, limit: i64) {
  te.assert N < limit, message 'size "N"'
  te.for i in 0 .. N serial {
    te.store y[i] = select(on.b1, x.f32[i] * x.f32[i], (0.0).f32)
  }
}
te.func @k host logical (x: f32[N], out y: f32[N], N: i64, on: b1) {
  te.alloc arena a: f32[N] at 0
  te.alloc arena b: f32[N] at (N * 4 + 63) // 64 * 64
  te.for r in 0 .. 3 serial {
    te.alloc arena t: f32[N]
    te.call @inner(x, t, N, on.b1, 440 + r)
    te.call @inner(t, a, N, on.b1, 500)
  }
  te.call @inner(a, y, N, True, 500)
}"""


def test_host_calls_arena_and_heap() -> None:
    compiled = Compiled(HOST)
    for size, blocks in ((20, 0), (400, 4)):  # small ones live in the frame
        x, y = np.random.default_rng(5).random(size, "f4"), np.zeros(size, "f4")
        assert compiled(x, y, np.int64(size), np.bool_(True)) == 0
        np.testing.assert_allclose(y, x**8, rtol=1e-5)
        assert compiled.runtime.allocated == blocks
        assert not compiled.runtime.blocks
    large = np.zeros(445, "f4")
    assert compiled(large, np.zeros_like(large), np.int64(445), np.bool_(False)) == 1
    assert compiled.runtime.errors == [(1, 'size "N"')]
    assert not compiled.runtime.blocks


@pytest.mark.parametrize("check", ["", "te.assert x.f32[i] < (9.0).f32, message 'large'"])
@pytest.mark.parametrize("kind", ["serial", "parallel grain 1"])
def test_only_calls_that_may_fail_are_followed_by_a_branch(kind: str, check: str) -> None:
    text = f"""te.func @inner kernel logical (x: f32[4], out y: f32[4]) {{
      te.for i in 0 .. 4 {kind} {{
        {check}
        te.store y[i] = x.f32[i] + (1.0).f32
      }}
    }}
    te.func @k host logical (x: f32[4], out y: f32[4]) {{
      te.alloc arena a: f32[4] at 0
      te.call @inner(x, a)
      te.call @inner(a, y)
    }}"""
    code = emit_module(parse_te(text), host(), {"k": "k"})
    caller = code[code.index("@k.te(") :]
    caller = caller[: caller.index("\n}")]
    assert caller.count("call i32 @inner(") == 2
    assert ("icmp eq i32" in caller) is bool(check)
    compiled = Compiled(text)
    x, y = np.array([1, 2, 3, 4], "f4"), np.zeros(4, "f4")
    assert compiled(x, y) == 0
    np.testing.assert_array_equal(y, x + 2)
    x[3] = 8
    assert compiled(x, y) == (1 if check else 0)  # the second call's 9 is too large


def test_large_stack_buffers_come_from_the_heap() -> None:
    y = np.zeros(2, "f4")
    text = """te.func @k kernel logical (out y: f32[2]) {
      te.alloc stack big: f32[100000]
      te.alloc stack small: f32[100]
      te.store big[99999] = (3.0).f32
      te.store small[99] = (4.0).f32
      te.store y[0] = big.f32[99999]
      te.store y[1] = small.f32[99]
    }"""
    compiled = Compiled(text)
    assert compiled(y) == 0
    np.testing.assert_array_equal(y, [3, 4])
    assert compiled.runtime.allocated == 1
    assert not compiled.runtime.blocks


@pytest.mark.parametrize("external", [False, True])
def test_constants(external: bool) -> None:
    weights = np.random.default_rng(6).random((3, 4), "f4")
    module = parse_te("""te.func @k kernel logical (out y: f32[4]) {
      te.for j in 0 .. 4 vector {
        te.store y[j] = w.f32[0, j] + w.f32[1, j] * w.f32[2, j]
      }
    }""")
    op = ConstantOp(make_buffer("w", float32, [3, 4]), DataAttr.of(weights))
    module.body.block.add_op(op)
    y = np.zeros(4, "f4")
    options = EmitOptions(external_constants=external)
    compiled = Compiled(module, options, {"w": weights.ctypes.data} if external else None)
    assert compiled(y) == 0
    np.testing.assert_allclose(y, weights[0] + weights[1] * weights[2], rtol=1e-6)


def test_large_constants_are_spelled_fast() -> None:
    data = np.arange(1 << 18, dtype="f4")
    module = parse_te(
        "te.func @k kernel logical (out y: f32[1]) {\nte.store y[0] = w.f32[77777]\n}"
    )
    module.body.block.add_op(ConstantOp(make_buffer("w", float32, data.shape), DataAttr.of(data)))
    y = np.zeros(1, "f4")
    assert Compiled(module)(y) == 0
    assert y[0] == 77777


def test_unroll_nested_in_vector_and_flat_indices() -> None:
    x, y = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    text = """te.func @k kernel flat (x: f32[4, 16], out y: f32[4, 16]) {
      te.for v in 0 .. 16 vector {
        te.for i in 0 .. 4 unroll {
          te.let at: i64 = i * 16 + v
          te.store y[at] = x.f32[at] + f32(i)
        }
      }
    }"""
    assert run_te(text, x, y) == 0
    np.testing.assert_array_equal(y.reshape(4, 16), x.reshape(4, 16) + np.arange(4)[:, None])


def test_deep_expressions_and_shared_nodes() -> None:
    x, y = np.ones(1, "f4"), np.zeros(1, "f4")
    body = "\n".join(f"te.let t{k + 1}: f32 = t{k}.f32 + t{k}.f32" for k in range(20))
    long_sum = " + ".join(["x.f32[0]"] * 300)
    text = f"""te.func @k kernel logical (x: f32[1], out y: f32[1]) {{
      te.let t0: f32 = x.f32[0]
      {body}
      te.store y[0] = t20.f32 + {long_sum}
    }}"""
    assert run_te(text, x, y) == 0
    assert y[0] == 2**20 + 300


def test_prefetches_change_nothing() -> None:
    """Behind the end of a buffer neither; and the text of the op is read as it is printed."""
    text = """te.func @k kernel scheduled (x: f32[8], out y: f32[8]) {
      te.for i in 0 .. 8 serial {
        te.prefetch x.f32[i * 4096 + 100], cache 2
        te.store y[i] = x.f32[i] * (2.0).f32
      }
    }"""
    x, y = np.arange(8, dtype="f4"), np.zeros(8, "f4")
    assert run_te(text, x, y) == 0
    np.testing.assert_array_equal(y, 2 * x)
    module = parse_te(text)
    assert "te.prefetch x.f32[i * 4096 + 100], cache 2" in str(module)
    assert "call void @llvm.prefetch" in emit_module(module, host(), {})
    with pytest.raises(VerifyException, match="only an element can be fetched"):
        parse_te("te.func @k kernel logical (out y: f32[1]) {\nte.prefetch 3 + 4, cache 1\n}")


def test_refusals_name_the_op() -> None:
    bad = parse_te("te.func @k kernel logical (out y: f32[1]) {\nte.sync shared\n}")
    with pytest.raises(InternalError, match=r"@k: cannot emit te\.sync"):
        emit_module(bad, host(), {})
    bad = parse_te("te.func @k kernel logical (out y: f32[4]) {\nte.for i in 0 .. 4 tx {\n}\n}")
    with pytest.raises(InternalError, match="loop of kind tx"):
        emit_module(bad, host(), {})
    bad = parse_te("te.func @k kernel logical (out y: f32[1]) {\nte.store y[0] = q.f32\n}")
    with pytest.raises(InternalError, match="unknown name q"):
        emit_module(bad, host(), {})


def test_strict_code_has_no_fast_math_flags() -> None:
    text = (
        "te.func @k kernel logical (inout y: f32[1]) {\nte.update y[0] add= y.f32[0] * y.f32[0]\n}"
    )
    assert " contract" in emit_module(parse_te(text), host(), {})
    strict = emit_module(parse_te(text), host(), {}, EmitOptions(strict=True))
    assert " contract" not in strict
    assert " reassoc" not in strict


def test_buffers_inside_a_vector_loop_belong_to_a_lane() -> None:
    x, y = np.arange(16, dtype="f4"), np.zeros(16, "f4")
    text = """te.func @k kernel scheduled (x: f32[16], out y: f32[16]) {
      te.for v in 0 .. 16 vector {
        te.alloc reg s: f32[]
        te.alloc stack t: f32[3]
        te.store s[] = (1.0).f32
        te.for j in 0 .. 3 serial reduce {
          te.store t[j] = x.f32[v] * f32(j)
          te.update s[] add= t.f32[j]
        }
        te.let twice: f32 = s.f32[()] + s.f32[()]
        te.store y[v] = twice.f32 + t.f32[2]
      }
    }"""
    assert run_te(text, x, y) == 0
    np.testing.assert_array_equal(y, 2 * (1 + 3 * x) + 2 * x)


SIDES = (0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 3e38, -3e38, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("short", ["f32", "f64"])
@pytest.mark.parametrize("of", ["a - b", "f64(a) - f64(b)"])
@pytest.mark.parametrize("op", ["<", ">"])
def test_the_sign_of_a_difference_is_told_by_its_sides(op: str, of: str, short: str) -> None:
    """It is compared as the difference itself is: of infinities, NaN and the least floats, too."""
    dtype = np.dtype(np.float32 if short == "f32" else np.float64)
    a, b = (f"x.{short}[i]", f"y.{short}[j]")
    value = of.replace("a", a, 1).replace("b", b, 1) if "f64" not in of else f"f64({a}) - f64({b})"
    wide = "f64" if "f64" in of else short
    count = len(SIDES)
    text = f"""te.func @k host scheduled (x: {short}[{count}], y: {short}[{count}],
        out z: i64[{count}, {count}]) {{
      te.for i in 0 .. {count} serial {{
        te.for j in 0 .. {count} serial {{
          te.let d: {wide} = {value}
          te.let c: b1 = d.{wide} {op} (0.0).{wide}
          te.store z[i, j] = i64(c.b1)
        }}
      }}
    }}"""
    sides, z = np.array(SIDES, dtype), np.zeros((count, count), np.int64)
    compiled = Compiled(text.replace(",\n        out", ", out"))
    assert "fcmp ogt" in compiled.text or "fcmp olt" in compiled.text
    assert ", 0x0" not in compiled.text  # what is compared are the sides
    assert compiled(sides, sides, z) == 0
    with np.errstate(all="ignore"):
        wanted = sides[:, None].astype(np.float64) - sides[None, :].astype(np.float64)
    np.testing.assert_array_equal(z, wanted < 0 if op == "<" else wanted > 0)


def test_conditions_of_several_comparisons_stay_one_branch() -> None:
    text = """te.func @k host scheduled (x: f32[9], y: f32[9], inout z: i64[9]) {
      te.for i in 0 .. 9 serial {
        te.let c: b1 = select(x.f32[i] > (0.0).f32, y.f32[i] > (0.0).f32, False)
        te.if c.b1 {
          te.store z[i] = 1
        }
        te.if i > 2 {
          te.store z[i] = z.i64[i] + 2
        }
      }
    }"""
    x, y = (np.random.default_rng(k).standard_normal(9).astype("f4") for k in (0, 1))
    z = np.zeros(9, np.int64)
    compiled = Compiled(text)
    assert compiled.text.count("!unpredictable") == 1
    assert compiled(x, y, z) == 0
    np.testing.assert_array_equal(z, (x > 0) & (y > 0) | np.where(np.arange(9) > 2, 2, 0))

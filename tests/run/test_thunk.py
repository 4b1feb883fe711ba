"""The CPython entry: guard, results, miss, error status, reference counts."""

from __future__ import annotations

import ctypes
import gc
import sys

import numpy as np
import pytest

from tensorscript.backends.cpu.builtin import Builtin, supported
from tensorscript.backends.cpu.jit import compile_object, load_object
from tensorscript.backends.cpu.runtime import runtime_symbols
from tensorscript.backends.cpu.signature import ArraySpec, Calling, ScalarSpec, Signature
from tensorscript.backends.cpu.thunk import (
    DECLARATIONS,
    METADATA,
    thunk_text,
)
from tensorscript.base.dtypes import DType, bool_, float32, float64, int64
from tensorscript.dialects.te.expr import const, var

pytestmark = pytest.mark.skipif(not supported(), reason="another CPython or NumPy layout")

ADD = """
define i32 @entry(ptr %a) {
  %x = load ptr, ptr %a
  %p1 = getelementptr ptr, ptr %a, i64 1
  %y = load ptr, ptr %p1
  %p2 = getelementptr ptr, ptr %a, i64 2
  %o = load ptr, ptr %p2
  %vx = load <8 x float>, ptr %x, align 4
  %vy = load <8 x float>, ptr %y, align 4
  %s = fadd <8 x float> %vx, %vy
  store <8 x float> %s, ptr %o, align 4
  ret i32 0
}
"""

# Inputs x[N], s, n, b; size N; outputs o[N], N, 1.5, True; status 7 if N > 5.
SCALARS = """
define i32 @entry(ptr %a) {
  %p4 = getelementptr ptr, ptr %a, i64 4
  %N = load ptr, ptr %p4
  %n = load i64, ptr %N
  %p6 = getelementptr ptr, ptr %a, i64 6
  %z = load ptr, ptr %p6
  store i64 %n, ptr %z
  %p7 = getelementptr ptr, ptr %a, i64 7
  %w = load ptr, ptr %p7
  store double 1.5, ptr %w
  %p8 = getelementptr ptr, ptr %a, i64 8
  %q = load ptr, ptr %p8
  store i8 1, ptr %q
  %c = icmp sgt i64 %n, 5
  %r = select i1 %c, i32 7, i32 0
  ret i32 %r
}
"""


GRADIENTS = ctypes.c_uint8(1)


def build(
    text: str,
    signature: Signature,
    release_gil: bool = False,
    objects: dict[str, object] | None = None,
) -> tuple[object, Builtin]:
    thunk = thunk_text("thunk", "entry", signature, release_gil)
    text += DECLARATIONS + thunk + METADATA
    engine = load_object(compile_object(text), exports=["thunk"])

    def fail(status: int, *arguments: object) -> object:
        raise RuntimeError(f"status {status} of {len(arguments)}")

    memory = runtime_symbols()["ts_array_handler"]
    mode = ctypes.addressof(GRADIENTS)
    address = engine.address("thunk")
    return engine, Builtin(
        "f", address, signature, lambda *a: ("miss", a), fail, memory, mode, objects, engine
    )


def vector(name: str, size: int) -> ArraySpec:
    return ArraySpec(name, float32, (const(size),))


def test_arrays_in_and_out() -> None:
    signature = Signature((vector("x", 8), vector("y", 8)), (), (vector("o", 8),))
    engine, builtin = build(ADD, signature)
    x = np.arange(8, dtype=np.float32)
    y = x * 2
    result = builtin.call(x, y)
    assert type(result) is np.ndarray and result.dtype == np.float32
    np.testing.assert_array_equal(result, x + y)
    del engine


def test_a_builtin_holds_what_it_needs() -> None:
    """Its PyMethodDef, too, which CPython reads while it frees the builtin."""
    _, builtin = build(ADD, Signature((vector("x", 8), vector("y", 8)), (), (vector("o", 8),)))
    call = builtin.call
    del builtin, _
    gc.collect()
    x = np.arange(8, dtype=np.float32)
    assert call(x, x).tolist() == (x + x).tolist()
    assert call(x, 1)[0] == "miss" and call.__name__ == "f"
    method = ctypes.c_uint64.from_address(id(call) + 16).value
    table = id(call.__self__)
    assert table < method < table + sys.getsizeof(call.__self__)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_mode_of_gradients(wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, calling = (vector("x", 8), vector("y", 8)), Calling(gradients=wanted)
    engine, builtin = build(ADD, Signature(arrays, (), (vector("o", 8),), calling))
    x = np.ones(8, np.float32)
    for mode in (True, False):
        monkeypatch.setattr(GRADIENTS, "value", int(mode))
        found = builtin.call(x, x)
        assert isinstance(found, np.ndarray) == (mode is wanted)
    del engine


def test_constants_and_defaults() -> None:
    """`f(x, a=None, y=..., b=True)`, of which x and y are inputs."""
    x, y = np.ones(8, np.float32), np.full(8, 2, np.float32)
    calling, arrays = Calling((1, 3), 3), (vector("x", 8), vector("y", 8))
    signature = Signature(arrays, (), (vector("o", 8),), calling)
    objects: dict[str, object] = {"constant 1": None, "constant 3": True}
    objects |= {"default 1": None, "default 2": y, "default 3": True}
    engine, builtin = build(ADD, signature, objects=objects)
    for given in ((x,), (x, None), (x, None, y), (x, None, y, True)):
        np.testing.assert_array_equal(builtin.call(*given), x + y)
    for refused in ((), (x, y), (x, None, None), (x, None, y, False), (x, None, y, True, True)):
        assert builtin.call(*refused) == ("miss", refused)
    unknown, blind = build(ADD, signature)
    assert blind.call(x)[0] == blind.call(x, None, y, True)[0] == "miss"
    del engine, unknown


@pytest.mark.parametrize(
    "second",
    [
        np.zeros(4, np.float32),
        np.zeros(8, np.float64),
        np.zeros((8, 1), np.float32),
        np.zeros(16, np.float32)[::2],
        np.zeros(8, ">f4"),
        3,
        None,
    ],
)
def test_guard_sends_anything_else_to_the_miss(second: object) -> None:
    signature = Signature((vector("x", 8), vector("y", 8)), (), (vector("o", 8),))
    engine, builtin = build(ADD, signature)
    x = np.arange(8, dtype=np.float32)
    word, arguments = builtin.call(x, second)
    assert word == "miss" and arguments[0] is x and arguments[1] is second
    assert builtin.call(x) == ("miss", (x,))
    del engine


def mixed() -> Signature:
    return Signature(
        (
            ArraySpec("x", float32, (var("N"),)),
            ScalarSpec("s", float64),
            ScalarSpec("n", int64),
            ScalarSpec("b", bool_),
        ),
        ("N",),
        (
            ArraySpec("o", float32, (var("N") + 1,)),
            ScalarSpec("z", int64),
            ScalarSpec("w", float64),
            ScalarSpec("q", bool_),
        ),
    )


@pytest.mark.parametrize("release_gil", [False, True])
def test_scalars_symbols_and_status(release_gil: bool) -> None:
    engine, builtin = build(SCALARS, mixed(), release_gil)
    out, z, w, q = builtin.call(np.ones(3, np.float32), 1.0, 2, True)
    assert out.shape == (4,) and (z, w, q) == (3, 1.5, True) and type(q) is bool
    with pytest.raises(RuntimeError, match="status 7 of 4"):
        builtin.call(np.ones(9, np.float32), 1.0, 2, True)
    assert builtin.call(np.ones(3, np.float32), 1, 2, True)[0] == "miss"
    assert builtin.call(np.ones(3, np.float32), 1.0, True, True)[0] == "miss"
    assert builtin.call(np.ones(3, np.float32), 1.0, 2**70, True)[0] == "miss"
    del engine


def test_reference_counts_stay() -> None:
    signature = Signature((vector("x", 8), vector("y", 8)), (), (vector("o", 8),))
    engine, builtin = build(ADD, signature)
    x = np.arange(8, dtype=np.float32)
    before = sys.getrefcount(np.dtype("f4")), sys.getrefcount(x)
    for _ in range(1000):
        builtin.call(x, x)
    assert (sys.getrefcount(np.dtype("f4")), sys.getrefcount(x)) == before
    del engine


# Inputs xs[N] (a list), n; size N; outputs N, and xs[n] in the memory of xs' elements.
ELEMENT = """
define i32 @entry(ptr %a) {{
  %xs = load ptr, ptr %a
  %p1 = getelementptr ptr, ptr %a, i64 1
  %n = load ptr, ptr %p1
  %at = load i64, ptr %n
  %p2 = getelementptr ptr, ptr %a, i64 2
  %N = load ptr, ptr %p2
  %length = load i64, ptr %N
  %p3 = getelementptr ptr, ptr %a, i64 3
  %z = load ptr, ptr %p3
  store i64 %length, ptr %z
  %none = icmp eq i64 %length, 0
  br i1 %none, label %done, label %some
some:
  %p = getelementptr {kind}, ptr %xs, i64 %at
  %v = load {kind}, ptr %p
  %p4 = getelementptr ptr, ptr %a, i64 4
  %w = load ptr, ptr %p4
  store {kind} %v, ptr %w
  br label %done
done:
  ret i32 0
}}
"""


def _element(dtype: DType, kind: str) -> Builtin:
    """What gives the length of a list and its element at a place."""
    listed = ArraySpec("xs", dtype, (var("N"),), listed=True)
    inputs = (listed, ScalarSpec("n", int64))
    outputs = (ScalarSpec("N", int64), ScalarSpec("x", dtype))
    return build(ELEMENT.format(kind=kind), Signature(inputs, ("N",), outputs))[1]


@pytest.mark.parametrize(
    ("dtype", "kind", "elements"),
    [
        (int64, "i64", [3, -1, 2**63 - 1, -(2**63)]),
        (float64, "double", [1.5, -0.0, float("inf"), 1e-300]),
        (bool_, "i8", [True, False, False, True]),
    ],
)
def test_elements_of_lists(dtype: DType, kind: str, elements: list[object]) -> None:
    f = _element(dtype, kind)
    for at, expected in enumerate(elements):
        assert f.call(elements, at) == (4, expected)
        assert f.call(np.array(elements, dtype.numpy), at) == (4, expected)
    assert f.call([], 0)[0] == 0
    long = elements * 1024
    assert f.call(long, 4094) == (4096, elements[2])
    assert f.call([*long, elements[0]], 0)[0] == "miss"


@pytest.mark.parametrize(
    ("dtype", "kind", "good", "bad"),
    [
        (int64, "i64", 1, [True, 1.0, None, 2**63, -(2**63) - 1]),
        (float64, "double", 1.0, [1, True, "1"]),
        (bool_, "i8", True, [1, None, 0.0]),
    ],
)
def test_lists_of_other_things_are_missed(
    dtype: DType, kind: str, good: object, bad: list[object]
) -> None:
    f = _element(dtype, kind)
    held = sys.getrefcount(stranger := object())
    for item in (*bad, stranger):
        assert f.call([good, item], 0)[0] == "miss"
    assert sys.getrefcount(stranger) == held + 1  # `item` is it
    assert f.call((good, good), 0)[0] == "miss"
    assert f.call([good, good], 1) == (2, good)

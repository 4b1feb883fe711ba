"""uint16, uint32 and uint64: what PyTorch's tensors of these dtypes do, and what they refuse."""

from __future__ import annotations

import io
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.dtypes import DTYPES, WIDE_UNSIGNED, DType
from tensorscript.base.errors import OperatorError

UNSIGNED = sorted(WIDE_UNSIGNED, key=lambda d: d.bits)


def samples(library: Any) -> dict[str, Any]:
    """The names that the expressions below are about."""
    return {
        "torch": library,
        "np": np,
        "u": library.tensor([1, 2, 60000], dtype=library.uint16),
        "m": library.tensor([[1, 2], [3, 4]], dtype=library.uint16),
        "v": library.tensor([1, 2, 2**31 + 5], dtype=library.uint32),
        "w": library.tensor([1, 2, 2**63 + 5], dtype=library.uint64),
        "f": library.tensor([1.5, -1.0, 70000.0, 3e9, 1e19]),
        "at": library.tensor([[0, 1], [1, 0]]),
    }


EXPRESSIONS = """
u
w
v
torch.tensor([1, -1], dtype=torch.uint16)
torch.tensor([65536], dtype=torch.uint16)
torch.tensor([-65536], dtype=torch.uint16)
torch.tensor([-1.5], dtype=torch.uint16)
torch.tensor([300.0], dtype=torch.uint8)
torch.tensor([float("nan")], dtype=torch.int32)
torch.tensor([1.5], dtype=torch.uint32)
torch.tensor(-1, dtype=torch.uint64)
torch.tensor(2**64 - 1, dtype=torch.uint64)
torch.tensor([2**64], dtype=torch.uint64)
torch.tensor([1, 2.0], dtype=torch.uint64)
torch.tensor(2**63)
torch.tensor([2**63], dtype=torch.uint8)
torch.tensor(2**63, dtype=torch.float32)
torch.tensor(np.array([2**63], np.uint64))
torch.full((2,), 2**63, dtype=torch.uint64)
torch.full((2,), -1, dtype=torch.uint16)
torch.zeros(2, dtype=torch.uint32)
torch.arange(3, dtype=torch.uint16)
torch.eye(2, dtype=torch.uint16)
torch.linspace(0, 3, 4, dtype=torch.uint16)
torch.rand(2, dtype=torch.uint16)
torch.randint(0, 70000, (2,), dtype=torch.uint16)
torch.randint(-1, 5, (2,), dtype=torch.uint32)
w.tolist()
w[2].item()
u.type()
u.sum()
w.sum()
u.prod()
u.cumsum(0)
u.sum(dtype=torch.uint16)
torch.ones(2).cumprod(0, dtype=torch.uint32)
w + 1
u - u
u * 2
u * 2.5
u * True
u * 1j
w * w
u * torch.tensor(2)
u * v
u * torch.tensor([1, 2, 3])
torch.cat([u, torch.tensor([1])])
torch.cat([u, torch.tensor([1.0])])
torch.stack([u, u])
u / 2
u // 2
u % 2
torch.div(u, u, rounding_mode="trunc")
torch.div(u, u)
-u
~u
u & 3
u | 3
u << 1
u**2
u == 2
u == u
u != v
u < 2
torch.logical_not(u)
torch.maximum(u, u)
u.max()
u.max(0)
u.argmax()
u.clamp(0, 2)
torch.relu(u)
u.abs()
torch.sqrt(v)
torch.round(w)
torch.mean(u)
torch.matmul(m, m)
m.triu()
torch.sort(w)
torch.unique(u)
u.topk(1)
u.any()
torch.isnan(u)
torch.nonzero(u)
torch.where(u == 1, u, 2)
u[u == 1]
u[torch.tensor([0, 1])]
u[torch.tensor(1, dtype=torch.uint16)]
u[torch.tensor([0, 1], dtype=torch.uint16)]
f[torch.tensor([0, 1], dtype=torch.int16)]
f[torch.tensor([0, 1], dtype=torch.bfloat16)]
torch.gather(m, 0, at)
m.scatter(0, at, 1)
m.scatter(0, at, m)
torch.take(u, at[0])
u.index_add(0, torch.tensor([0]), u[:1])
u.masked_fill(u == 1, 3)
f[:3].to(torch.uint16)
f[:4].to(torch.uint32)
f.to(torch.uint64)
f.double().to(torch.uint64)
torch.tensor([-1, 70000]).to(torch.uint16)
w.to(torch.int64)
w.to(torch.float64)
w.to(torch.uint8)
u.bool()
u.to(torch.uint16) is u
u.view(torch.int16)
u.view(torch.uint8)
torch.zeros(2, dtype=torch.float32).type(torch.uint16)
torch.iinfo(torch.uint64)
torch.iinfo(torch.int64)
torch.iinfo(torch.uint32).max
torch.uint16.is_signed
torch.uint16.to_complex()
torch.result_type(u, 1)
torch.result_type(u, 1.0)
torch.result_type(u, 1j)
torch.result_type(torch.tensor([1]), u[0])
torch.can_cast(torch.uint16, torch.uint8)
torch.can_cast(torch.float32, torch.uint16)
torch.promote_types(torch.uint16, torch.uint16)
torch.promote_types(torch.uint16, torch.bool)
torch.promote_types(torch.uint32, torch.complex64)
torch.promote_types(torch.bfloat16, torch.uint64)
u.requires_grad_()
u.new_tensor([1, 2])
u.numpy().dtype
torch.from_numpy(np.array([1, 2], np.uint16))
torch.as_tensor(np.uint32(3))
torch.from_dlpack(np.array([1, 2], np.uint32))
torch.hash_tensor(torch.tensor([1.0, 2.5]))
torch.hash_tensor(at, 1)
torch.hash_tensor(torch.zeros(0))
torch.hash_tensor(u)
torch.hash_tensor(at, out=torch.empty(0, dtype=torch.uint64))
""".strip().splitlines()
KINDS = (NotImplementedError, IndexError, TypeError, OverflowError, ValueError, RuntimeError)


def outcome(expression: str, library: Any) -> str:
    """The text of what it gives, or the kind and first line of what it raises."""
    try:
        return repr(eval(expression, samples(library)))
    except KINDS as error:
        kind = next(k for k in KINDS if isinstance(error, k))
        return f"{kind.__name__}: {str(error).partition(chr(10))[0]}"


@pytest.mark.torch
def test_as_pytorch_has_them() -> None:
    torch = pytest.importorskip("torch")
    for expression in EXPRESSIONS:
        assert outcome(expression, ts) == outcome(expression, torch), expression


@pytest.mark.torch
def test_promotion_of_every_pair_of_dtypes() -> None:
    torch = pytest.importorskip("torch")
    for a, b in itertools.product([d.name for d in DTYPES], repeat=2):
        text = f"torch.promote_types(torch.{a}, torch.{b})"
        assert outcome(text, ts) == outcome(text, torch)


def test_without_pytorch() -> None:
    """A few rows of the table above, as they must read."""
    kinds = ("UInt16", "UInt32", "UInt64")
    for dtype, kind in zip(UNSIGNED, kinds, strict=True):
        x = ts.tensor([1, 3], dtype=dtype)
        assert (x * x).tolist() == [1, 9] and (x * x).dtype is dtype
        with pytest.raises(NotImplementedError, match=f"\"add_stub\" not implemented for '{kind}'"):
            x + x
        with pytest.raises(OperatorError, match=f"attempted to promote {kind} and Long"):
            x * ts.tensor([1, 2])
        assert x.sum().dtype is ts.int64
        assert str(x) == f"tensor([1, 3], dtype={dtype})"


@pytest.mark.parametrize("dtype", UNSIGNED, ids=repr)
def test_pickles_checkpoints_and_arrays(dtype: DType) -> None:
    x = ts.tensor([0, 1, np.iinfo(dtype.numpy).max], dtype=dtype)
    file = io.BytesIO()
    ts.save({"x": x, "part": x[1:], "dtype": dtype}, file)
    loaded = ts.load(io.BytesIO(file.getvalue()))
    assert loaded["dtype"] is dtype and loaded["part"].tolist() == x[1:].tolist()
    assert loaded["part"].untyped_storage().nbytes() == 3 * dtype.itemsize
    for copy in (loaded["x"], pickle.loads(pickle.dumps(x)), ts.from_dlpack(x), ts.asarray(x)):
        assert copy.dtype is dtype and copy.tolist() == x.tolist()
    assert np.asarray(x).dtype == dtype.numpy


class Holder(ts.nn.Module):  # type: ignore[misc]  # the class is found by name
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", ts.tensor([1, 65535], dtype=ts.uint16))
        self.register_buffer("b", ts.tensor([2**63 + 1], dtype=ts.uint64))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return x.to(ts.uint32), self.a * 2, self.b


def texts(found: Any) -> list[str]:
    return [str(x) for x in found]


def test_archives() -> None:
    file = io.BytesIO()
    module = ts.jit.script(Holder())
    ts.jit.save(module, file)
    x = [1.0, 4e9]
    expected = texts(module(ts.tensor(x)))
    assert expected[1] == "tensor([    2, 65534], dtype=torch.uint16)"
    assert texts(ts.jit.load(io.BytesIO(file.getvalue()))(ts.tensor(x))) == expected
    torch = pytest.importorskip("torch")
    with pytest.warns(DeprecationWarning, match="torch.export"):
        theirs = torch.jit.load(io.BytesIO(file.getvalue()))
    assert texts(theirs(torch.tensor(x))) == expected


@pytest.mark.torch
def test_checkpoints_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for dtype in UNSIGNED:
        ours, theirs = io.BytesIO(), io.BytesIO()
        rows = [[1, 2, 3], [4, 5, 6]]
        x = torch.tensor(rows, dtype=getattr(torch, dtype.name))
        torch.save([x, x[1:, ::2]], theirs)
        found = ts.load(io.BytesIO(theirs.getvalue()))
        ts.save(found, ours)
        back = torch.load(io.BytesIO(ours.getvalue()))
        assert texts(found) == texts([x, x[1:, ::2]]) == texts(back)


def multiply(a, b):  # type: ignore[no-untyped-def]
    return a * b, a * 2, a * 2.5, a / b


def bits(a, b):  # type: ignore[no-untyped-def]
    return ((a & b) | 5) ^ b


def compare(a, b):  # type: ignore[no-untyped-def]
    return a == b, ts.where(a != b, a, b)


def sums(a, b):  # type: ignore[no-untyped-def]
    return a.sum(), b.cumsum(0), a.prod(), a.any(), a.all()


def to_floats(a, b):  # type: ignore[no-untyped-def]
    return a.to(ts.float32), a.to(ts.float64), ts.log(a), a.to(ts.bfloat16)


def to_integers(a, b):  # type: ignore[no-untyped-def]
    return a.to(ts.int8), a.to(ts.uint8), a.to(ts.int64), a.to(ts.bool)


def to_unsigned(a):  # type: ignore[no-untyped-def]
    return a.to(ts.uint16), a.to(ts.uint32), a.to(ts.uint64)


def widths(a, b):  # type: ignore[no-untyped-def]
    return to_unsigned(a), to_unsigned(b)


def order(a, b):  # type: ignore[no-untyped-def]
    return ts.sort(ts.cat([a, b], 0))[0]


def views(a, b):  # type: ignore[no-untyped-def]
    return a[1:4], a.reshape(5, 1).expand(5, 2) * 1, a[ts.tensor([0, 2])]


def less(a):  # type: ignore[no-untyped-def]
    return a < 2


def add_converted(x, y):  # type: ignore[no-untyped-def]
    return x + y.to(ts.float32)


NATIVE = (multiply, bits, compare, sums, to_floats, to_integers, widths, order, views)


@pytest.mark.parametrize("run", NATIVE)
def test_native_code_computes_the_same(run: Callable[..., Any]) -> None:
    random = np.random.default_rng(3)
    native = ts.compile(run, fallback="error", cache=False)
    for dtype in UNSIGNED:
        most = np.iinfo(dtype.numpy).max
        a = ts.tensor(random.integers(0, most, 5, dtype=dtype.numpy, endpoint=True))
        b = ts.tensor(random.integers(1, 9, 5, dtype=dtype.numpy))
        a[2], b[0] = most, a[0]
        assert str(native(a, b)) == str(run(a, b))


@pytest.mark.parametrize("source", [ts.float32, ts.float64], ids=repr)
def test_floats_become_unsigned_as_in_eager_mode(source: DType) -> None:
    far = [0.5, -1.0, 7e4, 3e9, -3.7, 1e19, 1.7e19, 2.0**31, 2.0**32, 2.0**63, 2.0**64, -1e10]
    x = ts.tensor([*far, float("nan"), float("inf"), float("-inf")], dtype=source)
    native = ts.compile(to_unsigned, fallback="error", cache=False)
    assert str(native(x)) == str(to_unsigned(x))


def test_native_code_refuses_the_same() -> None:
    x = ts.tensor([1, 2], dtype=ts.uint16)
    with pytest.raises(NotImplementedError, match="lt_cpu"):
        ts.compile(less, fallback="error", cache=False)(x)


def test_arrays_of_uint16_are_not_taken_for_bfloat16() -> None:
    """Both are NumPy's arrays of uint16 where native code sees them."""
    f = ts.compile(add_converted, cache=False)
    ones = np.ones(2, np.float32)
    for _ in range(2):
        assert f(ones, ts.ones(2, dtype=ts.bfloat16)).tolist() == [2.0, 2.0]
        assert f(ones, np.array([1, 2], np.uint16)).tolist() == [2.0, 3.0]

"""Tensor: views, indexing, printing, conversions, in-place rules, refusals, random streams."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorscript as ts
from tensorscript.base import dtypes
from tensorscript.base.errors import ArgumentError, DimensionError, OperatorError
from tensorscript.eager.data import tensor
from tensorscript.eager.dispatch import call, call_overload
from tensorscript.eager.dlpack import from_dlpack
from tensorscript.eager.exchange import from_numpy
from tensorscript.eager.namespace import lookup
from tensorscript.eager.tensor import Tensor

FLOATS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def make() -> Tensor:
    return from_numpy(FLOATS.copy())


PRINTED: list[Any] = [
    np.array([1.0, 2.0], np.float32), np.array([1.5, -2.25], np.float32), np.array([1, 2, -3]),
    np.array([True, False]), np.array(3.5, np.float32), np.array([1e-8, 1.0], np.float32),
    np.array([1e10, 1.0], np.float32), np.zeros((0,), np.float32), np.zeros((0, 3), np.float32),
    np.array([np.nan, np.inf, 1.0], np.float32), np.arange(2000), FLOATS, FLOATS / 7,
    np.array([1.0], np.float64), np.array([1], np.int32), np.zeros((2, 2), np.float32),
    np.arange(40.0, dtype=np.float32), np.array([[1 + 2j, 0.5 - 1j]], np.complex64),
    np.arange(1200, dtype=np.float32).reshape(30, 40), np.array([-0.0, 0.0], np.float32),
    np.array([1.0, 2.0], np.float16), np.zeros(0, np.int64), np.array([np.nan], np.float32),
    np.array([123456.789, 0.001], np.float32), np.array([1e-5, 2e-5], np.float32),
]  # fmt: skip


@pytest.mark.parametrize("array", PRINTED, ids=range(len(PRINTED)))
def test_prints_as_torch(array: Any) -> None:
    torch = pytest.importorskip("torch")
    assert repr(from_numpy(array)) == repr(torch.from_numpy(array))


INDICES: list[Any] = [
    0, -1, (0, 1), slice(1, None), (slice(None), 1), (..., 2), None, (None, 0, None), (0, ..., 1),
    [0, 1], ([0, 1], [1, 2]), (slice(None), [0, 2]), (0, slice(None), [1, 2]),
    ([0, 1], slice(None), [1, 2]), (slice(None), slice(0, 3, 2)), (0, [1, 1, 0]), True,
    (slice(None), np.array([True, False, True])), FLOATS > 5,
    (np.array([[0, 1], [1, 0]]),), (None, [1], None), (..., np.array([0, 3])),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "index",
    [np.array([0.0, 1.0]), np.array([True, False]), np.array(1), np.array([1, 0], dtype=np.uint8),
     np.array([1], dtype=np.int16), (slice(None), np.array([2, 0]))],
)  # fmt: skip
def test_indexing_by_arrays_as_torch(index: Any) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.arange(6.0).view(2, 3)[index]
    ours = ts.arange(6.0).view(2, 3)[index]
    assert ours.tolist() == theirs.tolist() and ours.stride() == theirs.stride()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("array", [np.arange(3), np.arange(3.0), np.array(2.0)])
def test_dtypes_beside_arrays_are_numpys(array: Any) -> None:
    torch = pytest.importorskip("torch")
    x, y = ts.ones(3), torch.ones(3)
    for made, wanted in ((x + array, y + array), (x**array, y**array), (x == array, y == array)):
        assert str(made.dtype) == str(wanted.dtype) and made.tolist() == wanted.tolist()


def test_what_is_gathered_lies_in_order() -> None:
    x = ts.ones(1, 6, 6)
    assert x[:, ts.tensor([0, 2, 1])].stride() == (18, 6, 1)
    assert [i.stride() for i in ts.where(ts.tensor([[0.0, 1.0]]))] == [(1,), (1,)]


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_indexing_as_torch(index: Any) -> None:
    torch = pytest.importorskip("torch")

    def turned(i: Any, one: Any) -> Any:
        if isinstance(i, tuple):
            return tuple(turned(x, one) for x in i)
        return one(i) if isinstance(i, np.ndarray) else i

    ours, theirs = make(), torch.from_numpy(FLOATS.copy())
    found = theirs[turned(index, torch.from_numpy)]
    np.testing.assert_array_equal(ours[turned(index, from_numpy)].numpy(), found.numpy())
    ours[turned(index, from_numpy)] = 7
    theirs[turned(index, torch.from_numpy)] = 7
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_views_alias() -> None:
    x = make()
    x[0].add_(1)
    x.transpose(0, 2)[3].zero_()
    x.view(6, 4)[:, 0].fill_(-1)
    assert x.numpy()[0, 0].tolist() == [-1, 2, 3, 0]
    assert x.stride() == (12, 4, 1) and x.transpose(0, 1).stride() == (4, 12, 1)
    assert x[1].storage_offset() == 12
    assert x.is_contiguous() and not x.permute(2, 1, 0).is_contiguous()
    assert from_numpy(x.numpy()).data_ptr() == x.data_ptr() == from_dlpack(x).data_ptr()


@pytest.mark.parametrize(
    ("sizes", "strides", "seen", "expected"),
    [
        ((12, 1, 13, 13), (169, 1, 13, 1), (12, 1, 13, 13), (169, 169, 13, 1)),
        ((2, 3, 1, 4), (4, 8, 24, 1), (2, 3, 1, 4), (4, 8, 4, 1)),
        ((5, 1), (1, 7), (5, 1), (1, 7)),
        ((4, 1), (1, 4), (4, 1, 1), (1, 4, 4)),
        ((2, 3), (3, 1), (1, 2, 1, 3), (6, 3, 3, 1)),
    ],
)
def test_strides_of_dimensions_of_one_element(
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    seen: tuple[int, ...],
    expected: tuple[int, ...],
) -> None:
    x = make().new_zeros(4000).as_strided(sizes, strides)
    assert x.view(seen).stride() == x.reshape(seen).stride() == expected


def test_order_of_dimensions() -> None:
    x = tensor([[[[0.0, 1.0]]]])
    assert x.dim_order() == (0, 1, 2, 3)
    with pytest.raises(OperatorError, match="does not have unique dim order"):
        x.dim_order(ambiguity_check=True)
    with pytest.raises(ArgumentError, match="must be a bool or a list"):
        x.dim_order(ambiguity_check="maybe")  # type: ignore[arg-type]  # what is refused


REFUSALS: list[tuple[type[Exception], str, Any]] = [
    (DimensionError, r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)",
     lambda x: x.sum(3)),
    (OperatorError, "mat1 and mat2 shapes cannot be multiplied", lambda x: x @ tensor([[1.0]])),
    (OperatorError, r"The size of tensor a \(4\) must match the size of tensor b \(3\) at "
     "non-singleton dimension 2", lambda x: x + tensor([1.0, 2.0, 3.0])),
    (OperatorError, "result type Float can't be cast to the desired output type Long",
     lambda x: tensor([1]).add_(1.5)),
    (OperatorError, r"doesn't match the broadcast shape", lambda x: x[0].add_(x.clone())),
    (OperatorError, "Boolean value of Tensor with more than one value is ambiguous", bool),
    (IndexError, "index 5 is out of bounds for dimension 0 with size 2", lambda x: x[5]),
    (IndexError, "too many indices for tensor of dimension 3", lambda x: x[0, 0, 0, 0]),
    (ValueError, "step must be greater than zero", lambda x: x[::-1]),
    (TypeError, r"sum\(\) received an invalid combination of arguments - got \(str\)",
     lambda x: x.sum("a")),
    (ValueError, r"sequence of length 1 at dim 1 \(got 2\)", lambda x: tensor([[1], [1, 2]])),
    (OperatorError, r"shape '\[5, 5\]' is invalid for input of size 24", lambda x: x.view(5, 5)),
    (OperatorError, "view size is not compatible", lambda x: x.transpose(0, 2).view(24)),
    (NotImplementedError, "no eager kernel for the operator aten::int_repr",
     lambda x: call("aten::int_repr", (x[0],))),
    (AttributeError, "no attribute 'nonsense'", lambda x: x.nonsense),
    (OperatorError, "a Tensor with 24 elements cannot be converted to Scalar", Tensor.item),
    (OperatorError, "Integers to negative integer powers", lambda x: tensor([2]) ** -1),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "act"), REFUSALS)
def test_refusals(kind: type[Exception], text: str, act: Any) -> None:
    with pytest.raises(kind, match=text):
        act(make())


def test_dtype_words_and_promotion() -> None:
    x = tensor([1, 2])
    assert x.dtype is dtypes.int64 and tensor([1, 2.0]).dtype is dtypes.float32
    assert x.float().dtype is dtypes.float32 and x.to(dtypes.int8).dtype is dtypes.int8
    assert (x / 2).dtype is dtypes.float32 and (x // 2).dtype is dtypes.int64
    assert (tensor([1], dtype=dtypes.int8) + 300).tolist() == [45]
    assert x.bool().dtype is dtypes.bool_ and x.to(x) is x


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (bool, dtypes.bool_),
        (int, dtypes.int64),
        (float, dtypes.float64),
        (complex, dtypes.complex128),
    ],
)
def test_types_of_python_are_dtypes(given: Any, expected: dtypes.DType) -> None:
    x = tensor([1, 0], dtype=dtypes.float32)
    made = [
        x.to(given), x.sum(dtype=given), x.new_zeros(2, dtype=given), tensor([1], dtype=given),
        x.new_tensor([1], dtype=given), lookup("ones")(2, dtype=given),
        lookup("as_tensor")([1], dtype=given), lookup("asarray")([1], dtype=given),
    ]  # fmt: skip
    assert {t.dtype for t in made} == {expected}


def test_python_operators() -> None:
    x = tensor([1.0, 4.0])
    assert (1 - x).tolist() == [0.0, -3.0] and (2 / x).tolist() == [2.0, 0.5]
    assert (2**x).tolist() == [2.0, 16.0] and (9 // x).tolist() == [9.0, 2.0]
    assert (7 % x).tolist() == [0.0, 3.0] and (~tensor([True])).tolist() == [False]
    x += 1
    x *= 2
    assert x.tolist() == [4.0, 10.0] and len(x) == 2 and [float(v) for v in x] == [4.0, 10.0]
    assert (x == tensor([4.0, 0.0])).tolist() == [True, False] and 4.0 in x


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=8))
def test_bfloat16_rounds_to_nearest_even(numbers: list[float]) -> None:
    torch = pytest.importorskip("torch")
    a = np.array(numbers, np.float32)
    ours = from_numpy(a).to(dtypes.bfloat16)
    theirs = torch.from_numpy(a).to(torch.bfloat16)
    assert ours._array.tolist() == theirs.view(torch.int16).numpy().view(np.uint16).tolist()
    both = (ours + ours).tolist(), (theirs + theirs).tolist()
    assert both[0] == both[1]


@pytest.mark.parametrize("name", ["rand", "randn"])
@pytest.mark.parametrize("size", [3, 16, 37])
def test_random_stream_is_torchs(name: str, size: int) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(11)
    lookup("manual_seed")(11)
    for _ in range(2):
        theirs = getattr(torch, name)(size).numpy()
        np.testing.assert_allclose(lookup(name)(size).numpy(), theirs, rtol=1e-5, atol=1e-6)


def test_random_integers_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    lookup("manual_seed")(5)
    assert lookup("randint")(0, 9, (6,)).tolist() == torch.randint(0, 9, (6,)).tolist()
    assert lookup("randperm")(9).tolist() == torch.randperm(9).tolist()


SCALARS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("aten::mul.int", (2**40, 2**40), 0), ("aten::floordiv.int", (-7, 3), -3),
    ("aten::remainder.int", (-7, 3), 2), ("aten::div.int", (1, 0), float("inf")),
    ("aten::pow.int", (2, 3), 8.0), ("aten::Int.float", (float("nan"),), -(2**63)),
    ("aten::round.float", (2.5,), 2.0), ("aten::str", (0.1,), "0.10000000000000001"),
    ("aten::str", ([1.0, 2.0],), "[1., 2.]"), ("aten::str", ({"a": [1, 2]},), "{a: [1, 2]}"),
    ("aten::format", ("{} and {:.3f} {}", "x", 0.5, 1), "x and 0.500 1"),
    ("aten::percentFormat", ("%d %s %%", 3, "q"), "3 q %"), ("aten::len.str", ("héllo",), 6),
    ("aten::__getitem__.t", ([1, 2, 3], -1), 3), ("aten::slice.t", ([1, 2, 3], None, 2, 1), [1, 2]),
    ("aten::__range_length", (0, 7, 3), 3), ("aten::__derive_index", (2, 1, 3), 7),
    ("aten::add.int", (2**63 - 1, 1), -(2**63)), ("aten::ceil.float", (1.2,), 2),
    ("aten::log.int", (0,), float("-inf")), ("aten::__round_to_zero_floordiv.int", (-7, 2), -3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "expected"), SCALARS)
def test_scalars(name: str, args: tuple[Any, ...], expected: Any) -> None:
    found = call_overload(name, args)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("name", ["aten::floordiv.int", "aten::remainder.int"])
def test_integer_division_by_zero(name: str) -> None:
    with pytest.raises(OperatorError, match="division by 0"):
        call_overload(name, (1, 0))


def test_container_errors() -> None:
    with pytest.raises(IndexError, match="list index out of range"):
        call_overload("aten::__getitem__.t", ([1], 3))
    with pytest.raises(KeyError, match="KeyError: b"):
        call_overload("aten::__getitem__.Dict_str", ({"a": 1}, "b"))


def test_in_place_forms() -> None:
    x = tensor([[1.0, 2.0]])
    assert x.transpose_(0, 1) is x and x.shape == (2, 1)
    assert x.squeeze_().tolist() == [1.0, 2.0] and x.unsqueeze_(0).shape == (1, 2)
    x.clamp_(max=1.5).sub_(1).relu_()
    assert x.tolist() == [[0.0, 0.5]]
    assert x.where(x > 0, 9.0).tolist() == [[9.0, 0.5]]
    assert x.norm().item() == 0.5 and lookup("norm")(x, 1).item() == 0.5
    mask = tensor([True, False])
    mask &= tensor([True, True])
    mask |= True
    assert mask.tolist() == [True, True]


def test_fourier_transforms() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.fft.rfft(torch.from_numpy(FLOATS)).numpy()
    ours = lookup("fft_rfft")(make())
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(lookup("fft_irfft")(ours).numpy(), FLOATS, rtol=1e-5, atol=1e-5)


def test_out_and_named_results() -> None:
    out = tensor([0.0, 0.0])
    assert lookup("add")(tensor([1.0, 2.0]), 1, out=out) is out
    assert out.tolist() == [2.0, 3.0]
    values, indices = tensor([3.0, 5.0]).max(0)
    assert (values.item(), indices.item()) == (5.0, 1)
    with pytest.raises(ArgumentError):
        call("aten::add", (1.0,))


def test_import_is_light() -> None:
    """The tensors come without the compiler; `benchmarks/latency.py` has the milliseconds."""
    code = (
        "import sys; import tensorscript.eager.tensor;"
        "heavy = {'torch', 'xdsl', 'llvmlite', 'asyncio', 'unittest', 'multiprocessing'};"
        "ours = {'tensorscript.lowering', 'tensorscript.backends', 'tensorscript.compiler'};"
        "assert not (heavy | ours) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sizes_are_ints() -> None:
    sizes = ts.Size([np.int64(2), ts.tensor(3), True])
    assert sizes == (2, 3, 1) and all(type(n) is int for n in sizes)
    for wrong in (ts.ones(3), [1.5], "ab"):
        with pytest.raises(TypeError, match="takes an iterable of 'int'"):
            ts.Size(wrong)  # type: ignore[arg-type]  # what is refused

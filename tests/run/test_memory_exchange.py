"""Memory that comes in from elsewhere: storages, arrays, capsules; and what does not fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts


def test_old_constructors_share_a_storage() -> None:
    storage = ts.FloatStorage([1.0, 2.0])
    for made in (ts.FloatTensor(storage), ts.Tensor(storage), ts.zeros(1).new(storage)):
        assert made.tolist() == [1, 2] and made.data_ptr() == storage.data_ptr()
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float"):
        ts.zeros(1).new(ts.LongStorage([1]))


def test_what_a_storage_says_of_its_size() -> None:
    x = ts.zeros(5)
    storage = x.untyped_storage()
    assert storage.resizable() and x._typed_storage().resizable()
    x.numpy()
    assert not storage.resizable() and not x._typed_storage().resizable()
    empty, full = (ts.zeros(n).untyped_storage().__sizeof__() for n in (0, 100))
    assert full - empty == 400


def test_capsules_of_the_older_protocol_may_be_written_to() -> None:
    x = ts.zeros(3)
    shared = ts.utils.dlpack.from_dlpack(ts.utils.dlpack.to_dlpack(x))
    shared[0] = 5
    assert x.tolist() == [5, 0, 0] and shared.data_ptr() == x.data_ptr()


def test_arrays_between_elements_of_others_are_refused() -> None:
    part = np.zeros(3, [("a", "i2"), ("b", "f4")])["b"]
    for read in (ts.from_numpy, ts.as_tensor):
        with pytest.raises(ValueError, match="strides not a multiple of the element byte size"):
            read(part)


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_past_64_bits_are_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        ts.manual_seed(seed)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64", "bfloat16"])
def test_bernoulli_fills_an_out_of_any_dtype(dtype: str) -> None:
    chances = ts.tensor([[0.0, 1.0], [1.0, 0.0]])
    out = ts.empty(0, dtype=getattr(ts, dtype))
    assert ts.bernoulli(chances, out=out) is out
    assert out.dtype is getattr(ts, dtype) and out.double().tolist() == [[0, 1], [1, 0]]


def test_each_mask_of_bytes_is_warned_of() -> None:
    x, one = ts.zeros(5, 7, 3), ts.ones(5, dtype=ts.uint8)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert x[one, :, ts.tensor([1, 0, 0], dtype=ts.uint8)].shape == (5, 7)
    assert len(seen) == 2


CALLS: list[Callable[[Any], Any]] = [
    lambda t: t.empty(10, 0)[:, [0, 1]],
    lambda t: t.empty(0, 3)[t.tensor([0])],
    lambda t: t.ops.aten.index(t.empty(10, 0), [None, t.tensor([5])]),
    lambda t: t.logspace(0, 2j, 3).dtype,
    lambda t: (10 * t.logspace(t.tensor(1j), 2, 3).abs()).round(),
    lambda t: t.eye(2).to_sparse_coo().layout,
    lambda t: t.bernoulli(t.ones(2), out=t.zeros(2, dtype=t.int8)),
]


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLS)
def test_as_pytorch(call: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")

    def seen(library: Any) -> str:
        try:
            return str(call(library))
        except IndexError as error:
            return f"IndexError {error}"

    assert seen(ts) == seen(torch)

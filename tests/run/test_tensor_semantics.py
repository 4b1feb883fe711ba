"""Tensors under random programs, as PyTorch has them: indexing, views, promotion, text."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorscript as ts
from tensorscript.base.dtypes import DTYPES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
KINDS = (NotImplementedError, IndexError, TypeError, ValueError, RuntimeError)
FEW = settings(max_examples=100, deadline=None, derandomize=True)
SHAPE = (3, 2, 4)


def both(run: Any) -> tuple[str, str]:
    """What a program gives in both libraries: its text, or the kind of its error."""
    out = []
    for library in (ts, torch):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out.append(str(run(library)))
        except KINDS as error:
            out.append(next(k for k in KINDS if isinstance(error, k)).__name__)
    return out[0], out[1]


def numbers(library: Any, shape: tuple[int, ...] = SHAPE) -> Any:
    count = 1
    for n in shape:
        count *= n
    return library.arange(count).reshape(shape)


# -- indexing -------------------------------------------------------------------------------------
SMALL = st.integers(-5, 5)
SLICES = st.builds(slice, st.none() | SMALL, st.none() | SMALL, st.none() | st.integers(1, 3))
TENSORS = st.sampled_from([
    ("tensor", [0, 1]), ("tensor", [[1, 0], [1, 1]]), ("tensor", [-1]), ("tensor", 1),
    ("tensor", []), ("mask", [True, False, True]), ("mask", [True, False]), ("mask", True),
    ("mask", [[True, False], [False, True], [True, True]]),
])  # fmt: skip
ITEMS = st.lists(
    st.one_of(SMALL, SLICES, TENSORS, st.just(None), st.just(...), st.booleans()), max_size=4
).filter(lambda items: sum(i is ... for i in items) < 2)
"""PyTorch skips dimensions twice for two ellipses, and ends outside the tensor."""


def index(library: Any, items: list[Any]) -> Any:
    def made(item: Any) -> Any:
        if not isinstance(item, tuple):
            return item
        kind, data = item
        return library.tensor(data, dtype=library.bool if kind == "mask" else library.int64)

    return tuple(map(made, items))


@FEW
@given(ITEMS)
def test_reading_by_index(items: list[Any]) -> None:
    ours, theirs = both(lambda library: numbers(library)[index(library, items)])
    assert ours == theirs


@FEW
@given(ITEMS, st.sampled_from([(), (1,), (4,), (2, 4), (3, 2, 4), (2,)]))
def test_writing_by_index(items: list[Any], shape: tuple[int, ...]) -> None:
    def run(library: Any) -> Any:
        x = numbers(library)
        x[index(library, items)] = 100 + numbers(library, shape)
        return x

    ours, theirs = both(run)
    assert ours == theirs


# -- views ----------------------------------------------------------------------------------------
VIEWS = {
    "first": lambda x: x[0], "last": lambda x: x[..., -1], "step": lambda x: x[::2],
    "turned": lambda x: x.transpose(0, -1), "flat": lambda x: x.reshape(-1),
    "spread": lambda x: x.unsqueeze(0), "narrow": lambda x: x.narrow(0, 0, 1),
    "expanded": lambda x: x[:1].expand(2, *x.shape[1:]), "picked": lambda x: x.select(-1, 0),
    "diagonal": lambda x: x.diagonal(0, 0, -1),
}  # fmt: skip
WRITES = {
    "add": lambda x: x.add_(1), "fill": lambda x: x.fill_(7), "zero": lambda x: x.zero_(),
    "mul": lambda x: x.mul_(2), "set": lambda x: x.__setitem__(0, 5),
    "mask": lambda x: x.masked_fill_(x > 6, -1), "copy": lambda x: x.copy_(x.clone() + 1),
}  # fmt: skip


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(sorted({**VIEWS, **WRITES}))), max_size=7)
)
def test_writes_to_views_and_versions(steps: list[tuple[int, str]]) -> None:
    def run(library: Any) -> Any:
        tensors = [numbers(library)]
        for which, name in steps:
            x = tensors[which % len(tensors)]
            if name in WRITES:
                WRITES[name](x)
            else:
                tensors.append(VIEWS[name](x))
        return [(t.tolist(), t._version, t._is_view(), tuple(t.shape)) for t in tensors]

    ours, theirs = both(run)
    assert ours == theirs


@FEW
@given(
    st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 5), max_size=3),
    st.integers(0, 6),
)  # fmt: skip
def test_as_strided(size: list[int], stride: list[int], offset: int) -> None:
    def run(library: Any) -> Any:
        x = library.arange(20)
        y = x.as_strided(size, stride, offset)
        return y.tolist(), tuple(y.shape), y.storage_offset() if y.numel() else None

    ours, theirs = both(run)
    assert ours == theirs


# -- promotion ------------------------------------------------------------------------------------
def test_promotion_of_all_pairs() -> None:
    names = [d.name for d in DTYPES]
    for a, b in itertools.product(names, repeat=2):
        ours, theirs = both(lambda m, a=a, b=b: m.promote_types(getattr(m, a), getattr(m, b)))
        assert ours == theirs, (a, b)


_LACKING = "torch.complex32"


def test_operators_promote() -> None:
    """A tensor with dimensions beside one without, and beside numbers of Python."""
    for name in (d.name for d in DTYPES):
        for number in (True, 2, 1.5, 1j):
            ours, theirs = both(
                lambda m, n=name, x=number: m.result_type(m.ones(2, dtype=getattr(m, n)), x)
            )
            assert ours == theirs or theirs == _LACKING, (name, number)
        for other in (d.name for d in DTYPES):
            ours, theirs = both(
                lambda m, n=name, o=other: (
                    (m.ones(2, dtype=getattr(m, n)) * m.ones((), dtype=getattr(m, o))).dtype
                )
            )
            assert ours == theirs or theirs == _LACKING, (name, other)


# -- text -----------------------------------------------------------------------------------------
ODD = st.sampled_from([
    0.0, -0.0, 1.0, -1.0, 0.1, 1e-5, 1e10, 12345.678, float("nan"), float("inf"), -float("inf"),
    1e38, 1e-38, 99999.0, 100000000.0,
])  # fmt: skip


@FEW
@given(st.lists(ODD, max_size=8), st.sampled_from(["float32", "float64", "float16", "bfloat16"]))
def test_text_of_floats(values: list[float], dtype: str) -> None:
    ours, theirs = both(lambda m: m.tensor(values, dtype=m.float64).to(getattr(m, dtype)))
    assert ours == theirs


@pytest.mark.parametrize(
    "shape", [(), (0,), (1, 0), (2, 0, 3), (1, 1, 1), (2, 3), (40, 30), (1001,)]
)
@pytest.mark.parametrize("dtype", [d.name for d in DTYPES])
def test_text_of_shapes(shape: tuple[int, ...], dtype: str) -> None:
    ours, theirs = both(lambda m: numbers(m, shape).to(getattr(m, dtype)))
    assert ours == theirs


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (((7, 5), (9, np.array(5.0))), ts.float64),
        ([2.0, np.float64(1)], ts.float64),
        ([np.float16(1), 2], ts.float16),
        ([np.int8(1), np.int8(2)], ts.int8),
        ([np.int64(1), 2.0], ts.float32),
        ([[1, 2], np.array([3.0, 4])], ts.float64),
        ([ts.tensor(1.0, dtype=ts.float64), 2], ts.float64),
        ([ts.tensor(True), 2], ts.int64),
        ([ts.tensor(1j), 1], ts.complex64),
    ],
)
def test_all_numbers_of_a_list_decide_its_dtype(data: Any, dtype: Any) -> None:
    assert ts.tensor(data).dtype is dtype


def test_tensors_of_one_element_are_numbers_in_lists() -> None:
    assert ts.tensor([[ts.tensor(1.5)], [ts.tensor([[2.0]])]]).tolist() == [[1.5], [2.0]]
    assert ts.tensor([ts.tensor([1]), ts.tensor([3])]).shape == (2,)

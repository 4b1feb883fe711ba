"""Compiled functions take every array that NumPy makes, and say which others they do not."""

from __future__ import annotations

import array
import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import GuardError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def doubled() -> Any:
    def program(x):  # type: ignore[no-untyped-def]
        return x * 2

    return ts.compile(program, cache=False, fallback="error")


@pytest.mark.parametrize(
    "given",
    [
        X.view(np.recarray),
        X.view(np.ma.MaskedArray),
        X.astype(">f4"),
        np.asfortranarray(X),
        X[::-1, ::-1],
        np.broadcast_to(X[0], (2, 3)),
    ],
    ids=["subclass", "masked", "byte order", "columns first", "backwards", "stretched"],
)
def test_arrays_of_every_kind(doubled: Any, given: np.ndarray) -> None:
    assert doubled(given).tolist() == (np.asarray(given) * 2).tolist()


@pytest.mark.parametrize(
    "given",
    [
        array.array("f", [1]),
        bytearray(b"a"),
        memoryview(b"a"),
        memoryview(bytearray(b"a")),
        {1},
        [1.0],
        object(),
    ],
)
def test_what_is_no_array(doubled: Any, given: object) -> None:
    with pytest.raises(GuardError, match=r"Expected a value of type 'Tensor|Unable to cast"):
        doubled(given)


@pytest.fixture(scope="module")
def counted() -> Any:
    def program(x):  # type: ignore[no-untyped-def]
        x.add_(1)
        return x.sum()

    return ts.compile(program, cache=False, fallback="error")


@pytest.mark.parametrize(
    "given",
    [
        np.zeros((2, 3), ">f4"),
        np.frombuffer(bytearray(25), np.uint8)[1:].view(np.float32).reshape(2, 3),
        np.zeros((2, 3), [("x", "f4"), ("y", "u1")])["x"],
        np.zeros((2, 3), np.float32).view(np.recarray),
        np.zeros((3, 2), np.float32).T,
    ],
    ids=["byte order", "unaligned", "part of a record", "subclass", "columns first"],
)
def test_what_is_written_arrives(counted: Any, given: np.ndarray) -> None:
    for times in (1, 2):
        assert counted(given) == 6 * times
        assert given.tolist() == [[times] * 3] * 2


def test_read_only_arrays_are_not_written(counted: Any) -> None:
    given = np.zeros((2, 3), np.float32)
    given.flags.writeable = False
    with pytest.raises(GuardError, match="argument 'x' is written, and its array is read-only"):
        counted(given)


def test_compiled_functions_stay_where_they_are(doubled: Any) -> None:
    assert copy.copy(doubled) is copy.deepcopy({"f": doubled})["f"] is doubled
    with pytest.raises(pickle.PickleError, match="cannot be pickled: machine code is of one proc"):
        pickle.dumps(doubled)


def test_tensors_of_pytorch(doubled: Any) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2, dtype=torch.complex64) * 1j
    assert doubled(x.conj()).tolist() == [-2j, -2j]
    assert doubled(x.conj().imag).tolist() == [-2, -2]  # its negative bit is set
    for given, message in [
        (torch.ones(2, 2).to_sparse(), "argument 'x': can't convert Sparse layout tensor"),
        (torch.ones(2).to(torch.float8_e4m3fn), "argument 'x': Got unsupported ScalarType Float8"),
        (torch.ones(2, device="meta"), "argument 'x' is on meta"),
    ]:
        with pytest.raises(GuardError, match=message):
            doubled(given)

"""Compiled functions take every array that NumPy makes, and say which others they do not."""

from __future__ import annotations

import array
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
    "given", [array.array("f", [1]), bytearray(b"a"), memoryview(X), {1}, [1.0], object()]
)
def test_what_is_no_array(doubled: Any, given: object) -> None:
    with pytest.raises(GuardError, match=r"Expected a value of type 'Tensor|Unable to cast"):
        doubled(given)


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

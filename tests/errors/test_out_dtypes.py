"""`out=` of another dtype: which operators convert into it, and the words of the others."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

CALLS = (
    "mm(a, a, out=out)", "gather(a, 0, at, out=out)", "sort(a, out=(out, places))",
    "abs(a, out=out)", "topk(a, 1, out=(out, places))", "cummax(a, 0, out=(out, places))",
    "dot(a[0], a[0], out=out)", "complex(a, a, out=out)", "tril(a, out=out)", "neg(a, out=out)",
    "softmax(a, 0, out=out)", "linalg.inv(library.eye(2), out=out)", "exp(a, out=out)",
    "max(a, 0, out=(out, places))", "max(a, a, out=out)", "add(a, a, out=out)",
    "cat([a, a], out=out)", "bmm(a[None], a[None], out=out)", "sum(a, 0, out=out)",
    "cumsum(a, 0, out=out)", "prod(a, 1, out=out)", "abs(z, out=out)", "angle(z, out=out)",
)  # fmt: skip


def outcome(library: Any, call: str, dtype: str) -> str:
    a = library.tensor([[1.0, 2.0], [3.0, 5.0]])
    names = {
        "a": a, "z": library.complex(a, -a), "at": library.tensor([[0, 1], [1, 0]]),
        "places": library.empty(0, dtype=library.int64),
        "out": library.empty(0, dtype=getattr(library, dtype)),
    }  # fmt: skip
    try:
        eval(f"library.{call}", names | {"library": library})
    except (RuntimeError, TypeError) as error:
        return str(error).partition("\n")[0]
    return str(names["out"])


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
def test_as_pytorch_refuses(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    for call in CALLS:
        if dtype in ("int64", "complex64") and call.startswith(("cat", "complex")):
            continue  # PyTorch has other words for what cannot be cast
        assert outcome(ts, call, dtype) == outcome(torch, call, dtype), call


def test_nothing_is_written_then() -> None:
    x, values, at = ts.tensor([2.0, 1.0]), ts.zeros(2, dtype=ts.float64), ts.tensor([7, 7])
    with pytest.raises(OperatorError, match="Expected out tensor to have dtype float, but got"):
        ts.sort(x, out=(values, at))
    assert at.tolist() == [7, 7] and values.tolist() == [0.0, 0.0]

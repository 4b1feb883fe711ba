"""Elements that an operator does not take: one kind of error and one text, eager or compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

_EXPECTED = "Expected a floating point or complex tensor as input. Got"
KERNELS = [
    ("torch.bitwise_not(x)", ts.float32, "\"bitwise_not_cpu\" not implemented for 'Float'"),
    ("torch.igamma(x, x)", ts.int64, "\"igamma_cpu\" not implemented for 'Long'"),
    ("torch.div(x, x, rounding_mode='floor')", ts.bool,
     "\"div_floor_cpu\" not implemented for 'Bool'"),
    ("torch.special.airy_ai(x)", ts.bfloat16, "\"airy_ai_cpu\" not implemented for 'BFloat16'"),
    ("torch.special.bessel_j0(x)", ts.complex64,
     "\"bessel_j0_cpu\" not implemented for 'ComplexFloat'"),
    ("torch.linalg.cholesky(x)", ts.bfloat16, "\"cholesky_cpu\" not implemented for 'BFloat16'"),
    ("torch.linalg.eigh(x)", ts.int32, "\"linalg_eigh_cpu\" not implemented for 'Int'"),
    ("torch.linalg.multi_dot([x, x])", ts.bool, "\"addmm_impl_cpu_\" not implemented for 'Bool'"),
    ("torch.flip(x, [0])", ts.uint16, "\"flip_cpu\" not implemented for 'UInt16'"),
]  # fmt: skip
"""Calls of which PyTorch raises NotImplementedError."""
MESSAGES = [
    ("torch.linalg.inv(x)", ts.bfloat16,
     r"linalg\.inv: Low precision dtypes not supported\. Got BFloat16"),
    ("torch.linalg.svdvals(x)", ts.int64, rf"linalg\.svd: {_EXPECTED} Long"),
    ("torch.linalg.vector_norm(x)", ts.int64, rf"linalg\.vector_norm: {_EXPECTED} Long"),
    ("torch.cdist(x, x)", ts.int64, "cdist only supports floating-point dtypes, X1 got: Long"),
    ("torch.fft.rfftn(x)", ts.complex64, "rfftn expects a real-valued input tensor"),
    ("x.exponential_()", ts.int32, "dtype must be a floating point but you specified Int"),
    ("x.cauchy_()", ts.int32, "dtype must be a floating point but you specified int"),
    ("torch.cov(x)", ts.bool, r"cov\(\): bool dtype is not supported for input"),
]  # fmt: skip
Program = Callable[..., Any]


def _eager(call: str) -> Program:
    return eval(f"lambda x: {call}", {"torch": ts})  # type: ignore[no-any-return]


def _scripted(call: str) -> Any:
    return ts.jit.CompilationUnit(f"def program(x):\n    return {call}\n").program


def _native(call: str) -> Program:
    return ts.compile(_scripted(call), fallback="error", cache=False)


WAYS = pytest.mark.parametrize("way", [_eager, _scripted, _native], ids=["eager", "ts", "native"])


@WAYS
@pytest.mark.parametrize("call, dtype, words", KERNELS, ids=[row[0] for row in KERNELS])
def test_kernels(way: Callable[[str], Program], call: str, dtype: Any, words: str) -> None:
    with pytest.raises(NotImplementedError, match=words):
        way(call)(ts.ones(2, 2).to(dtype))


@WAYS
@pytest.mark.parametrize("call, dtype, words", MESSAGES, ids=[row[0] for row in MESSAGES])
def test_messages(way: Callable[[str], Program], call: str, dtype: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words) as found:
        way(call)(ts.ones(2, 2).to(dtype))
    assert not isinstance(found.value, NotImplementedError)


@WAYS
@pytest.mark.parametrize(
    "call, wanted",
    [
        ("x % 2", [1, 0]), ("x // 2.5", [0.0, 0.0]), ("torch.fmod(x, 2)", [1, 0]),
        ("x << 2", [4, 0]), ("torch.floor_divide(x, -1)", [-1, 0]),
    ],
)  # fmt: skip
def test_numbers_take_part_in_the_dtype(
    way: Callable[[str], Program], call: str, wanted: list[float]
) -> None:
    found = way(call)(ts.tensor([True, False]))
    assert found.tolist() == wanted
    assert found.dtype == (ts.float32 if type(wanted[0]) is float else ts.int64)


@WAYS
def test_truth_values_have_no_remainders(way: Callable[[str], Program]) -> None:
    with pytest.raises(NotImplementedError, match="\"fmod_cpu\" not implemented for 'Bool'"):
        way("torch.fmod(x, torch.tensor(True))")(ts.tensor([True, False]))

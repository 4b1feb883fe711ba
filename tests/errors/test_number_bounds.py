"""Numbers at the bounds of a dtype, counts of frequencies, and kernels by dimension: eager mode
and machine code refuse alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

Program = Callable[..., Any]
F = ts.nn.functional
LEAST = -(2**63)


def _eager(program: Program) -> Program:
    return program


def _native(program: Program) -> Program:
    return ts.compile(ts.jit.script(program), fallback="error", cache=False)


WAYS = pytest.mark.parametrize("way", [_eager, _native], ids=["eager", "native"])


def soft(x):  # type: ignore[no-untyped-def]
    return ts.softmax(x, 0)


def soft_last(x):  # type: ignore[no-untyped-def]
    return ts.softmax(x, -1)


def logs(x):  # type: ignore[no-untyped-def]
    return ts.log_softmax(x, 0)


@WAYS
@pytest.mark.parametrize(
    "program, kernel",
    [
        (soft, "softmax_kernel_impl"),
        (soft_last, "softmax_lastdim_kernel_impl"),
        (logs, "log_softmax_kernel_impl"),
    ],
)
def test_the_kernel_of_a_dimension(way: Callable[[Program], Program], program: Program,
                                   kernel: str) -> None:  # fmt: skip
    with pytest.raises(RuntimeError, match=f"\"{kernel}\" not implemented for 'Long'"):
        way(program)(ts.ones(2, 3, dtype=ts.int64))


def test_the_only_dimension_and_none_are_the_last() -> None:
    for x in (ts.ones(3, dtype=ts.int64), ts.tensor(3)):
        with pytest.raises(RuntimeError, match="softmax_lastdim_kernel_impl"):
            ts.softmax(x, 0)


def test_two_to_the_63_is_compared_as_a_float() -> None:
    assert ts.full((1,), 2.0**63, dtype=ts.int64).item() == LEAST
    assert ts.zeros(1, dtype=ts.int64).fill_(2.0**63).item() == LEAST
    for number in (2**63, 2.0**63 + 2048, -(2.0**63) - 2048):
        with pytest.raises(RuntimeError, match="cannot be converted to type int64_t"):
            ts.full((1,), number, dtype=ts.int64)


def above(x):  # type: ignore[no-untyped-def]
    return F.threshold(x, 300.0, 0.0)


def filled(x):  # type: ignore[no-untyped-def]
    return F.threshold(x, 3.0, 300.0)


@WAYS
@pytest.mark.parametrize("program", [above, filled])
def test_thresholds_are_in_range(way: Callable[[Program], Program], program: Program) -> None:
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t without overflow"):
        way(program)(ts.ones(2, dtype=ts.uint8))


def whole(x, window):  # type: ignore[no-untyped-def]
    return ts.istft(x, 16, window=window, onesided=False, return_complex=True)


def real(x, window):  # type: ignore[no-untyped-def]
    return ts.istft(x, 16, window=window)


@WAYS
@pytest.mark.parametrize(
    "program, count, words",
    [(whole, 9, "match n_fft when onesided=False"), (real, 8, "match n_fft / 2"),
     (real, 9, ""), (real, 16, ""), (whole, 16, "")],
)  # fmt: skip
def test_counts_of_frequencies(
    way: Callable[[Program], Program], program: Program, count: int, words: str
) -> None:
    x, window = ts.ones(count, 12, dtype=ts.complex64), ts.ones(16)
    if not words:
        assert way(program)(x, window).shape == (44,)
        return
    with pytest.raises(RuntimeError, match=words):
        way(program)(x, window)

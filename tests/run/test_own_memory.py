"""What an operator computes has memory of its own, also where there is nothing to compute: a write
to the result leaves the operand alone, natively and in eager mode. Views share theirs."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as ts

COMPUTED = [
    ("torch.floor(x)", ts.int64),
    ("torch.ceil(x)", ts.int32),
    ("torch.round(x)", ts.uint8),
    ("torch.trunc(x)", ts.int64),
    ("torch.nan_to_num(x)", ts.int64),
    ("torch.sign(x)", ts.bool),
    ("torch.sgn(x)", ts.bool),
    ("torch.pixel_shuffle(x, 1)", ts.float32),
    ("torch.matrix_power(x[..., :2], 1)", ts.float32),
    ("torch.prod(x[None], 0)", ts.complex64),
    ("torch.cat([x])", ts.float32),
    ("x.to(torch.complex64)", ts.float32),
    ("x.to(torch.complex64).real", ts.float32),
    ("x.float()", ts.complex64),
]
SHARED = [
    ("torch.einsum('ijk->kij', x)", ts.float32),
    ("torch.einsum('ijj->ij', x[:, :2, :2])", ts.float32),
    ("torch.dropout(x, 0.5, False)", ts.float32),
    ("x.type_as(x)", ts.int64),
    ("torch.atleast_1d(x)", ts.float32),
    ("x.to(x.dtype)", ts.int64),
]


def _operand(dtype: Any) -> ts.Tensor:
    return ts.arange(1, 13).reshape(2, 2, 3).to(dtype)


def _both(call: str, write: str) -> tuple[Any, Any]:
    text = f"def program(x):\n    y = {call}\n    {write}\n    return x, y\n"
    program = ts.jit.CompilationUnit(text).program
    return program, ts.compile(program, fallback="error", cache=False)


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("written, kept", [("y", "x"), ("x", "y")])
@pytest.mark.parametrize("call, dtype", COMPUTED)
def test_what_is_computed_is_no_operand(call: str, dtype: Any, written: str, kept: str) -> None:
    before = dict(zip("xy", _both(call, "pass")[0](_operand(dtype)), strict=True))
    for run in _both(call, f"{written}.zero_()"):
        x = _operand(dtype)
        after = dict(zip("xy", run(x), strict=True))
        assert not after[written].any() and after[kept].equal(before[kept])
        assert x.equal(after["x"])


@pytest.mark.parametrize("call, dtype", SHARED)
def test_what_is_no_work_shares_memory(call: str, dtype: Any) -> None:
    for run in _both(call, "y.zero_()"):
        x = _operand(dtype)
        y = run(x)[1]
        assert not y.any() and int((x == 0).sum()) == y.numel()


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize(
    "call",
    [
        "torch.sum(x, [0], dtype=torch.int32)", "torch.cumsum(x, 0, dtype=torch.float64)",
        "torch.mean(x, [1], dtype=torch.float32)", "torch.cumprod(x, 1, dtype=torch.float32)",
        "torch.prod(x, dtype=torch.int32)", "torch.sum(x, dtype=torch.complex128)",
    ],
)  # fmt: skip
def test_sums_of_complex_numbers_in_a_dtype_asked_for(call: str) -> None:
    program = ts.jit.CompilationUnit(f"def program(x):\n    return {call}\n").program
    x = _operand(ts.complex64) * (1 + 0.5j)
    want, got = program(x), ts.compile(program, fallback="error", cache=False)(x)
    assert got.dtype == want.dtype and got.equal(want)

"""Quantized tensors in eager mode: grids, what keeps them, what is refused; fake quantization."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

X = np.array([[1.0, -2.0, 0.33, 0.5], [0.0, 9.0, 30.0, -0.05]], np.float32)


def quantized(dtype: object = ts.quint8) -> ts.Tensor:
    return ts.quantize_per_tensor(ts.from_numpy(X), 0.1, 3, dtype)


def test_integers_are_rounded_to_even_and_limited() -> None:
    q = quantized()
    assert q.dtype is ts.quint8 and q.is_quantized and not q.int_repr().is_quantized
    assert q.int_repr().tolist() == [[13, 0, 6, 8], [3, 93, 255, 2]]
    assert (q.q_scale(), q.q_zero_point()) == (0.1, 3)
    np.testing.assert_allclose(
        q.dequantize().numpy(), [[1, -0.3, 0.3, 0.5], [0, 9, 25.2, -0.1]], rtol=1e-6
    )
    assert "quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=3" in repr(q)


def test_channels_have_grids_of_their_own() -> None:
    steps, zeros = ts.tensor([0.1, 0.5]), ts.tensor([0, 1])
    q = ts.quantize_per_channel(ts.from_numpy(X), steps, zeros, 0, ts.qint8)
    assert q.int_repr().tolist() == [[10, -20, 3, 5], [1, 19, 61, 1]]
    assert q.q_per_channel_axis() == 0
    assert q.q_per_channel_zero_points().tolist() == [0, 1]
    with pytest.raises(OperatorError, match="quantized per tensor"):
        q.q_scale()


@pytest.mark.parametrize(
    "move",
    [
        lambda q: q.reshape(4, 2),
        lambda q: q.t()[1:],
        lambda q: ts.flatten(q),
        lambda q: q.unsqueeze(0).max_pool1d(2),
        lambda q: ts.cat([q, q]),
    ],
)
def test_what_moves_keeps_the_grid(move: Callable[[ts.Tensor], ts.Tensor]) -> None:
    q = quantized()
    moved = move(q)
    assert (moved.q_scale(), moved.q_zero_point()) == (0.1, 3)
    numbers = move(q.dequantize())
    np.testing.assert_allclose(moved.dequantize().numpy(), numbers.numpy(), rtol=1e-6)


def test_averages_are_rounded_to_the_grid() -> None:
    halves = ts._make_per_tensor_quantized_tensor(ts.tensor([[1, 2], [2, 3]]).to(ts.uint8), 0.5, 0)
    assert halves.mean(1).int_repr().tolist() == [2, 2]
    assert ts.relu(quantized(ts.qint8)).int_repr().min().item() == 3
    assert ts.sigmoid(quantized()).q_scale() == 1 / 256


def test_what_has_no_quantized_form_is_refused() -> None:
    q = quantized()
    for wrong in (lambda: q + 1, lambda: ts.zeros(2, dtype=ts.quint8), lambda: q @ q.t()):
        with pytest.raises(OperatorError, match="'QuantizedCPU' backend"):
            wrong()
    with pytest.raises(OperatorError, match="Quantize only works on Float Tensor, got Double"):
        ts.quantize_per_tensor(ts.from_numpy(X).double(), 0.1, 3, ts.quint8)
    with pytest.raises(OperatorError, match="zero_point 300 is above upper bound"):
        ts.quantize_per_tensor(ts.from_numpy(X), 0.1, 300, ts.quint8)


def fake(x: ts.Tensor, scale: ts.Tensor, zero: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    whole = ts.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)
    given = ts.fake_quantize_per_tensor_affine(x, scale[:1], zero[:1], -128, 127)
    return whole, given, ts.fake_quantize_per_channel_affine(x, scale, zero, 0, -8, 7)


@pytest.mark.parametrize("native", [False, True])
def test_fake_quantization_leaves_numbers_on_the_grid(native: bool) -> None:
    run = ts.compile(fake, fallback="error") if native else fake
    scale, zero = ts.tensor([0.5, 2.0]), ts.tensor([1, 0]).to(ts.int32)
    whole, given, rows = run(ts.from_numpy(X), scale, zero)
    np.testing.assert_allclose(whole.numpy(), [[1, -0.3, 0.3, 0.5], [0, 9, 25.2, 0]], rtol=1e-6)
    np.testing.assert_array_equal(given.numpy(), [[1, -2, 0.5, 0.5], [0, 9, 30, 0]])
    np.testing.assert_array_equal(rows.numpy(), [[1, -2, 0.5, 0.5], [0, 8, 14, 0]])


def test_fake_quantization_refuses_ranges_without_the_zero_point() -> None:
    with pytest.raises(OperatorError, match="`zero_point` must be between"):
        ts.fake_quantize_per_tensor_affine(ts.from_numpy(X), 0.1, 300, 0, 255)
    with pytest.raises(OperatorError, match="`quant_min` should be less than or equal"):
        ts.fake_quantize_per_tensor_affine(ts.from_numpy(X), 0.1, 3, 255, 0)


def test_the_first_quantized_tensor_of_a_process() -> None:
    """Nothing has told before that there are tensors that are not read as they are stored."""
    program = (
        "import tensorscript as ts\n"
        "x = ts.tensor([1.0, 2.0])\n"
        "f = ts.jit.CompilationUnit('def f(x: Tensor):\\n'\n"
        "    '  return torch.quantize_per_tensor(x, 0.5, 1, 13).int_repr()').f\n"
        "assert f(x).tolist() == [3, 5]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_grid_may_be_given_as_tensors() -> None:
    given = ts.tensor(0.5), ts.tensor(1)
    made = ts.quantize_per_tensor(ts.tensor([1.0, 2.0]), *given, ts.quint8)
    assert made.int_repr().tolist() == [3, 5] and made.q_scale() == 0.5


@pytest.mark.parametrize("dtype", [ts.quint8, ts.qint8])
@pytest.mark.parametrize("native", [False, True], ids=["eager", "native"])
def test_halves_are_rounded_to_even_from_the_zero_point(native: bool, dtype: ts.dtype) -> None:
    """As PyTorch 2.13 does."""

    def program(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        q = ts.quantize_per_tensor(x, 0.5, 59, dtype)
        bounded = ts.clamp(q, -0.25, 1.25)
        return q.int_repr().int() - 59, bounded.int_repr().int() - 59

    x = ts.arange(-5, 6) * 0.25
    run: Callable[..., tuple[ts.Tensor, ts.Tensor]] = program
    if native:
        traced = ts.jit.trace(program, (x,), check_trace=False)
        run = ts.compile(traced, fallback="error", cache=False)
    numbers, bounded = run(x)
    odd = [-3, -2, -1, -1, -1, 0, 1, 1, 1, 2, 3]
    assert numbers.tolist() == odd
    assert bounded.tolist() == [max(-1, min(v, 3)) for v in odd]

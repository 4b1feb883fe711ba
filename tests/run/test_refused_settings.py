"""Settings that PyTorch refuses are refused by compiled code and by eager kernels, in its words."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import TensorScriptError
from tensorscript.nn import functional as F

Program = Callable[[ts.Tensor], ts.Tensor]


def rounded_up(x: ts.Tensor) -> ts.Tensor:
    return ts.div(x, 2, rounding_mode="up")


def part_of_integers(x: ts.Tensor) -> ts.Tensor:
    return ts.add(x.long(), 1, alpha=0.5)


def part_of_bools(x: ts.Tensor) -> ts.Tensor:
    return ts.add(x.bool(), True, alpha=1.5)


def unknown_norm(x: ts.Tensor) -> ts.Tensor:
    return ts.fft.fft(x, norm="bogus").real


def parts_of_nothing(x: ts.Tensor) -> ts.Tensor:
    return x.split(0)[0]


def negative_norm(x: ts.Tensor) -> ts.Tensor:
    return ts.renorm(x, -1.0, 0, 1.0)


def without_statistics(x: ts.Tensor) -> ts.Tensor:
    return F.batch_norm(x, None, None)


def half_of_the_statistics(x: ts.Tensor) -> ts.Tensor:
    return F.instance_norm(x[None], ts.zeros(2), None)


def matrix_of_quantiles(x: ts.Tensor) -> ts.Tensor:
    return ts.quantile(x, ts.tensor([[0.1]]))


def places_of_floats(x: ts.Tensor) -> ts.Tensor:
    return x[ts.tensor([0.0, 1.0])]


def from_nan(x: ts.Tensor) -> ts.Tensor:
    return ts.histc(x, 4, math.nan, 2)


def slopes_crossed(x: ts.Tensor) -> ts.Tensor:
    return F.rrelu(x, 0.5, 0.1)


def one_power(x: ts.Tensor) -> ts.Tensor:
    return ts.linalg.vander(x, N=1)


REFUSED: dict[Program, str] = {
    rounded_up: "rounding_mode to be one of",
    part_of_integers: "alpha must not be a floating point number",
    part_of_bools: "alpha must not be a floating point number",
    unknown_norm: "bogus",
    parts_of_nothing: "split_size can only be 0 if dimension size is 0",
    negative_norm: "non-positive-norm not supported",
    without_statistics: "running_mean must be defined in evaluation mode",
    half_of_the_statistics: "must either both be None or neither be None",
    matrix_of_quantiles: "q must be a scalar or 1D tensor",
    places_of_floats: "tensors used as indices must be",
    from_nan: r"range of \[nan, 2\] is not finite",
    slopes_crossed: "less than or equal to the upper bound",
    one_power: "N must be greater than 1",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_refused(program: Program) -> None:
    x = np.arange(6, dtype="f4").reshape(2, 3)
    with pytest.raises((TensorScriptError, ValueError), match=REFUSED[program]):
        program(ts.from_numpy(x))
    with pytest.raises(TensorScriptError, match=REFUSED[program]):
        ts.compile(program, (x,), fallback="error")(x)


def masked_and_causal(q: ts.Tensor, mask: ts.Tensor, causal: bool) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask, is_causal=causal)


def test_a_flag_of_the_call_may_not_go_with_a_mask() -> None:
    q, mask = ts.ones(1, 3, 4), ts.zeros(3, 3)
    compiled = ts.compile(masked_and_causal, (q, mask, False), fallback="error")
    assert compiled(q, mask, False).shape == (1, 3, 4)
    with pytest.raises(TensorScriptError, match="should not be set when is_causal=True"):
        compiled(q, mask, True)


def roots(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return x**-0.5, x**0.5


def positive(x: ts.Tensor) -> ts.Tensor:
    return ts.relu(x)


def running(x: ts.Tensor) -> ts.Tensor:
    return x.cumsum(0)


@pytest.mark.parametrize("compiled", [False, True])
def test_signs_of_zeros_and_infinities(compiled: bool) -> None:
    """As PyTorch: a power of a half is a root; sums begin with 0; what is not below 0 stays."""
    x = ts.tensor([-math.inf, -0.0, 0.0, 4.0])

    def run(program: Callable[[ts.Tensor], object]) -> object:
        return ts.compile(program, (x,), fallback="error")(x) if compiled else program(x)

    inverse, root = (np.asarray(t) for t in run(roots))  # type: ignore[attr-defined]  # a tuple
    np.testing.assert_array_equal(inverse, [math.nan, -math.inf, math.inf, 0.5])
    np.testing.assert_array_equal(root, [math.nan, -0.0, 0.0, 2.0])
    assert list(np.signbit(np.asarray(run(positive)))) == [False, True, False, False]
    x = ts.tensor([-0.0, -0.0, 1.0])
    assert not np.signbit(np.asarray(run(running))).any()


def test_roots_of_integers_are_floats() -> None:
    whole = ts.tensor([4, 9])
    for found in (whole**0.5, whole.to(ts.bfloat16) ** -0.5, ts.tensor(4) ** -0.5):
        assert found.dtype.is_floating_point
    assert (whole**0.5).tolist() == [2.0, 3.0]


def sums(x: ts.Tensor) -> ts.Tensor:
    places = (x > 5).to(ts.int64)
    return ts.zeros(2, dtype=x.dtype).scatter_add(0, places, x).float()


def middle(x: ts.Tensor) -> ts.Tensor:
    return x[1:].median(0)[0]


@pytest.mark.parametrize("dtype", [ts.float16, ts.bfloat16])
def test_scattered_sums_of_halves_are_rounded_once(dtype: ts.dtype) -> None:
    x = ts.ones(3000, dtype=dtype)
    for found in (sums(x), ts.compile(sums, (x,), fallback="error")(x)):
        assert found.tolist() == [float(ts.tensor(3000.0).to(dtype)), 0.0]


def test_there_is_no_middle_of_nothing() -> None:
    compiled = ts.compile(middle, (ts.TensorSpec(("N", 4), ts.float32),), fallback="error")
    x = np.arange(12, dtype="f4").reshape(3, 4)
    np.testing.assert_array_equal(compiled(x), x[1])
    with pytest.raises(TensorScriptError, match="to have non-zero size"):
        compiled(x[:1])


def area(x: ts.Tensor) -> ts.Tensor:
    return ts.trapezoid(x)


def smoothed(x: ts.Tensor) -> ts.Tensor:
    return F.cross_entropy(x, ts.tensor([1, 0]), label_smoothing=-0.5)


def test_the_area_of_nothing_keeps_its_dtype() -> None:
    x = ts.zeros(0, dtype=ts.int32)
    assert area(x).dtype is ts.compile(area, (x,), fallback="error")(x).dtype is ts.int32


def test_labels_are_not_sharpened() -> None:
    x = ts.arange(6.0).reshape(2, 3)
    wanted = float(F.cross_entropy(x, ts.tensor([1, 0])))
    for found in (smoothed(x), ts.compile(smoothed, (x,), fallback="error")(x)):
        assert float(found) == pytest.approx(wanted)

"""Operators over no elements at all: as PyTorch answers or refuses them, eager and natively."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

EMPTY, BATCH = ts.ones(3, 0), ts.ones(0, 2, 4, 4)

SHAPES = {
    "nanmedian": (lambda: ts.nanmedian(EMPTY, 0)[1], (0,)),
    "max_pool2d": (lambda: ts.nn.functional.max_pool2d(BATCH, 2, return_indices=True)[1],
                   (0, 2, 2, 2)),
    "cond": (lambda: ts.linalg.cond(ts.ones(2, 0, 0)), (2,)),
    "tensorsolve": (lambda: ts.linalg.tensorsolve(ts.ones(0, 4, 4, 0), ts.ones(0, 4)), (4, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    run, shape = SHAPES[name]
    assert run().shape == shape


def test_nanmedian_of_each_row() -> None:
    nan = float("nan")
    values, places = ts.nanmedian(ts.tensor([[3.0, nan, 1.0, 2.0], [nan, nan, nan, nan]]), 1)
    assert values[0].item() == 2 and values[1].isnan() and places.tolist() == [3, 0]


def _median(x: ts.Tensor) -> ts.Tensor:
    return ts.median(x)


def _nanmedian(x: ts.Tensor) -> ts.Tensor:
    return ts.nanmedian(x)


@pytest.mark.parametrize("f", [_median, _nanmedian])
def test_median_of_truth_values(f: Any) -> None:
    """There is one only of none, and it is True."""
    none, some = ts.ones(2, 0, dtype=ts.bool), ts.ones(3, dtype=ts.bool)
    assert f(none).item() is True
    assert ts.compile(f, (none,), fallback="error")(none).item() is True
    with pytest.raises(OperatorError, match="\"median_cpu\" not implemented for 'Bool'"):
        f(some)
    along = getattr(ts, f.__name__[1:])
    with pytest.raises(
        OperatorError, match=r"median\(\): Expected reduction dim 1 to have non-zero"
    ):
        along(none, 1)
    for x in (none, some, some[0]):
        with pytest.raises(OperatorError, match="\"median_out\" not implemented for 'Bool'"):
            along(x, 0)


def test_refusals() -> None:
    none = ts.ones(0, dtype=ts.int64)
    with pytest.raises(OperatorError, match="can have only 1 value, got 0"):
        ts.index_select(ts.tensor(8.0), 0, none)
    with pytest.raises(OperatorError, match="Can not infer total number of classes"):
        ts.nn.functional.one_hot(none)
    with pytest.raises(OperatorError, match="log_probs tensor must not be empty"):
        ts.nn.functional.ctc_loss(ts.ones(5, 0, 3), ts.ones(0, 2, dtype=ts.int64), none, none)


def _filled(x: ts.Tensor, at: ts.Tensor) -> ts.Tensor:
    return ts.index_fill(x, 0, at, -6.0)


@pytest.mark.parametrize(("count", "expected"), [(0, 8.0), (1, -6.0)])
def test_index_fill_of_a_number(count: int, expected: float) -> None:
    x, at = ts.tensor(8.0), ts.zeros(count, dtype=ts.int64)
    assert _filled(x, at).item() == expected
    assert ts.compile(_filled, (x, at), fallback="error")(x, at).item() == expected


def _unpooled(x: ts.Tensor, at: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.max_unpool2d(x, at, [2, 2])


def test_unpooling_no_images() -> None:
    x, at = BATCH, ts.zeros(0, 2, 4, 4, dtype=ts.int64)
    assert ts.compile(_unpooled, (x, at), fallback="error")(x, at).shape == (0, 2, 8, 8)


_POOLS = [
    f"F.{kind}_pool{n}d(z({shape}), 2)"
    for kind in ("adaptive_avg", "adaptive_max")
    for n, shapes in {
        1: ("0, 2", "2, 0", "2, 0, 2", "2, 2, 0"), 2: ("1, 0, 2", "0, 2, 2, 2", "2, 0, 2, 2"),
        3: ("1, 2, 0, 2", "1, 0, 2, 2, 2", "0, 1, 2, 2, 2"),
    }.items()
    for shape in shapes
]  # fmt: skip
_CALLS = (
    *_POOLS, "F.avg_pool1d(z(2, 0, 3), 2)", "F.avg_pool1d(z(0, 2, 3), 2)",
    "F.conv1d(z(2, 0, 5), z(3, 0, 2), z(3))", "F.conv2d(z(2, 0, 5, 5), z(3, 0, 2, 2))",
    "F.conv2d(z(0, 5, 5), z(3, 0, 2, 2))", "F.conv3d(z(2, 3, 5, 5, 5), z(0, 3, 2, 2, 2))",
    "F.conv_transpose1d(z(2, 0, 5), z(0, 3, 2))",
    "F.conv_transpose2d(z(2, 3, 0, 5), z(3, 2, 2, 2))",
    "F.scaled_dot_product_attention(z(3, 0), z(4, 0), z(4, 2))",
    "F.linear_cross_entropy(z(3, 0), z(4, 0), z(3).long())",
)  # fmt: skip


def _shape_or_words(call: str, library: Any) -> tuple[int, ...] | str:
    try:
        found = eval(call, {"F": library.nn.functional, "z": library.zeros})
    except RuntimeError as refused:
        return str(refused).partition("\n")[0]
    return tuple(found.shape)


@pytest.mark.torch
@pytest.mark.parametrize("call", _CALLS)
def test_as_pytorch(call: str) -> None:
    torch = pytest.importorskip("torch")
    assert _shape_or_words(call, ts) == _shape_or_words(call, torch)


def test_attention_over_no_features() -> None:
    def attended(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
        return ts.nn.functional.scaled_dot_product_attention(q, k, v)

    given = ts.zeros(3, 0), ts.zeros(4, 0), ts.arange(8.0).view(4, 2)
    for run in (attended, ts.compile(attended, given, fallback="error", cache=False)):
        assert run(*given).tolist() == [[3.0, 4.0]] * 3

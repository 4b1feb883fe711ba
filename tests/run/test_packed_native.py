"""Recurrent networks over packed sequences, native: as interpreted, whatever the lengths."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as torch
from tensorscript import Tensor, jit
from tensorscript.base.errors import UserError


def tagged(
    x: Tensor,
    lengths: Tensor,
    weights: list[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    counts, order = torch.sort(lengths, descending=True)
    data, steps = torch._pack_padded_sequence(x.index_select(0, order), counts, True)
    start = torch.zeros(4, int(steps[0]), 4)
    out, h, c = torch.lstm(data, steps, [start, start], weights, True, 2, 0.0, False, True)
    padded, found = torch._pad_packed_sequence(out, steps, True, -1.0, steps.size(0))
    back = order.argsort()
    return padded.index_select(0, back) * 2, found[back], (h + c).index_select(1, back)


def ordered(
    x: Tensor,
    lengths: Tensor,
    weights: list[Tensor],
    state: Tensor,
) -> tuple[Tensor, Tensor]:
    data, steps = torch._pack_padded_sequence(x, lengths, False)
    out, h = torch.gru(data, steps, state, weights, True, 1, 0.0, False, True)
    return torch._pad_packed_sequence(out, steps, False, 0.0, 7)[0], h


def numbers(*shape: int) -> Tensor:
    return torch.from_numpy(np.sin(np.arange(np.prod(shape)) * 1.7).reshape(shape).astype("f4"))


def weights(gates: int, layers: int) -> list[Tensor]:
    """Of two directions from 3 features to 4."""
    each: list[Tensor] = []
    for width in [3, 3, *[8] * (2 * layers - 2)]:
        shapes = ((4 * gates, width), (4 * gates, 4), (4 * gates,), (4 * gates,))
        each += [numbers(*shape) for shape in shapes]
    return each


def assert_same(found: tuple[Tensor, ...], wanted: tuple[Tensor, ...]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_lengths_in_any_order() -> None:
    program = jit.script(tagged)
    native = torch.compile(program, fallback="error")
    for lengths in ([5, 2, 4], [1, 1, 1], [3, 6, 6]):
        given = numbers(3, 6, 3), torch.tensor(lengths), weights(4, 2)
        assert_same(native(*given), program(*given))
    assert len(native.stats.native) == 1


def test_a_total_length_and_a_first_state() -> None:
    program = jit.script(ordered)
    native = torch.compile(program, fallback="error")
    for lengths in ([5, 3, 1], [2, 2, 2]):
        given = numbers(6, 3, 3), torch.tensor(lengths), weights(3, 1), numbers(2, 3, 4)
        assert_same(native(*given), program(*given))


@pytest.mark.parametrize(
    ("lengths", "message"),
    [([2, 3, 1], "sorted in decreasing order"), ([3, 2, 0], "greater than 0")],
)
def test_bad_lengths_are_refused(lengths: list[int], message: str) -> None:
    native = torch.compile(jit.script(ordered), fallback="error")
    with pytest.raises(UserError, match=message):
        native(numbers(6, 3, 3), torch.tensor(lengths), weights(3, 1), numbers(2, 3, 4))

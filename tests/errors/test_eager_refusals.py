"""Calls of eager operators that are refused: the kind of error, and PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

F = ts.nn.functional
Call = Callable[[], Any]

RUNTIME: list[tuple[str, Call]] = [
    ("1D tensors expected, but got 2D and 1D", lambda: ts.dot(ts.ones(1, 2), ts.ones(2))),
    ("dot : expected both vectors to have same dtype, but found Float and Long",
     lambda: ts.dot(ts.ones(2), ts.ones(2, dtype=ts.int64))),
    (r"diag\(\): Supports 1D or 2D tensors. Got 3D", lambda: ts.diag(ts.ones(1, 1, 1))),
    ("diagonal dimensions cannot be identical 0, -2", lambda: ts.ones(2, 2).diagonal(0, 0, -2)),
    ("Input must be >= 2-d.", lambda: ts.fliplr(ts.ones(2))),
    ("expected rotation dims to be different", lambda: ts.rot90(ts.ones(2, 2), 1, (0, -2))),
    ("tensors of torch.complex32 are not supported",
     lambda: ts.view_as_complex(ts.ones(3, 2, dtype=ts.float16))),
    ("movedim: repeated dim in `source`", lambda: ts.ones(2, 3).movedim((0, 0), (0, 1))),
    ("hstack expects a non-empty TensorList", lambda: ts.hstack([])),
    ("number of steps must be non-negative", lambda: ts.logspace(0, 1, -1)),
    ("n must be greater or equal to 0, got -1", lambda: ts.eye(-1)),
    ("Repeats must be non-negative", lambda: ts.ones(2).repeat_interleave(-1)),
    ("Invalid output_size, expected 4 but got 5",
     lambda: ts.ones(2).repeat_interleave(2, 0, output_size=5)),
    (r"got repeats.size\(0\) = 2 and input.size\(0\) = 3",
     lambda: ts.ones(3).repeat_interleave(ts.tensor([1, 2]))),
    ("only accept 1D vector as repeat", lambda: ts.repeat_interleave(ts.tensor(2))),
    ("\"repeat_interleave_cpu\" not implemented for 'Float'",
     lambda: ts.repeat_interleave(ts.ones(2))),
    ("non-positive groups", lambda: F.conv1d(ts.ones(1, 2, 4), ts.ones(2, 2, 2), groups=0)),
    ("negative padding is not supported",
     lambda: F.conv2d(ts.ones(1, 1, 4, 4), ts.ones(1, 1, 2, 2), padding=(-1, 0))),
    ("padding='same' is not supported for strided convolutions",
     lambda: F.conv1d(ts.ones(1, 1, 4), ts.ones(1, 1, 2), stride=2, padding="same")),
    ("expected weight to be at least 3 at dimension 0",
     lambda: F.conv1d(ts.ones(1, 2, 4), ts.ones(2, 2, 2), groups=3)),
    ("stride must be greater than zero, but got 0",
     lambda: F.max_pool1d(ts.ones(1, 1, 4), 2, stride=0)),
    ("pad should be at most half of effective kernel size, but got pad=4",
     lambda: F.max_pool2d(ts.ones(1, 8, 8), 2, padding=4)),
    ("non-empty 3D or 4D", lambda: F.max_pool2d(ts.ones(8, 8), 2)),
    ("output_size must be 2", lambda: F.adaptive_avg_pool2d(ts.ones(1, 2, 4, 4), ())),
    ("inconsistent weight size, expected 3",
     lambda: F.multi_margin_loss(ts.ones(2, 3), ts.tensor([0, 1]), weight=ts.ones(4))),
    ("value cannot be converted to type uint8_t without overflow",
     lambda: ts.threshold(ts.ones(2, dtype=ts.uint8), 300, 0)),
    ("Expected num groups to be greater than 0, got -1",
     lambda: F.group_norm(ts.ones(2, 3), -1)),
    ("Expected number of channels in input to be divisible by num_groups",
     lambda: F.group_norm(ts.ones(2, 3, 4), 2, ts.ones(4))),
    ("Explicit attn_mask should not be set when is_causal=True",
     lambda: F.scaled_dot_product_attention(*[ts.ones(1, 2, 3)] * 3, ts.ones(2, 2), 0.0, True)),
    (r"size of tensor a \(2\) must match the size of tensor b \(5\) at non-singleton dimension 2",
     lambda: F.scaled_dot_product_attention(*[ts.ones(1, 2, 3)] * 3, ts.ones(5, 5))),
    (r"Index 1 of input takes value 5 which is not in the valid range \[0, 3\)",
     lambda: F.embedding_bag(ts.tensor([1, 5]), ts.ones(3, 4), ts.tensor([0]))),
    ("Expected one of cpu, cuda, ipu, xpu, .*, privateuseone device type at start",
     lambda: ts.ones(2, device="foo")),
    ("lambda must be in range", lambda: F.softshrink(ts.ones(1), -0.5)),
    (r"invalid multinomial distribution \(sum of probabilities <= 0\)",
     lambda: ts.multinomial(ts.zeros(3), 1)),
    ("start must be an 0-dim integral Tensor", lambda: ts.ones(3).narrow(0, ts.ones(()), 1)),
    ("more than one element of the written-to tensor refers to a single memory location",
     lambda: ts.add(ts.ones(3), 1, out=ts.zeros(1).expand(3))),
    (r"vector \+ matrix @ vector expected, got 1, 2, 2",
     lambda: ts.mv(ts.ones(2, 2), ts.ones(2, 2))),
    (r"vector \+ matrix @ vector expected, got 2, 2, 1",
     lambda: ts.addmv(ts.ones(2, 2), ts.ones(2, 2), ts.ones(2))),
    (r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv_transpose2d, but got input of "
     r"size: \[3, 3\]", lambda: F.conv_transpose2d(ts.ones(3, 3), ts.ones(1, 1, 2, 2))),
    ("a list of 1 values to match the convolution dimensions, but got stride=",
     lambda: F.conv2d(ts.ones(1, 3, 3), ts.ones(1, 1, 2))),
    ("Input must have 3 dims: time, batch, in_channel",
     lambda: ts.conv_tbc(ts.ones(3, 3), ts.ones(1, 1, 2), ts.ones(2))),
    ("argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
     "torch.FloatTensor", lambda: F.embedding(ts.ones(2), ts.ones(2, 2))),
    ("argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
     "Double; but got CPUBoolType",
     lambda: F.embedding_bag(ts.tensor([[0]]), ts.ones(2, 2, dtype=ts.bool))),
    ("Expected input_lengths to have value at most 4, but got value 9",
     lambda: F.ctc_loss(ts.zeros(4, 2, 5), ts.ones(2, 2, dtype=ts.int64), ts.tensor([4, 9]),
                        ts.tensor([2, 2]))),
    ("Expected lengths of at most 3, the steps of the batch, but got 1099511627776",
     lambda: ts.nn.utils.rnn.pack_padded_sequence(ts.ones(3, 2, 4), [1 << 40, 1])),
    ("result type Float can't be cast to the desired output type Long",
     lambda: F.dropout(ts.tensor([1, 2]))),
    ("normal expects standard deviation to be non-complex",
     lambda: ts.normal(0.0, ts.ones(2, dtype=ts.complex64))),
    ("\"reflection_pad1d\" not implemented for 'Bool'",
     lambda: F.pad(ts.tensor([[True, False]]), (1, 1), mode="reflect")),
    ("\"bmm\" not implemented for 'Bool'",
     lambda: ts.einsum("i,i->", ts.tensor([True]), ts.tensor([True]))),
    ("\"cumsum_out_cpu\" not implemented for 'Bool'",
     lambda: ts.ones(2).cumsum(0, dtype=ts.bool)),
    ("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'",
     lambda: ts.tensor([True]).scatter_reduce(0, ts.tensor([0]), ts.tensor([True]), "mean")),
]  # fmt: skip


@pytest.mark.parametrize(("words", "call"), RUNTIME, ids=[row[0] for row in RUNTIME])
def test_runtime_errors(words: str, call: Call) -> None:
    with pytest.raises(RuntimeError, match=words):
        call()


@pytest.mark.parametrize(("words", "call"), [
    ("slice step cannot be zero", lambda: ts.ones(2)[::0]),
    ("step must be greater than zero", lambda: ts.ones(2)[::-1]),
    (r"expected sequence of length 2 at dim 1 \(got 1\)", lambda: ts.tensor([[1, 2], [3]])),
])  # fmt: skip
def test_value_errors(words: str, call: Call) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_gather_may_not_write_what_it_reads() -> None:
    x = ts.ones(3)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
        ts.gather(x, 0, ts.tensor([0, 1, 2]), out=x)
    assert ts.add(x, 1, out=x).tolist() == [2.0, 2.0, 2.0]


def test_kinds_besides_runtime_errors() -> None:
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        ts.fft.fft(ts.ones(()))
    with pytest.raises(TypeError, match=r"vsplit\(\) received an invalid combination of arguments "
                       r"- got \(Tensor, str\), but expected one of:"):  # fmt: skip
        ts.vsplit(ts.ones(2, 2), "a")
    with pytest.raises(ValueError, match="abc is not a valid value for reduction"):
        F.triplet_margin_with_distance_loss(
            ts.ones(2, 2), ts.ones(2, 2), ts.ones(2, 2), reduction="abc"
        )


BITS = ts.tensor([True, False])


@pytest.mark.parametrize(("kernel", "bounds"), [
    ("clamp_min_scalar_cpu", (True,)),
    ("clamp_max_scalar_cpu", (None, True)),
    ("clamp_scalar_cpu", (False, True)),
    ("clamp_cpu", (BITS, BITS)),
])  # fmt: skip
def test_truth_values_have_no_bounds(kernel: str, bounds: tuple[Any, ...]) -> None:
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Bool'"):
        BITS.clamp(*bounds)


def test_one_tensor_bounds_truth_values() -> None:
    assert BITS.clamp(None, BITS.flip(0)).tolist() == [False, False]
    assert BITS.clamp(BITS.flip(0)).tolist() == [True, True]


@pytest.mark.parametrize("name", ["__radd__", "__ror__", "add", "relu"])
def test_a_method_taken_from_the_class_wants_a_tensor(name: str) -> None:
    said = f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a 'int' object"
    with pytest.raises(TypeError, match=said):
        getattr(ts.Tensor, name)(2, ts.ones(3, dtype=ts.int64))

"""Layers at their edges: batches and results without elements, pickles, warnings, conversions."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.nn import functional as F

EMPTY: dict[str, tuple[Callable[[], nn.Module], tuple[tuple[int, ...], ...], tuple[int, ...]]] = {
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8), ((0, 3, 4),), (0, 3, 4)),
    "encoder, batch": (lambda: nn.TransformerEncoderLayer(4, 2, 8), ((3, 0, 4),), (3, 0, 4)),
    "transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16), ((5, 0, 8), (4, 0, 8)), (4, 0, 8)),
    "adaptive max": (lambda: nn.AdaptiveMaxPool2d((4, 3)), ((0, 2, 9, 8),), (0, 2, 4, 3)),
    "fractional max": (
        lambda: nn.FractionalMaxPool2d(2, output_size=(0, 1)), ((2, 3, 9, 8),), (2, 3, 0, 1)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", EMPTY)
def test_nothing_in_or_out(name: str) -> None:
    make, sizes, expected = EMPTY[name]
    assert tuple(make()(*map(ts.rand, sizes)).shape) == expected


def test_batch_without_elements_moves_no_statistics() -> None:
    layer = nn.BatchNorm1d(3)
    layer(ts.empty(0, 3, 4))
    assert layer.running_mean.tolist() == [0.0] * 3
    assert layer.running_var.tolist() == [1.0] * 3
    assert layer.num_batches_tracked.item() == 1


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_warn_of_sizes_that_broadcast(loss: Callable[..., Any]) -> None:
    with pytest.warns(UserWarning, match="is different to the input size"):
        loss(ts.rand(1, 10), ts.rand(10))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(ts.rand(10), ts.rand(10))


def test_lazy_layers_and_hooks_are_pickled() -> None:
    layer = pickle.loads(pickle.dumps(nn.LazyLinear(3)))
    assert layer(ts.rand(2, 5)).shape == (2, 3)
    assert type(layer) is nn.Linear


def test_handles_show_their_table() -> None:
    layer = nn.Linear(2, 2)
    handle = layer.register_forward_hook(lambda *_: None)
    table = handle.hooks_dict_ref()
    assert table is not None and list(table) == [handle.id]
    handle.remove()
    assert not table


def test_prefixes_of_names_are_consumed() -> None:
    state = nn.Sequential(nn.Linear(2, 2)).state_dict(prefix="module.")
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    assert list(state._metadata) == ["", "0"]  # type: ignore[attr-defined]  # as PyTorch keeps it


def test_batch_norms_become_synchronised_ones() -> None:
    norm = nn.BatchNorm1d(3, affine=True)
    found = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(2, 3), norm))
    assert type(found[1]) is nn.SyncBatchNorm  # type: ignore[index]  # the Sequential it was
    assert found[1].weight is norm.weight  # type: ignore[index]
    assert found(ts.rand(4, 2)).shape == (4, 3)


@pytest.mark.parametrize("name", ["double", "half", "long", "int", "short", "char", "byte"])
def test_packed_sequences_are_converted(name: str) -> None:
    packed = nn.utils.rnn.pack_sequence([ts.ones(3), ts.ones(2)])
    found = getattr(packed, name)()
    assert found.data.dtype is getattr(packed.data, name)().dtype
    assert found.batch_sizes.tolist() == [2, 2, 1]


def test_complex_numbers_lose_nan_by_parts() -> None:
    x = ts.tensor([complex(1, float("nan")), complex(float("inf"), 2)])
    top = float(np.finfo(np.float32).max)
    assert ts.nan_to_num(x).tolist() == [1 + 0j, complex(top, 2)]


def test_samples_for_more_batches_than_there_are() -> None:
    samples = ts.rand(2, 4, 3)
    pool = nn.FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=samples)
    x = ts.rand(4, 5, 5, 5)
    first = nn.FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=samples[:1])
    assert pool(x).tolist() == first(x).tolist()


@pytest.mark.filterwarnings("ignore")  # of constants, and of nested tensors
@pytest.mark.parametrize("way", [lambda m: m, ts.jit.script, ts.compile])
@pytest.mark.parametrize("mask", [[[0, 0, 1], [0, 1, 1]], [[0, 1, 0], [0, 0, 1]]])
def test_encoders_give_zeros_where_texts_have_ended(way: Any, mask: list[list[int]]) -> None:
    """Without gradients, in evaluation, for padding on the right, as PyTorch's nested tensors."""
    torch = pytest.importorskip("torch")
    ts.manual_seed(0)
    layer = ts.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    ours = ts.nn.TransformerEncoder(layer, 2, ts.nn.LayerNorm(8)).eval()
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    theirs = torch.nn.TransformerEncoder(layer, 2, torch.nn.LayerNorm(8)).eval()
    state = {k: torch.from_numpy(v.detach().numpy()) for k, v in ours.state_dict().items()}
    theirs.load_state_dict(state)
    x, hidden = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("f4"), np.array(mask, bool)
    for grad in (False, True):
        with torch.set_grad_enabled(grad), ts.set_grad_enabled(grad):
            expected = theirs(torch.from_numpy(x), src_key_padding_mask=torch.from_numpy(hidden))
            run = way(ours)
            found = run(ts.from_numpy(x), src_key_padding_mask=ts.from_numpy(hidden))
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), atol=1e-5)


def test_running_means_of_all_batches_compiled() -> None:
    norm = ts.nn.BatchNorm1d(4, momentum=None)
    run = ts.compile(norm, fallback="error")
    batches = [ts.randn(5, 4) for _ in range(3)]
    for x in batches:
        run(x)
    expected = ts.stack([x.mean(0) for x in batches]).mean(0)
    ts.testing.assert_close(norm.running_mean, expected)


def test_a_fused_bias_keeps_its_own_flag_and_dtype() -> None:
    conv, bn = ts.nn.Conv1d(2, 3, 1), ts.nn.BatchNorm1d(3)
    assert conv.bias is not None
    conv.bias.requires_grad = False
    statistics = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    weight, bias = ts.nn.utils.fuse_conv_bn_weights(conv.weight, conv.bias, *statistics)
    assert weight.requires_grad and not bias.requires_grad


def test_affine_grids_of_unit_size_warn() -> None:
    with pytest.warns(UserWarning, match="unit-size grids when align_corners=True"):
        ts.nn.functional.affine_grid(ts.ones(1, 2, 3), (1, 1, 2, 1), align_corners=True)


def test_lazy_state_in_lazy_modules() -> None:
    lazy = ts.nn.LazyLinear(3)
    assert lazy.load_state_dict(ts.nn.LazyLinear(3).state_dict()).missing_keys == []
    lazy.weight.materialize(10)
    assert lazy.weight.shape == (10,)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_norms_across_maps_keep_the_first_channel(size: int) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(size).normal(size=(2, 6, 3, 2)).astype("f4")
    ours = nn.CrossMapLRN2d(size, 0.5, 0.75, 2)
    expected = torch.nn.CrossMapLRN2d(size, 0.5, 0.75, 2)(torch.from_numpy(x)).numpy()
    for run in (ours, ts.jit.script(ours), ts.compile(ours, fallback="error")):
        np.testing.assert_allclose(run(ts.from_numpy(x)).numpy(), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="Expected input to be 4D, got 3D instead"):
        ours(ts.ones(2, 3, 4))


def test_gradients_that_are_set_are_cleared() -> None:
    layer = nn.Linear(2, 2)
    layer.weight.grad = ts.ones(2, 2)
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.tolist() == [[0, 0], [0, 0]] and layer.weight.requires_grad
    layer.zero_grad()
    assert layer.weight.grad is None


def test_masks_of_global_pruning_require_no_gradient() -> None:
    layer = nn.Linear(4, 2)
    ts.nn.utils.prune.global_unstructured(
        [(layer, "weight")], pruning_method=ts.nn.utils.prune.L1Unstructured, amount=3
    )
    assert not layer.weight_mask.requires_grad and layer.weight.requires_grad
    assert ts.normal(layer.weight_orig, 1.0).requires_grad
    assert not ts.ones(2).view_as(layer.bias).requires_grad

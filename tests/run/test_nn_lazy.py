"""Lazy layers and the adaptive softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts

LAZY: list[tuple[str, tuple[Any, ...], tuple[int, ...], str]] = [
    ("LazyLinear", (4,), (2, 3), "Linear"),
    ("LazyConv1d", (4, 2), (2, 3, 5), "Conv1d"),
    ("LazyConv2d", (4, 2, 1, 0, 1, 2), (1, 6, 5, 5), "Conv2d"),
    ("LazyConv3d", (2, 2), (3, 4, 4, 4), "Conv3d"),
    ("LazyConvTranspose1d", (4, 2), (2, 3, 5), "ConvTranspose1d"),
    ("LazyConvTranspose2d", (4, 2), (3, 5, 5), "ConvTranspose2d"),
    ("LazyConvTranspose3d", (4, 2), (2, 3, 4, 4, 4), "ConvTranspose3d"),
    ("LazyBatchNorm1d", (), (2, 3), "BatchNorm1d"),
    ("LazyBatchNorm2d", (), (2, 3, 4, 4), "BatchNorm2d"),
    ("LazyBatchNorm3d", (), (2, 3, 2, 2, 2), "BatchNorm3d"),
    ("LazyInstanceNorm1d", (1e-5, 0.1, True, True), (2, 3, 4), "InstanceNorm1d"),
    ("LazyInstanceNorm2d", (), (2, 3, 4, 4), "InstanceNorm2d"),
    ("LazyInstanceNorm3d", (), (2, 3, 2, 2, 2), "InstanceNorm3d"),
]


def _lazy(package: Any, name: str, args: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    package.manual_seed(3)
    layer = getattr(package.nn, name)(*args)
    before = repr(layer), [repr(v) for v in layer.state_dict().values() if "Un" in repr(v)]
    made = layer(package.ones(shape))
    state = {k: v.detach().numpy() for k, v in layer.state_dict().items()}
    return before, type(layer).__name__, repr(layer), state, made.detach().numpy()


@pytest.mark.parametrize(("name", "args", "shape", "ordinary"), LAZY, ids=[r[0] for r in LAZY])
def test_lazy_layers_become_ordinary(
    name: str, args: tuple[Any, ...], shape: tuple[int, ...], ordinary: str
) -> None:
    _, kind, text, _, _ = _lazy(ts, name, args, shape)
    assert kind == ordinary and text.startswith(ordinary)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(("name", "args", "shape", "ordinary"), LAZY, ids=[r[0] for r in LAZY])
def test_lazy_layers_are_those_of_torch(
    name: str, args: tuple[Any, ...], shape: tuple[int, ...], ordinary: str
) -> None:
    ours = _lazy(ts, name, args, shape)
    theirs = _lazy(pytest.importorskip("torch"), name, args, shape)
    assert ours[:3] == theirs[:3] and list(ours[3]) == list(theirs[3])
    for key, value in theirs[3].items():
        np.testing.assert_allclose(ours[3][key], value, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours[4], theirs[4], atol=1e-5)


def test_a_lazy_layer_takes_sizes_from_a_state_dict() -> None:
    lazy, full = ts.nn.LazyLinear(2), ts.nn.Linear(5, 2)
    assert lazy.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        lazy.weight.shape  # noqa: B018 - asking is what is refused
    lazy.load_state_dict(full.state_dict())
    x = ts.ones(1, 5)
    assert (lazy(x) == full(x)).all() and lazy.in_features == 5 and type(lazy) is ts.nn.Linear


def test_lazy_layers_refuse_other_inputs() -> None:
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input"):
        ts.nn.LazyConv2d(2, 2)(ts.ones(2, 2))


def test_adaptive_softmax_sums_to_one_and_refuses() -> None:
    layer = ts.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)
    x = ts.randn(4, 8)
    np.testing.assert_allclose(layer.log_prob(x).exp().sum(1).numpy(), np.ones(4), rtol=1e-5)
    assert (layer.predict(x) == layer.log_prob(x).argmax(1)).all()
    assert layer(x[0], ts.tensor(7)).output.shape == ()
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 9\]"):
        layer(x, ts.tensor([0, 1, 2, 10]))
    with pytest.raises(ValueError, match="cutoffs should be a sequence of unique"):
        ts.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [6, 3])


@pytest.mark.torch
def test_adaptive_softmax_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for package in (ts, torch):
        package.manual_seed(1)
        layer = package.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)
        x = package.from_numpy(np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8))
        made = layer(x, package.tensor([0, 4, 9, 2]))
        full = layer.log_prob(x)
        found.append([*(t.detach().numpy() for t in (*made, full)), list(layer.state_dict())])
    for ours, theirs in zip(found[0][:3], found[1][:3], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert found[0][3] == found[1][3]


def test_batch_norms_fold_into_the_layer_before() -> None:
    x = ts.randn(2, 3, 6, 6)
    bn = ts.nn.BatchNorm2d(4)
    bn(ts.randn(8, 4, 3, 3))
    for conv, transpose in (
        (ts.nn.Conv2d(3, 4, 3, bias=False), False), (ts.nn.ConvTranspose2d(3, 4, 3), True),
    ):  # fmt: skip
        both = ts.nn.Sequential(conv, bn).eval()
        one = ts.nn.utils.fuse_conv_bn_eval(conv, bn, transpose)
        np.testing.assert_allclose(one(x).numpy(), both(x).numpy(), atol=1e-5)
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        ts.nn.utils.fuse_conv_bn_eval(ts.nn.Conv2d(3, 4, 3), bn)


def test_layers_remade_leave_the_random_stream() -> None:
    ts.manual_seed(2)
    first = ts.rand(1)
    ts.manual_seed(2)
    ts.nn.utils.skip_init(ts.nn.Linear, 3, 2)
    assert (ts.rand(1) == first).all()
    conv = ts.nn.utils.convert_conv2d_weight_memory_format(
        ts.nn.Sequential(ts.nn.Conv2d(3, 4, 3)), ts.channels_last
    )[0]
    assert conv.weight.is_contiguous(memory_format=ts.channels_last)

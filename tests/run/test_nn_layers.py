"""Every layer is PyTorch's: constructor, text, first weights, state, and what it computes.

Eagerly, scripted and compiled, in evaluation; eagerly in training as well.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from nn_layers import LAYERS, Ints, Row, Unit, arrays

import tensorscript as ts
from tensorscript import nn

TENSOR_OPTIONS = ("weight", "pos_weight", "_random_samples")


def build(library: Any, row: Row) -> Any:
    rng = np.random.default_rng(5)
    kwargs = dict(row.kwargs)
    for name in TENSOR_OPTIONS:
        if name in kwargs:
            spec = kwargs[name] if isinstance(kwargs[name], Unit) else Unit(kwargs[name])
            kwargs[name] = library.from_numpy(arrays(spec, rng))
    library.manual_seed(7)
    return getattr(library.nn, row.name)(*row.args, **kwargs)


def tensors(library: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(tensors(library, v) for v in value)
    return library.from_numpy(value.copy())


def inputs(library: Any, row: Row) -> Any:
    rng = np.random.default_rng(11)
    return tuple(tensors(library, arrays(spec, rng)) for spec in row.inputs)


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in flat(part)]
    return [] if value is None else [np.asarray(value.detach().numpy())]


def assert_close(found: Any, expected: Any) -> None:
    ours, theirs = flat(found), flat(expected)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * scale)


pytestmark = [
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
    pytest.mark.filterwarnings("ignore:'norm' was found in ScriptModule constants"),
    pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN"),
]


@pytest.fixture(scope="module")
def torch() -> Any:
    found = pytest.importorskip("torch")
    with found.no_grad():
        yield found


@pytest.mark.torch
@pytest.mark.parametrize("row", LAYERS, ids=str)
def test_text_weights_and_state(torch: Any, row: Row) -> None:
    ours, theirs = build(ts, row), build(torch, row)
    assert repr(ours) == repr(theirs)
    mine, other = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(other)
    for key, value in other.items():
        assert mine[key].shape == tuple(value.shape)
        np.testing.assert_allclose(mine[key].numpy(), value.numpy(), rtol=1e-6, atol=1e-7)
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]


def evaluated(torch: Any, row: Row) -> tuple[Any, Any]:
    """Our layer in evaluation with PyTorch's state, and what PyTorch's computes."""
    ours, theirs = build(ts, row).eval(), build(torch, row).eval()
    ours.load_state_dict({k: ts.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    return ours, theirs(*inputs(torch, row))


@pytest.mark.torch
@pytest.mark.parametrize("row", LAYERS, ids=str)
def test_eager(torch: Any, row: Row) -> None:
    ours, expected = evaluated(torch, row)
    assert_close(ours(*inputs(ts, row)), expected)


FIRST = {row.name: row for row in reversed(LAYERS)}
"""One row a class: the others differ in options, and compiling each takes its time."""


@pytest.mark.torch
@pytest.mark.parametrize("row", LAYERS, ids=str)
def test_scripted_and_compiled(torch: Any, row: Row) -> None:
    ours, expected = evaluated(torch, row)
    assert_close(ts.jit.script(ours)(*inputs(ts, row)), expected)
    if row is FIRST[row.name]:
        assert_close(ts.compile(ours)(*inputs(ts, row)), expected)


def in_training() -> list[Row]:
    random = ("Dropout", "RReLU", "Transformer")
    return [row for row in LAYERS if not any(word in row.name for word in random)]


@pytest.mark.torch
@pytest.mark.parametrize("row", in_training(), ids=str)
def test_training(torch: Any, row: Row) -> None:
    ours, theirs = build(ts, row), build(torch, row)
    assert_close(ours(*inputs(ts, row)), theirs(*inputs(torch, row)))
    for key, value in theirs.state_dict().items():
        np.testing.assert_allclose(
            ours.state_dict()[key].numpy(), value.numpy(), rtol=1e-5, atol=1e-6
        )


# Their constructors are `*args, **kwargs` with overloads; ours are written out.
_OPEN = {"RNN", "LSTM", "GRU", "Sequential", "NLLLoss2d"}


CLASSES = [name for name in nn.modules.__all__ if isinstance(getattr(nn.modules, name), type)]


@pytest.mark.torch
@pytest.mark.parametrize("name", CLASSES)
def test_constructors_take_the_same_arguments(torch: Any, name: str) -> None:
    theirs = getattr(torch.nn, name, None) or getattr(torch.nn.modules.linear, name, None)
    if theirs is None:
        theirs = getattr(torch.nn.modules.rnn, name)
    if name in _OPEN:
        return
    expected = inspect.signature(theirs).parameters.values()
    found = inspect.signature(getattr(nn.modules, name)).parameters.values()
    assert [(p.name, p.kind) for p in found] == [(p.name, p.kind) for p in expected]
    for a, b in zip(found, expected, strict=True):
        assert callable(a.default) or a.default == b.default


def test_every_public_layer_has_a_row() -> None:
    structural = {
        "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential",
        "NonDynamicallyQuantizableLinear", "RNNBase", "RNNCellBase", "SyncBatchNorm",
        "TransformerEncoder", "TransformerDecoder", "TripletMarginWithDistanceLoss",
        "AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
        "NLLLoss2d",
    }  # fmt: skip
    lazy = {name for name in CLASSES if name.startswith("Lazy")}  # in test_nn_lazy.py
    assert set(CLASSES) - structural - lazy == {row.name for row in LAYERS}


@pytest.mark.parametrize("row", LAYERS[::8], ids=str)
def test_scripts_equal_eager_without_torch(row: Row) -> None:
    layer = build(ts, row).eval()
    assert_close(ts.jit.script(layer)(*inputs(ts, row)), layer(*inputs(ts, row)))


def test_specs_are_what_they_say() -> None:
    rng = np.random.default_rng(0)
    assert arrays(Ints(3, (4,)), rng).max() < 3
    assert arrays(Unit((4,)), rng).min() > 0

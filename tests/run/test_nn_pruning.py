"""Pruned parameters, modules called with other tensors, and gradients cut: `nn.utils`, `func`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.nn.utils import prune

Prune = Callable[[Any, Any, Any], Any]
METHODS: dict[str, Prune] = {
    "l1, a share": lambda t, p, m: p.l1_unstructured(m, "weight", 0.3),
    "l1, a number": lambda t, p, m: p.l1_unstructured(m, "weight", 7),
    "l1 by scores": lambda t, p, m: p.l1_unstructured(
        m, "bias", 2, importance_scores=t.arange(4.0)
    ),
    "random": lambda t, p, m: p.random_unstructured(m, "weight", 0.5),
    "slices by norm": lambda t, p, m: p.ln_structured(m, "weight", 2, n=2, dim=0),
    "slices by largest": lambda t, p, m: p.ln_structured(m, "weight", 0.4, n=float("inf"), dim=1),
    "random slices": lambda t, p, m: p.random_structured(m, "weight", 1, dim=-1),
    "a mask": lambda t, p, m: p.custom_from_mask(m, "bias", t.tensor([0, 1, 0, 1])),
    "nothing": lambda t, p, m: p.identity(m, "weight"),
    "two methods": lambda t, p, m: p.ln_structured(
        p.l1_unstructured(m, "weight", 0.3), "weight", 2, n=1, dim=0
    ),
    "two of a kind": lambda t, p, m: p.random_unstructured(
        p.l1_unstructured(m, "weight", 0.3), "weight", 3
    ),
    "both at once": lambda t, p, m: p.global_unstructured(
        [(m, "weight"), (m, "bias")], p.L1Unstructured, amount=9
    ),
    "for good": lambda t, p, m: p.remove(p.l1_unstructured(m, "weight", 0.3), "weight"),
}


def _layer(package: Any) -> Any:
    package.manual_seed(0)
    return package.nn.Conv2d(3, 4, 2)


@pytest.mark.parametrize("name", METHODS)
def test_the_parameter_is_the_original_times_the_mask(name: str) -> None:
    layer = _layer(ts)
    METHODS[name](ts, prune, layer)
    for part in ("weight", "bias"):
        if not hasattr(layer, f"{part}_mask"):
            continue
        expected = getattr(layer, f"{part}_orig") * getattr(layer, f"{part}_mask")
        assert ts.equal(getattr(layer, part), expected)
    assert prune.is_pruned(layer) is (name != "for good")
    assert layer(ts.ones(1, 3, 2, 2)).shape == (1, 4, 1, 1)


@pytest.mark.torch
@pytest.mark.parametrize("name", METHODS)
def test_states_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = _layer(ts), _layer(torch)
    METHODS[name](ts, prune, ours)
    METHODS[name](torch, importlib.import_module("torch.nn.utils.prune"), theirs)
    found, expected = ours.state_dict(), theirs.state_dict()
    assert list(found) == list(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key].numpy(), value.numpy(), rtol=1e-5)


def test_what_is_seen_of_new_weights() -> None:
    """The mask stays when weights change: it is applied before each call."""
    layer = prune.custom_from_mask(ts.nn.Linear(2, 1, bias=False), "weight", ts.tensor([[1, 0]]))
    layer.weight_orig.data = ts.tensor([[3.0, 5.0]])
    assert layer(ts.ones(2)).tolist() == [3.0]


@pytest.mark.parametrize(
    "refused, error, words",
    [
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), ValueError, r"in the range \[0, 1\]"),
        (lambda m: prune.l1_unstructured(m, "weight", "all"), TypeError, "Invalid type for amount"),
        (lambda m: prune.l1_unstructured(m, "bias", 5), ValueError, "should be smaller than the"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "multidimensional"),
        (lambda m: prune.random_structured(m, "weight", 1, 4), IndexError, "Invalid index 4"),
        (lambda m: prune.remove(m, "weight"), ValueError, "has to be pruned before"),
        (
            lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2),
            TypeError,
            'Only "unstructured"',
        ),
    ],
)
def test_refusals(refused: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        refused(_layer(ts))


def test_a_module_with_other_tensors() -> None:
    layer = ts.nn.BatchNorm1d(2)
    given = {k: v.clone() for k, v in layer.state_dict().items()}
    given["bias"] = ts.tensor([1.0, 2.0])
    out = ts.func.functional_call(layer, given, ts.ones(3, 2))
    assert out.tolist() == [[1.0, 2.0]] * 3
    assert layer.running_mean.tolist() == [0.0, 0.0]  # what was given has been written
    assert given["running_mean"].tolist() == pytest.approx([0.1, 0.1])
    assert layer.bias.tolist() == [0.0, 0.0]


def test_tied_parameters_are_replaced_together() -> None:
    class Tied(ts.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = ts.nn.Linear(1, 1, bias=False)
            self.second = ts.nn.Linear(1, 1, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    two = {"first.weight": ts.full((1, 1), 2.0)}
    model, x = Tied(), ts.ones(1)
    assert ts.func.functional_call(model, two, x).item() == 4.0
    alone = ts.func.functional_call(model, two, x, tie_weights=False).item()
    assert alone == pytest.approx(2.0 * model.first.weight.item())
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'third'"):
        ts.func.functional_call(model, {"third": x}, x, strict=True)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        ts.func.functional_call(model, [two, two], x)


def test_gradients_that_the_caller_sets() -> None:
    layer = ts.nn.Linear(2, 2, bias=False)
    assert ts.nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item() == 0.0
    layer.weight.grad = ts.full((2, 2), 3.0)
    assert ts.nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item() == 6.0
    assert layer.weight.grad.flatten().tolist() == pytest.approx([0.5] * 4)
    ts.nn.utils.clip_grad_value_(layer.weight, 0.25)
    assert layer.weight.grad.flatten().tolist() == [0.25] * 4
    layer.weight.grad.fill_(float("inf"))
    with pytest.raises(RuntimeError, match="non-finite"):
        ts.nn.utils.clip_grad_norm_(layer.weight, 1.0, error_if_nonfinite=True)

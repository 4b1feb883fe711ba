"""Parameters computed from others: spectral and weight norms, orthogonal weights, users' own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

Make = Callable[[Any], Any]
LAYERS: dict[str, Make] = {
    "spectral hook": lambda p: p.nn.utils.spectral_norm(p.nn.Conv2d(2, 3, 3), eps=1e-10),
    "spectral hook, transposed": lambda p: p.nn.utils.spectral_norm(
        p.nn.ConvTranspose2d(2, 3, 3), n_power_iterations=2
    ),
    "spectral": lambda p: p.nn.utils.parametrizations.spectral_norm(p.nn.Conv2d(2, 3, 3)),
    "spectral vector": lambda p: p.nn.utils.parametrizations.spectral_norm(
        p.nn.Linear(4, 3), "bias"
    ),
    "weight": lambda p: p.nn.utils.parametrizations.weight_norm(p.nn.Conv2d(2, 3, 3), dim=1),
    "weight, whole": lambda p: p.nn.utils.parametrizations.weight_norm(p.nn.Linear(4, 3), dim=None),
    "both": lambda p: p.nn.utils.parametrizations.weight_norm(
        p.nn.utils.parametrizations.spectral_norm(p.nn.Linear(4, 3), "weight"), "bias"
    ),
    **{
        f"orthogonal {kind} {shape} {trivial}": lambda p, k=kind, s=shape, t=trivial: (
            p.nn.utils.parametrizations.orthogonal(
                p.nn.Linear(*s), orthogonal_map=k, use_trivialization=t
            )
        )
        for kind in (None, "matrix_exp", "cayley", "householder")
        for shape in ((4, 4), (4, 3), (3, 5))
        for trivial in ((True, False) if kind == "householder" else (True,))
    },
}


def _input(layer: Any) -> Any:
    rng = np.random.default_rng(2)
    name = type(layer).__name__
    if "Conv" in name:
        return rng.standard_normal((1, 2, 6, 6)).astype(np.float32)
    return rng.standard_normal((2, layer.in_features)).astype(np.float32)


def _outcome(package: Any, make: Make) -> tuple[list[str], list[Any], str, list[Any]]:
    package.manual_seed(5)
    layer = make(package)
    x = package.from_numpy(_input(layer))
    results = [layer(x), layer(x), layer.eval()(x), layer(x)]
    state = layer.state_dict()
    return (
        list(state),
        [v.detach().numpy() for v in state.values()],
        repr(layer),
        [r.detach().numpy() for r in results],
    )


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_pytorchs(name: str) -> None:
    """The same state, text and results from the same seed, in training and in evaluation."""
    torch = pytest.importorskip("torch")
    ours, theirs = _outcome(ts, LAYERS[name]), _outcome(torch, LAYERS[name])
    assert (ours[0], ours[2]) == (theirs[0], theirs[2])
    for a, b in zip([*ours[1], *ours[3]], [*theirs[1], *theirs[3]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_the_norm_is_one() -> None:
    layer = ts.nn.utils.parametrizations.spectral_norm(ts.nn.Linear(5, 4), n_power_iterations=30)
    largest = ts.linalg.svdvals(layer.weight.detach())[0].item()
    assert largest == pytest.approx(1.0, abs=1e-4)
    q = ts.nn.utils.parametrizations.orthogonal(ts.nn.Linear(4, 4)).weight.detach()
    np.testing.assert_allclose((q @ q.mT).numpy(), np.eye(4), atol=1e-5)


class Symmetric(ts.nn.Module):
    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: ts.Tensor) -> ts.Tensor:
        return x.triu()


class Doubled(ts.nn.Module):
    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return 2 * x

    def right_inverse(self, x: ts.Tensor) -> ts.Tensor:
        return x / 2


@pytest.mark.parametrize(
    ("inverse", "text"),
    [
        (lambda x: (x, x), "right_inverse must return a tensor. Got: tuple"),
        (lambda x: x.bool(), "must have the same dtype as module.weight"),
        (lambda x: x[:-1], "must have the same shape as module.weight"),
    ],
)
def test_a_second_parametrization_inverts_to_its_kind(
    inverse: Callable[[Any], Any], text: str
) -> None:
    class Wrong(Doubled):
        def right_inverse(self, x: ts.Tensor) -> Any:
            return inverse(x)

    layer = ts.nn.Linear(3, 3)
    register = ts.nn.utils.parametrize.register_parametrization
    register(layer, "weight", Symmetric())
    with pytest.raises(ValueError, match=text):
        register(layer, "weight", Wrong())
    assert len(layer.parametrizations.weight) == 1
    register(layer, "weight", Wrong(), unsafe=True)
    assert len(layer.parametrizations.weight) == 2


def test_a_users_parametrizations_are_chained_assigned_and_removed() -> None:
    parametrize = ts.nn.utils.parametrize
    layer = ts.nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(
        layer, "bias"
    )
    assert parametrize.type_before_parametrizations(layer) is ts.nn.Linear
    layer.weight = ts.ones(3, 3)
    assert layer.weight.tolist() == [[1.0] * 3] * 3
    assert layer.parametrizations.weight.original.tolist()[1] == [0.0, 0.5, 0.5]
    with parametrize.cached():
        assert layer.weight is layer.weight
    twin = copy.deepcopy(layer)
    assert twin.weight.tolist() == layer.weight.tolist()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is ts.nn.Linear and list(layer.state_dict()) == ["bias", "weight"]
    assert layer.weight.tolist() == [[1.0] * 3] * 3
    assert parametrize.is_parametrized(twin)


def test_what_is_computed_once_is_not_traced() -> None:
    layer = ts.nn.Linear(3, 3)
    ts.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    assert ts.jit.trace(layer, ts.ones(1, 3))(ts.ones(1, 3)).shape == (1, 3)
    refused = pytest.raises(RuntimeError, match="Cannot trace a model while caching param")
    with ts.nn.utils.parametrize.cached(), refused:
        ts.jit.trace(layer, ts.ones(1, 3))


def test_spectral_norm_is_removed() -> None:
    layer = ts.nn.utils.spectral_norm(ts.nn.Linear(3, 2)).eval()
    x = ts.ones(1, 3)
    before = layer(x)
    ts.nn.utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer(x).detach().numpy(), before.detach().numpy(), rtol=1e-6)


def test_a_state_of_the_older_weight_norm_is_taken() -> None:
    old = ts.nn.utils.weight_norm(ts.nn.Linear(3, 2))
    new = ts.nn.utils.parametrizations.weight_norm(ts.nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    np.testing.assert_array_equal(new.weight.detach().numpy(), old.weight.detach().numpy())


def test_a_parametrized_layer_is_traced_and_compiled() -> None:
    layer = ts.nn.utils.parametrizations.weight_norm(ts.nn.Linear(3, 2)).eval()
    x = ts.ones(1, 3)
    traced = ts.jit.trace(layer, (x,))
    np.testing.assert_allclose(traced(x).numpy(), layer(x).detach().numpy(), rtol=1e-6)


def test_a_parametrized_layer_is_scripted_and_refused_when_it_runs() -> None:
    layer = ts.nn.utils.parametrizations.weight_norm(ts.nn.Linear(3, 2)).eval()
    scripted = ts.jit.script(layer)
    assert {name for name, _ in scripted.named_parameters()} == set(dict(layer.named_parameters()))
    with pytest.raises(ts.jit.Error, match="Parametrization is not working with scripting"):
        scripted(ts.ones(1, 3))


@pytest.mark.parametrize(
    ("act", "kind", "text"),
    [
        (lambda n: n.parametrize.register_parametrization(ts.nn.ReLU(), "w", Doubled()),
         ValueError, "does not have a parameter, a buffer, or a parametrized element"),
        (lambda n: n.parametrize.remove_parametrizations(ts.nn.Linear(1, 1), "weight"),
         ValueError, "does not have a parametrization on weight"),
        (lambda n: n.parametrize.register_parametrization(
            ts.nn.Linear(2, 1), "weight", ts.nn.Flatten(0)),
         ValueError, "may not change the shape"),
        (lambda n: n.spectral_norm(n.spectral_norm(ts.nn.Linear(1, 1))),
         RuntimeError, "Cannot register two spectral_norm hooks"),
        (lambda n: n.remove_spectral_norm(ts.nn.Linear(1, 1)), ValueError, "not found in"),
        (lambda n: n.parametrizations.orthogonal(ts.nn.Linear(1, 1), "bias"),
         ValueError, "Expected a matrix or batch of matrices"),
        (lambda n: n.parametrizations.orthogonal(ts.nn.Linear(1, 1), orthogonal_map="x"),
         ValueError, "orthogonal_map has to be one of"),
    ],
)  # fmt: skip
def test_refusals(act: Callable[[Any], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        act(ts.nn.utils)

"""Models on our `nn` compute what their PyTorch twins do: eagerly, scripted and compiled."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nn_models import MODELS

import tensorscript as ts

Build = Callable[[Any], Any]
pytestmark = [
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
    pytest.mark.filterwarnings("ignore:`torch.jit.load` is deprecated"),
    pytest.mark.filterwarnings("ignore:'norm' was found in ScriptModule constants"),
]


def run(library: Any, model: Any, arrays: tuple[Any, ...]) -> list[Any]:
    given = [library.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in arrays]
    found = model(*given)
    results = found if isinstance(found, (tuple, list)) else (found,)
    return [r.detach().numpy() for r in results]


def check(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * float(np.abs(b).max()))


def without_fallback(model: Any, arrays: tuple[Any, ...]) -> list[Any]:
    compiled = ts.compile(model)
    found = run(ts, compiled, arrays)
    assert compiled.stats.fallbacks == []
    return found


@pytest.mark.torch
@pytest.mark.parametrize("build", MODELS, ids=lambda f: f.__name__)
def test_a_model_equals_its_twin(build: Build) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    twin, arrays = build(torch)
    with torch.no_grad():
        expected = run(torch, twin.eval(), arrays)
    file = io.BytesIO()
    torch.save(twin.state_dict(), file)
    ours, _ = build(ts)
    ours.eval().load_state_dict(ts.load(file.getvalue()))
    check(run(ts, ours, arrays), expected)
    check(run(ts, ts.jit.script(ours), arrays), expected)
    check(without_fallback(ours, arrays), expected)


@pytest.mark.parametrize("build", MODELS[3:8:2], ids=lambda f: f.__name__)
def test_forms_agree_without_torch(build: Build) -> None:
    ts.manual_seed(1)
    model, arrays = build(ts)
    expected = run(ts, model.eval(), arrays)
    check(run(ts, ts.jit.script(model), arrays), expected)
    check(without_fallback(model, arrays), expected)


@pytest.mark.torch
@pytest.mark.parametrize("build", MODELS[2:], ids=lambda f: f.__name__)
def test_pytorch_runs_what_is_saved(build: Build) -> None:
    torch = pytest.importorskip("torch")
    ts.manual_seed(1)
    model, arrays = build(ts)
    file = io.BytesIO()
    ts.jit.save(ts.jit.script(model.eval()), file)
    with torch.no_grad():
        found = run(torch, torch.jit.load(io.BytesIO(file.getvalue())), arrays)
    check(found, run(ts, model, arrays))


@pytest.mark.torch
@pytest.mark.parametrize("build", MODELS, ids=lambda f: f.__name__)
def test_one_seed_makes_one_model(build: Build) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    twin, _ = build(torch)
    ts.manual_seed(5)
    ours, _ = build(ts)
    assert repr(ours) == repr(twin)
    for key, value in twin.state_dict().items():
        np.testing.assert_allclose(
            ours.state_dict()[key].numpy(), value.numpy(), rtol=1e-5, atol=1e-6
        )

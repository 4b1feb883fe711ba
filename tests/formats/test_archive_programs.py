"""Archives of many kinds of programs: loaded, compiled and saved again, they agree with PyTorch."""

from __future__ import annotations

import enum
import functools
import io
import math
import warnings
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

torch = pytest.importorskip("torch")
STRUCTURE = pytest.importorskip("archive_structure").STRUCTURE
STORAGES = pytest.importorskip("archive_storages").STORAGES
CLASSES = pytest.importorskip("archive_classes").CLASSES
FUNCTIONS = pytest.importorskip("archive_functions").FUNCTIONS
MODELS = pytest.importorskip("archive_models").MODELS
DECODERS = pytest.importorskip("archive_decoders").DECODERS
QUANTIZED = pytest.importorskip("archive_quantized").QUANTIZED
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ALL = {**STRUCTURE, **STORAGES, **CLASSES, **FUNCTIONS, **MODELS, **DECODERS, **QUANTIZED}


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest) -> None:
    """That of PyTorch which the program's products are exact by."""
    if ALL[request.node.callspec.params["name"]].is_exact:
        request.getfixturevalue("exact_bytes")


@functools.cache
def archive_of(name: str) -> bytes:
    """What PyTorch saves of a program."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(ALL[name].make(), out)
    return out.getvalue()


def copied(value: Any) -> Any:
    """An argument for PyTorch, with memory of its own."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return type(value)(map(copied, value)) if type(value) in (list, tuple) else value


@functools.cache
def outputs_of(name: str) -> tuple[Any, ...]:
    """What PyTorch computes, call by call."""
    loaded = torch.jit.load(io.BytesIO(archive_of(name)))
    with torch.no_grad():
        return tuple(plain(loaded(*map(copied, call))) for call in ALL[name].calls)


def plain(value: Any) -> Any:
    """A result with arrays for tensors and lists for tuples; bfloat16 as float32."""
    if type(value).__name__ == "Tensor":
        found = value.detach()
        return (found.float() if "bfloat16" in str(found.dtype) else found).numpy().copy()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def argument(value: Any, loaded: Any) -> Any:
    """An argument for one of our modules, with memory of its own."""
    if isinstance(value, torch.Tensor):
        return ts.from_numpy(value.numpy().copy())
    if isinstance(value, enum.Enum):
        return loaded.color if value.name == "BLUE" else type(loaded.color)[value.name]
    if isinstance(value, dict):
        return {key: argument(item, loaded) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(argument(item, loaded) for item in value)
    return value


def assert_same(found: Any, wanted: Any, tolerance: float) -> None:
    if isinstance(wanted, np.ndarray):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance / 10)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, value in wanted.items():
            assert_same(found[key], value, tolerance)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, tolerance)
    elif isinstance(wanted, float):
        assert isinstance(found, float) and math.isclose(found, wanted, rel_tol=tolerance)
    else:
        assert found == wanted and type(found) is type(wanted)


def run(name: str, called: Any, loaded: Any) -> None:
    program = ALL[name]
    for call, wanted in zip(program.calls, outputs_of(name), strict=True):
        found = plain(called(*(argument(a, loaded) for a in call)))
        assert_same(found, wanted, program.tolerance)


@pytest.mark.parametrize("name", ALL)
def test_interpreted(name: str) -> None:
    loaded = ts.jit.load(archive_of(name))
    run(name, loaded, loaded)


@pytest.mark.parametrize("name", ALL)
def test_native(name: str) -> None:
    loaded = ts.jit.load(archive_of(name))
    compiled = ts.compile(loaded)
    run(name, compiled, loaded)
    assert compiled.stats.is_native, compiled.stats.fallbacks


@pytest.mark.parametrize("name", ALL)
def test_saved_again(name: str) -> None:
    original = archive_of(name)
    saved = ts.jit.load(original).save_to_buffer()
    assert ts.jit.load(saved).save_to_buffer() == saved
    theirs, ours = (torch.jit.load(io.BytesIO(data)) for data in (original, saved))
    for call in ALL[name].calls:
        with torch.no_grad():
            found, wanted = (plain(m(*map(copied, call))) for m in (ours, theirs))
        assert_same(found, wanted, 0.0)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        found = ours.state_dict()[key]
        assert (found.dtype, found.stride()) == (value.dtype, value.stride())
        torch.testing.assert_close(found, value, rtol=0, atol=0)

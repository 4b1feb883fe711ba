"""Archives that we save: PyTorch loads them and computes the same."""

from __future__ import annotations

import io
import warnings
import zipfile
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

torch = pytest.importorskip("torch")
PROGRAMS = pytest.importorskip("archive_programs").PROGRAMS
MODELS = pytest.importorskip("archive_models").MODELS
pytestmark = pytest.mark.filterwarnings("ignore")

ALL = {**PROGRAMS, **MODELS}


def archive_of(name: str) -> bytes:
    """What PyTorch saves of a program."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(ALL[name].make(), out)
    return out.getvalue()


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def assert_equal(found: Any, wanted: Any) -> None:
    if isinstance(wanted, torch.Tensor):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, value in wanted.items():
            assert_equal(found[key], value)
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_equal(one, other)
    else:
        assert found == wanted


@pytest.mark.parametrize("name", ALL)
def test_loaded_and_saved_again(name: str) -> None:
    original = archive_of(name)
    saved = ts.jit.load(original).save_to_buffer()
    assert ts.jit.load(saved).save_to_buffer() == saved
    theirs, ours = (torch.jit.load(io.BytesIO(data)) for data in (original, saved))
    for call in ALL[name].calls:
        with torch.no_grad():
            assert_equal(ours(*map(copied, call)), theirs(*map(copied, call)))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        found = ours.state_dict()[key]
        assert (found.dtype, found.stride()) == (value.dtype, value.stride())
        assert_equal(found, value)


LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "linear": (lambda: torch.nn.Linear(3, 4), (2, 3)),
    "convolutions": (
        lambda: torch.nn.Sequential(
            torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
        ),
        (1, 2, 6, 6),
    ),
    "layer_norm": (lambda: torch.nn.LayerNorm(4), (2, 4)),
    "embedding": (lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Softmax(1)), (2, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_scripted_here_saved_here_loaded_there(name: str) -> None:
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    module = make().eval()
    x = torch.randn(*shape)
    data = ts.jit.script(module).save_to_buffer()
    with torch.no_grad():
        assert_equal(torch.jit.load(io.BytesIO(data))(x), module(x))


def scaled(x, k: int):  # type: ignore[no-untyped-def]  # tensors have no annotation here
    return x * k + 1


def test_a_function_scripted_here() -> None:
    loaded = torch.jit.load(io.BytesIO(ts.jit.script(scaled).save_to_buffer()))
    assert_equal(loaded(torch.ones(2), 3), torch.full((2,), 4.0))
    assert "PlaceholderModule" in repr(loaded)


def test_the_version_is_that_of_the_newest_operator() -> None:
    def version(source: str) -> str:
        unit = ts.jit.CompilationUnit(source)
        data = unit.f.save_to_buffer()
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            names = [n for n in file.namelist() if n.endswith("version")]
            assert len(names) == 1
            return names[0].partition("/")[2] + file.read(names[0]).decode()

    assert version("def f(x: Tensor):\n  return x + 1\n") == "version3\n"
    assert version("def f(x: Tensor):\n  return x / 2\n") == "version4\n"
    assert version("def f(x: Tensor):\n  return torch.gelu(x)\n") == ".data/version10\n"


def test_extra_files_reach_pytorch() -> None:
    data = ts.jit.script(scaled).save_to_buffer(_extra_files={"a.json": "{}"})
    found: dict[str, Any] = {"a.json": ""}
    torch.jit.load(io.BytesIO(data), _extra_files=found)
    assert found == {"a.json": b"{}"}


def test_weights_keep_their_bits() -> None:
    torch.manual_seed(0)
    module = torch.nn.Linear(3, 2)
    loaded = torch.jit.load(io.BytesIO(ts.jit.script(module).save_to_buffer()))
    np.testing.assert_array_equal(loaded.weight.detach().numpy(), module.weight.detach().numpy())
    assert loaded.weight.requires_grad

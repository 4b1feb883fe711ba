"""Archives that we save: PyTorch loads them and computes the same."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


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
        torch.testing.assert_close(torch.jit.load(io.BytesIO(data))(x), module(x), rtol=0, atol=0)


def scaled(x, k: int):  # type: ignore[no-untyped-def]  # tensors have no annotation here
    return x * k + 1


def test_a_function_scripted_here() -> None:
    loaded = torch.jit.load(io.BytesIO(ts.jit.script(scaled).save_to_buffer()))
    torch.testing.assert_close(loaded(torch.ones(2), 3), torch.full((2,), 4.0))
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
    assert (
        version("def f(x: Tensor):\n  return torch.nn.functional.gelu(x)\n") == ".data/version10\n"
    )


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


OWN: dict[str, tuple[Any, tuple[int, ...]]] = {
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()),
        (2, 3, 6, 6),
    ),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 3, 8)),
    "norm": (lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU()), (2, 3)),
}


@pytest.mark.parametrize("traced", [False, True], ids=["scripted", "traced"])
@pytest.mark.parametrize("name", OWN)
def test_layers_of_our_own(name: str, traced: bool) -> None:
    make, shape = OWN[name]
    module = make().eval()
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    wanted = module(ts.from_numpy(x)).detach().numpy()
    made = ts.jit.trace(module, ts.from_numpy(x)) if traced else ts.jit.script(module)
    data = made.save_to_buffer()
    assert ts.jit.load(data).save_to_buffer() == data
    with torch.no_grad():
        found = torch.jit.load(io.BytesIO(data))(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def multiplied(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    z = x + 1
    return z @ y


def test_pytorch_shows_the_original_source_of_what_we_wrote() -> None:
    data = ts.jit.script(multiplied).save_to_buffer()
    loaded = torch.jit.load(io.BytesIO(data))
    with pytest.raises(RuntimeError, match="original code") as failure:
        loaded(torch.ones(2), torch.ones(3))
    told = str(failure.value)
    original = told[told.index("original code") :]
    assert "test_save_torch.py" in original
    assert "    return z @ y\n           ~~~~~ <--- HERE" in original


@pytest.mark.parametrize("traced", [False, True])
def test_rows_that_are_shortened_in_place(traced: bool) -> None:
    """With `max_norm` the weight, which requires a gradient, is written to without one."""
    module, at = nn.Embedding(4, 3, max_norm=1.0), ts.tensor([1, 3])
    made = ts.jit.trace(module, at) if traced else ts.jit.script(module)
    module.eval()
    with ts.no_grad():
        module.weight.fill_(2.0)
    buffer = io.BytesIO()
    ts.jit.save(made, buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer)
    assert np.allclose(loaded(torch.tensor([1, 3])).detach().numpy(), 3**-0.5)
    assert np.allclose(loaded.weight.detach().numpy()[:, 0], [2.0, 3**-0.5, 2.0, 3**-0.5])
    compiled = ts.compile(made, fallback="error")
    assert np.allclose(compiled(at).detach().numpy(), 3**-0.5)
    assert np.allclose(module.weight.detach().numpy()[:, 0], [2.0, 3**-0.5, 2.0, 3**-0.5])
    frozen = ts.jit.freeze(made.eval())
    assert np.allclose(frozen(ts.tensor([0])).detach().numpy(), 3**-0.5)


VIEWS: dict[str, tuple[Any, bool]] = {
    "as_strided": (lambda x: x.as_strided((2, 3), (3, 1), 1), True),
    "as_strided_of_a_view": (lambda x: x[4:].as_strided((2,), (1,), 6), True),
    "as_strided_alone": (lambda x: x[4:].as_strided((2,), (1,), 6), False),
    "empty": (lambda x: x[3:3], True),
    "empty_rows": (lambda x: x.view(3, 4)[1:1], True),
    "empty_columns": (lambda x: x.view(3, 4)[:, 2:2], True),
    "empty_at_the_end": (lambda x: x[12:], True),
    "empty_alone": (lambda x: x[3:3], False),
}
"""How a buffer is made of `arange(12.)`, and whether that is a buffer of its own beside it."""


class Views(nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        view, beside = VIEWS[name]
        x = ts.arange(12.0)
        self.register_buffer("whole", x if beside else ts.zeros(0))
        self.register_buffer("part", view(x))

    def forward(self, x):  # type: ignore[no-untyped-def]  # tensors have no annotation here
        return x


def places(module: Any) -> tuple[Any, ...]:
    part, whole = module.part, module.whole
    shared = part.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
    size = part.untyped_storage().nbytes()
    return part.storage_offset(), tuple(part.shape), part.stride(), shared, size, part.tolist()


@pytest.mark.parametrize("name", VIEWS)
def test_views_keep_their_places(name: str) -> None:
    """Offset, strides and shared memory, read by PyTorch and by ourselves, and saved again."""
    view, beside = VIEWS[name]
    x = torch.arange(12.0)
    wanted = torch.nn.Module()
    wanted.whole, wanted.part = x if beside else torch.zeros(0), view(x)
    first = ts.jit.script(Views(name)).save_to_buffer()
    ours = ts.jit.load(first)
    assert places(ours) == places(wanted)
    again = ours.save_to_buffer()
    for data in first, again:
        assert places(torch.jit.load(io.BytesIO(data))) == places(wanted)

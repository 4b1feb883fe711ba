"""Traced modules of ours and of PyTorch have PyTorch's graphs, method by method."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")
MODULES = pytest.importorskip("trace_modules").MODULES


def array(shape: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    sizes = [int(n) for n in shape.removeprefix("l").split()]
    if shape.startswith("l"):
        return rng.integers(0, 2, sizes)
    return rng.random(sizes, dtype=np.float32)


def inputs(shapes: tuple[Any, ...], library: Any) -> tuple[Any, ...]:
    return tuple(
        inputs(s, library) if isinstance(s, tuple) else library.from_numpy(array(s)) for s in shapes
    )


def plain(graph: object) -> str:
    """A graph without places, mangling and names."""
    text = re.sub(r" # .*", "", str(graph))
    text = re.sub(r"___torch_mangle_\d+\.", "", text)
    names: dict[str, str] = {}
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), text)


def methods(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The methods of two traced modules, with those of their submodules."""
    for name in theirs._c._method_names():
        yield f"{path}.{name}", theirs._c._get_method(name), getattr(ours, name)
    below = dict(ours.named_children())
    for name, child in theirs.named_children():
        yield from methods(child, below[name], f"{path}.{name}")


def assert_same(theirs: Any, ours: Any, names: bool = True) -> None:
    """The same graphs, and unless local `names` differ the same code."""
    for path, wanted, found in methods(theirs, ours):
        assert plain(found.graph) == plain(wanted.graph), path
        assert not names or found.code == wanted.code, path


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value.detach().numpy()]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_ours(name: str) -> None:
    make, shapes = MODULES[name]
    theirs, ours = make(torch.nn).eval(), make(ts.nn).eval()
    ours.load_state_dict({k: ts.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    wanted = torch.jit.trace(theirs, inputs(shapes, torch), check_trace=False)
    found = ts.jit.trace(ours, inputs(shapes, ts), check_trace=False)
    assert_same(wanted, found, names=name != "lstm_cell")
    values = leaves(found(*inputs(shapes, ts)))
    expected = leaves(wanted(*inputs(shapes, torch)))
    for ours_value, theirs_value in zip(values, expected, strict=True):
        np.testing.assert_allclose(ours_value, theirs_value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in MODULES if n not in ("rms_norm",)])
def test_a_module_of_pytorch(name: str) -> None:
    make, shapes = MODULES[name]
    module = make(torch.nn).eval()
    wanted = torch.jit.trace(module, inputs(shapes, torch), check_trace=False)
    found = ts.jit.trace(module, inputs(shapes, torch))
    assert_same(wanted, found)
    given = inputs(shapes, torch)
    for ours_value, theirs_value in zip(leaves(found(*given)), leaves(wanted(*given)), strict=True):
        np.testing.assert_allclose(ours_value, theirs_value, rtol=1e-4, atol=1e-5)


def test_a_traced_module_shares_the_parameters_of_pytorchs() -> None:
    module = torch.nn.Linear(2, 2)
    traced = ts.jit.trace(module, torch.rand(1, 2))
    with torch.no_grad():
        module.weight.zero_()
        module.bias.fill_(3.0)
    np.testing.assert_array_equal(traced(ts.rand(1, 2)).detach().numpy(), [[3.0, 3.0]])


def test_functions_of_pytorch_on_our_tensors() -> None:
    def program(x, y):
        rows = torch.cat([torch.sin(x), y])
        return torch.nn.functional.softmax(rows, 1), rows.sum(dtype=torch.float64)

    x, y = torch.rand(2, 3), torch.rand(1, 3)
    wanted = torch.jit.trace(program, (x, y))
    found = ts.jit.trace(program, (x, y))
    assert plain(found.graph) == plain(wanted.graph)
    assert found.code == wanted.code


def test_what_has_no_counterpart_is_refused() -> None:
    with pytest.raises(TypeError, match="Expected a value of type 'ScalarType' for argument 'dt"):
        torch.quantize_per_tensor(ts.rand(2), 0.1, 0, torch.qint8)


class Positions(torch.nn.Module):
    """What libraries of transformers do besides layers: buffers, sizes, dtypes and masks."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ids", torch.arange(8)[None])
        self.layer = torch.nn.Linear(4, 4)
        self.scale = torch.full((4,), 0.5)  # a plain attribute

    def forward(self, x: Any) -> Any:
        rows, width = x.shape[:2]
        ids = self.ids[:, :width].expand(rows, width)
        steps = torch.arange(width, device=x.device)
        later = steps[None] > steps[:, None]
        mask = torch.zeros(width, width, dtype=x.dtype, device=x.device)
        if x.dtype == torch.float32 and x.device == torch.device("cpu"):
            mask = mask.masked_fill(later, torch.finfo(x.dtype).min)
        if not torch.jit.is_tracing():
            mask = mask * 2
        weights = torch.softmax(mask + ids[0].to(self.layer.weight.dtype), -1)
        return self.layer(weights @ x) * self.scale.to(x.dtype)


def test_a_module_of_pytorch_with_tensors_of_its_own() -> None:
    module = Positions().eval()
    x = torch.from_numpy(array("2 5 4"))
    wanted = torch.jit.trace(module, x, check_trace=False)
    found = ts.jit.trace(module, x)
    assert_same(wanted, found)
    other = torch.from_numpy(array("3 7 4"))
    np.testing.assert_allclose(
        found(other).detach().numpy(), wanted(other).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_pytorch_is_as_before_when_a_trace_has_ended() -> None:
    class Failing(Positions):
        def forward(self, x: Any) -> Any:
            raise KeyError("here")

    x = torch.rand(2, 5, 4)
    functions = dict(vars(torch))
    for module in (Positions(), Failing()):
        held = (module.ids, module.layer.weight, module.scale)
        if isinstance(module, Failing):
            with pytest.raises(KeyError, match="here"):
                ts.jit.trace(module, x)
        else:
            ts.jit.trace(module, x)
        now = (module.ids, module.layer.weight, module.scale)
        assert all(a is b for a, b in zip(held, now, strict=True))
        assert all(vars(torch)[name] is functions[name] for name in functions)
        assert not torch.jit.is_tracing()


def test_dtypes_and_devices_equal_pytorchs() -> None:
    assert ts.float32 == torch.float32 and torch.int64 == ts.int64 and ts.bool in (torch.bool,)
    assert ts.float32 != torch.float64 and ts.float32 != "torch.float32"
    assert ts.device("cuda:1") == torch.device("cuda", 1)
    assert torch.device("cpu") != ts.device("cpu", 0)

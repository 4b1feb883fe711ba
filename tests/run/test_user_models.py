"""Modules as users write them give PyTorch's results and traces, and travel through archives."""

from __future__ import annotations

import importlib.util
import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")

SOURCE = Path(__file__).with_name("user_models.py")
NAMES = re.findall(r'^    "(\w+)": \(', SOURCE.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The models over this library: the file with another import."""
    text = re.sub(r"\b(import|from) torch\b", r"\1 tensorscript", SOURCE.read_text())
    text = text.replace("import tensorscript\n", "import tensorscript as torch\n", 1)
    path = tmp_path_factory.mktemp("models") / "user_models.py"
    path.write_text(text)
    return loaded(path)


@pytest.fixture(scope="module")
def theirs() -> Any:
    return loaded(SOURCE)


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("user_models", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["user_models"] = module  # classes are looked up by it when they are compiled
    spec.loader.exec_module(module)
    return module


def pair(name: str, theirs: Any, ours: Any) -> tuple[Any, Any, Any, Any]:
    """A model of PyTorch's and one of ours with its weights, and their inputs."""
    wanted, found = theirs.CASES[name][0]().eval(), ours.CASES[name][0]().eval()
    state = {k: ts.from_numpy(v.numpy().copy()) for k, v in wanted.state_dict().items()}
    found.load_state_dict(state)
    return wanted, found, theirs.CASES[name][1](), ours.CASES[name][1]()


def leaves(value: Any) -> list[Any]:
    return [x for part in value for x in leaves(part)] if isinstance(value, tuple) else [value]


def assert_same(wanted: Any, found: Any, strides: bool = True) -> None:
    for w, f in zip(leaves(wanted), leaves(found), strict=True):
        assert str(f.dtype) == str(w.dtype)
        assert not strides or f.stride() == w.stride()
        np.testing.assert_allclose(f.detach().numpy(), w.detach().numpy(), rtol=1e-4, atol=1e-5)


def plain(text: object) -> str:
    text = re.sub(r" # .*", "", str(text)).replace("user_models.", "")
    text = re.sub(r"___torch_mangle_\d+\.", "", text)
    names: dict[str, str] = {}
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), text)


@pytest.mark.parametrize("name", NAMES)
def test_results_and_traces_are_pytorchs(name: str, theirs: Any, ours: Any) -> None:
    wanted, found, x, y = pair(name, theirs, ours)
    assert_same(wanted(*x), found(*y))
    traced, own = torch.jit.trace(wanted, x), ts.jit.trace(found, y)
    assert plain(own.graph) == plain(traced.graph)
    assert plain(own.code) == plain(traced.code)
    assert_same(traced(*x), own(*y))


@pytest.mark.parametrize("name", NAMES)
def test_traces_are_native_and_travel(name: str, theirs: Any, ours: Any) -> None:
    wanted, found, x, y = pair(name, theirs, ours)
    result = wanted(*x)
    assert_same(result, ts.compile(ts.jit.trace(found, y), fallback="error")(*y), strides=False)
    archive = io.BytesIO()
    torch.jit.save(torch.jit.trace(wanted, x), archive)
    archive.seek(0)
    assert_same(result, ts.jit.load(archive)(*y))
    archive.seek(0)
    assert_same(result, ts.compile(ts.jit.load(archive), fallback="error")(*y), strides=False)
    archive = io.BytesIO()
    ts.jit.save(ts.jit.trace(found, y), archive)
    archive.seek(0)
    assert_same(torch.jit.load(archive)(*x), result)


@pytest.mark.parametrize(
    "result",
    ["[{'a': x + 1}]", "[[x + 1]]", "{'a': [x + 1]}", "{'a': {'b': x + 1}}", "[(x, x)]",
     "{1: x + 1}", "({'a': x + 1},)", "{'a': (x + 1, x)}", "(x, [x + 1, x])"],
)  # fmt: skip
@pytest.mark.parametrize("strict", [True, False])
def test_what_a_trace_may_give_back(result: str, strict: bool) -> None:
    found = [outcome(library, result, strict) for library in (torch, ts)]
    assert found[1] == found[0]


def outcome(library: Any, result: str, strict: bool) -> str:
    program = eval(f"lambda x: {result}")
    try:
        traced = library.jit.trace(program, (library.ones(2),), strict=strict)
    except RuntimeError as error:
        return str(error)
    return plain(traced.graph)


@pytest.mark.parametrize(
    "array",
    [np.arange(12).reshape(2, 2, 3), np.arange(6).reshape(1, 2, 3) * 1.5e7, np.float32(0.1),
     np.array(1234567.0), np.arange(8).reshape(2, 2, 1, 2) * 1e-6, np.eye(2) * 1e6],
)  # fmt: skip
def test_programs_print_tensors_as_pytorchs_do(
    array: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for library in (torch, ts):
        library.jit.script(shown)(library.from_numpy(np.asarray(array)))
        texts.append(capfd.readouterr().out)
    assert texts[1] == texts[0]


def shown(x):
    print(x)


def sampled(x):
    return ts.nn.functional.gumbel_softmax(x, hard=True)


def packed(x, lengths):
    rows = ts.nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
    return ts.nn.utils.rnn.pad_packed_sequence(rows, batch_first=True)[0]


def test_functions_that_ask_for_a_memory_format_are_scripted() -> None:
    x, lengths = ts.ones(2, 3, 1), ts.tensor([2, 3])
    assert ts.jit.script(sampled)(ts.ones(3, 4)).sum() == 3
    assert ts.jit.script(packed)(x, lengths).flatten().tolist() == [1, 1, 0, 1, 1, 1]

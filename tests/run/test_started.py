"""Functions started from the disk cache: do they give what compiling gives, whatever changed?"""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.identity import identity_of
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.started import Started

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
SOURCE = """
import typing
import tensorscript as ts
SCALE = 2.0
UNUSED = 1
Pair = typing.Tuple[ts.Tensor, ts.Tensor]
def inner(x):
    return x + SCALE
def outer(x, y: "float" = 1.0):
    z: typing.Optional[ts.Tensor] = None
    return ts.sigmoid(inner(x)) * y
def pair(x) -> "Pair":
    return x, x
def made(k: int):
    def closed(x):
        return x * k
    return closed
two, three = made(2), made(3)
"""


def module_of(tmp_path: Path, name: str, text: str = SOURCE) -> Any:
    """A module whose source is in a file, as scripting needs it."""
    file = tmp_path / f"{name}.py"
    file.write_text(text)
    module = types.ModuleType(name)
    exec(compile(text, str(file), "exec"), vars(module))
    return module


CHANGES = {
    "a global": ("SCALE = 2.0", "SCALE = 3.0"),
    "the kind of a global": ("SCALE = 2.0", "SCALE = 2"),
    "a called function": ("x + SCALE", "x - SCALE"),
    "a default": ("= 1.0", "= 2.0"),
    "an annotation": ('"float"', '"int"'),
    "an annotation of a local": ("Optional[ts.Tensor]", "Optional[int]"),
    "what an operator's name stands for": ("two, three", "ts = typing\ntwo, three"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_another_identity(name: str, tmp_path: Path) -> None:
    before = module_of(tmp_path, "before")
    after = module_of(tmp_path, "after", SOURCE.replace(*CHANGES[name]))
    assert identity_of(before.outer) is not None
    assert identity_of(before.outer) != identity_of(after.outer)


def test_what_does_not_matter_is_no_other_identity(tmp_path: Path) -> None:
    before = module_of(tmp_path, "before")
    moved = SOURCE.replace("UNUSED = 1", "UNUSED = object()\n\n")
    assert identity_of(before.outer) == identity_of(module_of(tmp_path, "after", moved).outer)


def test_closures_and_names_in_texts_are_followed(tmp_path: Path) -> None:
    module = module_of(tmp_path, "module")
    assert identity_of(module.two) != identity_of(module.three)
    known = identity_of(module.pair)
    module.Pair = ts.Tensor
    assert known is not None and identity_of(module.pair) not in (known, None)


def test_overloads_of_another_function_are_no_hindrance(tmp_path: Path) -> None:
    overloaded = module_of(tmp_path, "overloaded", WITHOUT["overloads"])
    assert identity_of(overloaded.f) is None
    assert identity_of(module_of(tmp_path, "module").outer) is not None


def test_operators_that_a_program_replaced_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = module_of(tmp_path, "module")
    before = identity_of(module.outer)
    assert ts.sigmoid is not None  # that it was used is no difference
    assert identity_of(module.outer) == before
    monkeypatch.setattr(ts, "sigmoid", ts.tanh)
    assert identity_of(module.outer) != before
    monkeypatch.setattr(ts, "sigmoid", module.inner)
    assert identity_of(module.outer) != before


WITHOUT = {
    "a tensor": "import tensorscript as ts\nW = ts.ones(2)\ndef f(x):\n    return x + W\n",
    "a class": "class C:\n    pass\ndef f(x):\n    c = C()\n    return x\n",
    "another library": "import numpy\ndef f(x):\n    return numpy.abs(x)\n",
    "a mark": "import tensorscript as ts\n@ts.jit.ignore\ndef f(x):\n    return x\n",
    "a lambda": "f = lambda x: x\n",
    "overloads": "import tensorscript as ts\n"
    "@ts.jit._overload\ndef f(x: int) -> int: ...\n"
    "@ts.jit._overload\ndef f(x: ts.Tensor) -> ts.Tensor: ...\n"
    "def f(x):\n    return x + 1\n",
    "a reached tensor": "import tensorscript as ts\nW = ts.ones(2)\ndef g(x):\n    return x + W\n"
    "def f(x):\n    return g(x)\n",
}


@pytest.mark.parametrize("name", WITHOUT)
def test_what_cannot_be_known_has_no_identity(name: str, tmp_path: Path) -> None:
    assert identity_of(module_of(tmp_path, "module", WITHOUT[name]).f) is None


def test_functions_without_source_and_other_callables_have_none() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x\n", names)
    for other in (names["f"], len, ts.nn.ReLU(), ts.jit.script(scaled)):
        assert identity_of(other) is None


def doubled(x: ts.Tensor) -> ts.Tensor:
    return x * 2.0


def tripled(x: ts.Tensor) -> ts.Tensor:
    return x * 3.0


enlarged = doubled


def scaled(x: ts.Tensor) -> ts.Tensor:
    return enlarged(ts.relu(x))


def refused(x: ts.Tensor) -> ts.Tensor:
    if bool(x.sum() > 5.0):
        raise ValueError("too large")
    return x * 2.0


def again(program: Callable[..., Any], tmp_path: Path) -> Any:
    """The function as the next process has it."""
    options = CompileOptions(cache_dir=tmp_path, fallback="error")
    first = ts.compile(program, options=options)
    assert type(first) is CompiledFunction
    first(X)
    return ts.compile(program, options=options)


def test_a_start_gives_the_same_and_stands_for_the_function(tmp_path: Path) -> None:
    f = again(scaled, tmp_path)
    assert type(f) is Started and isinstance(f, CompiledFunction)
    np.testing.assert_array_equal(f(X), np.maximum(X, 0) * 2)
    assert issubclass(type(f), Started)  # native code answered
    np.testing.assert_array_equal(f(X), np.maximum(X, 0) * 2)
    assert f.stats.native == ["(3x4:f32)"] and f.stats.is_native
    assert [k.category for k in f.kernels] == ["pointwise"]
    assert not issubclass(type(f), Started)
    np.testing.assert_array_equal(f(X), np.maximum(X, 0) * 2)


CALLS: dict[str, Callable[[Any], Any]] = {
    "another shape": lambda f: f(X[:2]),
    "another dtype": lambda f: f(X.astype(np.float64)),
    "not contiguous": lambda f: f(X.T),
    "a keyword": lambda f: f(x=X),
    "our tensor": lambda f: f(ts.from_numpy(X)).numpy(),
    "a number": lambda f: f(np.float32(0.5)),
}


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_other_calls_are_answered_as_ever(name: str, warm: bool, tmp_path: Path) -> None:
    wanted = CALLS[name](ts.compile(scaled, cache=False))
    f = again(scaled, tmp_path)
    if warm:
        f(X)
    np.testing.assert_array_equal(CALLS[name](f), wanted)
    np.testing.assert_array_equal(f(X), np.maximum(X, 0) * 2)


def test_errors_are_those_of_the_function(tmp_path: Path) -> None:
    f = again(refused, tmp_path)
    assert type(f) is Started
    f(X)
    with pytest.raises(ts.jit.Error, match="too large"):
        f(X + 1)
    np.testing.assert_array_equal(f(X), X * 2)


def test_a_decorated_function_is_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = identity_of(refused)
    f = again(refused, tmp_path)
    monkeypatch.setitem(globals(), "refused", f)
    assert identity_of(f.started_program.function) == plain
    f.note = "mine"
    f(X)
    with pytest.raises(ts.jit.Error, match=r"in refused\n.*\n.*\n.*raise ValueError"):
        f(X + 1)
    assert f.note == "mine"


def test_a_function_stays_as_it_was_when_it_was_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = again(scaled, tmp_path)
    monkeypatch.setitem(globals(), "enlarged", tripled)
    np.testing.assert_array_equal(f(X), np.maximum(X, 0) * 2)
    np.testing.assert_array_equal(f(X[:2]), np.maximum(X[:2], 0) * 2)
    now = ts.compile(scaled, options=CompileOptions(cache_dir=tmp_path))
    np.testing.assert_array_equal(now(X), np.maximum(X, 0) * 3)


def test_damaged_entries_are_compiled_again(tmp_path: Path) -> None:
    f = again(scaled, tmp_path)
    for entry in tmp_path.glob("*.tsk"):
        entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    np.testing.assert_array_equal(f(X), np.maximum(X, 0) * 2)


PROGRAM = """
import sys
import numpy as np
import tensorscript as ts

def chain(x, y):
    return ts.sigmoid(x * y + 1) * x

ones = np.ones((4, 4), np.float32)
value = float(ts.compile(chain)(ones, ones)[0, 0])
print(value, any(name.split(".")[0] == "xdsl" for name in sys.modules))
"""


def test_a_start_imports_no_frontend(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = os.environ | {"TENSORSCRIPT_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> list[str]:
        command = [sys.executable, str(file)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    value, made = run()
    assert made == "True"
    assert run() == [value, "False"]

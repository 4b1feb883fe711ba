"""Programs that are nested deeper than Python's stack: long expressions, branches, returns."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import CompileError
from tensorscript.base.stack import with_room

CHAIN, METHODS, BRANCHES = 1200, 600, 400


def _sum(count: int) -> str:
    return "    return x" + " + 1" * count + "\n"


def _methods(count: int) -> str:
    return "    return x" + ".neg()" * count + "\n"


def _text(count: int) -> str:
    return "    return 'a'" + " + 'b'" * count + "\n"


def _elifs(count: int) -> str:
    tests = "".join(f"    elif n == {i}:\n        y = x + {i}\n" for i in range(1, count))
    return f"    if n == 0:\n        y = x\n{tests}    else:\n        y = -x\n    return y\n"


def _returns(count: int) -> str:
    tests = "".join(f"    if n == {i}:\n        return x + {i}\n" for i in range(count))
    return f"{tests}    return -x\n"


def _ternaries(count: int) -> str:
    return "    return " + "".join(f"x + {i} if n == {i} else " for i in range(count)) + "-x\n"


def _joined(count: int) -> str:
    pieces = ", ".join(f"x * {i} + n" for i in range(count))
    return f"    return torch.cat([{pieces}])\n"


def _function(body: str, folder: Path) -> Callable[..., Any]:
    path = folder / "deep_program.py"
    path.write_text(
        "import tensorscript as torch\nfrom tensorscript import Tensor\n\n\n"
        "def f(x: Tensor, n: int):\n" + body,
    )
    spec = importlib.util.spec_from_file_location("deep_program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.f
    return found


@pytest.mark.parametrize(
    ("body", "argument", "expected"),
    [
        (_sum(CHAIN), 0, [1.0 + CHAIN]),
        (_methods(METHODS), 0, [1.0]),
        (_elifs(BRANCHES), BRANCHES - 1, [float(BRANCHES)]),
        (_elifs(BRANCHES), BRANCHES, [-1.0]),
        (_returns(BRANCHES), BRANCHES - 1, [float(BRANCHES)]),
        (_ternaries(BRANCHES), BRANCHES - 2, [float(BRANCHES - 1)]),
    ],
    ids=["sum", "methods", "elifs", "else", "returns", "ternaries"],
)
def test_scripted(body: str, argument: int, expected: list[float], tmp_path: Path) -> None:
    scripted = ts.jit.script(_function(body, tmp_path))
    assert scripted(ts.ones(1), argument).tolist() == expected
    assert str(scripted.graph).count("\n") > 1000 or argument == 0
    assert scripted.code.startswith("def f(x: Tensor,\n")


def test_a_long_text(tmp_path: Path) -> None:
    assert ts.jit.script(_function(_text(CHAIN), tmp_path))(ts.ones(1), 0) == "a" + "b" * CHAIN


def test_a_long_sum_compiles(tmp_path: Path) -> None:
    compiled = ts.compile(_function(_sum(CHAIN), tmp_path), cache=False, fallback="error")
    assert compiled(ts.ones(1), 0).tolist() == [1.0 + CHAIN]


def _kept(count: int) -> str:
    """Returns that write into one tensor and read another."""
    tests = "".join(
        f"    if n == {i}:\n        z[0] = {i}\n        return y + z\n" for i in range(count)
    )
    return f"    y = x * 2\n    z = x.clone()\n{tests}    return -z\n"


def _chosen(count: int) -> str:
    return (
        "    y = x * 2\n"
        + "".join(f"    if n > {i}:\n        y = y + {i}\n" for i in range(count))
        + "    return y\n"
    )


def _calls(run: Callable[[], object]) -> int:
    """How many functions are called, in Python and in C."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * limit)  # so that all of it runs on this thread, and once
    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
        sys.setrecursionlimit(limit)
    return count


@pytest.mark.parametrize("make", [_returns, _kept, _elifs, _chosen, _joined])
def test_lowering_is_linear(make: Callable[[int], str], tmp_path: Path) -> None:
    """Twice as many branches are twice the work, and not more, however they are nested."""

    def work(count: int) -> int:
        compiled = ts.compile(_function(make(count), tmp_path), cache=False, fallback="error")
        return _calls(lambda: compiled(ts.ones(4), 3))

    work(2)  # what is done once
    small, large = work(30), work(60)
    assert large < 2.2 * small, (small, large)


def test_calls_within_calls(tmp_path: Path) -> None:
    links = [f"def h{i}(x):\n    return h{i - 1}(x) + 1\n" for i in range(1, 300)]
    body = "    return h299(x) + n\ndef h0(x):\n    return x\n" + "".join(links)
    compiled = ts.compile(_function(body, tmp_path), cache=False, fallback="error")
    assert compiled(ts.ones(2), 3).tolist() == [303, 303]


def test_hundreds_of_pieces(tmp_path: Path) -> None:
    compiled = ts.compile(_function(_joined(400), tmp_path), cache=False, fallback="error")
    assert compiled(ts.ones(2), 1)[-4:].tolist() == [399, 399, 400, 400]


def test_no_room_is_one_error() -> None:
    def endless() -> None:
        endless()

    before = sys.getrecursionlimit()
    with pytest.raises(CompileError, match="nested too deeply"):
        with_room(endless)
    assert sys.getrecursionlimit() == before

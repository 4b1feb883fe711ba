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


def _function(body: str, folder: Path) -> Callable[..., Any]:
    path = folder / "deep_program.py"
    path.write_text(
        "from tensorscript import Tensor\n\n\ndef f(x: Tensor, n: int):\n" + body,
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


def test_no_room_is_one_error() -> None:
    def endless() -> None:
        endless()

    before = sys.getrecursionlimit()
    with pytest.raises(CompileError, match="nested too deeply"):
        with_room(endless)
    assert sys.getrecursionlimit() == before

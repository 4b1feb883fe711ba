"""Random programs over lists that grow: native code equals Python, step by step."""

from __future__ import annotations

import copy
import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import ScriptError
from tensorscript.compiler.function import CompiledFunction

LISTS = ("a", "b", "c")
HEAD = "def f(a: list[int], b: list[int], rows: list[list[int]], n: int):\n    c = [n]\n    t = 0\n"


class Writer:
    """Writes one program; every list may be the same as another one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def number(self) -> str:
        pick = self.random.choice
        return pick(["n", "t", "1", "-2", "7", f"len({pick(LISTS)})", f"sum({pick(LISTS)})"])

    def index(self) -> str:
        return self.random.choice(["0", "-1", "n", "t", "1"])

    def simple(self) -> str:
        x, y = self.random.choices(LISTS, k=2)
        v, i = self.number(), self.index()
        return self.random.choice(
            [
                f"{x}.append({v})", f"{x}.append({v})", f"{x}.insert({i}, {v})", f"{x} = {y}",
                f"{x} = {y}.copy()", f"{x} = ({y} + {x})[:6]", f"{x} = [{v}, t]", f"{x} = {y}[1:]",
                f"{x} = {y}[:{self.number()}]", f"{x}, {y} = {y}, {x}", f"{x}.reverse()",
                f"{x}.sort()", f"{x} = [0] * min({v}, 5)", f"t += {x}.count({v})",
                f"t = t % 13 + {v}", f"rows.append({x})", f"{x} = rows[{i}]",
                f"rows[{i}].append({v})", f"rows[{i}][{i}] = {v}", f"{x}[{i}] = {v}",
                f"t = {x}[{i}]", f"t += {x}.pop()", f"{x}.extend({y}[:3])", f"rows[{i}] = {x}",
            ]
        )  # fmt: skip

    def block(self, depth: int, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randrange(2, 5)):
            kind = self.random.random()
            if depth and kind < 0.2:
                self.loops += 1
                lines.append(f"{indent}for i{self.loops} in range({self.random.choice('n3')}):")
                lines += self.block(depth - 1, indent + "    ")
            elif depth and kind < 0.4:
                test = self.random.choice(["t > n", "len(a) < 4", "a == b", "n in c", "t % 2 == 0"])
                lines.append(f"{indent}if {test}:")
                lines += self.block(depth - 1, indent + "    ")
                if self.random.random() < 0.5:
                    lines.append(f"{indent}else:")
                    lines += self.block(depth - 1, indent + "    ")
            else:
                lines.append(indent + self.simple())
        return lines

    def program(self) -> str:
        lines = "\n".join(self.block(3, "    "))
        return f"{HEAD}{lines}\n    return a, b, c, rows, t\n"


def load(source: str, seed: int, folder: Path) -> ModuleType:
    path = folder / f"random_lists_{seed}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def outcome(run: Any, *arguments: Any) -> Any:
    """The result, or that there is an error."""
    try:
        return run(*arguments)
    except (IndexError, ScriptError):
        return "error"


@pytest.mark.parametrize("seed", [*range(16), 407, 440, 444])  # the last three ended LLVM once
def test_equals_python(seed: int, tmp_path: Path) -> None:
    source = Writer(seed).program()
    module = load(source, seed, tmp_path)
    compiled = ts.compile(module.f, fallback="error", cache=False)
    assert isinstance(compiled, CompiledFunction)
    for n in range(4):
        arguments: list[Any] = [[3, 1, 2], [5], [[1], [2, 3]], n]
        expected = outcome(module.f, *copy.deepcopy(arguments))
        assert outcome(compiled, *arguments) == expected, source

"""Which test files compare with PyTorch: those that name it in an import, or a helper that does.

Every other file does the same with PyTorch beside as without, so that `--oracle` leaves it out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent


@cache
def _files() -> dict[str, Path]:
    """Module names to files: pytest puts every folder with tests on the path."""
    return {file.stem: file for file in TESTS.rglob("*.py")}


@cache
def _named(file: Path) -> frozenset[str]:
    """First parts of what a file imports, and its strings, among which are optional imports."""
    return frozenset(_names(ast.parse(file.read_text(), str(file))))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name.partition(".")[0] for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                yield module.partition(".")[0]
            case ast.Constant(value=str(text)):
                yield text.partition(".")[0]


def compares_with_torch(file: Path) -> bool:
    """Whether a test file can see PyTorch, itself or through helpers under tests/."""
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        found = _named(waiting.pop())
        if "torch" in found:
            return True
        fresh = {name for name in found if name in _files()} - seen
        seen |= fresh
        waiting += [_files()[name] for name in fresh]
    return False

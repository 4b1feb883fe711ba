"""Imports run down: the folder table of the design, read from every import in the source.

Imports inside functions and under TYPE_CHECKING count too. An import is `tensorscript.<folder>...`
or relative inside one folder; the bare folder name would make a second copy of every class, and the
bare `tensorscript` face is for users only.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# folder: (folders of ours it may import, packages of others)
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    "base": (set(), {"numpy"}),
    "eager": ({"base"}, {"numpy"}),
    "dialects": ({"base"}, {"numpy", "xdsl"}),
    "frontends": ({"base", "eager", "dialects"}, {"numpy", "xdsl"}),
    "lowering": ({"base", "dialects"}, {"numpy", "xdsl"}),
    "backends": ({"base", "dialects"}, {"cuda", "llvmlite", "numpy", "xdsl"}),
    "runtime": ({"base", "eager", "dialects"}, {"numpy", "xdsl"}),
    "compiler": (
        {"base", "eager", "dialects", "frontends", "lowering", "backends", "runtime"},
        {"numpy", "xdsl"},
    ),
}
# An optional package is imported where it is first used, and its absence is named there.
OPTIONAL = {"cuda"}
# Of the standard library, what only one folder may touch, or one file of another: NumPy has no
# bfloat16, so that eager mode names it in the capsules that NumPy makes; memory and kernels of a
# GPU, which several folders use, are its driver's.
RESERVED = {"ctypes": {"backends", "base/cuda_driver.py", "eager/dlpack.py"}}


@dataclass(frozen=True)
class Import:
    """One module named by an import statement; `symbols` are the names a `from` takes."""

    file: Path
    line: int
    module: str
    symbols: tuple[str, ...]
    in_function: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.module}"


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def module_name(file: Path) -> str:
    parts = ("tensorscript", *file.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def absolute(file: Path, node: ast.ImportFrom) -> str:
    """The module a `from` names, with the dots of a relative one resolved."""
    if not node.level:
        return node.module or ""
    package = module_name(file).split(".")
    up = node.level - (1 if file.name == "__init__.py" else 0)
    base = package[: len(package) - up]
    return ".".join([*base, *([node.module] if node.module else [])])


def imports_of(file: Path) -> Iterator[Import]:
    tree = ast.parse(file.read_text(), str(file))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(n) for f in functions for n in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, (), id(node) in inside)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import(file, node.lineno, absolute(file, node), names, id(node) in inside)


def fault(folder: str, item: Import) -> str | None:
    """What is wrong with an import in `folder`, if anything."""
    ours, others = ALLOWED[folder]
    top, *rest = item.module.split(".")
    if item.in_function and top not in OPTIONAL:
        return "import inside a function"
    if top in ALLOWED and top not in sys.stdlib_module_names:
        return f"bare folder name; write tensorscript.{item.module}"
    if top == "tensorscript":
        if not rest:
            return "imports the public face"
        if rest[0] != folder and rest[0] not in ours:
            return f"{folder} may not import {rest[0]}"
        return None
    path = str(item.file.relative_to(ROOT))
    if top == "dataclasses" and "dataclass" in item.symbols and path != "base/records.py":
        return "the decorator comes from base/records.py"
    here = {folder, path}
    if top in RESERVED and not here & RESERVED[top]:
        return f"{folder} may not import {top}"
    if top not in sys.stdlib_module_names and top not in others:
        return f"{folder} may not import {top}"
    return None


@pytest.mark.parametrize("folder", ALLOWED)
def test_imports_follow_the_table(folder: str) -> None:
    found = [item for file in files_of(folder) for item in imports_of(file)]
    faults = [f"{item}: {text}" for item in found if (text := fault(folder, item))]
    assert not faults, "\n".join(faults)


def test_every_folder_is_in_the_table_and_linked() -> None:
    links = {p.name: p for p in (ROOT / "src" / "tensorscript").iterdir() if p.is_symlink()}
    assert set(links) == set(ALLOWED)
    for name, link in links.items():
        assert link.readlink() == Path("../..") / name
        assert (link / "__init__.py").is_file()


def test_every_folder_of_python_is_a_package() -> None:
    """A folder without `__init__.py` would be left out of the wheel in silence."""
    missing = {
        str(file.parent.relative_to(ROOT))
        for folder in ALLOWED
        for file in files_of(folder)
        if not (file.parent / "__init__.py").is_file()
    }
    assert not missing


def edges() -> dict[str, set[str]]:
    """Module to the modules of ours that it imports."""
    files = {module_name(f): f for folder in ALLOWED for f in files_of(folder)}
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for item in imports_of(file):
            # `from package import module` names a module too.
            submodules = {f"{item.module}.{s}" for s in item.symbols} & set(files)
            whole = len(submodules) == len(item.symbols) and bool(submodules)
            targets = submodules | (set() if whole else {item.module} & set(files))
            graph[name] |= targets - {name}
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """A cycle of the graph as a path, or []."""
    done: set[str] = set()
    path: list[str] = []

    def visit(name: str) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        path.append(name)
        for target in sorted(graph[name]):
            if cycle := visit(target):
                return cycle
        path.pop()
        done.add(name)
        return []

    for name in sorted(graph):
        if cycle := visit(name):
            return cycle
    return []


def test_no_import_cycles() -> None:
    assert not find_cycle(edges())


def test_the_checks_find_what_they_look_for(tmp_path: Path) -> None:
    """The rules themselves, on imports that break each of them."""

    def check(module: str, in_function: bool = False, *names: str) -> str | None:
        return fault("lowering", Import(ROOT / "x.py", 1, module, names, in_function))

    assert check("tensorscript.dialects.ts.ops") is None
    assert check("math") is None
    assert check("tensorscript.eager.tensor") == "lowering may not import eager"
    assert check("llvmlite.binding") == "lowering may not import llvmlite"
    assert check("torch") == "lowering may not import torch"
    assert check("ctypes") == "lowering may not import ctypes"
    assert check("base.dtypes") == "bare folder name; write tensorscript.base.dtypes"
    assert check("tensorscript") == "imports the public face"
    assert check("dataclasses", False, "field", "replace") is None
    assert check("dataclasses", False, "dataclass") == "the decorator comes from base/records.py"
    assert check("math", in_function=True) == "import inside a function"
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]

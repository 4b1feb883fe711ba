"""PyTorch's own tests of TorchScript, run with TensorScript for `torch`, and counted.

    python tests/run/pytorch_suite.py /path/to/pytorch              # jit.test_* and test_jit
    python tests/run/pytorch_suite.py /path/to/pytorch jit.test_list_dict -k index -v

The checkout is read only, and PyTorch is neither imported nor asked for: in the files of the tests,
and of PyTorch's helpers for them, imports of `torch` become those of TensorScript while they are
compiled. A name that is imported and that TensorScript lacks stands for itself: a test that uses it
is skipped. Each test has a process of its own, for it may end it.
"""

from __future__ import annotations

import argparse
import ast
import faulthandler
import importlib
import os
import signal
import sys
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

import pytorch_autograd
import pytorch_common

import tensorscript
from tensorscript import _C, testing
from tensorscript.compiler.jit.callables import _Callable

SECONDS = 60
"""What a test may take."""

_INTERNAL = "torch.testing._internal"
_NO_EFFECT = (
    "_jit_set_emit_hooks", "_jit_clear_class_registry", "_jit_set_texpr_fuser_enabled",
    "_jit_override_can_fuse_on_cpu_legacy",
)  # fmt: skip
"""What PyTorch's helpers switch around each test, and what TensorScript has nothing of."""

_LACKED = (
    "optim", "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine",
    "per_channel_symmetric", "per_channel_affine_float_qparams",
)  # fmt: skip
"""What PyTorch's helpers name while they are imported: their lists of modules and optimizers."""

_NOT_IMPORTED = (
    AssertionError,
    ImportError,
    AttributeError,
    TypeError,
    NameError,
    RuntimeError,
    unittest.SkipTest,
)


class Absent:
    """A name that TensorScript lacks: a decorator that skips, and a skip where a test calls it."""

    is_importing = True

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not Absent.is_importing:
            raise unittest.SkipTest(f"no {self.name}")
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return unittest.skip(f"no {self.name}")(args[0])
        return self

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.name}.{name}")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()


def module(name: str) -> Any:
    """What `import torch.x` means: ours, a helper of PyTorch's tests, or an absent one."""
    if name == f"{_INTERNAL}.common_utils":
        return pytorch_common
    if name == "torch.autograd.function":
        return pytorch_autograd
    if name.startswith(_INTERNAL + "."):
        try:
            return importlib.import_module(name.replace(_INTERNAL, "_internal", 1))
        except _NOT_IMPORTED:
            return Absent(name)
    try:
        return importlib.import_module(name.replace("torch", "tensorscript", 1))
    except (ImportError, AttributeError):  # the face may say why it lacks a module
        return Absent(name)


def member(name: str, wanted: str) -> Any:
    """What `from torch.x import wanted` means."""
    found = module(name)
    if hasattr(found, wanted) or isinstance(found, Absent):
        return getattr(found, wanted)
    if not hasattr(found, "__path__"):  # no package: a name that ours lacks
        return Absent(f"{name}.{wanted}")
    inner = module(f"{name}.{wanted}")
    return Absent(f"{name}.{wanted}") if isinstance(inner, Absent) else inner


class _Imports(ast.NodeTransformer):
    """Imports of `torch` as calls of `module` and `member`."""

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [stmt for alias in node.names for stmt in self._imported(node, alias)]

    def _imported(self, node: ast.Import, alias: ast.alias) -> list[ast.stmt]:
        if alias.name.partition(".")[0] != "torch":
            return [ast.copy_location(ast.Import([alias]), node)]
        whole = f"__suite__.module({alias.name!r})"
        if alias.asname:
            return _parsed(f"{alias.asname} = {whole}", node)
        return _parsed(f"{whole}; torch = __suite__.module('torch')", node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt] | ast.stmt:
        if node.level or (node.module or "").partition(".")[0] != "torch":
            return node
        texts = [
            f"{alias.asname or alias.name} = __suite__.member({node.module!r}, {alias.name!r})"
            for alias in node.names
        ]
        return _parsed("; ".join(texts), node)


def _parsed(text: str, node: ast.stmt) -> list[ast.stmt]:
    made = ast.parse(text).body
    for stmt in made:
        for part in ast.walk(stmt):
            ast.copy_location(part, node)
    return made


class _Loader(SourceFileLoader):
    """Compiles a file of PyTorch's with our imports; nothing is written beside it."""

    def get_code(self, fullname: str) -> CodeType:
        tree = _Imports().visit(ast.parse(self.get_data(self.path)))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, made: ModuleType) -> None:
        made.__dict__["__suite__"] = sys.modules[__name__]
        super().exec_module(made)


class _Finder(MetaPathFinder):
    """Finds the tests in a checkout, and PyTorch's helpers for them as `_internal`."""

    def __init__(self, checkout: Path) -> None:
        self.tests, self.helpers = checkout / "test", checkout / "torch" / "testing"

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = self.helpers if fullname.partition(".")[0] == "_internal" else self.tests
        file = root.joinpath(*fullname.split("."))
        if (package := file / "__init__.py").exists():
            loader = _Loader(fullname, str(package))
            return spec_from_file_location(
                fullname, package, loader=loader, submodule_search_locations=[str(file)]
            )
        file = file.with_suffix(".py")
        if not file.exists():
            return None
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, str(file)))


def tests_of(found: ModuleType) -> list[unittest.TestCase]:
    """The tests that a module itself defines."""
    cases = [c for c in vars(found).values() if isinstance(c, type)]
    own = [c for c in cases if issubclass(c, unittest.TestCase) and c.__module__ == found.__name__]
    names = unittest.TestLoader().getTestCaseNames
    return [case(name) for case in own for name in names(case)]


def outcome(test: unittest.TestCase) -> tuple[str, str]:
    """How a test ends in a process of its own: "passed", "failed", "skipped" or "died"; and why."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as told:
            told.write("\n".join(_run(test)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        word, _, reason = told.read().partition("\n")
    status = os.waitpid(child, 0)[1]
    return (word, reason) if word else ("died", f"status {status}")


def _run(test: unittest.TestCase) -> tuple[str, str]:
    signal.alarm(SECONDS)
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    result = unittest.TestResult()
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # tests that record warnings ask for no filter themselves
        test.run(result)
    if bad := [*result.failures, *result.errors]:
        return "failed", bad[0][1]
    if result.skipped:
        return "skipped", result.skipped[0][1]
    return ("failed", "unexpected success") if result.unexpectedSuccesses else ("passed", "")


def main() -> None:
    """Run the tests that are asked for, and print how many ended how."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="of PyTorch's repository")
    parser.add_argument("files", nargs="*", help="such as test_jit or jit.test_list_dict")
    parser.add_argument("-k", default="", help="only tests with this in their names")
    parser.add_argument("-v", action="store_true", help="say why tests fail or are skipped")
    given = parser.parse_args()
    files = given.files or _all_files(given.checkout)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, _Finder(given.checkout.resolve()))
    sys.modules["torchvision"] = None  # type: ignore[assignment]  # it would import PyTorch
    for name in _LACKED:
        vars(tensorscript).setdefault(name, Absent(f"torch.{name}"))
    vars(_C).update(
        _jit_has_cpp_tests=lambda: False, has_lapack=True, has_mkldnn=False, has_mkl=False
    )
    vars(tensorscript.backends).setdefault("quantized", SimpleNamespace(supported_engines=[]))
    for name in _NO_EFFECT:
        vars(_C).setdefault(name, lambda *_: None)
    pytorch_common.run_profiled(_Callable)
    helpers = module(f"{_INTERNAL}.jit_utils")
    # Each test has a process of its own, so no classes are left from those before.
    helpers.clear_class_registry = lambda: None
    vars(testing)["_internal"] = SimpleNamespace(jit_utils=helpers, common_utils=pytorch_common)
    total: Counter[str] = Counter()
    for file in files:
        total += _count(file, given.k, given.v)
    print(f"{'all':40} {_shown(total)}")


def _all_files(checkout: Path) -> list[str]:
    found = sorted((checkout / "test" / "jit").glob("test_*.py"))
    if not found:
        sys.exit(f"{checkout} is no checkout of PyTorch: it has no test/jit")
    return [*(f"jit.{file.stem}" for file in found), "test_jit"]


def _count(file: str, wanted: str, is_verbose: bool) -> Counter[str]:
    """Run the tests of a file; how many ended how."""
    Absent.is_importing = True
    tensorscript.set_default_dtype(tensorscript.float32)  # a file before may have set another
    try:
        tests = tests_of(importlib.import_module(file))
    except _NOT_IMPORTED as error:
        print(f"{file:40} not imported: {error!r}"[:150])
        return Counter()
    Absent.is_importing = False
    counts: Counter[str] = Counter()
    for test in tests:
        if wanted in test.id():
            word, reason = outcome(test)
            counts[word] += 1
            if is_verbose:
                print(f"{word:8} {test.id()}\n{reason if word != 'passed' else ''}".rstrip())
    print(f"{file:40} {_shown(counts)}", flush=True)
    return counts


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "skipped", "died"))


if __name__ == "__main__":
    sys.modules["pytorch_suite"] = sys.modules[__name__]
    main()

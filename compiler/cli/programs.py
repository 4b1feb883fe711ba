"""PROGRAM: what the command line compiles.

`file.py:function` and `file.py:Module` import the user's file and take a name from it (a class is
instantiated without arguments); `model.pt` is an archive; a dumped stage's text enters there.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from tensorscript.base.errors import UserError

from ..entry import Entered, enter
from ..function import CompiledFunction
from ..jit.callables import ScriptFunction
from ..jit.load import load
from ..options import CompileOptions, options_from_environment
from ..program import Program
from ..programs import program_of
from ..stages import STAGES, stage_of

_FORMS = "file.py:function, file.py:Module, model.pt, or a dumped stage's text"


def open_program(text: str, options: CompileOptions, method: str = "") -> Entered:
    """The program that PROGRAM names, not yet compiled.

    Args:
        method: of the module, instead of what a call of it runs.

    Raises:
        UserError: no such file or name, or something that cannot be compiled.
    """
    options = options_from_environment(options)
    path, _, name = text.rpartition(":")
    if path.endswith(".py"):
        program, _ = program_of(_from_python(Path(path), name), method)
        return _as_compiled(program, options, name.replace(".", "_"))
    file = Path(text)
    if file.suffix == ".py":
        raise UserError(f"{text}: say which function or module of the file: {text}:NAME")
    if file.suffix == ".pt":
        if not file.is_file():
            raise UserError(f"there is no file {text}")
        program, _ = program_of(load(str(file)), method)
        return _as_compiled(program, options, file.stem)
    if (stage := stage_of(file)) is not None:
        if method:
            raise UserError(f"{text} is a dumped program: it has no method {method!r}")
        return enter(file, stage, options)
    suffixes = ", ".join(s.suffix for s in STAGES if s.is_module or s.name == "ll")
    raise UserError(f"cannot read the program {text!r}: expected {_FORMS} ({suffixes})")


def _as_compiled(program: Program, options: CompileOptions, name: str) -> CompiledFunction:
    """What `compile` would make of it."""
    return CompiledFunction(program, options, name, fold=not options.strict)


def python_object(text: str) -> Any:
    """The Python function or module of `file.py:name`; None for another kind of PROGRAM."""
    path, _, name = text.rpartition(":")
    return _from_python(Path(path), name) if path.endswith(".py") else None


def _from_python(path: Path, name: str) -> Any:
    module = _import_file(path)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UserError(f"{path} defines no {name!r}; it has {_offered(module)}")
        found = getattr(found, part)
    if not inspect.isclass(found):
        return found
    required = [
        p.name
        for p in inspect.signature(found).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if required:
        needs = ", ".join(required)
        raise UserError(
            f"{path}:{name} cannot be made without arguments ({needs}): name an instance of it"
        )
    try:
        return found()
    except Exception as error:  # the user's program, which may fail in any way
        raise UserError(f"cannot make {path}:{name}: {_said(error, path)}") from error


def _said(error: Exception, path: Path) -> str:
    """The error of the user's own code in one line, with its last place in the user's file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f.lineno for f in frames if Path(f.filename) == path.resolve()]
    place = f" ({path.name}, line {own[-1]})" if own else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _offered(module: ModuleType) -> str:
    """What the user's file defines that could be compiled; scripted functions name no module."""

    def is_own(value: object) -> bool:
        own = callable(value) and getattr(value, "__module__", None) == module.__name__
        return own or isinstance(value, ScriptFunction)

    names = [name for name, value in vars(module).items() if is_own(value)]
    return ", ".join(names) or "no functions"


def _import_file(path: Path) -> ModuleType:
    """The user's file as a module named after it; files beside it can be imported."""
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    folder = str(path.resolve().parent)
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path.resolve()):
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if known is None:  # a name of the standard library or of ours stays what it is
        sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file is the user's program, which may fail in any way
        sys.modules.pop(path.stem, None) if known is None else None
        plain = isinstance(error, ImportError | SyntaxError | UserError)
        words = str(error) if plain else _said(error, path)
        raise UserError(f"cannot import {path}: {words}") from error
    return module

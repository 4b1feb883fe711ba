"""Runs one TorchScript program under PyTorch or under tensorscript.

A table is a text of programs. `=== name` opens one; Python source follows, and then one line
`>>> f(...)` a call. `f` is the function `f` scripted, or the module class `M` made and scripted.
Calls are evaluated in order, where `T` is `torch.tensor`, `torch` is the side under test, and
the names of the program are known.
"""

import importlib.util
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

HEADER = """\
import array
import cmath
import dataclasses
import math
import typing
import warnings
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Callable, Dict, Final, Iterable, List, NamedTuple, Optional, Set
from typing import Tuple, Union
import {torch} as torch
from {torch} import Tensor, nn
import {torch}.nn.functional as F
"""


@dataclass(frozen=True)
class LanguageProgram:
    """One program: its source and the calls to compare."""

    name: str
    source: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Refusal:
    """An exception as far as both sides agree on it: when it came, its kind, its first line.

    `places` are the lines that it shows and what it underlines there.
    """

    when: str
    kind: str
    line: str
    places: tuple[str, ...] = field(default=(), compare=False)


def parse_table(text: str) -> dict[str, LanguageProgram]:
    """Programs of a table by name."""
    out: dict[str, LanguageProgram] = {}
    for part in text.split("\n=== ")[1:]:
        name, _, body = part.partition("\n")
        lines = body.rstrip().split("\n")
        calls = tuple(line[4:] for line in lines if line.startswith(">>> "))
        source = "\n".join(line for line in lines if not line.startswith(">>> "))
        assert name not in out and calls, name
        out[name] = LanguageProgram(name, source.rstrip() + "\n", calls)
    return out


def programs_of(*tables: ModuleType) -> dict[str, LanguageProgram]:
    """The programs of the `TEXT` of several modules by name, each name once."""
    out: dict[str, LanguageProgram] = {}
    for table in tables:
        found = parse_table(table.TEXT)
        assert not (twice := found.keys() & out.keys()), (table.__name__, twice)
        out |= found
    return out


def load_program(program: LanguageProgram, root: str, folder: Path) -> ModuleType:
    """The program as an imported file, so that its source can be found."""
    name = f"language_{root:_<12}_{program.name}"
    own = root == "torch" and "class M(" not in program.source
    while own and name in sys.modules:  # classes of one name would be confused there
        name = name.replace("torch_", "torch__", 1)
    path = folder / f"{name}.py"
    path.write_text(HEADER.format(torch=root) + program.source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def refusal(when: str, error: Exception) -> Refusal:
    """The comparable part of an error: for a run-time failure its last line, else its first."""
    lines = [line for line in str(error).strip().split("\n") if line.strip()] or [""]
    line = lines[0]
    if line.startswith("The following operation failed"):
        line = lines[-1]
    line = re.sub(r" \(of Python compilation unit at: \w+\)", "", line)
    line = re.sub(r"language_(torch_+|tensorscript_)", "language_", line)
    line = re.sub(r"___torch_mangle_\d+\.", "", line)
    return Refusal(when, "error", line.strip().rstrip(":"), _places(str(error)))


def _places(text: str) -> tuple[str, ...]:
    text = re.sub(r"language_(torch_+|tensorscript_)", "language_", text)
    found = re.findall(r'^ *(File ".*)$|^( *~+(?: <--- HERE)?) *$', text, re.MULTILINE)
    return tuple(file or underlined for file, underlined in found)


def plain(value: Any) -> Any:
    """A result as plain Python: tensors as (dtype, shape, values), objects by their class name."""
    if type(value).__name__ in ("Tensor", "Parameter"):
        data = value.detach().tolist()
        return ("tensor", str(value.dtype).rpartition(".")[2], tuple(value.shape), data)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields: Mapping[str, Any] = value._asdict()
        return ("named", type(value).__name__, {k: plain(v) for k, v in fields.items()})
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | float | complex | str | None):
        return value
    return str(value)


@dataclass(frozen=True)
class Scripted:
    """A program as a module, and its function or module scripted."""

    module: ModuleType
    function: Any


def script_program(
    program: LanguageProgram, torch: Any, folder: Path, modules: Any = None
) -> Scripted | Refusal:
    """The program scripted, or why it is refused.

    Args:
        modules: whose `nn.Module` a program with modules uses; by default that of `torch`.
    """
    root = modules if modules is not None and "class M(" in program.source else torch
    try:
        module = load_program(program, root.__name__, folder)
        subject = module.M() if hasattr(module, "M") else module.f
        return Scripted(module, torch.jit.script(subject))
    except Exception as error:
        return refusal("compile", error)


def call_program(program: LanguageProgram, torch: Any, scripted: Scripted) -> list[Any]:
    """What the scripted program does on every call."""
    names = {**vars(scripted.module), "T": torch.tensor, "f": scripted.function}
    out: list[Any] = []
    for call in program.calls:
        try:
            out.append(plain(eval(call, names)))
        except Exception as error:
            out.append(refusal("run", error))
    return out


def run_program(
    program: LanguageProgram, torch: Any, folder: Path, modules: Any = None
) -> list[Any]:
    """What the scripted program does on every call; one refusal if it does not compile."""
    scripted = script_program(program, torch, folder, modules)
    if isinstance(scripted, Refusal):
        return [scripted]
    return call_program(program, torch, scripted)


def close(left: Any, right: Any) -> bool:
    """Equal results: kinds exactly, floats within a few roundings of float32 kernels."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        both_nan = left != left and right != right
        return both_nan or left == right or abs(left - right) <= 2e-6 * max(1.0, abs(right))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(close(left[k], right[k]) for k in left)
    return bool(left == right)

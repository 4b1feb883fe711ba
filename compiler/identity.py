"""What a Python function is, without compiling it: a digest of all that its program depends on.

Scripting takes a function's source, and whatever its names stand for where it was written. The
digest covers both, and the same of every function that is reached in this way. It is used as a key
of the disk cache, so that what it cannot see must have no digest: the walk knows a few kinds of
values and gives up at any other. Beside the digest a key needs the compiler's own files
(`cache.compiler_identity`), which stand for all that the package itself defines.
"""

from __future__ import annotations

import builtins
import hashlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tensorscript.base.dtypes import DType

_OWN = "tensorscript"
_PACKAGE = str(Path(__file__).parent.parent)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_WORD = re.compile(r"[A-Za-z_]\w*")
_OVERLOADS = "tensorscript.frontends.script.overloads"


class _Unknown(Exception):
    """Something that has no digest."""


def identity_of(fn: Callable[..., Any]) -> str | None:
    """The digest of a plain Python function; None if something about it has none."""
    if type(fn) is not types.FunctionType:
        return None
    walk = _Walk()
    try:
        walk.function(fn)
    except _Unknown:
        return None
    return walk.digest.hexdigest()


class _Walk:
    """Values in the order in which they are met. Each is written as a word that says its kind and
    how many parts follow, so that two structures never give the same text."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256(repr((sys.implementation.cache_tag, sys.version)).encode())
        self._met: dict[int, int] = {}

    def _word(self, *parts: object) -> None:
        text = repr(parts).encode()
        self.digest.update(len(text).to_bytes(8, "little") + text)

    def function(self, fn: types.FunctionType) -> None:
        """Source, defaults, annotations, and what the names in them stand for."""
        if (number := self._met.get(id(fn))) is not None:
            return self._word("met", number)
        self._met[id(fn)] = len(self._met)
        if vars(fn) or fn.__name__ == "<lambda>":
            raise _Unknown  # marked by a decorator, or one of several on its line
        if _is_overloaded(fn):
            raise _Unknown  # only its name ties it to the stubs
        source, code = _source(fn), fn.__code__
        self._word("function", fn.__name__, fn.__qualname__, source, code.co_flags)
        self.parts("defaults", fn.__defaults__ or ())
        self.parts("keywords", (fn.__kwdefaults__ or {}).items())
        self.parts("annotations", fn.__annotations__.items())
        cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
        local = {*code.co_varnames, *code.co_cellvars} - _annotated(fn)
        words = _WORD.findall(source)
        if words.count(fn.__name__) == 1:  # where it is defined; a decorator may have rebound it
            local.add(fn.__name__)
        for name in sorted(set(words) - local):
            if name in cells:
                self._named(name, _content(cells[name]), source)
            elif name in fn.__globals__:
                self._named(name, fn.__globals__[name], source)
            elif name in vars(builtins):
                self._named(name, vars(builtins)[name], source)

    def _named(self, name: str, value: Any, source: str) -> None:
        self._word("name", name)
        if not isinstance(value, types.ModuleType):
            return self.value(value)
        self._word("module", value.__name__)
        if not _is_ours(value.__name__) and not _is_standard(value.__name__):
            raise _Unknown
        self.parts("foreign", _foreign(value, set(_WORD.findall(source)), set()))

    def parts(self, kind: str, values: Iterable[object]) -> None:
        found = list(values)
        self._word(kind, len(found))
        for value in found:
            self.value(value)

    def value(self, value: Any) -> None:
        """A value that a name stands for, or a part of one.

        Raises:
            _Unknown: of no kind that is known here.
        """
        value = _function_of(value)
        if type(value) in _PLAIN:
            self._word(type(value).__name__, value)
        elif type(value) in (tuple, list):
            self.parts(type(value).__name__, value)
        elif isinstance(value, DType):
            self._word("dtype", value.short)
        elif _is_defined(value):
            self._word("defined", value.__module__, value.__qualname__)
        elif type(value) is types.FunctionType:
            if not _is_own_function(value):
                return self.function(value)
            self._word("own", value.__module__, value.__qualname__)
            self.parts("closure", map(_content, value.__closure__ or ()))
        elif (origin := typing.get_origin(value)) is not None:
            self._word("generic", type(value).__name__, str(getattr(value, "_name", "")))
            self.value(origin)
            self.parts("arguments", typing.get_args(value))
        elif type(value).__module__ == "typing" and getattr(value, "_name", None):
            self._word("typing", type(value).__name__, value._name)
        else:
            raise _Unknown


def _is_overloaded(fn: types.FunctionType) -> bool:
    """Whether stubs belong to a function. The table of them is loaded with the first one."""
    overloads = sys.modules.get(_OVERLOADS)
    return overloads is not None and overloads.has_stubs(fn)


def _source(fn: types.FunctionType) -> str:
    try:
        return "".join(inspect.getsourcelines(fn)[0])
    except (OSError, TypeError, IndentationError, SyntaxError):
        raise _Unknown from None


def _annotated(fn: types.FunctionType) -> set[str]:
    """The names in annotations that are texts: they are looked up around the function."""
    texts = [a for a in fn.__annotations__.values() if isinstance(a, str)]
    return {word for text in texts for word in _WORD.findall(text)}


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        raise _Unknown from None


def _function_of(value: Any) -> Any:
    """The function behind an operator, which is one that does not become a method."""
    return value.__func__ if isinstance(value, staticmethod) else value


def _is_ours(module: str | None) -> bool:
    return module is not None and module.split(".")[0] == _OWN


def _is_standard(module: str | None) -> bool:
    return module is not None and module.split(".")[0] in sys.stdlib_module_names


def _is_own_function(value: object) -> bool:
    """Whether a function was written in this package."""
    if not isinstance(value, types.FunctionType) or not _is_ours(value.__module__):
        return False
    return value.__code__.co_filename.startswith(_PACKAGE)


def _foreign(
    module: types.ModuleType, words: set[str], met: set[str]
) -> Iterator[tuple[str, object]]:
    """What a program may have put into one of our modules under a name that it mentions. What the
    package defines is left out: its own names appear in its modules as they are used."""
    if not _is_ours(module.__name__) or module.__name__ in met:
        return
    met.add(module.__name__)
    held = vars(module)
    for name in sorted(words & held.keys()):
        if isinstance(held[name], types.ModuleType):
            yield from _foreign(held[name], words, met)
        elif not _is_own(name, held[name], held):
            yield f"{module.__name__}.{name}", held[name]


def _is_own(name: str, value: Any, held: dict[str, Any]) -> bool:
    """Whether the package itself calls this so."""
    value = _function_of(value)
    if _is_own_function(value) or (isinstance(value, type) and _is_ours(value.__module__)):
        return bool(value.__name__ == name or value.__name__.endswith(f"_{name}"))
    if isinstance(value, DType):
        return True
    constants = held.get("_CONSTANTS", {})
    return name in constants and repr(constants[name]) == repr(value)


def _is_defined(value: Any) -> bool:
    """Whether a class or function is what the package or the standard library calls so."""
    if not isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return False
    home = value.__module__
    if home == "__main__" or not (_is_ours(home) or _is_standard(home)):
        return False
    found: Any = sys.modules.get(home)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value

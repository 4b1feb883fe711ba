"""`tensorscript.jit.save`: a module or function as a `.pt` archive."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import IO, Any, Protocol

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.base.replacing import replacing
from tensorscript.base.source import Origin
from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.dialects.ts.types import BOOL
from tensorscript.eager.storage import Array
from tensorscript.frontends.script.function import class_type
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.frontends.torchscript.save import SavedObject, write_archive
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .boundary import Classes
from .capture import Capturer

ExtraFiles = Mapping[str, str | bytes]

BUFFER_NAME = "archive"
"""The folder in an archive that goes to no path."""

PLACEHOLDER = "__torch__.PlaceholderModule"
"""The class of the module that a saved function becomes."""


@dataclass(frozen=True)
class Archived:
    """What is saved: an object and the program of its classes.

    Attributes:
        function: the `forward` of a saved function's placeholder module.
        origin: where the text of an archive's program came from.
    """

    root: ScriptObject
    classes: Classes
    interpreter: Interpreter
    forward: FuncOp | None = None
    origin: Origin | None = None

    def class_info(self, name: str) -> ClassInfo:
        if self.forward is not None and name == PLACEHOLDER:
            return ClassInfo(class_type(PLACEHOLDER), "module", {"training": BOOL})
        return self.classes.info(name)

    def methods(self, name: str) -> list[str]:
        if self.forward is not None and name == PLACEHOLDER:
            return ["forward"]
        return self.classes.methods(name)

    def function(self, symbol: str) -> FuncOp:
        if self.forward is not None and symbol == self.forward.sym_name.data:
            return self.forward
        if symbol not in self.interpreter.functions:
            self.interpreter.refresh()
        return self.interpreter.functions[symbol]

    def state(self, target: ScriptObject) -> Any:
        """What the `__getstate__` of an object gives."""
        self.methods(target.class_name)
        return self.interpreter.call(f"{target.class_name}.__getstate__", [target])

    def _constants(
        self, objects: Sequence[object], arrays: Sequence[tuple[Array, DType]]
    ) -> Capturer:
        """Captures the objects that the code names beside the arrays that it names."""
        held = tuple(each for each in objects if isinstance(each, ScriptObject))
        return Capturer(held, self.class_info, self.state, "constants", arrays)

    def write(self, file: IO[bytes], name: str, extra_files: ExtraFiles | None) -> None:
        """Write an archive whose records lie in the folder `name`."""
        capturer = Capturer(self.root, self.class_info, self.state)
        extra = {
            key: data.encode() if isinstance(data, str) else data
            for key, data in (extra_files or {}).items()
        }
        root, origin = capturer.object(self.root), self.origin or (lambda span: span)
        saved = SavedObject(root, capturer.storages, self, self._constants, extra, origin)
        write_archive(file, name, saved)


def archived_module(
    classes: Classes, interpreter: Interpreter, target: ScriptObject, origin: Origin | None
) -> Archived:
    """A module as it is saved."""
    return Archived(target, classes, interpreter, origin=origin)


def archived_function(
    classes: Classes, interpreter: Interpreter, function: FuncOp, origin: Origin | None
) -> Archived:
    """A function as it is saved: the `forward` of a module; it loses its defaults, as in
    PyTorch."""
    forward = function.clone()
    forward.block.insert_arg(class_type(PLACEHOLDER), 0).name_hint = "self"
    names = [StringAttr("self"), *function.argument_names]
    forward.properties |= {
        "sym_name": StringAttr(f"{PLACEHOLDER}.forward"),
        "argument_names": ArrayAttr(names),
        "defaults": ArrayAttr([UnitAttr()] * len(names)),
        "is_method": UnitAttr(),
    }
    root = ScriptObject(PLACEHOLDER, {"training": True})
    return Archived(root, classes, interpreter, forward, origin)


def save_to_path(
    archived: Archived, path: str | os.PathLike[str], extra_files: ExtraFiles | None
) -> None:
    """Write an archive to a file; its folder inside is named as the file without its ending."""
    with replacing(path) as file:
        archived.write(file, PurePath(os.fspath(path)).stem, extra_files)


def save_to_bytes(archived: Archived, extra_files: ExtraFiles | None) -> bytes:
    """An archive in memory."""
    out = io.BytesIO()
    archived.write(out, BUFFER_NAME, extra_files)
    return out.getvalue()


class Savable(Protocol):
    """A scripted module or function."""

    def save(self, f: str | os.PathLike[str], _extra_files: ExtraFiles | None = None) -> None: ...

    def save_to_buffer(self, _extra_files: ExtraFiles | None = None) -> bytes: ...


def save(
    m: Savable, f: str | os.PathLike[str] | IO[bytes], _extra_files: ExtraFiles | None = None
) -> None:
    """Save a scripted or loaded module, or a function, as an archive that PyTorch loads, too.

    Args:
        f: a path, or a file object opened for writing bytes.
        _extra_files: further files by name; `load` gives them back.

    Raises:
        CompileError: the code calls Python (`@ignore`).
        ArchiveError: an attribute that archives cannot hold.
    """
    if isinstance(f, str | os.PathLike):
        m.save(f, _extra_files=_extra_files)
    else:
        f.write(m.save_to_buffer(_extra_files=_extra_files))

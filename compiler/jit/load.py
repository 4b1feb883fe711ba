"""`tensorscript.jit.load`: a `.pt` archive as a module that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import ArchiveError
from tensorscript.base.source import Origin
from tensorscript.dialects.ts.types import InterfaceType
from tensorscript.eager.device import device, is_device
from tensorscript.frontends.script.link import Linkable, Linker
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.frontends.script.text import TextWorld
from tensorscript.frontends.script.text_library import TextLibrary
from tensorscript.frontends.torchscript import pickled
from tensorscript.frontends.torchscript.archive import Source
from tensorscript.frontends.torchscript.load import OpenArchive, open_archive
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .adoption import adopt, check_interface
from .boundary import Classes
from .callables import Entry
from .faces import RecursiveScriptClass
from .hooked import HOOKED_CALL
from .module import RecursiveScriptModule
from .restore import Restorer


class ArchiveHome:
    """The classes of one loaded archive, compiled when they are first used."""

    def __init__(self, archive: OpenArchive) -> None:
        self.archive = archive
        self.origin: Origin | None = archive.origin
        self.interpreter = Interpreter(archive.program.module)
        self.classes = Classes(
            info=self.class_info, methods=self.methods, wrap=self.wrap, linkable=self.linkable
        )
        self._faces: dict[int, RecursiveScriptModule] = {}
        self._entries: dict[tuple[int, str], Entry] = {}
        self._linker = Linker(archive.program)
        self.restorer = Restorer(archive, self.interpreter)
        archive.constants.restore = self.restorer.constant

    def class_info(self, name: str) -> ClassInfo:
        return self.archive.class_info(name)

    def methods(self, name: str) -> list[str]:
        """All methods of a class, in the order of its text, compiled by now."""
        info = self.class_info(name)
        made_here = HOOKED_CALL if info.category == "module" else ""
        names = [method for method in info.methods if method != made_here]
        for method in names:
            self.archive.compile_method(name, method)
        return names

    def has_method(self, class_name: str, name: str) -> bool:
        """Whether a class has a method; it is compiled when it is asked for."""
        info = self.class_info(class_name)
        return name in info.methods or name in info.compiled

    def entry(self, target: ScriptObject, method: str) -> Entry:
        if (known := self._entries.get((id(target), method))) is not None:
            return known
        symbol = self.archive.compile_method(target.class_name, method)
        signature = self.class_info(target.class_name).compiled[method]
        made = Entry(symbol, signature, self.interpreter, self.classes, target, origin=self.origin)
        if self.class_info(target.class_name).category == "module":
            self._entries[id(target), method] = made
        return made

    def function(self, name: str) -> Entry:
        """A function of the program."""
        signature = self.archive.program.functions[name].signature
        return Entry(name, signature, self.interpreter, self.classes, origin=self.origin)

    def linkable(self) -> Linkable:
        """All classes that are in use and all they need, to be taken into another program."""
        program = self.archive.program
        for name in list(program.classes):
            self.methods(name)
        return Linkable(program.module, program.classes, program.named_tuples)

    def python_method(self, class_name: str, name: str) -> Callable[..., Any] | None:
        """An archive holds no Python."""
        return None

    def adopt(self, value: Any, declared: Attribute) -> ScriptObject:
        """The object of a scripted module as one of this program, to stand in an attribute.

        Raises:
            GuardError: it does not fulfil the attribute's interface.
        """
        target = adopt(value, self._linker, self)
        if isinstance(declared, InterfaceType):
            check_interface(self.archive.program, target, declared)
        self.interpreter.refresh()
        return target

    def define(self, class_name: str, text: str, names: Mapping[str, Any]) -> list[str]:
        """Add methods from a text of `def`s to a class; gives their names.

        Raises:
            FrontendError: the text does not parse.
            CompileError: a type or name error, or a method of that name exists.
        """
        info, library = self.class_info(class_name), TextLibrary.of_functions(text)
        program = self.archive.program
        added = TextWorld(program, library).define_methods(info, library)
        for name in added:
            info.methods[name]()
        program.declare_classes()
        self.interpreter.refresh()
        return added

    def wrap(self, target: ScriptObject) -> Any:
        """The one face of a module; a new one for other objects."""
        if (known := self._faces.get(id(target))) is not None:
            return known
        if self.class_info(target.class_name).category != "module":
            return RecursiveScriptClass(self, target)
        made = self._faces[id(target)] = RecursiveScriptModule(self, target)
        return made

    def compile_all(self, target: ScriptObject) -> None:
        """Compile the methods of `target`, what they call, and what interfaces may call."""
        self.methods(target.class_name)
        classes = _classes_below(target)
        # What is compiled for one interface may be the first to name another.
        while waiting := [(c, m) for c in classes for m in self._behind_interfaces(c)]:
            for class_name, method in waiting:
                self.archive.compile_method(class_name, method)

    def _behind_interfaces(self, class_name: str) -> list[str]:
        """Methods of a class that some interface has, too, and that are not compiled."""
        declared = self.archive.program.classes.values()
        names = {m for info in declared if info.category == "interface" for m in info.methods}
        info = self.class_info(class_name)
        return [m for m in info.methods if m in names and m not in info.compiled]


def _classes_below(root: ScriptObject) -> list[str]:
    """The classes of all objects in attributes, at any depth."""
    seen: dict[int, ScriptObject] = {}
    todo = [root]
    while todo:
        target = todo.pop()
        if id(target) not in seen:
            seen[id(target)] = target
            todo += [v for v in target.attributes.values() if isinstance(v, ScriptObject)]
    return list(dict.fromkeys(target.class_name for target in seen.values()))


def load(
    f: Source,
    map_location: str | device | None = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> RecursiveScriptModule:
    """Load a module or function that was saved as a TorchScript archive.

    Nothing in the archive is executed. Weights of a file are mapped, not read: the file must stay
    as it is while the module lives (replace it by renaming, not by writing into it). Updates in
    place change the module's private pages, never the file.

    Args:
        f: a path, a binary file object, or the bytes of an archive.
        map_location: the device for all tensors; only the CPU has eager tensors.
        _extra_files: is filled with the contents of the extra files that it names.
        _restore_shapes: accepted for compatibility; traced input shapes are not kept.

    Raises:
        ValueError: the path does not exist or is a directory, or `map_location` is no device.
        ArchiveError: the archive is damaged, hostile, or holds what is not supported.
        CompileError: its code has a type or name error.
    """
    archive = open_archive(f, _device(map_location))
    root = archive.contents.root
    if not isinstance(root, pickled.ObjectState):
        raise ArchiveError("data.pkl must hold a module")
    home = ArchiveHome(archive)
    target = home.restorer.value(root)
    if archive.class_info(target.class_name).category != "module":
        raise ArchiveError(f"data.pkl holds an object of {target.class_name}, which is no module")
    home.compile_all(target)
    if _extra_files is not None:
        for name in _extra_files:
            _extra_files[name] = archive.contents.extra_file(name)
    made: RecursiveScriptModule = home.wrap(target)
    return made


def _device(map_location: object) -> str | None:
    if map_location is None:
        return None
    if not (isinstance(map_location, str) or is_device(map_location)):
        raise ValueError(
            "map_location should be either None, string or torch.device, but got type: "
            f"{type(map_location)}"
        )
    return str(device(str(map_location)))

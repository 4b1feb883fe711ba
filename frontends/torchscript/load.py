"""From an archive's neutral contents to a `ts` program and the values that go with it.

`open_archive` reads and checks; classes and functions become `ts` when they are first needed.
Making run-time objects of the pickled state is left to who runs them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tensorscript.base.errors import ArchiveError, CompileError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Origin, Span
from tensorscript.dialects.ts.constants import Device, ObjectLiteral, TensorLiteral
from tensorscript.dialects.ts.operator_functions import OPERATOR_FUNCTIONS
from tensorscript.eager.storage import shown
from tensorscript.frontends.script.callables import Function, Overloads
from tensorscript.frontends.script.contexts import CUSTOM_CLASSES, context_library
from tensorscript.frontends.script.function import FunctionEmitter
from tensorscript.frontends.script.program import ClassInfo, Program
from tensorscript.frontends.script.source import parse_text
from tensorscript.frontends.script.text import TextWorld
from tensorscript.frontends.script.text_library import Found, Library
from tensorscript.frontends.script.values import Simple, Sugared

from . import old_text, pickled, quantized_operators, upgrade
from .archive import Archive, ArchiveContents, Source, contents_of
from .code import CodeLibrary
from .debug import DebugInfo
from .legacy import LegacyLibrary, is_legacy, read_legacy
from .old_text import parse_old
from .tensors import TensorStore, open_private, placed_on

T = TypeVar("T")


@dataclass
class ArchiveLibrary:
    """The archive's own definitions, the upgraders, and what PyTorch has in C++."""

    own: Library

    def find(self, qualified_name: str) -> Found | None:
        if qualified_name.startswith(upgrade.PREFIX + "."):
            return upgrade.find(qualified_name)
        if qualified_name.startswith(OPERATOR_FUNCTIONS):
            return quantized_operators.find(qualified_name)
        if qualified_name.startswith(CUSTOM_CLASSES):
            quantized = quantized_operators.find(qualified_name)
            return quantized or context_library().find(qualified_name)
        return self.own.find(qualified_name)


@dataclass
class ArchiveWorld(TextWorld):
    """The definitions of an archive as they are compiled."""

    def value(self, name: str, em: FunctionEmitter, span: Span | None) -> Sugared | None:
        prefix, _, last = name.rpartition(".")
        if prefix == upgrade.PREFIX and (found := upgrade.operator(last)) is not None:
            return found
        if name.startswith(OPERATOR_FUNCTIONS):
            several = []
            for overload in quantized_operators.overloads(name):
                several.append(super().value(overload, em, span))
            if several:
                return Overloads([f for f in several if isinstance(f, Function)])
        return super().value(name, em, span)


@dataclass(frozen=True)
class ArchivedObject:
    """An object that the code names as a constant, as PyTorch's frozen modules do."""

    literal: ObjectLiteral

    def emit(self, em: FunctionEmitter, span: Span | None) -> Sugared:
        """The object; its class is compiled by then."""
        world = em.resolver.world  # type: ignore[attr-defined]  # text has a TextResolver
        world.named_type(self.literal.class_name)
        return Simple(em.constant(self.literal, span))


class ConstantTable(Sequence[object]):
    """`CONSTANTS.cN` as constants of the dialect, made when first used.

    Attributes:
        restore: makes an object of its state; whoever runs the code says how.
    """

    restore: Callable[[pickled.ObjectState], object]

    def __init__(self, values: Sequence[pickled.Value], tensors: TensorStore) -> None:
        self._values = values
        self._tensors = tensors
        self._made: dict[int, object] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[object]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: int) -> object:  # type: ignore[override]  # nobody slices it
        if not 0 <= at < len(self._values):
            raise ArchiveError(f"the code refers to CONSTANTS.c{at}; there are {len(self)}")
        if at not in self._made:
            self._made[at] = self._constant(self._values[at])
        return self._made[at]

    def _constant(self, value: pickled.Value) -> object:
        match value:
            case pickled.TensorRef():
                if value.quantizer is not None:
                    raise ArchiveError(
                        "quantized tensors in the code's constants are not supported"
                    )
                made = self._tensors.tensor(value)
                return TensorLiteral(shown(made), made.dtype, made.requires_grad)
            case pickled.ObjectState() if value.type_name.startswith(CUSTOM_CLASSES):
                return quantized_operators.packed_weights(value, self._tensors)
            case pickled.ObjectState():
                return ArchivedObject(ObjectLiteral(value.type_name, lambda: self.restore(value)))
            case pickled.DeviceRef():
                return Device(value.text)
            case bool() | int() | float() | complex() | str() | None:
                return value
            case tuple():
                return tuple(map(self._constant, value))
        raise ArchiveError(f"CONSTANTS holds a {type(value).__name__}, which is not supported")


@dataclass
class OpenArchive:
    """An archive whose code can be compiled piece by piece.

    Attributes:
        contents: the neutral contents (pickled state, version, extra files).
        world: its classes and functions as they become `ts`.
        tensors: makes tensors of its references.
        origin: tells where its code came from.
        constants: what `CONSTANTS.cN` of its code stand for.
    """

    contents: ArchiveContents
    world: ArchiveWorld
    tensors: TensorStore
    origin: Origin
    constants: ConstantTable

    @property
    def program(self) -> Program:
        return self.world.program

    def class_info(self, name: str) -> ClassInfo:
        """The declaration of a class or module.

        Raises:
            ArchiveError: it is not one, or its text is malformed.
        """
        guarded(lambda: self.world.named_type(name), f"class '{name}'")
        info = self.program.classes.get(name)
        if info is None:
            raise ArchiveError(f"'{name}' in the archive is not a class")
        return info

    def compile_method(self, class_name: str, method: str) -> str:
        """Compile a method and all it calls, if it is not yet; its symbol.

        Raises:
            CompileError: a type or name error in the code.
            ArchiveError: malformed code.
        """
        info = self.class_info(class_name)
        symbol = f"{class_name}.{method}"
        if method not in info.compiled:
            guarded(info.methods[method], f"'{symbol}'")
            self._compile_classes()
            self.program.declare_classes()
        return symbol

    def _compile_classes(self) -> None:
        """Compile all methods of the plain classes: an interface or a sort may call any of them."""
        done = 0
        while done < len(self.program.classes):
            found = [*self.program.classes.values()][done:]
            done = len(self.program.classes)
            for info in (i for i in found if i.category == "class"):
                for name, compile in info.methods.items():
                    if name not in info.compiled:
                        guarded(compile, f"'{info.name}.{name}'")


def guarded(compile: Callable[[], T], what: str) -> T:
    """The result of compiling text that may be malformed in ways the grammar does not exclude.

    Raises:
        ArchiveError: it is.
    """
    try:
        return compile()
    except RecursionError as error:
        raise ArchiveError(f"{what} in the archive is nested too deep") from error
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ArchiveError | CompileError):
            raise
        raise ArchiveError(f"{what} in the archive is malformed: {error}") from error


def open_archive(source: Source, device: str | None = None) -> OpenArchive:
    """Open an archive; nothing in it is executed.

    Args:
        source: a path (mapped copy-on-write), a binary file object, or bytes.
        device: where tensors go, whatever location the archive gives them.

    Raises:
        ValueError: the path does not exist or is a directory.
        ArchiveError: the archive is damaged, hostile, or not one.
    """
    private = open_private(source)
    archive = Archive.open(private)
    legacy = read_legacy(archive) if is_legacy(archive) else None
    contents = contents_of(archive) if legacy is None else legacy.contents
    memory = private if isinstance(private, memoryview | bytearray) else None
    if private is source:
        memory = None
    tensors = TensorStore(contents.archive, memory, placed_on(device))
    version = contents.version

    def bring_up_to_date(tree: ast.Module) -> None:
        upgrade.rewrite(tree, version)

    parse = parse_old if version <= old_text.LAST_VERSION else parse_text
    origin = DebugInfo(archive).origin
    code = CodeLibrary(contents.code, bring_up_to_date, parse=parse, origin=origin)
    own = code if legacy is None else LegacyLibrary(code, legacy.modules)
    library = ArchiveLibrary(own)
    constants = ConstantTable(contents.constants, tensors)
    return OpenArchive(
        contents, ArchiveWorld(Program(), library, constants), tensors, origin, constants
    )

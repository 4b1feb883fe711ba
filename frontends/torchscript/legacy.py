"""Archives of PyTorch 1.0 to 1.2 (`model.json`) as contents of the later kind.

Their records: `model.json` (modules and tensors), `tensors/N`, `attributes.pkl` (a tuple of values
that refer to tensors by number), `code/*.py` (the methods of each module, without a class around
them), `libs/**.py` (classes and functions), `debug/*.pkl`. Each module becomes a class of its own,
and an object of it with its attributes. See `import_legacy.cpp` of PyTorch 1.13.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import field

from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Source
from tensorscript.frontends.script.source import Text
from tensorscript.frontends.script.text_library import Found

from .archive import Archive, ArchiveContents, check_storage
from .code import CodeLibrary
from .legacy_model import AttributeDef, ModelDef, ModuleDef, TensorDef, read_model
from .pickled import (
    ObjectState,
    PickleLimits,
    StorageRef,
    TaggedList,
    TensorRef,
    Value,
    check_nesting,
)
from .rebuild import archive_vocabulary
from .rebuild_tensors import check_bounds
from .unpickle import unpickle
from .vocabulary import Item

_MODEL, _ATTRIBUTES = "model.json", "attributes.pkl"
_NO_LETTER = re.compile(r"\W", re.ASCII)


def is_legacy(archive: Archive) -> bool:
    """Whether an archive is of that kind."""
    return archive.has(_MODEL) and not archive.has("data.pkl")


@dataclass(frozen=True)
class ModuleClass:
    """The class of one module.

    Attributes:
        declarations: `__parameters__`, `__buffers__` and the types of all attributes.
        code: the key of its methods' text in `ArchiveContents.code`; None if it has none.
    """

    name: str
    declarations: tuple[ast.stmt, ...]
    code: str | None


@dataclass
class LegacyLibrary:
    """Definitions of such an archive by qualified name: its modules, and what `libs` holds."""

    code: CodeLibrary
    modules: dict[str, ModuleClass]

    def find(self, qualified_name: str) -> Found | None:
        """The definition called `__torch__.a.b.X`; None if there is none.

        Raises:
            ArchiveError: its file does not parse, or is over the limits.
        """
        module = self.modules.get(qualified_name)
        if module is None:
            return self.code.find(qualified_name)
        methods = {} if module.code is None else self.code.definitions(module.code)
        last = qualified_name.rpartition(".")[2]
        body = [*module.declarations, *(found.tree for found in methods.values())]
        places = [found.text for found in methods.values()]
        bases: list[ast.expr] = [ast.Name("Module", ast.Load())]
        tree = ast.ClassDef(last, bases=bases, keywords=[], body=body, decorator_list=[])
        return Found(_placed(tree), places[0] if places else Text(Source("\n", _MODEL)))


@dataclass
class LegacyArchive:
    """What is read of such an archive."""

    contents: ArchiveContents
    modules: dict[str, ModuleClass]


def read_legacy(archive: Archive, limits: PickleLimits | None = None) -> LegacyArchive:
    """Read such an archive without executing anything in it.

    Raises:
        ArchiveError: it is damaged, hostile, or holds what is not supported.
    """
    limits = limits or PickleLimits()
    model = read_model(archive.record(_MODEL))
    tensors = tuple(_tensor(archive, tensor, limits) for tensor in model.tensors)
    code = dict(_code(archive))
    builder = _Modules(tensors, _attributes(archive, model, tensors, limits), set(code))
    root = builder.make(model.main, "__torch__")
    check_nesting(root, limits)
    contents = ArchiveContents(code, tensors, root, archive.version, archive)
    return LegacyArchive(contents, builder.classes)


def _tensor(archive: Archive, tensor: TensorDef, limits: PickleLimits) -> TensorRef:
    prefix, _, key = tensor.key.rpartition("/")
    numel = archive.size(tensor.key) // tensor.dtype.itemsize
    storage = StorageRef(prefix, key, tensor.dtype, numel, tensor.device)
    check_storage(archive, storage)
    made = TensorRef(storage, tensor.offset, tensor.dims, tensor.strides, tensor.requires_grad)
    check_bounds(made, limits)
    return made


def _attributes(
    archive: Archive, model: ModelDef, tensors: tuple[TensorRef, ...], limits: PickleLimits
) -> list[Value]:
    """The values of `attributes.pkl`, which PyTorch 1.0 does not write."""
    if model.version < 2 or not archive.has(_ATTRIBUTES):
        return []

    def tensor(args: Item, _: PickleLimits) -> Value:
        match args:
            case (int(number),) if 0 <= number < len(tensors):
                return tensors[number]
        raise ArchiveError(f"{_ATTRIBUTES} refers to a tensor that is not in the table")

    vocabulary = archive_vocabulary({"torch.jit._pickle.build_tensor_from_id": tensor})
    match unpickle(archive.record(_ATTRIBUTES), "tensors", limits, vocabulary):
        case tuple(values):
            return list(values)
        case TaggedList(elements):
            return elements
    raise ArchiveError(f"{_ATTRIBUTES} must hold a tuple")


def _code(archive: Archive) -> Iterator[tuple[str, str]]:
    """Texts by module name: of `code/` by record, of `libs/` by the path in it."""
    for name in archive.names:
        folder, _, path = name.partition("/")
        if folder in ("code", "libs") and path.endswith(".py"):
            yield path.removesuffix(".py").replace("/", "."), archive.text(name)


@dataclass
class _Modules:
    """Makes the classes and objects of modules.

    Args:
        taken: names that the archive's own classes may begin with.
    """

    tensors: tuple[TensorRef, ...]
    values: list[Value]
    taken: set[str]
    classes: dict[str, ModuleClass] = field(default_factory=dict)

    def make(self, module: ModuleDef, path: str) -> ObjectState:
        name = self._unique(".".join((path, *map(_identifier, module.name.split(".")))))
        types: dict[str, ast.expr] = {}
        state: dict[str, Value] = {}
        for inner in module.submodules:
            made = self.make(inner, name)
            types[inner.name], state[inner.name] = _type(made.type_name), made
        for parameter in module.parameters:
            types[parameter.name] = _type("Tensor")
            state[parameter.name] = _at(self.tensors, parameter.tensor)
        for attribute in module.attributes:
            if attribute.name not in state:
                types[attribute.name] = _type(attribute.type_text)
                state[attribute.name] = _at(self.values, attribute.number)
        code = _key(module.code)
        self.classes[name] = ModuleClass(name, _declarations(module, types), code)
        if module.state is None:
            return ObjectState(name, state)
        return ObjectState(name, _at(self.values, module.state), before=state)

    def _unique(self, name: str) -> str:
        found, count = name, 0
        while found in self.classes or found in self.taken:
            found, count = f"{name}_{count}", count + 1
        self.classes[found] = ModuleClass(found, (), None)  # until it is made
        return found


def _key(record: str | None) -> str | None:
    if record is None:
        return None
    return record.partition("/")[2].removesuffix(".py").replace("/", ".")


def _identifier(name: str) -> str:
    """A name as part of a class's name: `0` of a Sequential becomes `_0`."""
    word = _NO_LETTER.sub("_", name)
    return word if word.isidentifier() else f"_{word}"


def _type(text: str) -> ast.expr:
    """The syntax tree of an annotation.

    Raises:
        ArchiveError: it does not parse.
    """
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ArchiveError(f"model.json gives {text[:80]!r} as a type: {error}") from None


def _at(values: tuple[TensorRef, ...] | list[Value], number: int) -> Value:
    """A value of a table; none for -1, which `__setstate__` has to set."""
    if number == -1:
        return None
    if 0 <= number < len(values):
        return values[number]
    raise ArchiveError(f"model.json refers to value {number} of {len(values)}")


def _declarations(module: ModuleDef, types: dict[str, ast.expr]) -> tuple[ast.stmt, ...]:
    parameters = [p.name for p in module.parameters if not p.is_buffer]
    buffers = [p.name for p in module.parameters if p.is_buffer]
    buffers += [a.name for a in module.attributes if _is_buffer(a) and a.name not in buffers]
    lists = [("__parameters__", parameters), ("__buffers__", buffers)]
    return (*(_list_of(*pair) for pair in lists), *(_annotated(*pair) for pair in types.items()))


def _is_buffer(attribute: AttributeDef) -> bool:
    """Since PyTorch 1.1 a buffer is an attribute that holds a tensor."""
    return attribute.type_text == "Tensor"


def _list_of(name: str, items: list[str]) -> ast.stmt:
    values: list[ast.expr] = [ast.Constant(item) for item in items]
    return ast.Assign([ast.Name(name, ast.Store())], ast.List(values, ast.Load()))


def _annotated(name: str, type_: ast.expr) -> ast.stmt:
    """`__annotations__["0"] = T`: an attribute whose name may be no identifier."""
    table = ast.Name("__annotations__", ast.Load())
    return ast.Assign([ast.Subscript(table, ast.Constant(name), ast.Store())], type_)


def _placed(tree: ast.ClassDef) -> ast.ClassDef:
    """Declarations stand nowhere in the text: at its beginning, for errors."""
    methods = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    tree.body += methods
    return tree

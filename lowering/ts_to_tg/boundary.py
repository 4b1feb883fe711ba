"""What crosses the boundary of a specialised function: arguments in, results out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from xdsl.ir import Attribute, SSAValue

from tensorscript.base.dtypes import DType, int64, real_dtype
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, var
from tensorscript.dialects.tg.lists import element_of
from tensorscript.dialects.tg.types import ListType, ScalarType, tensor

from .builder import Builder
from .complex_tensors import AnyTensor, as_complex, paired, pairs_of
from .element_kinds import (
    Element,
    ListElement,
    MapElement,
    NumberElement,
    OptionalElement,
    RecordElement,
    TensorElement,
    TextElement,
    TupleElement,
)
from .element_kinds import columns as columns_of
from .elements import as_expr, known
from .evaluator import Evaluator
from .kinds import kind_text
from .list_actions import perform
from .paths import below
from .shared_memory import Alias, view_of
from .specs import (
    ArgumentSpec,
    ConstantSpec,
    DictSpec,
    ListSpec,
    NumberSpec,
    ObjectSpec,
    OutputTree,
    SameSpec,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
)
from .text_values import TEXT
from .values import (
    ABSENT,
    AwaitValue,
    ComplexTensor,
    DictRef,
    FutureValue,
    Grown,
    ListRef,
    NestedTensor,
    ObjectRef,
    QuantizedTensor,
    SparseTensor,
    Storage,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
    Variant,
)


def _size(size: int | str) -> Expr:
    return const(size) if isinstance(size, int) else var(size)


@dataclass
class Boundary:
    """The arguments and results of a specialisation under way.

    Attributes:
        aliases: arguments that are views of others.
        kept: while trees of attributes are made, the leaves of whole tensors: what two attributes
            hold is one tensor in both.
    """

    builder: Builder
    evaluator: Evaluator
    names: list[str] = field(default_factory=list)
    strides: list[tuple[Expr, ...] | None] = field(default_factory=list)
    sizes: dict[str, None] = field(default_factory=dict)
    tensors: dict[str, AnyTensor] = field(default_factory=dict)
    leaves: list[SSAValue] = field(default_factory=list)
    sources: dict[int, str] = field(default_factory=dict)
    complex_arguments: list[int] = field(default_factory=list)
    complex_results: list[int] = field(default_factory=list)
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    kept: dict[Storage, int] | None = None

    def argument(self, spec: ArgumentSpec, path: str) -> Value:
        """The abstract value of an argument; its leaves become block arguments."""
        match spec:
            case TensorSpec():
                return self.tensor(spec, path)
            case SameSpec(earlier):
                return self.tensors[earlier]
            case ScalarSpec(dtype):
                return self.builder.scalar_of(self.block_argument(ScalarType(dtype), path, None))
            case SequenceSpec(elements, is_tuple, fields, class_name):
                values = [self.argument(s, below(path, i)) for i, s in enumerate(elements)]
                if is_tuple:
                    return TupleValue(tuple(values), fields, class_name if fields else "")
                return self.evaluator.new_list(values, site=("argument", path))
            case ListSpec(dtype, depth):
                return self.list_argument(dtype, depth, path)
            case DictSpec(items):
                named = {k: self.argument(s, below(path, k)) for k, s in items}
                return self.evaluator.new_dict(named, site=("argument", path))
            case ObjectSpec(class_name, items):
                made = ObjectRef(class_name, path)
                self.builder.heap[made] = {k: self.argument(s, below(path, k)) for k, s in items}
                return made
            case ConstantSpec(value) | NumberSpec(value):
                return self.evaluator.import_value(value)
        return self.evaluator.import_value(spec, path)

    def block_argument(
        self, type_: Attribute, path: str, strides: tuple[Expr, ...] | None
    ) -> SSAValue:
        self.names.append(path)
        self.strides.append(strides)
        block = self.builder.entry
        return block.insert_arg(type_, len(block.args))

    def list_argument(self, dtype: DType, depth: int, path: str) -> ListRef:
        """A list argument: a block argument, for a list of lists its numbers and lengths."""
        number: Element = NumberElement(dtype)
        column = self.block_argument(ListType.of(dtype), path, None)
        if depth == 2:
            lengths = self.block_argument(ListType.of(int64), f"{path}.lengths", None)
            nested = ListType.of(dtype, depth)
            column = perform(self.builder, "split", [column, lengths], nested)
            number = ListElement(number)
        made = ListRef()
        self.builder.heap[made] = Grown(number, (column,))
        return made

    def tensor(self, spec: TensorSpec, path: str) -> AnyTensor:
        shape = tuple(map(_size, spec.shape))
        strides = None if spec.strides is None else tuple(map(_size, spec.strides))
        if spec.dtype.is_complex:
            shape = (*shape, const(2))
            strides = None if strides is None else (*(s * 2 for s in strides), const(1))
        for size in (*shape, *(strides or ())):
            for name in size.free:
                self.sizes.setdefault(name)
        dtype = real_dtype(spec.dtype)
        value = self.block_argument(tensor(dtype, shape), path, strides)
        storage = Storage(dtype, shape, path, strides)
        self.builder.heap[storage] = value
        found = Tensor(storage, shape, None, strides)
        if spec.dtype.is_complex:
            storage.is_complex = True
            self.complex_arguments.append(len(self.names) - 1)
        if (alias := self.aliases.get(path)) is not None:
            if (owner := self.tensors.get(alias.owner)) is None:
                self.builder.cannot(f"{path} shares memory with {alias.owner}, which changes")
            return view_of(self.builder, alias, owner)
        made = self.tensors[path] = as_complex(found) if storage.is_complex else found
        return made

    def leaf(self, value: Value) -> int:
        if isinstance(value, SSAValue):
            ssa = value
        elif isinstance(value, ComplexTensor):
            pairs = pairs_of(value)
            ssa = self.builder.ssa(paired(self.builder, value) if pairs is None else pairs)
            self.complex_results.append(len(self.leaves))
        elif isinstance(value, Tensor):
            ssa = self.builder.ssa(value)
        else:
            ssa = self.builder.scalar_operand(value)
        self.leaves.append(ssa)
        return len(self.leaves) - 1

    def _tensor_leaf(self, value: AnyTensor) -> int:
        if self.kept is None or not isinstance(value, Tensor) or value.indices is not None:
            return self.leaf(value)
        if value.storage not in self.kept:
            self.kept[value.storage] = self.leaf(value)
        return self.kept[value.storage]

    def tree(self, value: Value) -> OutputTree:
        """The output tree of a value; its leaves become results."""
        heap = self.builder.heap
        if isinstance(value, Tensor | ComplexTensor):
            leaf = self._tensor_leaf(value)
            if (origin := _origin(value)) is not None:
                self.sources[leaf] = origin
            return OutputTree("tensor", leaf)
        if isinstance(value, QuantizedTensor | SparseTensor | NestedTensor):
            self.builder.cannot(f"{kind_text(value)} as a result")
        if isinstance(value, Expr):
            return OutputTree("scalar", self.leaf(value))
        if isinstance(value, TupleValue):
            children = tuple(map(self.tree, value.elements))
            return OutputTree(
                "tuple", children=children, fields=value.fields, class_name=value.class_name
            )
        if isinstance(value, ListRef):
            content = heap[value]
            if isinstance(content, Grown):
                child = self.elements(content.element, iter(content.columns))
                kind = "map" if isinstance(content.element, MapElement) else "each"
                return OutputTree(kind, children=(child,))
            return OutputTree("list", children=tuple(map(self.tree, content)))
        if isinstance(value, DictRef):
            items = heap[value]
            return OutputTree(
                "dict", children=tuple(map(self.tree, items.values())), keys=tuple(items)
            )
        if isinstance(value, Variant):
            tag = self.leaf(value.tag)
            return OutputTree("choice", tag, tuple(map(self.tree, value.options)))
        if value is ABSENT:
            return OutputTree("absent")
        if isinstance(value, FutureValue):
            return OutputTree("future", children=(self.tree(value.value),))
        if isinstance(value, AwaitValue):
            self.builder.operator = "return"
            self.builder.cannot("a call that waits to be made")
        if isinstance(value, Text):
            return OutputTree("text", self.leaf(value.column))
        if isinstance(value, UnknownString) and value.pieces:
            return OutputTree("shown", children=tuple(map(self.tree, value.pieces)))
        if isinstance(value, UnknownString):
            self.builder.operator = "return"
            self.builder.cannot("a string that depends on unknown values")
        if isinstance(value, ObjectRef):
            return self.object_tree(value)
        return OutputTree("constant", value=value)

    def object_tree(self, value: ObjectRef) -> OutputTree:
        """The tree of an object by its attributes; what the caller holds cannot be given back."""
        b = self.builder
        if value in b.heap.imported:
            b.operator = "return"
            b.cannot(f"returning {value.path}, which the caller holds")
        items = b.heap[value]
        children = tuple(map(self.tree, items.values()))
        return OutputTree(
            "object", children=children, keys=tuple(items), class_name=value.class_name
        )

    def elements(self, element: Element, columns: Iterator[SSAValue]) -> OutputTree:
        """The tree over the columns of a run-time list; its leaves become results."""
        b = self.builder
        match element:
            case NumberElement():
                return OutputTree("column", self.leaf(next(columns)))
            case TupleElement(parts, fields, class_name):
                children = tuple(self.elements(part, columns) for part in parts)
                return OutputTree("tuple", children=children, fields=fields, class_name=class_name)
            case OptionalElement(held):
                flags = self.leaf(next(columns))
                inside = OutputTree("constant") if held is None else self.elements(held, columns)
                return OutputTree("optional", flags, (inside,))
            case RecordElement(keys, parts, class_name):
                children = tuple(self.elements(part, columns) for part in parts)
                return OutputTree("record", children=children, keys=keys, class_name=class_name)
            case TensorElement(dtype, shape):
                boxes = next(columns)
                counts = perform(b, "lengths", [boxes], ListType.of(int64))
                values = self.leaf(perform(b, "join", [boxes], ListType.of(dtype)))
                trees = [OutputTree("column", self.leaf(counts))]
                for size in shape:
                    column = size is None
                    tree = OutputTree("column", self.leaf(next(columns))) if column else None
                    trees.append(tree or self.tree(known(as_expr(size))))
                return OutputTree("boxes", values, tuple(trees))
            case ListElement(inner):
                nested = [next(columns) for _ in columns_of(inner)]
                counts = perform(b, "lengths", nested[:1], ListType.of(int64))
                lengths_leaf = self.leaf(counts)
                parts_ = [perform(b, "join", [c], element_of(_list(c))) for c in nested]
                kind = "map" if isinstance(inner, MapElement) else "each"
                return OutputTree(kind, lengths_leaf, (self.elements(inner, iter(parts_)),))
            case MapElement(key, value):
                pair = tuple(self.elements(part, columns) for part in (key, value))
                return OutputTree("tuple", children=pair)
            case TextElement():
                texts = next(columns)
                each = self.leaf(perform(b, "lengths", [texts], TEXT))
                numbers = self.leaf(perform(b, "join", [texts], TEXT))
                return OutputTree("texts", each, (OutputTree("column", numbers),))


def _origin(value: AnyTensor) -> str | None:
    """Where a tensor came from, if it is all of what lies there."""
    pairs = pairs_of(value) if isinstance(value, ComplexTensor) else value
    if pairs is None or pairs.indices is not None:
        return None
    is_same = pairs.storage.is_complex == isinstance(value, ComplexTensor)
    return pairs.storage.origin if is_same and pairs.storage.origin else None


def whole(storage: Storage) -> AnyTensor:
    """All of a storage, as the caller knows it."""
    found = Tensor(storage, storage.shape)
    return as_complex(found) if storage.is_complex else found


def _list(value: SSAValue) -> ListType:
    assert isinstance(value.type, ListType)
    return value.type

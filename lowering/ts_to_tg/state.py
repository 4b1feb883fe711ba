"""What a program changes of `self`: attributes that become arguments and results.

All that the receiver holds is constant at first. Attributes that the program turns out to change
are arguments when it is specialised again: their tensors and numbers come in as leaves; how many
elements a list has, the keys of a dict, strings, enums and None are part of the specialisation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.base.errors import NotCompilable
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import QuantizedLiteral, SparseLiteral, TensorLiteral

from .boundary import Boundary, whole
from .complex_tensors import AnyTensor
from .heap import Heap
from .merge import changed_refs, same_value
from .paths import SELF, is_state, parts
from .shared_memory import Alias, aliases_of, tensors_of
from .specs import (
    ArgumentSpec,
    ConstantSpec,
    DictSpec,
    ListSpec,
    NumberSpec,
    ObjectSpec,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
)
from .values import DictRef, Grown, ListRef, ObjectRef, ObjectValue, TupleValue, Value

_NUMBERS: dict[type, DType] = {bool: bool_, int: int64, float: float64}


def uniform_dtype(values: Sequence[object]) -> DType | None:
    """The dtype of numbers that are all of one type; None for anything else, and for none."""
    kinds = {type(v) for v in values}
    return _NUMBERS.get(kinds.pop()) if len(kinds) == 1 else None


def state_spec(value: object, known: bool = False) -> ArgumentSpec:
    """The spec of what an attribute holds.

    Args:
        known: ints, bools and the numbers of lists are part of the specialisation.

    Raises:
        NotCompilable: a quantized or a sparse tensor.
    """
    if isinstance(value, TensorLiteral):
        return _tensor_spec(value)
    if isinstance(value, QuantizedLiteral):
        raise NotCompilable("a quantized tensor of self that changes")
    if isinstance(value, SparseLiteral):
        raise NotCompilable("a sparse tensor of self that changes")
    if (dtype := _NUMBERS.get(type(value))) is not None:
        is_constant = known and dtype is not float64
        return NumberSpec(value, dtype) if is_constant else ScalarSpec(dtype)  # type: ignore[arg-type]  # a number
    if isinstance(value, list) and not known and (dtype := uniform_dtype(value)) is not None:
        return ListSpec(dtype)
    if isinstance(value, list | tuple):
        elements = tuple(state_spec(v, known) for v in value)
        fields = tuple(getattr(value, "_fields", ()))
        return SequenceSpec(elements, isinstance(value, tuple), fields, type(value).__name__)
    if isinstance(value, dict):
        return DictSpec(tuple((k, state_spec(v, known)) for k, v in value.items()))
    if isinstance(value, ObjectValue):
        items = tuple((k, state_spec(v, known)) for k, v in value.attributes.items())
        return ObjectSpec(value.class_name, items)
    return ConstantSpec(value)


def _tensor_spec(value: TensorLiteral) -> TensorSpec:
    array = value.array
    strides = None
    if not array.flags.c_contiguous:
        strides = tuple(step // array.itemsize for step in array.strides)
    return TensorSpec(value.dtype, tuple(array.shape), strides)


def _leaves(spec: ArgumentSpec) -> Iterator[ArgumentSpec]:
    match spec:
        case SequenceSpec(elements):
            children: Sequence[ArgumentSpec] = elements
        case DictSpec(items) | ObjectSpec(_, items):
            children = [child for _, child in items]
        case _:
            yield spec
            return
    for child in children:
        yield from _leaves(child)


def _given(path: str, receiver: object) -> object:
    """What stands at `path` of the caller's object."""
    value = receiver
    for part in parts(path)[1:]:
        match value:
            case ObjectValue():
                value = value.attributes.get(part)
            case list() | tuple():
                value = value[int(part)]
            case dict():
                value = next((v for k, v in value.items() if str(k) == part), None)
    return value


@dataclass
class State:
    """What the program changes of self, as far as it is known.

    Attributes:
        receiver: the caller's object; None if there is none.
        paths: of the attributes.
        known: ints and bools are constants.
        in_place: paths of tensors that are written in place.
        aliases: the other tensors that share memory with these.
    """

    receiver: object
    paths: dict[str, None] = field(default_factory=dict)
    known: bool = False
    in_place: dict[str, None] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)

    def others_change(self, paths: Collection[str]) -> None:
        """Note attributes that other methods change, in whatever way."""
        held = [p for p in paths if isinstance(_given(p, self.receiver), TensorLiteral)]
        self.learn(held, paths)

    def learn(self, in_place: Iterable[str], paths: Iterable[str]) -> bool:
        """Note tensors that are written in place and attributes that change; whether that is news.

        Raises:
            NotCompilable: tensors share memory in a way that native code does not know.
        """
        before = len(self.paths), len(self.in_place)
        self.paths.update(dict.fromkeys(paths))
        self.in_place.update(dict.fromkeys(in_place))
        if self.in_place:
            self.aliases = aliases_of(tensors_of(self.receiver), self.in_place)
        for path, alias in self.aliases.items():
            self.paths.pop(path, None)
            self.in_place[alias.owner] = None
        # Owners first: what is inside of other attributes is a view of them.
        owners = (self._attribute(alias.owner) for alias in self.aliases.values())
        self.paths = dict.fromkeys((*owners, *self.paths))
        return before != (len(self.paths), len(self.in_place))

    def _attribute(self, path: str) -> str:
        """The attribute that holds what stands at `path`."""
        names = path.split(".")
        ends = range(1, len(names))
        inside = (k for k in ends if not isinstance(self._at(names[:k]), ObjectValue))
        return ".".join(names[: next(inside, len(names))])

    def _at(self, names: Sequence[str]) -> object:
        return _given(".".join(names), self.receiver)

    @property
    def specs(self) -> dict[str, ArgumentSpec]:
        """By path."""
        return {p: state_spec(_given(p, self.receiver), self.known) for p in self.paths}

    @property
    def has_numbers(self) -> bool:
        """Whether there are numbers that are no constants."""
        kinds = ScalarSpec | ListSpec
        return any(isinstance(leaf, kinds) for s in self.specs.values() for leaf in _leaves(s))


def written(own: Boundary) -> dict[str, AnyTensor]:
    """Path -> tensor of `self` that the program writes in place."""
    b = own.builder
    return {
        storage.origin: whole(storage)
        for storage in b.written
        if is_state(storage.origin) and storage in b.heap
    }


def assigned(own: Boundary) -> dict[str, Value]:
    """Path -> new value of each attribute that the program sets, or whose list or dict it changes.

    Raises:
        NotCompilable: two attributes hold one list, dict or object.
    """
    b, ev = own.builder, own.evaluator
    b.operator = "prim::SetAttr"
    out: dict[str, Value] = {}
    for owner in ev.objects.values():
        attributes, before = b.heap[owner], b.heap.imported[owner]
        for name in attributes if attributes is not before else ():
            value = attributes[name]
            if not same_value(value, before[name]):
                out[f"{owner.path}.{name}"] = value
    for ref in changed_refs(Heap({}, b.heap.imported), b.heap):
        if isinstance(ref, ListRef | DictRef) and ref in ev.held:
            path = ev.attribute_of(ev.held[ref])
            out.setdefault(path, _current(own, path))
    for path, value in ev.state.items():
        if any(_references(own, value)):
            out.setdefault(path, value)
    if foreign := next((path for path in out if not is_state(path)), None):
        b.cannot(f"changing {foreign}, an object that the caller holds")
    _refuse_sharing(own, out)
    return out


def _current(own: Boundary, path: str) -> Value:
    owner, _, name = path.rpartition(".")
    found = next(o for o in own.evaluator.objects.values() if o.path == owner)
    return own.builder.heap[found][name]


def _references(own: Boundary, value: Value) -> Iterator[ListRef | DictRef | ObjectRef]:
    """The lists, dicts and objects in a value."""
    inside: Sequence[Value] = ()
    match value:
        case TupleValue(elements):
            inside = elements
        case ListRef():
            yield value
            content = own.builder.heap[value]
            inside = () if isinstance(content, Grown) else content
        case DictRef() | ObjectRef():
            yield value
            inside = list(own.builder.heap[value].values())
    for part in inside:
        yield from _references(own, part)


def _refuse_sharing(own: Boundary, found: dict[str, Value]) -> None:
    """What is written back becomes a list or dict of its own for each attribute."""
    seen: set[object] = set()
    for path, value in found.items():
        for ref in _references(own, value):
            if ref in seen:
                own.builder.cannot(f"{path} holds a list, dict or object that is held twice")
            seen.add(ref)


__all__ = ["SELF", "State", "assigned", "state_spec", "uniform_dtype", "written"]

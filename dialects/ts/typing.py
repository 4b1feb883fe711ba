"""What TorchScript's type system answers: subtyping, unification, the types of schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeAlias, TypeGuard

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute

from tensorscript.base.schema import SchemaType

from .type_text import ir_text
from .types import (
    ANY,
    ANY_LIST,
    ANY_TUPLE,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    AnyListType,
    AnyTupleType,
    AwaitType,
    BoolType,
    ClassType,
    ComplexType,
    DeviceType,
    DictType,
    EnumType,
    FloatType,
    FutureType,
    InterfaceType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    UnionType,
    VarType,
)


def is_named_tuple(type: Attribute) -> TypeGuard[TupleType]:
    return isinstance(type, TupleType) and bool(type.class_name.data or type.field_names)


def make_optional(type: Attribute) -> Attribute:
    """`Optional[type]`, flattening what already admits None."""
    if type in (NONE, ANY) or isinstance(type, OptionalType):
        return type
    if isinstance(type, UnionType):
        return make_union([*type.members, NONE])
    return OptionalType(type)


_NUMBERS = frozenset({INT, FLOAT, COMPLEX})


def _flatten(types: Iterable[Attribute]) -> list[Attribute]:
    out: list[Attribute] = []
    for type in types:
        if isinstance(type, UnionType):
            out += type.members
        elif isinstance(type, OptionalType):
            out += _flatten((type.element, NONE))
        elif isinstance(type, NumberType):
            out += (INT, FLOAT, COMPLEX)
        else:
            out.append(type)
    return out


def make_union(types: Iterable[Attribute]) -> Attribute:
    """The union of `types`: flat, without subsumed members; `Optional` or one type if it fits."""
    members: list[Attribute] = []
    for type in _flatten(types):
        if any(is_subtype(type, m) for m in members):
            continue
        members = [m for m in members if not is_subtype(m, type)]
        members.append(type)
    if len(members) == 1:
        return members[0]
    if set(members) == _NUMBERS:
        return NUMBER
    if set(members) == _NUMBERS | {NONE}:
        return OptionalType(NUMBER)
    if len(members) == 2 and NONE in members:
        return OptionalType(next(m for m in members if m != NONE))
    return UnionType(ArrayAttr(sorted(members, key=_union_order)))


_KINDS: tuple[type[Attribute], ...] = (
    EnumType, TensorType, TupleType, ListType, DictType, FloatType, ComplexType, FutureType,
    AwaitType, IntType, NoneType, StringType, BoolType, DeviceType, ClassType, InterfaceType,
)  # fmt: skip
"""TorchScript's order of the members of a union: by kind, then by text."""


def _union_order(type: Attribute) -> tuple[int, str]:
    rank = next((i for i, kind in enumerate(_KINDS) if isinstance(type, kind)), len(_KINDS))
    return rank, ir_text(type)


def in_union_order(types: Iterable[Attribute]) -> list[Attribute]:
    """`types` without repetitions, as a union of them lists its members."""
    return sorted(dict.fromkeys(types), key=_union_order)


def without_none(type: Attribute) -> Attribute:
    """The type of a value that is known not to be None."""
    if isinstance(type, OptionalType):
        return type.element
    if isinstance(type, UnionType):
        return make_union([m for m in type.members if m != NONE])
    return type


def members_of(type: Attribute) -> list[Attribute]:
    """The alternatives of a union or optional; a single type is its own alternative."""
    if isinstance(type, UnionType):
        return list(type.members)
    if isinstance(type, OptionalType):
        return [*members_of(type.element), NONE]
    return [type]


def admits_none(type: Attribute) -> bool:
    return type in (NONE, ANY) or NONE in members_of(type)


Fulfils: TypeAlias = Callable[[Attribute, InterfaceType], bool]
"""Whether the objects of a type have the methods of an interface, of another name than its own."""


def nominal(_type: Attribute, _interface: InterfaceType) -> bool:
    """Who does not know the methods of classes takes only what is said to be of an interface."""
    return False


def any_class(type: Attribute, _interface: InterfaceType) -> bool:
    """Who does not know the methods of classes, and reads what was checked, takes them all."""
    return isinstance(type, ClassType)


def _is_tuple_subtype(sub: TupleType, sup: TupleType, fulfils: Fulfils) -> bool:
    """By their parts; NamedTuples of several classes are one type if their fields are the same."""
    if is_named_tuple(sup) and not (is_named_tuple(sub) and sub.fields == sup.fields):
        return False
    return len(sub.elements) == len(sup.elements) and all(
        is_subtype(a, b, fulfils) for a, b in zip(sub.elements, sup.elements, strict=True)
    )


def _is_tensor_subtype(sub: TensorType, sup: TensorType) -> bool:
    a, b = sub.info, sup.info
    return all(
        wanted is None or wanted == have
        for have, wanted in (
            (a.dtype, b.dtype),
            (a.sizes, b.sizes),
            (a.strides, b.strides),
            (a.device, b.device),
            (a.requires_grad, b.requires_grad),
        )
    )


def is_told(type_: Attribute) -> bool:
    """Whether each value of a type, containers that are not empty among them, tells it."""
    match type_:
        case ListType():
            return is_told(type_.element)
        case DictType():
            return is_told(type_.key) and is_told(type_.value)
        case TupleType():
            return all(map(is_told, type_.elements))
    return type(type_) in _TOLD


_TOLD = frozenset(
    (
        TensorType,
        IntType,
        FloatType,
        ComplexType,
        BoolType,
        StringType,
        NoneType,
        DeviceType,
        ClassType,
        EnumType,
        FutureType,
        AwaitType,
    )
)
"""Types that each of their values tells."""


def is_subtype(sub: Attribute, sup: Attribute, fulfils: Fulfils = nominal) -> bool:
    """Whether a value of `sub` may stand where `sup` is asked (nominal types by name only, but for
    what `fulfils` knows of interfaces)."""
    if sub == sup or sup == ANY:
        return True
    if isinstance(sub, UnionType):
        return all(is_subtype(member, sup, fulfils) for member in sub.members)
    match sup:
        case UnionType() | OptionalType():
            return all(
                any(is_subtype(s, m, fulfils) for m in members_of(sup)) for s in members_of(sub)
            )
        case InterfaceType():
            return isinstance(sub, ClassType | InterfaceType) and fulfils(sub, sup)
        case NumberType():
            return sub in _NUMBERS
        case AnyListType():
            return isinstance(sub, ListType)
        case AnyTupleType():
            return isinstance(sub, TupleType)
        case TupleType():
            return isinstance(sub, TupleType) and _is_tuple_subtype(sub, sup, fulfils)
        case TensorType():
            return isinstance(sub, TensorType) and _is_tensor_subtype(sub, sup)
        case FutureType():
            return isinstance(sub, FutureType) and is_subtype(sub.element, sup.element, fulfils)
        case AwaitType():
            return isinstance(sub, AwaitType) and is_subtype(sub.element, sup.element, fulfils)
        case ListType():
            return (
                isinstance(sub, ListType)
                and isinstance(sub.element, TensorType)
                and isinstance(sup.element, TensorType)
                and is_subtype(sub.element, sup.element)
            )
    return False


def unify(
    a: Attribute,
    b: Attribute,
    *,
    to_union: bool = False,
    hint: Attribute | None = None,
    fulfils: Fulfils = nominal,
) -> Attribute | None:
    """The type that values of `a` and `b` share after a join, or None if there is none."""
    if is_subtype(a, b, fulfils):
        return b
    if is_subtype(b, a, fulfils):
        return a
    if hint is not None and is_subtype(a, hint, fulfils) and is_subtype(b, hint, fulfils):
        return hint
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return TENSOR
    if NONE in (a, b):
        return make_optional(a if b == NONE else b)
    if isinstance(a, OptionalType) != isinstance(b, OptionalType):
        inner = unify(without_none(a), without_none(b), fulfils=fulfils)
        if inner is not None:
            return make_optional(inner)
    found: Attribute | None = None
    match a, b:
        case TupleType(), TupleType() if len(a.elements) == len(b.elements):
            pairs = zip(a.elements, b.elements, strict=True)
            parts = [unify(x, y, fulfils=fulfils) for x, y in pairs]
            present = [p for p in parts if p is not None]
            if len(present) == len(parts):
                found = TupleType.of(present)
        case FutureType(), FutureType():
            inner = unify(a.element, b.element, fulfils=fulfils)
            found = FutureType(inner) if inner is not None else None
        case AwaitType(), AwaitType():
            inner = unify(a.element, b.element, fulfils=fulfils)
            found = AwaitType(inner) if inner is not None else None
    if found is None and to_union:
        return make_union([a, b])
    return found


def unify_all(types: Sequence[Attribute], fulfils: Fulfils = nominal) -> Attribute | None:
    """`unify` over a non-empty sequence."""
    found: Attribute | None = types[0]
    for type in types[1:]:
        found = unify(found, type, fulfils=fulfils) if found is not None else None
    return found


SCHEMA_WORDS: dict[str, Attribute] = {
    "Tensor": TENSOR,
    "int": INT,
    "float": FLOAT,
    "complex": COMPLEX,
    "bool": BOOL,
    "str": STRING,
    "NoneType": NONE,
    "None": NONE,
    "Scalar": NUMBER,
    "number": NUMBER,
    "ScalarType": INT,
    "Layout": INT,
    "MemoryFormat": INT,
    "QScheme": INT,
    "Dimname": STRING,
    "Device": DEVICE,
    "Generator": GENERATOR,
    "Stream": ClassType(StringAttr("__torch__.torch.classes.cuda.Stream")),
    "Storage": ClassType(StringAttr("Storage")),
    "Any": ANY,
    "AnyListType": ANY_LIST,
    "AnyTupleType": ANY_TUPLE,
    "AnyEnumType": EnumType(StringAttr(""), ANY),
    "AnyClassType": ClassType(StringAttr("")),
    "list": ANY_LIST,
    "tuple": ANY_TUPLE,
}


@cache
def schema_type(type: SchemaType) -> Attribute:
    """The dialect's type of a schema's type; type variables become `VarType`."""
    match type.kind:
        case "list":
            return ListType(schema_type(type.element))
        case "optional":
            return OptionalType(schema_type(type.element))
        case "Tuple":
            return TupleType.of(map(schema_type, type.args))
        case "Dict":
            return DictType(schema_type(type.args[0]), schema_type(type.args[1]))
        case "Await":
            return AwaitType(schema_type(type.args[0]))
        case "Future" | "RRef":
            return FutureType(schema_type(type.args[0]))
        case "var":
            return VarType(StringAttr(type.name))
        case "class":
            return ClassType(StringAttr(type.name))
    if type.kind in SCHEMA_WORDS:
        return SCHEMA_WORDS[type.kind]
    if re.fullmatch(r"t\d+", type.kind):
        return VarType(StringAttr(type.kind))
    return ClassType(StringAttr(type.kind))


def map_inside(type: Attribute, convert: Callable[[Attribute], Attribute]) -> Attribute:
    """`type` with `convert` applied to the types directly inside it."""
    match type:
        case ListType():
            return ListType(convert(type.element))
        case OptionalType():
            return make_optional(convert(type.element))
        case FutureType():
            return FutureType(convert(type.element))
        case AwaitType():
            return AwaitType(convert(type.element))
        case DictType():
            return DictType(convert(type.key), convert(type.value))
        case TupleType():
            return type.with_elements(map(convert, type.elements))
        case UnionType():
            return make_union([convert(m) for m in type.members])
    return type


def types_inside(type: Attribute) -> tuple[Attribute, ...]:
    """The types directly inside `type`."""
    match type:
        case ListType() | OptionalType() | FutureType() | AwaitType():
            return (type.element,)
        case DictType():
            return type.key, type.value
        case TupleType():
            return tuple(type.elements)
        case UnionType():
            return tuple(type.members)
    return ()


OPEN_NOMINAL: tuple[Attribute, ...] = (
    SCHEMA_WORDS["AnyEnumType"],
    SCHEMA_WORDS["AnyClassType"],
)
"""The schema words that admit every enum, and every class."""


def is_compatible(actual: Attribute, wanted: Attribute, fulfils: Fulfils = nominal) -> bool:
    """Subtyping, with what operators take besides: any enum, any class, and `Tensor[]` for
    `Tensor?[]` (as their hacked twins do)."""
    if is_subtype(actual, wanted, fulfils):
        return True
    if isinstance(actual, ListType) and wanted == ListType(OptionalType(TENSOR)):
        return isinstance(actual.element, TensorType)
    for name in OPEN_NOMINAL:
        if name == wanted:
            return type(actual) is type(name)
        if isinstance(wanted, OptionalType) and wanted.element == name:
            return type(actual) is type(name)
    return False

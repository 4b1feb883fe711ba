"""Kinds of values: what a branch over a condition that is not known can put together as one.

Values of one kind have the same leaves; a `Variant` has an option for each kind that a value may
be of. Known strings, `None` and members of enums are kinds of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.te.expr import Expr, binary, const, select

from .elements import as_expr
from .values import (
    UNINITIALIZED,
    AwaitValue,
    Chosen,
    ComplexTensor,
    DictRef,
    FutureValue,
    ListRef,
    NestedTensor,
    ObjectRef,
    QuantizedTensor,
    SparseTensor,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
    Variant,
    is_scalar,
)

Kind = tuple[object, ...]


def kind_of(value: Value) -> Kind:
    """The kind of a value that is no variant; comparable and hashable."""
    if is_scalar(value):
        return "a number", as_expr(value).dtype
    match value:
        case Tensor():
            return "a tensor", value.dtype, value.rank
        case ComplexTensor():
            return "a complex tensor", value.dtype, value.rank
        case QuantizedTensor():
            return "a quantized tensor", value.dtype, value.rank
        case SparseTensor():
            return "a sparse tensor", value.dtype, value.size, value.coalesced
        case NestedTensor():
            return "a nested tensor", value.dtype, value.rank
        case TupleValue():
            return "a tuple", value.class_name, len(value.elements)
        case ListRef():
            return ("a list",)
        case DictRef():
            return ("a dict",)
        case ObjectRef():
            return "an object", value.class_name, value.path
        case UnknownString():
            return ("a string",)
        case Text():
            return ("a text",)
        case FutureValue():
            return ("a future",)
        case AwaitValue():
            return "a call that waits to be made", value.callee
        case Chosen():
            return type(value).__name__, id(value)
    return type(value).__name__, value


def kind_text(value: Value) -> str:
    """A kind as messages name it."""
    if isinstance(value, Variant):
        return " or ".join(map(kind_text, value.options))
    return str(kind_of(value)[0])


def is_constant(value: Value) -> bool:
    """Known as a whole, and no number: None, a string, a member of an enum, ..."""
    held = (
        Tensor | ComplexTensor | TupleValue | ListRef | DictRef | ObjectRef | Variant | Chosen
        | UnknownString | Text | FutureValue | AwaitValue | QuantizedTensor | NestedTensor
        | SparseTensor
    )  # fmt: skip
    return value is not UNINITIALIZED and not is_scalar(value) and not isinstance(value, held)


def options_of(value: Value) -> tuple[Value, ...]:
    """What a value may be."""
    return value.options if isinstance(value, Variant) else (value,)


def tag_of(value: Value) -> Expr:
    """Which of its options a value is."""
    return value.tag if isinstance(value, Variant) else const(0)


def chosen_of(tag: Expr, places: Sequence[int]) -> Expr:
    """`places[tag]`."""
    if list(places) == list(range(len(places))):
        return tag
    if tag.op == "const":
        return const(places[int(str(tag.value))])
    out = const(places[-1])
    for at in range(len(places) - 2, -1, -1):
        if places[at] != places[-1] or not out.is_int(places[at]):
            out = select(binary("eq", tag, at), const(places[at]), out)
    return out


def variant(tag: Expr, options: Sequence[Value]) -> Value:
    """`options[tag]`."""
    return options[int(str(tag.value))] if tag.op == "const" else Variant(tag, tuple(options))


def fitted(like: Variant, value: Value, key: Callable[[Value], Kind] = kind_of) -> Variant:
    """A value with the options of `like`, which stand in for those that it has not.

    Args:
        key: tells options apart.
    """
    own = {key(v): v for v in options_of(value)}
    kinds = [key(v) for v in like.options]
    places = [kinds.index(kind) for kind in own]
    options = tuple(own.get(kind, v) for kind, v in zip(kinds, like.options, strict=True))
    return Variant(chosen_of(tag_of(value), places), options)


def narrowed(value: Variant, keep: Sequence[int]) -> Value:
    """A variant that is known to be one of the options numbered `keep`."""
    if len(keep) == 1:
        return value.options[keep[0]]
    places = [keep.index(k) if k in keep else 0 for k in range(len(value.options))]
    return Variant(chosen_of(value.tag, places), tuple(value.options[k] for k in keep))

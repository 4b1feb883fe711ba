"""The three spellings of a type.

`ir_text` is that of graphs and schemas (`int[]`), `annotation_text` that of code and archives
(`List[int]`), and `message_text` that of errors: the annotation, with `(inferred)` tensors.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute

from .types import (
    AwaitType,
    ClassType,
    DictType,
    EnumType,
    FutureType,
    InterfaceType,
    ListType,
    NumberType,
    OptionalType,
    TensorInfo,
    TensorType,
    TupleType,
    UnionType,
    VarType,
    _SimpleType,
)


def _tensor_text(info: TensorInfo) -> str:
    if info.dtype is None and info.sizes is None:
        grad = info.requires_grad
        return "Tensor" if grad is None else f"Tensor(requires_grad={int(grad)})"
    parts = ["*" if s is None else str(s) for s in info.sizes or ()]
    if info.strides is not None:
        parts.append(f"strides=[{', '.join(map(str, info.strides))}]")
    if info.requires_grad is not None:
        parts.append(f"requires_grad={int(info.requires_grad)}")
    if info.device is not None:
        parts.append(f"device={info.device}")
    word = info.dtype.word if info.dtype else "Tensor"
    if info.dtype is not None and info.sizes is None:
        word += "Tensor"
    return f"{word}({', '.join(parts)})"


def _field_texts(type: TupleType) -> list[str]:
    """The fields of a NamedTuple as graphs print them: `x : int`, `y : int = 4`."""
    count = len(type.field_names) - len(type.defaults)
    ends = [""] * count + [f" = {d.data}" for d in type.defaults]
    rows = zip(type.field_names, type.elements, ends, strict=True)
    return [f"{name} : {ir_text(element)}{end}" for name, element, end in rows]


def ir_text(type: Attribute) -> str:
    """The type as graphs print it: `int[]`, `Tensor?`, `Dict(str, int)`.

    NamedTuples are written out, except inside dicts and unions.
    """
    return _text(type, ir_text)


def schema_text(type: Attribute) -> str:
    """The type as schemas print it: as graphs do, but NamedTuples by name; those of operators have
    none, and are tuples."""
    if isinstance(type, TupleType):
        return type.class_name.data or f"({', '.join(map(schema_text, type.elements))})"
    return _text(type, schema_text)


def _text(type: Attribute, inside: Callable[[Attribute], str]) -> str:
    match type:
        case TensorType():
            return _tensor_text(type.info)
        case ListType():
            return f"{inside(type.element)}[]"
        case OptionalType():
            return f"{inside(type.element)}?"
        case DictType():
            return f"Dict({schema_text(type.key)}, {schema_text(type.value)})"
        case TupleType():
            if type.field_names:
                return f"NamedTuple({', '.join(_field_texts(type))})"
            if type.class_name.data:
                return type.class_name.data
            return f"({', '.join(map(inside, type.elements))})"
        case UnionType():
            return f"Union({', '.join(map(schema_text, type.members))})"
        case FutureType():
            open, close = "[]" if inside is ir_text else "()"
            return f"Future{open}{inside(type.element)}{close}"
        case AwaitType():
            return f"Await({inside(type.element)})"
        case EnumType():
            return f"Enum<{type.class_name.data}>"
        case InterfaceType():
            return f"InterfaceType<{type.class_name.data.rpartition('.')[2]}>"
        case ClassType():
            return type.class_name.data
        case VarType():
            return type.var_name.data
        case _SimpleType():
            return type.WORD
    raise TypeError(f"not a type of ts: {type}")


def annotation_text(type: Attribute) -> str:
    """The type as code spells it: `List[int]`, `Optional[Tensor]`, `Dict[str, int]`."""
    match type:
        case TensorType():
            return "Tensor"
        case ListType():
            return f"List[{annotation_text(type.element)}]"
        case OptionalType():
            return f"Optional[{annotation_text(type.element)}]"
        case DictType():
            return f"Dict[{annotation_text(type.key)}, {annotation_text(type.value)}]"
        case TupleType():
            if type.class_name.data:
                return type.class_name.data
            return f"Tuple[{', '.join(map(annotation_text, type.elements)) or '()'}]"
        case UnionType():
            return f"Union[{', '.join(map(annotation_text, type.members))}]"
        case FutureType():
            return f"Future[{annotation_text(type.element)}]"
        case AwaitType():
            return f"Await[{annotation_text(type.element)}]"
        case EnumType() | InterfaceType() | ClassType():
            return type.class_name.data
        case NumberType():
            return "number"
    return ir_text(type)


def message_text(type: Attribute) -> str:
    """The type as error messages show it; inside of others types are shown as code spells them."""
    match type:
        case TensorType() if type.info.inferred:
            return "Tensor (inferred)"
        case EnumType():
            name = type.class_name.data
            return f"Enum<{name}>" if name else "AnyEnumType"
    return annotation_text(type)

"""Values between Python and script: arguments of calls and results.

As in TorchScript, tensors and script objects pass by reference; lists, dicts and tuples are copied
both ways. An int does for a float, a bool for an int, a 0-dim tensor for a number.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError
from tensorscript.base.named_tuples import remade
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    TENSOR,
    AnyListType,
    AnyTupleType,
    AnyType,
    AwaitType,
    ClassType,
    DeviceType,
    DictType,
    EnumType,
    FutureType,
    GeneratorType,
    InterfaceType,
    ListType,
    NoneType,
    OptionalType,
    TensorType,
    TupleType,
    UnionType,
)
from tensorscript.dialects.ts.typing import is_subtype
from tensorscript.eager.device import device, is_device
from tensorscript.eager.random import Generator
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.function import class_type
from tensorscript.frontends.script.inference import NotInferable, RefusedKey, infer_type
from tensorscript.frontends.script.link import Linkable
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.frontends.script.signature import constant_type
from tensorscript.runtime.awaits import Await
from tensorscript.runtime.typed import typed
from tensorscript.runtime.values import EnumValue, Future, ScriptObject, named_tuple

from .plain_values import PLAIN, Mismatch, cannot, our_tensor, own
from .references import Reference


def _no_class(name: str) -> ClassInfo:
    raise KeyError(name)


def _no_declaration(cls: type) -> Attribute:
    raise NotInferable(f"{cls.__name__} is no class of the program")


def _no_program() -> Linkable:
    raise KeyError("there is no program")


@dataclass
class Classes:
    """Python classes beside the script classes they became.

    Attributes:
        enums: script name to Python Enum class.
        objects: Python class to the script class its instances convert to.
        info: the declaration of a script class by name.
        linkable: all that is compiled, to be taken into another program.
        methods: the methods of a class that an archive holds, compiled by now.
        wrap: makes what Python sees of a script object.
        adopt: the object of a module that may be of another program, for an interface.
        check: refuses an object that does not fulfil an interface.
        declare: the type of a class, compiled if need be, for values of Any and of unions.
        tensor: a tensor as calls get it; None for anything else.
    """

    enums: dict[str, type[enum.Enum]] = field(default_factory=dict)
    objects: dict[type, ClassType] = field(default_factory=dict)
    info: Callable[[str], ClassInfo] = _no_class
    methods: Callable[[str], list[str]] = lambda name: []
    linkable: Callable[[], Linkable] = _no_program
    wrap: Callable[[ScriptObject], Any] = lambda target: target
    adopt: Callable[[Any, Attribute], ScriptObject | None] = lambda value, declared: None
    check: Callable[[ScriptObject, InterfaceType], None] = lambda target, declared: None
    declare: Callable[[type], Attribute] = _no_declaration
    tensor: Callable[[Any], Any] = our_tensor


def to_script(value: Any, type_: Attribute, classes: Classes) -> Any:
    """A Python value as a script value of `type_`.

    Raises:
        Mismatch: it is not one, and does not convert.
    """
    value = own(value)
    if isinstance(value, Reference) and isinstance(type_, ListType | DictType):
        if value.type != type_:
            raise cannot(value, type_)
        return value.held
    if (convert := PLAIN.get(type_)) is not None:
        return convert(value)
    match type_:
        case TensorType():
            # None stands for an undefined tensor, which operators refuse later.
            if value is None or (value := classes.tensor(given := value)) is not None:
                return value
            value = given
        case OptionalType():
            return None if value is None else to_script(value, type_.element, classes)
        case ListType():
            return _list(value, type_, classes)
        case DictType():
            return _dict(value, type_, classes)
        case TupleType():
            return _tuple(value, type_, classes)
        case UnionType():
            return _member(value, type_, classes)
        case AnyType():
            return inferred(value, classes)
        case _:
            return _other(value, type_, classes)
    raise cannot(value, type_)


def _list(value: Any, type_: ListType, classes: Classes) -> list[Any]:
    """Whatever gives elements; what is no plain row of them makes no list of numbers or tensors."""
    element = type_.element
    is_tensors = isinstance(element, TensorType)
    if not isinstance(value, Iterable) or isinstance(value, Tensor):
        raise cannot(value, type_)
    if (is_tensors or element in _NUMBERS) and isinstance(value, Mapping | str | bytes):
        raise cannot(value, type_)
    items = list(value)
    if is_tensors and any(item is None for item in items):
        raise cannot(value, type_)
    return cast("list[Any]", typed([to_script(v, element, classes) for v in items], type_))


_NUMBERS = (INT, FLOAT, COMPLEX, BOOL)


def _dict(value: Any, type_: DictType, classes: Classes) -> dict[Any, Any]:
    """Whatever Python makes a dict of, like a list of pairs."""
    try:
        made = dict(value)
    except (TypeError, ValueError):
        raise cannot(value, type_) from None
    items = made.items()
    held = {to_script(k, type_.key, classes): to_script(v, type_.value, classes) for k, v in items}
    return cast("dict[Any, Any]", typed(held, type_))


def _tuple(value: Any, type_: TupleType, classes: Classes) -> tuple[Any, ...]:
    """Whatever gives as many elements as the tuple has."""
    if not isinstance(value, Iterable) or (isinstance(value, Tensor) and value.ndim == 0):
        raise cannot(value, type_)
    items = list(value)
    if len(items) != len(type_.elements):
        raise Mismatch(
            f"Object {value!r:.200} had a different number of elements than type "
            f"{message_text(type_)}"
        )
    parts = [to_script(v, t, classes) for v, t in zip(items, type_.elements, strict=True)]
    if type_.field_names:
        made: tuple[Any, ...] = named_tuple(type_.class_name.data, type_.field_names)(*parts)
        return made
    return tuple(parts)


def _member(value: Any, type_: UnionType, classes: Classes) -> Any:
    """The value as what it is, which has to be a member of the union: nothing is converted."""
    found = _inferred_type(value, classes)
    if not is_subtype(found, type_):
        raise Mismatch(
            f"Expected a member of {message_text(type_)} but instead found type "
            f"{message_text(found)}"
        )
    return to_script(value, found, classes)


def _other(value: Any, type_: Attribute, classes: Classes) -> Any:
    match type_:
        case NoneType() if value is None:
            return None
        case DeviceType() if isinstance(value, str) or is_device(value):
            return device(str(value))
        case GeneratorType() if isinstance(value, Generator):
            return value
        case EnumType() if (member := _enum(value, classes, type_)) is not None:
            if member.class_name == type_.class_name.data:
                return member
        case ClassType() if (target := _object(value, classes, type_)) is not None:
            if target.class_name == type_.class_name.data:
                return target
        case InterfaceType() if (target := _behind_interface(value, type_, classes)) is not None:
            return target
        case InterfaceType():
            raise Mismatch(
                f"Assigning the object {value!s:.200} to an interface fails because the value is "
                "not a TorchScript compatible type, did you forget to turn it into a user defined "
                "TorchScript class?"
            )
        case FutureType() if isinstance(value, Future):
            return value
        case AwaitType(element=element) if isinstance(value, Await):
            return value.through(lambda made: _awaited(made, element, classes))
        case AnyListType() if isinstance(value, list):
            return [inferred(v, classes) for v in value]
        case AnyTupleType() if isinstance(value, tuple):
            return tuple(inferred(v, classes) for v in value)
    raise cannot(value, type_)


def _awaited(value: Any, type_: Attribute, classes: Classes) -> Any:
    """What Python made for a script that waits for it.

    Raises:
        GuardError: it is of another type.
    """
    try:
        return to_script(value, type_, classes)
    except Mismatch as why:
        raise GuardError(str(why)) from None


def _behind_interface(value: Any, declared: InterfaceType, classes: Classes) -> ScriptObject | None:
    """The object of a module, or of a plain class that fulfils an interface."""
    if (target := classes.adopt(value, declared)) is not None:
        return target
    if _face(value) is None and type(value) not in classes.objects:
        try:
            _inferred_type(value, classes)  # compiles its class
        except GuardError:  # a class that scripts cannot have
            return None
    if (target := _object(value, classes)) is not None:
        classes.check(target, declared)
    return target


def _enum(value: Any, classes: Classes, wanted: EnumType | None = None) -> EnumValue | None:
    """A member as scripts have it; of a class that the program does not know (it came from an
    archive) if the wanted enum has such a member."""
    if isinstance(value, EnumValue):
        return value
    for name, cls in classes.enums.items():
        if isinstance(value, cls):
            return EnumValue(name, value.name, value.value)
    if wanted is None or not isinstance(value, enum.Enum):
        return None
    name = wanted.class_name.data
    members = classes.info(name).constants
    known = value.name in members and members[value.name] == value.value
    return EnumValue(name, value.name, value.value) if known else None


def _enum_class(name: str, classes: Classes) -> type[enum.Enum]:
    """The Python class of a script enum; that of an archive is made when it is first needed."""
    if name not in classes.enums:
        members = list(classes.info(name).constants.items())
        classes.enums[name] = cast(
            "type[enum.Enum]",
            enum.Enum(name.rpartition(".")[2], members),
        )
    return classes.enums[name]


def _face(value: Any) -> ScriptObject | None:
    """The script object that a value is or wraps."""
    if isinstance(value, ScriptObject):
        return value
    target = getattr(value, "_script_object", None)
    return target if isinstance(target, ScriptObject) else None


def _object(value: Any, classes: Classes, wanted: ClassType | None = None) -> ScriptObject | None:
    """The script object of a wrapper, or a copy of a Python object: of the wanted class whatever
    Python's is, if it has the attributes, else of the class that its own was compiled to."""
    if (target := _face(value)) is not None:
        return target
    if (type_ := wanted or classes.objects.get(type(value))) is None:
        return None
    info = classes.info(type_.class_name.data)
    if info.category == "module":
        return None
    made = ScriptObject(info.name)
    for key, kind in info.attributes.items():
        if not hasattr(value, key):
            raise Mismatch(
                f"Tried to cast object to type {message_text(type_)} but object was missing "
                f"attribute {key}"
            )
        try:
            made.attributes[key] = to_script(getattr(value, key), kind, classes)
        except Mismatch as why:
            shown = message_text(kind)
            raise Mismatch(f"Could not cast attribute '{key}' to type {shown}: {why}") from None
    return made


def inferred(value: Any, classes: Classes) -> Any:
    """A Python value as a script value of the type it seems to have (for `Any`).

    Raises:
        GuardError: no script type fits.
    """
    return to_script(value, _inferred_type(value, classes), classes)


def _inferred_type(value: Any, classes: Classes) -> Attribute:
    """The type that a value seems to have.

    Raises:
        GuardError: there is none, in TorchScript's words.
    """
    match value:
        case Reference():
            return value.type
        case Future():
            return FutureType(TENSOR)
        case Await():
            return AwaitType(TENSOR)
        case EnumValue():
            return EnumType(StringAttr(value.class_name), constant_type(value.value))
    if (target := _face(value)) is not None:
        return class_type(target.class_name)
    try:
        return infer_type(own(value), classes.declare)
    except NotInferable as reason:
        raise GuardError(f"Tracer cannot infer type of {value}\n:{reason}") from None
    except RefusedKey as refusal:
        raise GuardError(str(refusal)) from None


def to_python(value: Any, classes: Classes) -> Any:
    """A script value as Python sees it."""
    match value:
        case ScriptObject():
            return classes.wrap(value)
        case EnumValue():
            return _enum_class(value.class_name, classes)[value.name]
        case list():
            return [to_python(v, classes) for v in value]
        case dict():
            return {to_python(k, classes): to_python(v, classes) for k, v in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return remade(value, (to_python(v, classes) for v in value))
        case tuple():
            return tuple(to_python(v, classes) for v in value)
        case Await():
            return value.through(lambda made: to_python(made, classes))
    return value

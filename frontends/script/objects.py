"""Objects of classes and modules: their attributes, methods, properties and interfaces."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, FrontendError
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.constants import EnumRef
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    TENSOR,
    AwaitType,
    ClassType,
    InterfaceType,
    TensorType,
    TupleType,
)

from . import draft
from .attributes import no_attribute, plain_attr
from .callables import HookedModule, Method, MethodOverloads, PythonCall, PythonClass
from .containers import LISTINGS, MODULE_LISTINGS, listing, named_listing
from .draft import Value
from .emission import Children
from .program import ClassInfo, Program
from .schema_match import convert
from .signature import Signature, signature_text
from .source import Text
from .statements import Statements
from .values import Simple, Sugared, Undefined, held

T = TypeVar("T")


class Objects(Statements):
    """Emits what concerns objects: reading and writing attributes, finding methods."""

    def __init__(self, program: Program, text: Text, name: str) -> None:
        super().__init__(text)
        self.program = program
        self.function_name = name

    @abstractmethod
    def static_member(self, info: ClassInfo, name: str) -> Sugared | None:
        """The static method or function attribute `name` of a class."""

    def info(self, type: ClassType | InterfaceType) -> ClassInfo | None:
        return self.program.classes.get(type.class_name.data)

    # Reading

    def object_attr(self, value: Value, name: str, span: Span | None) -> Sugared:
        if name == "value" and draft.is_constant(value):
            member = draft.constant_of(value)
            if isinstance(member, EnumRef):
                held = self.program.classes[member.class_name].constants[member.member]
                return Simple(self.constant(held))
        if isinstance(value.type, AwaitType):
            made = self.insert(draft.AWAIT, [value], [value.type.element], span)
            return self.object_attr(made.output, name, span)
        if isinstance(value.type, ClassType | InterfaceType) and (info := self.info(value.type)):
            called = name == "__call__" and info.category == "module"
            found = None if called else self._class_attr(value, info, name, span)
        else:
            found = plain_attr(self, value, name, span)
        if found is None:
            raise self.error(no_attribute(value, name), span)
        return found

    def is_module(self, type: Attribute) -> bool:
        info = self.info(type) if isinstance(type, ClassType) else None
        return info is not None and info.category == "module"

    def module_attr(self, value: Value, name: str, span: Span | None) -> Sugared:
        assert isinstance(value.type, ClassType)
        info = self.info(value.type)
        assert info is not None
        found = self._class_attr(value, info, name, span)
        if found is None:
            label = info.name.rpartition(".")[2]
            raise self.error(f"Module '{label}' has no attribute '{name}' ", span)
        return held(self, found.value) if isinstance(found, Simple) else found

    def _class_attr(
        self, value: Value, info: ClassInfo, name: str, span: Span | None
    ) -> Sugared | None:
        if name == "__call__" and (info.category == "module" or info.is_module_interface):
            forward = self._class_attr(value, info, "forward", span)
            if forward is None or not (info.hooks or info.pre_hooks):
                return forward
            functions = self.program.functions
            return HookedModule(
                value,
                forward,
                [(n, functions[n].signature) for n in info.pre_hooks],
                [(n, functions[n].signature) for n in info.hooks],
            )
        if info.container == "dict" and name in LISTINGS and name not in info.methods:
            found = self.children(value, span)
            assert found is not None
            return listing(self, found, name, span)
        if name in MODULE_LISTINGS and info.category == "module" and name not in info.methods:
            return named_listing(self, self._named(value, info, name, span), name, span)
        if name in info.attributes:
            attribute = {"name": name}
            types = [info.attributes[name]]
            made = self.insert("prim::GetAttr", [value], types, span, **attribute).output
            made.name = name
            return Simple(made)
        if name in info.constants:
            return Simple(self.constant(info.constants[name], span))
        if name in info.properties:
            getter = info.properties[name][0]
            signature = self.class_method(info.type, getter, span)
            assert signature is not None
            return Method(value, getter, signature).call(self, span, [], {})
        if name in info.overloads:
            return MethodOverloads(value, self._overloads(info, name, span))
        signature = self.class_method(info.type, name, span)
        if signature is not None:
            return Method(value, name, signature)
        if make := info.python_methods.get(name):
            call = make(span)
            assert isinstance(call, PythonCall)
            return replace(call, object=value)
        if name in info.refused:
            raise self.error(info.refused[name], span)
        if info.category == "class":
            return None
        return self.static_member(info, name)

    def _named(
        self, value: Value, info: ClassInfo, listing: str, span: Span | None, prefix: str = ""
    ) -> dict[str, Value]:
        """Submodules (with `modules` all below), or buffers, of a module by name."""
        below = listing.endswith("modules")
        names = info.buffers if listing == "named_buffers" else info.children
        out = {prefix: value} if below else {}
        for name in names:
            found = self._class_attr(value, info, name, span)
            assert found is not None
            held, path = found.as_value(self, span), f"{prefix}.{name}" if prefix else name
            if below and isinstance(held.type, ClassType) and (inner := self.info(held.type)):
                out |= self._named(held, inner, listing, span, path)
            else:
                out[path] = held
        return out

    def _overloads(
        self, info: ClassInfo, name: str, span: Span | None
    ) -> list[tuple[str, Signature]]:
        out: list[tuple[str, Signature]] = []
        for each in info.overloads[name]:
            signature = self.class_method(info.type, each, span)
            assert signature is not None
            out.append((each, signature))
        return out

    def children(self, value: Value, span: Span | None) -> Children | None:
        assert isinstance(value.type, ClassType)
        info = self.info(value.type)
        if info is None or not info.container:
            return None
        out: dict[str, Value] = {}
        for name in info.children:
            child = self._class_attr(value, info, name, span)
            assert child is not None
            out[name] = child.as_value(self, span)
        return Children(value, out, info.container == "dict")

    def knows_attribute(self, value: Sugared, name: str, span: Span) -> bool:
        if isinstance(value, PythonClass):
            info = self.info(value.type)
            return info is not None and hasattr(info.python, name)
        if not isinstance(value, Simple):
            raise self.error(f"attribute lookup is not defined on {value.kind}", span)
        type = value.value.type
        is_named = isinstance(type, TupleType) and bool(type.field_names)
        if not (is_named or isinstance(type, ClassType | InterfaceType)):
            raise self.error(
                "hasattr's first argument must be an object or NamedTuple, got "
                f"{message_text(type)} instead",
                span,
            )
        if isinstance(type, ClassType) and (info := self.info(type)):
            known = {*info.attributes, *info.constants, *info.methods}
            if info.category == "module":
                known |= {*info.properties, *info.overloads, *info.python_methods}
                known |= {*info.static_methods}
            return name in known
        mark = len(self.block.nodes)
        found = plain_attr(self, value.value, name, span) is not None
        del self.block.nodes[mark:]
        return found

    def attribute_type(self, type: ClassType, name: str) -> Attribute | None:
        info = self.info(type)
        return info.attributes.get(name) if info is not None else None

    def static_attr(self, type: ClassType, name: str, span: Span | None) -> Sugared:
        info = self.info(type)
        found = self.static_member(info, name) if info is not None else None
        if found is not None:
            return found
        if info is not None and name in vars(info.python or object):
            return Undefined(getattr(info.python, name).__class__.__name__)
        raise self.error(f"Tried to lookup unknown attribute on class {type.class_name.data}", span)

    # Methods

    def class_method(
        self, type: ClassType | InterfaceType, name: str, span: Span | None
    ) -> Signature | None:
        info = self.info(type)
        if info is None or name not in info.methods:
            return None
        if name not in info.compiled:
            full = f"{info.name}.{name}"
            if full in self.program.compiling:
                raise self.error(
                    f"method '{name}' is called recursively. Recursive calls are not supported",
                    span,
                )
            self.calling(full, span, info.methods[name])
        return info.compiled[name]

    def calling(self, name: str, span: Span | None, compile: Callable[[], T], shown: str = "") -> T:
        """Compile something this function needs; an error there names this function too."""
        try:
            return compile()
        except (CompileError, FrontendError) as error:
            error.with_call(
                f"'{shown or self._shown(name)}' is being compiled since it was called from "
                f"'{self._shown(self.function_name)}'",
                self.latest or span,
            )
            raise

    def _shown(self, name: str) -> str:
        """A function by its name, a method by its class's and its own."""
        path, _, last = name.rpartition(".")
        is_method = path in self.program.classes
        return f"{path.rpartition('.')[2]}.{last}" if is_method else last

    # Interfaces

    def unlike_interface(
        self, type: Attribute, wanted: InterfaceType, span: Span | None
    ) -> str | None:
        """Why a class, or what fulfils another interface, does not fulfil this one: a method is
        missing or differs."""
        assert isinstance(type, ClassType | InterfaceType)
        info, interface = self.info(type), self.info(wanted)
        assert info is not None and interface is not None
        for name in interface.methods:
            self.class_method(type, name, span)
        return incompatibility(info, interface)

    def check_interface(
        self, label: str, value: Value, wanted: InterfaceType, span: Span | None
    ) -> None:
        if (why := self.unlike_interface(value.type, wanted, span)) is not None:
            shown = message_text(wanted)
            raise self.error(f"{label} is not of annotated type {shown}: {why}", span)

    # Writing

    def set_attribute(self, object: Value, name: str, value: Value, span: Span) -> None:
        assert isinstance(object.type, ClassType)
        info = self.info(object.type)
        assert info is not None
        if name in info.properties and info.properties[name][1] is not None:
            setter = info.properties[name][1]
            assert setter is not None
            signature = self.class_method(info.type, setter, span)
            assert signature is not None
            Method(object, setter, signature).call(self, span, [value], {})
            return
        if name in info.properties:
            raise self.error(f"Tried to set read-only attribute: {name}", span)
        wanted = info.attributes.get(name)
        if wanted is None:
            wanted = self._new_attribute(info, name, value, span)
        value = convert(self, value, wanted, False, span)
        if not self.is_subtype(value.type, wanted):
            raise self.error(
                "Wrong type for attribute assignment. Expected "
                f"{message_text(wanted)} but got {message_text(value.type)}",
                span,
            )
        self.insert("prim::SetAttr", [object, value], [], span, name=name)

    def _new_attribute(self, info: ClassInfo, name: str, value: Value, span: Span) -> Attribute:
        if not info.defining:
            raise self.error(
                f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in "
                "__init__()?",
                span,
            )
        if self.frame.parent is not None:
            raise self.error(
                "First assignment cannot be in a control-flow block. Initialize the field at the "
                "top level first",
                span,
            )
        if self._holds(value.type, info.type):
            raise self.error(
                f"Assignment to attribute '{name}' cannot be of a type that contains class "
                f"'{message_text(info.type)}'.\nClasses that recursively contain instances "
                "of themselves are not yet supported",
                span,
            )
        type = TENSOR if isinstance(value.type, TensorType) else value.type
        info.attributes[name] = type
        return type

    def _holds(self, type: Attribute, wanted: ClassType) -> bool:
        """Whether a value of a type may lead to an object of a class."""
        info = self.info(type) if isinstance(type, ClassType) else None
        inside = info.attributes.values() if info else typing.types_inside(type)
        return type == wanted or any(self._holds(t, wanted) for t in inside)


def incompatibility(info: ClassInfo, interface: ClassInfo) -> str | None:
    """Why a class whose methods are compiled, or an interface, does not fulfil an interface; None
    if it does."""
    is_class = info.category != "interface"
    kind, other = ("class", "") if is_class else ("interface", "interface ")
    is_module = info.is_module_interface or info.category == "module"
    if interface.is_module_interface and not is_module:
        reason = " , only ScriptModule class can be subtype of module interface" * is_class
        return (
            f"{kind.capitalize()} '{info.name}' is not a subtype of the module interface "
            f"'{interface.name}'{reason}.\n"
        )
    for name, declare in interface.methods.items():
        declared = interface.compiled.get(name) or declare()
        found = info.compiled.get(name)
        if found is None:
            return (
                f"{kind.capitalize()} '{info.name}' does not have method '{name}' but "
                f"{other}'{interface.name}' does.\n"
            )
        if not _fulfils(found, declared):
            first, second = (signature_text(_named(s, name)) for s in (found, declared))
            return (
                f"Method on {kind} '{info.name}' (1) is not compatible with interface "
                f"'{interface.name}' (2)\n  (1) {first}\n  (2) {second}\n"
            )
    return None


def _named(signature: Signature, name: str) -> Signature:
    return Signature(name, signature.arguments, signature.returns)


def _fulfils(found: Signature, declared: Signature) -> bool:
    """Whether a method may stand for one of an interface: arguments wider, result narrower."""
    pairs = list(zip(found.arguments[1:], declared.arguments[1:], strict=False))
    return (
        len(found.arguments) == len(declared.arguments)
        and all(f.name == d.name and typing.is_subtype(d.type, f.type) for f, d in pairs)
        and typing.is_subtype(found.returns[0], declared.returns[0])
    )

"""Script objects as Python uses them; here what modules and plain objects have in common.

A face holds no state of its own: attributes are read from and written to the script object, whose
tensors are shared and whose containers are copied on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pickle import PickleError
from typing import Any, Protocol

from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError, UserError
from tensorscript.base.source import Origin
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.dialects.ts.types import TENSOR
from tensorscript.frontends.script.link import Linkable
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .boundary import Classes, to_python, to_script
from .callables import Entry, ScriptMethod
from .plain_values import Mismatch, cannot


class Home(Protocol):
    """Where the classes of a module's objects are known.

    Attributes:
        origin: tells where the text came from, if that is an archive's.
    """

    interpreter: Interpreter
    classes: Classes
    origin: Origin | None

    def linkable(self) -> Linkable:
        """All compiled classes and functions, to be taken into another program."""
        ...

    def class_info(self, name: str) -> ClassInfo:
        """The declaration of a class."""
        ...

    def has_method(self, class_name: str, name: str) -> bool:
        """Whether Python sees a method: of a module those that were compiled with it."""
        ...

    def entry(self, target: ScriptObject, method: str) -> Entry:
        """A method, compiled by now, bound to an object."""
        ...

    def function(self, name: str) -> Entry:
        """A function of the program."""
        ...

    def wrap(self, target: ScriptObject) -> Any:
        """What Python sees of an object: its module, or its face."""
        ...

    def python_method(self, class_name: str, name: str) -> Callable[..., Any] | None:
        """A method that was left in Python; None if there is none."""
        ...

    def adopt(self, value: Any, declared: Attribute) -> ScriptObject:
        """The object of a scripted module as one of this program, to stand in an attribute."""
        ...

    def define(self, class_name: str, text: str, names: Mapping[str, Any]) -> list[str]:
        """Add methods to a class; gives their names."""
        ...


class ConstantMutation(UserError, RuntimeError, AttributeError):
    """An assignment to a constant of a script module."""


def original_name(target: ScriptObject) -> str:
    """The name of the Python class that an object's script class was made of."""
    return target.class_name.rpartition(".")[2]


def read(home: Home, target: ScriptObject, name: str) -> Any:
    """An attribute, constant, property or method of an object.

    Raises:
        KeyError: it has none of that name.
    """
    info = home.class_info(target.class_name)
    if name in target.attributes:
        return to_python(target.attributes[name], home.classes)
    if name in info.constants:
        return to_python(home.interpreter.attribute(target, name), home.classes)
    if name in info.properties:
        return ScriptMethod(home.entry(target, info.properties[name][0]))()
    if home.has_method(info.name, name):
        return ScriptMethod(home.entry(target, name))
    raise KeyError(name)


def write(home: Home, target: ScriptObject, name: str, value: Any) -> bool:
    """Set an attribute or property; False if the object has none of that name.

    Raises:
        GuardError: the value is not of the attribute's type.
        ConstantMutation: it is a constant.
    """
    info = home.class_info(target.class_name)
    if name in info.constants:
        raise ConstantMutation(
            f"Cannot mutate TorchScript constant value: '{name}'. Value: '{info.constants[name]}'"
        )
    if (type_ := info.attributes.get(name)) is not None:
        target.attributes[name] = converted(home, name, value, type_)
        return True
    if name in info.properties and (setter := info.properties[name][1]) is not None:
        ScriptMethod(home.entry(target, setter))(value)
        return True
    return False


def converted(home: Home, name: str, value: Any, type_: Attribute) -> Any:
    """A Python value as one that the attribute `name` may hold.

    Raises:
        GuardError: it is not of the type.
    """
    try:
        if value is None and type_ == TENSOR:
            raise cannot(value, type_)  # arguments may be undefined tensors, attributes may not
        return to_script(value, type_, home.classes)
    except Mismatch as mismatch:
        text = f"Could not cast attribute '{name}' to type {annotation_text(type_)}"
        raise GuardError(f"{text}: {mismatch}") from None


_MAGIC = (
    "__iter__", "__len__", "__neg__", "__mul__", "__contains__", "__add__", "__sub__", "__pow__",
    "__truediv__", "__mod__", "__ne__", "__eq__", "__lt__", "__gt__", "__le__", "__ge__",
    "__and__", "__or__", "__xor__", "__getitem__", "__setitem__", "__call__", "__int__",
    "__float__", "__bool__", "__str__", "__enter__", "__exit__",
)  # fmt: skip
"""Python looks these up on the class, so the class must have them."""


def _forwarding(name: str) -> Callable[..., Any]:
    def method(self: RecursiveScriptClass, *args: Any, **kwargs: Any) -> Any:
        return self.forward_magic_method(name, *args, **kwargs)

    method.__name__ = name
    return method


_Magic: Any = type("_Magic", (), {name: _forwarding(name) for name in _MAGIC} | {"__hash__": None})


class RecursiveScriptClass(_Magic):  # type: ignore[misc]  # made from the list above
    """An object of a script class that is no module."""

    _home: Home
    _script_object: ScriptObject

    def __init__(self, home: Home, target: ScriptObject) -> None:
        object.__setattr__(self, "_home", home)
        object.__setattr__(self, "_script_object", target)

    @property
    def original_name(self) -> str:
        """The Python class's name."""
        return original_name(self._script_object)

    def __getattr__(self, name: str) -> Any:
        try:
            return read(self._home, self._script_object, name)
        except KeyError:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}'"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if not write(self._home, self._script_object, name, value):
            object.__setattr__(self, name, value)

    def forward_magic_method(self, method_name: str, *args: Any, **kwargs: Any) -> Any:
        """Call the script method behind an operator.

        Raises:
            TypeError: the class has none.
        """
        info = self._home.class_info(self._script_object.class_name)
        if method_name not in info.methods:
            if method_name in _WITHOUT_SCRIPT:
                return _WITHOUT_SCRIPT[method_name](self, *args)
            raise TypeError(f"script class {self.original_name} has no {method_name}")
        return ScriptMethod(self._home.entry(self._script_object, method_name))(*args, **kwargs)

    def __iadd__(self, other: Any) -> Any:
        info = self._home.class_info(self._script_object.class_name)
        return self.forward_magic_method("__iadd__" if "__iadd__" in info.methods else "__add__",
                                         other)  # fmt: skip

    def __getstate__(self) -> Any:
        raise PickleError("ScriptClasses cannot be pickled")

    def __repr__(self) -> str:
        return f"<tensorscript.jit.RecursiveScriptClass {self.original_name}>"


def _same(a: Any, b: Any) -> bool:
    """Two faces of one object are the same thing to Python."""
    return getattr(b, "_script_object", None) is a._script_object


_WITHOUT_SCRIPT: dict[str, Callable[..., Any]] = {
    "__eq__": _same,
    "__ne__": lambda a, b: not _same(a, b),
    "__bool__": lambda a: True,
    "__str__": lambda a: repr(a),
}
"""What Python does itself where a class defines no method."""

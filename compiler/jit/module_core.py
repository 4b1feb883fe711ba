"""`module._c`: what a script module is without nn.Module around it.

PyTorch's script modules wrap an object of its C++ library; libraries reach through to it. Here it
is a second face of the same script object, so nothing is held twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tensorscript.base.dtypes import numbers
from tensorscript.base.errors import GuardError
from tensorscript.base.tensor_text import tensor_text
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.folding import text_of
from tensorscript.frontends.script.modules import module_type_key
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.runtime.values import EnumValue, ScriptObject

from . import faces, late_save
from .callables import ConstMap, ScriptFunction, ScriptMethod
from .faces import Home
from .graph_types import ModuleType, Type

if TYPE_CHECKING:  # importing it takes long
    from .save import ExtraFiles


class ModuleCore:
    """A script module by its attributes and methods.

    Args:
        home: the program that its class belongs to.
        target: the script object.
    """

    def __init__(self, home: Home, target: ScriptObject) -> None:
        self._home = home
        self._target = target

    @property
    def _info(self) -> ClassInfo:
        return self._home.class_info(self._target.class_name)

    @property
    def qualified_name(self) -> str:
        """The name of its class."""
        return self._target.class_name

    def _type(self) -> Type:
        info = self._info
        return ModuleType(info.type, module_type_key(info, self._home.class_info))

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return self._get_method("forward").code

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The text of `forward`, and the tensors that it names `CONSTANTS.cN`."""
        return self._get_method("forward").code_with_constants

    def require_evaluation(self, what: str) -> None:
        """Refuse a module that is being trained.

        Args:
            what: does not work then.

        Raises:
            GuardError: it is.
        """
        if self._target.attributes.get("training"):
            raise GuardError(f"{what} module in training mode is not yet supported")

    # -- methods ---------------------------------------------------------------------------------

    def _method_names(self) -> list[str]:
        """The methods that are compiled."""
        return self._home.classes.methods(self.qualified_name)

    def _has_method(self, name: str) -> bool:
        return self._home.has_method(self.qualified_name, name)

    def _get_method(self, name: str) -> ScriptMethod:
        """A method.

        Raises:
            GuardError: there is none of that name.
        """
        if not self._has_method(name):
            raise GuardError(f"Method '{name}' is not defined.")
        return ScriptMethod(self._home.entry(self._target, name), self)

    def _get_forward_hooks(self) -> list[ScriptFunction]:
        return [ScriptFunction(self._home.function(name)) for name in self._info.hooks]

    def _get_forward_pre_hooks(self) -> list[ScriptFunction]:
        return [ScriptFunction(self._home.function(name)) for name in self._info.pre_hooks]

    def _retrieve_traced_inputs(self) -> dict[str, list[Any]]:
        """The example inputs that a traced module keeps, by method."""
        return dict(getattr(self._home, "traced_inputs", {}))

    # -- attributes ------------------------------------------------------------------------------

    def hasattr(self, name: str) -> bool:
        """Whether it has an attribute, parameter, buffer, submodule or constant of that name."""
        return name in self._target.attributes or name in self._info.constants

    def getattr(self, name: str) -> Any:
        """An attribute; a submodule as such a face.

        Raises:
            AttributeError: there is none of that name.
        """
        if not self.hasattr(name):
            raise AttributeError(
                f"{self.qualified_name} (of Python compilation unit at: {id(self._home):#x}) "
                f"does not have a field with name '{name}'"
            )
        value = self._target.attributes.get(name)
        if isinstance(value, ScriptObject) and self._is_module(value):
            return ModuleCore(self._home, value)
        return faces.read(self._home, self._target, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._get_method(name) if self._has_method(name) else self.getattr(name)

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute.

        Raises:
            GuardError: there is none of that name, or the value is not of its type.
        """
        if name not in self._info.attributes:
            raise GuardError(f"{self.qualified_name} does not have an attribute with name '{name}'")
        if isinstance(value, ModuleCore):
            value = self._home.classes.wrap(value._target)
        faces.write(self._home, self._target, name, value)

    def children(self) -> Iterator[ModuleCore]:
        """The submodules."""
        for _, child in self._submodules():
            yield ModuleCore(self._home, child)

    def apply(self, function: Callable[[ModuleCore], Any]) -> None:
        """Call a function with each submodule, inner ones first, and with this."""
        for child in self.children():
            child.apply(function)
        function(self)

    def _submodules(self) -> Iterator[tuple[str, ScriptObject]]:
        for name, value in self._target.attributes.items():
            if isinstance(value, ScriptObject) and self._is_module(value):
                yield name, value

    def _is_module(self, value: ScriptObject) -> bool:
        return self._home.class_info(value.class_name).category == "module"

    # -- text ------------------------------------------------------------------------------------

    def dump(self, code: bool = True, attrs: bool = True, params: bool = True) -> None:
        """Print `dump_to_str`."""
        sys.stdout.write(f"{self.dump_to_str(code, attrs, params)}\n")

    def dump_to_str(self, code: bool = True, attrs: bool = True, params: bool = True) -> str:
        """The module with its submodules as text.

        Args:
            code: with the graphs of its methods.
            attrs: with the tensors of its attributes, params: of its parameters.
        """
        parameters = [name for name in self._info.parameters if name in self._target.attributes]
        sections = (
            ("parameters", "".join(self._entry(name, params) for name in parameters)),
            ("attributes", "".join(self._entry(n, attrs) for n in self._target.attributes)),
            ("methods", "".join(self._method_text(n, code) for n in self._method_names())),
            ("submodules", "".join(
                _indented(ModuleCore(self._home, child).dump_to_str(code, attrs, params), 4)
                for _, child in self._submodules()
            )),
        )  # fmt: skip
        inside = "".join(f"  {name} {{\n{text}  }}\n" for name, text in sections)
        return f"module {self.qualified_name} {{\n{inside}}}\n"

    def _entry(self, name: str, is_shown: bool) -> str:
        held = self._target.attributes[name]
        value = "..." if isinstance(held, Tensor) and not is_shown else _value_text(held)
        return f"{_indented(f'{name} = {value}', 4).rstrip()}\n"

    def _method_text(self, name: str, is_shown: bool) -> str:
        graph = _indented(str(self._get_method(name).graph), 6) + "  \n" if is_shown else ""
        return f"    method {name} {{\n{graph}    }}\n"

    # -- the rest --------------------------------------------------------------------------------

    def save(self, f: str, _extra_files: ExtraFiles | None = None) -> None:
        """Write the module to a `.pt` archive at a path."""
        late_save.save_to_path(self._archived(), f, _extra_files)

    def save_to_buffer(self, _extra_files: ExtraFiles | None = None) -> bytes:
        """The bytes of a `.pt` archive of the module."""
        return late_save.save_to_bytes(self._archived(), _extra_files)

    def _archived(self) -> Any:
        home = self._home
        return late_save.archived_module(home.classes, home.interpreter, self._target, home.origin)

    def get_debug_state(self) -> Any:
        """Not kept: there is no graph executor whose state could be shown."""
        raise GuardError("no executor state is kept; see `tensorscript.compile(m).ir`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleCore) and other._target is self._target

    def __hash__(self) -> int:
        return id(self._target)

    def __repr__(self) -> str:
        return f"ScriptObject <{self.qualified_name}>"


def _indented(text: str, spaces: int) -> str:
    """Every line of a text with spaces before it."""
    return "".join(f"{' ' * spaces}{line}\n" for line in text.rstrip("\n").split("\n"))


def _value_text(value: Any) -> str:
    """A value as scripts print it."""
    match value:
        case Tensor() if value.is_quantized:
            return str(value)
        case Tensor():
            return tensor_text(numbers(value._array, value.dtype), f"CPU{value.dtype.word}Type")
        case ScriptObject():
            return f"<{value.class_name} object>"
        case EnumValue():
            return f"Enum<{value.class_name}.{value.name}>"
        case list():
            return f"[{', '.join(map(_value_text, value))}]"
        case dict():
            pairs = (f"{_value_text(k)}: {_value_text(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        case tuple():
            return f"({', '.join(map(_value_text, value))})"
    return text_of(value)


def wrap_cpp_module(cpp_module: ModuleCore) -> Any:
    """The script module whose `_c` this is."""
    return cpp_module._home.wrap(cpp_module._target)

"""`RecursiveScriptModule`: a scripted, traced or loaded module as Python uses it.

It is an nn.Module whose tables (`_parameters`, `_buffers`, `_modules`) look into the script object;
so walking, converting, saving and loading are nn.Module's own.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from inspect import getattr_static
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any

from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts.types import InterfaceType
from tensorscript.eager.nn.module import Module
from tensorscript.frontends.script.link import Linkable
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.runtime.values import ScriptObject

from ..program import undefined_method
from . import faces, late_save
from .callables import ConstMap, OverloadedMethod, ScriptFunction, ScriptMethod
from .copying import deep_copy, shallow_copy
from .faces import Home
from .hooked import HOOKED_CALL, hooked_call_text
from .module_core import ModuleCore
from .tables import ModuleTable, TensorTable

if TYPE_CHECKING:  # importing them takes long
    from .graph import Graph
    from .save import Archived, ExtraFiles

_REFUSED = (
    "register_forward_hook", "register_forward_pre_hook", "register_backward_hook",
    "register_full_backward_hook", "register_full_backward_pre_hook",
    "register_state_dict_pre_hook", "register_state_dict_post_hook",
    "register_load_state_dict_pre_hook", "register_load_state_dict_post_hook",
    "_register_state_dict_hook", "_register_load_state_dict_pre_hook", "set_submodule", "compile",
    "to_empty", "xpu", "ipu", "mtia", "get_buffer",
)  # fmt: skip
"""Members of nn.Module that script modules do not have."""


def _refusing(name: str) -> Callable[..., Any]:
    def fail(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise GuardError(f"{name} is not supported on ScriptModules")

    fail.__name__ = name
    return fail


def callers_names(frames_up: int = 0) -> dict[str, Any]:
    """The names that are seen where the calling method was called from, or further up."""
    frame = _frame(3 + frames_up)
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


def callers_locals(frames_up: int = 0) -> Mapping[str, Any]:
    """Of these names those of a function; none if the call is a module's."""
    frame = _frame(3 + frames_up)
    return {} if frame is None or frame.f_locals is frame.f_globals else frame.f_locals


def _frame(up: int) -> FrameType | None:
    frame = inspect.currentframe()
    for _ in range(up):
        frame = frame.f_back if frame is not None else None
    return frame


def face_of(module: Any) -> Any:
    """The script module behind an instance of the older `ScriptModule`; others are their own."""
    return getattr(module, "_actual_script_module", module)


_Refusals: Any = type("_Refusals", (), {name: _refusing(name) for name in _REFUSED})


class RecursiveScriptModule(_Refusals, Module):  # type: ignore[misc]  # made from the list above
    """A scripted, traced or loaded module.

    Args:
        home: the program its class belongs to.
        target: its script object.
        original: the Python module it was made of, for what stays in Python.
    """

    _home: Home
    _script_object: ScriptObject

    def __init__(self, home: Home, target: ScriptObject, original: Any = None) -> None:
        super().__init__()
        del self.__dict__["training"]
        self.__dict__["_original"] = original
        self._show(home, target)
        # What is exported comes before what nn.Module has of that name.
        for name in self._info.compiled if original is not None else ():
            if name != "forward" and hasattr(Module, name):
                self.__dict__[name] = self._method(name)

    def _show(self, home: Home, target: ScriptObject) -> None:
        """Be the face of `target`."""
        held = self.__dict__
        held["_home"], held["_script_object"] = home, target
        held["_parameters"] = TensorTable(target, lambda: self._info.parameters, self._store)
        held["_buffers"] = TensorTable(target, lambda: self._info.buffers, self._store)
        held["_modules"] = ModuleTable(self._module_names, self._submodule, self._set_module)
        for table, names in (
            ("_forward_pre_hooks", self._info.pre_hooks),
            ("_forward_hooks", self._info.hooks),
        ):
            for at, name in enumerate(names):
                held[table][at] = ScriptFunction(home.function(name))

    @property
    def _info(self) -> ClassInfo:
        return self._home.class_info(self._script_object.class_name)

    @property
    def original_name(self) -> str:
        """The Python class's name."""
        return faces.original_name(self._script_object)

    @property
    def _c(self) -> ModuleCore:
        """The module without nn.Module around it."""
        return ModuleCore(self._home, self._script_object)

    @_c.setter
    def _c(self, core: ModuleCore) -> None:
        self._show(core._home, core._target)

    # -- attributes ------------------------------------------------------------------------------

    @property
    def forward(self) -> ScriptMethod:  # type: ignore[override]  # as nn.Module declares it
        """The compiled `forward`."""
        return self._method("forward")

    def _has_method(self, name: str) -> bool:
        return self._home.has_method(self._script_object.class_name, name)

    def _method(self, name: str) -> ScriptMethod:
        if not self._has_method(name):
            raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")
        if overloads := self._info.overloads.get(name):
            entries = [self._home.entry(self._script_object, each) for each in overloads]
            return OverloadedMethod(entries, self)
        return ScriptMethod(self._home.entry(self._script_object, name), self)

    def __getattr__(self, name: str) -> Any:
        if "_script_object" not in self.__dict__:
            raise GuardError(
                "ScriptModule has not been initialized, did you forget to call super's init?"
            )
        if self._has_method(name):
            return self._method(name)
        try:
            return faces.read(self._home, self._script_object, name)
        except KeyError:
            return self._python_member(name)

    def _python_member(self, name: str) -> Any:
        """A method left in Python, bound to this module, or an attribute left out of the script."""
        fn = self._home.python_method(self._script_object.class_name, name)
        if fn is not None:
            own = vars(self._original).get(name) if self._original is not None else None
            return MethodType(own.__func__ if isinstance(own, MethodType) else fn, self)
        cls = type(self._original)
        ignored = getattr(cls, "__jit_ignored_attributes__", ())
        if name in ignored and isinstance(kept := getattr_static(cls, name, None), property):
            return kept  # as it stands in the class: PyTorch's properties are not read, either
        if name in ignored and hasattr(self._original, name):
            return getattr(self._original, name)
        raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._modules:
            self._set_module(name, value)
        elif not faces.write(self._home, self._script_object, name, value):
            super().__setattr__(name, value)

    def _store(self, name: str, value: Any) -> None:
        type_ = self._info.attributes[name]
        self._script_object.attributes[name] = faces.converted(self._home, name, value, type_)

    # -- submodules ------------------------------------------------------------------------------

    def _module_names(self) -> list[str]:
        held = self._script_object.attributes
        return [name for name, value in held.items() if self._is_module(value)]

    def _is_module(self, value: Any) -> bool:
        return (
            isinstance(value, ScriptObject)
            and self._home.class_info(value.class_name).category == "module"
        )

    def _submodule(self, name: str) -> Any:
        return self._home.classes.wrap(self._script_object.attributes[name])

    def _set_module(self, name: str, value: Any) -> None:
        """Swap a submodule: behind an interface for any that fulfils it, else for one of its type.

        Raises:
            GuardError: it is not scripted, or of another type.
        """
        value = getattr(value, "_actual_script_module", value)
        declared = self._info.attributes.get(name)
        if declared is None or not isinstance(value, RecursiveScriptModule):
            raise GuardError(
                "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to "
                f"replace existing module '{name}': {value}"
            )
        target = self._home.adopt(value, declared)
        is_interface = isinstance(declared, InterfaceType)
        wanted = "" if is_interface else declared.class_name.data  # type: ignore[attr-defined]  # a module's type
        if not is_interface and target.class_name != wanted:
            raise GuardError(
                f"Expected a value of type '{wanted}' for field '{name}', but found "
                f"'{target.class_name}'"
            )
        self._script_object.attributes[name] = target

    # -- the functions ---------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph of `forward`."""
        return self._required("forward").graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph of `forward` with all calls inlined."""
        return self._required("forward").inlined_graph

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return self._required("forward").code

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The text of `forward`, and the tensors that it names `CONSTANTS.cN`."""
        return self._required("forward").code_with_constants

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Call the module, and give the graph that ran, with all calls inlined."""
        return self._required("forward").graph_for(*args, **kwargs)

    def _required(self, name: str) -> ScriptMethod:
        if not self._has_method(name):
            raise GuardError(f"Method '{name}' is not defined.")
        return self._method(name)

    def define(self, src: str) -> None:
        """Compile more methods from a text of `def`s with a `self` argument.

        Raises:
            FrontendError: the text does not parse.
            CompileError: a type or name error, or a method of that name exists.
        """
        self._home.define(self._script_object.class_name, src, callers_names())

    def __tensorscript_linkable__(self) -> Linkable:
        return self._home.linkable()

    def __tensorscript_program__(self, method: str = "") -> Any:
        if method and not self._has_method(method):
            raise undefined_method(method, self._info.compiled)
        return self._required(method or self._entry_name()).__tensorscript_program__()

    def _entry_name(self) -> str:
        """The method that a call of the module is; with hooks, one that is made for it."""
        info = self._info
        if not (info.hooks or info.pre_hooks):
            return "forward"
        if HOOKED_CALL not in info.compiled:
            called = info.compiled[info.overloads.get("forward", ["forward"])[0]]
            self._home.define(info.name, hooked_call_text(called), {})
        return HOOKED_CALL

    # -- saving ----------------------------------------------------------------------------------

    def save(self, f: str | os.PathLike[str], _extra_files: ExtraFiles | None = None) -> None:
        """Write the module to a `.pt` archive at a path.

        Raises:
            CompileError: its code calls Python.
            ArchiveError: an attribute that archives cannot hold.
        """
        late_save.save_to_path(self._archived(), f, _extra_files)

    def save_to_buffer(self, _extra_files: ExtraFiles | None = None) -> bytes:
        """The bytes of a `.pt` archive of the module; errors as `save`."""
        return late_save.save_to_bytes(self._archived(), _extra_files)

    def _archived(self) -> Archived:
        home = self._home
        return late_save.archived_module(
            home.classes, home.interpreter, self._script_object, home.origin
        )

    # -- Python's own ----------------------------------------------------------------------------

    def get_debug_state(self) -> Any:
        """Not kept: there is no graph executor whose state could be shown."""
        raise GuardError("no executor state is kept; see `tensorscript.compile(m).ir`")

    def __copy__(self) -> RecursiveScriptModule:
        made: RecursiveScriptModule = self._home.classes.wrap(shallow_copy(self._script_object))
        return made

    def _replicate_for_data_parallel(self) -> RecursiveScriptModule:
        return self.__copy__()

    def __deepcopy__(self, memo: dict[int, Any]) -> RecursiveScriptModule:
        copied = deep_copy(self._script_object, memo)
        made: RecursiveScriptModule = self._home.classes.wrap(copied)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise GuardError(
            f"Tried to serialize object {self._script_object.class_name} which does not have a "
            "__getstate__ method defined!"
        )

    def __dir__(self) -> list[str]:
        info = self._info
        names = {*info.attributes, *info.constants, *info.compiled, *info.python_methods}
        return sorted({*super().__dir__(), *names, *info.properties, *info.overloads})

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def forward_magic_method(self, method_name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a script method that Python has an operator for.

        Raises:
            NotImplementedError: the module has none.
        """
        if not self._has_method(method_name):
            raise NotImplementedError
        return self._method(method_name)(*args, **kwargs)

    def __len__(self) -> int:
        return int(self.forward_magic_method("__len__"))

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        """The submodules of a list, the names of a dict."""
        info = self._info
        if not info.container:
            return iter(self.forward_magic_method("__iter__"))
        return iter(info.children if info.container == "dict" else self._children())

    def _children(self) -> list[Any]:
        return [getattr(self, name) for name in self._info.children]

    def __getitem__(self, at: Any) -> Any:
        info = self._info
        if not info.container:
            return self.forward_magic_method("__getitem__", at)
        if info.container == "dict":
            if at not in info.children:
                raise KeyError(at)
            return getattr(self, at)
        return self._children()[at]

    def __contains__(self, key: Any) -> bool:
        return bool(self.forward_magic_method("__contains__", key))

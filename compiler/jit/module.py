"""`RecursiveScriptModule`: a script object as Python uses it, module or plain class.

The face holds no state of its own: attributes are read from and written to the script object, whose
tensors are shared and whose containers are copied on the way.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType, float16, float32, float64
from tensorscript.base.errors import GuardError, UserError
from tensorscript.dialects.ts import typing
from tensorscript.eager.device import device
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .boundary import Classes, Mismatch, to_python, to_script
from .callables import Entry, Graph, ScriptFunction, ScriptMethod
from .save import Archived, ExtraFiles, archived_module, save_to_bytes, save_to_path

MANGLED = "___torch_mangle_"


class Home(Protocol):
    """Where the classes of a module's objects are known."""

    interpreter: Interpreter
    classes: Classes

    def class_info(self, name: str) -> ClassInfo:
        """The declaration of a class."""
        ...

    def entry(self, target: ScriptObject, method: str) -> Entry:
        """A method, compiled by now, bound to an object."""
        ...

    def function(self, name: str) -> Entry:
        """A function of the program."""
        ...


class _Face:
    """Base: attributes and methods of one script object."""

    _home: Home
    _script_object: ScriptObject

    def __init__(self, home: Home, target: ScriptObject) -> None:
        object.__setattr__(self, "_home", home)
        object.__setattr__(self, "_script_object", target)

    @property
    def _info(self) -> ClassInfo:
        return self._home.class_info(self._script_object.class_name)

    @property
    def original_name(self) -> str:
        """The Python class's name."""
        return self._script_object.class_name.rpartition(".")[2]

    def __getattr__(self, name: str) -> Any:
        target, info = self._script_object, self._info
        if name in target.attributes:
            return to_python(target.attributes[name], self._home.classes)
        if name in info.constants:
            return to_python(self._home.interpreter.attribute(target, name), self._home.classes)
        if name in info.properties:
            return self._method(info.properties[name][0])()
        if name in info.methods or name in info.compiled:
            return self._method(name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _method(self, name: str) -> ScriptMethod:
        return ScriptMethod(self._home.entry(self._script_object, name))

    def __setattr__(self, name: str, value: Any) -> None:
        target, info = self._script_object, self._info
        if name in info.constants:
            raise AttributeError(
                f"Cannot mutate TorchScript constant value: '{name}'. "
                f"Value: '{info.constants[name]}'"
            )
        if (type_ := info.attributes.get(name)) is not None:
            target.attributes[name] = self._attribute(name, value, type_)
        elif name in info.properties and (setter := info.properties[name][1]) is not None:
            self._method(setter)(value)
        else:
            object.__setattr__(self, name, value)

    def _attribute(self, name: str, value: Any, type_: Attribute) -> Any:
        try:
            return to_script(value, type_, self._home.classes)
        except Mismatch as mismatch:
            text = f"Could not cast attribute '{name}' to type {typing.message_text(type_)}"
            raise GuardError(f"{text}: {mismatch}") from None


class RecursiveScriptClass(_Face):
    """An object of a script class that is no module."""

    def __repr__(self) -> str:
        return f"<tensorscript.jit.RecursiveScriptClass {self.original_name}>"


class RecursiveScriptModule(_Face):
    """A scripted or loaded module."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Pre-hooks, `forward` and hooks, as eager modules are called."""
        info = self._info
        for name in info.pre_hooks:
            changed = self._hook(name)(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self._forward()(*args, **kwargs)
        for name in info.hooks:
            changed = self._hook(name)(self, args, result)
            result = result if changed is None else changed
        return result

    def _hook(self, name: str) -> ScriptFunction:
        return ScriptFunction(self._home.function(name))

    def __getattr__(self, name: str) -> Any:
        if name in _UNSUPPORTED:
            raise UnsupportedMember(f"{name} is not supported on ScriptModules")
        return super().__getattr__(name)

    def _forward(self) -> ScriptMethod:
        method: ScriptMethod = self.__getattr__("forward")
        return method

    # -- the functions ---------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph of `forward`."""
        return self._forward().graph

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return self._forward().code

    def __tensorscript_program__(self) -> Any:
        return self._forward().__tensorscript_program__()

    # -- the tree --------------------------------------------------------------------------------

    def _is_module(self, value: Any) -> bool:
        return (
            isinstance(value, ScriptObject)
            and self._home.class_info(value.class_name).category == "module"
        )

    def named_children(self) -> Iterator[tuple[str, RecursiveScriptModule]]:
        """The direct submodules that are not None, each once."""
        seen: set[int] = set()
        for name, value in self._script_object.attributes.items():
            if self._is_module(value) and id(value) not in seen:
                seen.add(id(value))
                yield name, self._home.classes.wrap(value)

    def children(self) -> Iterator[RecursiveScriptModule]:
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, RecursiveScriptModule]]:
        """This module and all below it, outermost first."""
        memo = set() if memo is None else memo
        if remove_duplicate and id(self._script_object) in memo:
            return
        memo.add(id(self._script_object))
        yield prefix, self
        for name, child in self.named_children():
            below = f"{prefix}.{name}" if prefix else name
            yield from child.named_modules(memo, below, remove_duplicate)

    def modules(self) -> Iterator[RecursiveScriptModule]:
        return (module for _, module in self.named_modules())

    def _own(self, names: list[str]) -> Iterator[tuple[str, Tensor]]:
        attributes = self._script_object.attributes
        for name in attributes:
            if name in names and isinstance(value := attributes[name], Tensor):
                yield name, value

    def _tensors(
        self, kind: Callable[[ClassInfo], list[str]], prefix: str, recurse: bool
    ) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix) if recurse else iter([(prefix, self)])
        for path, module in modules:
            for name, value in module._own(kind(module._info)):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Parameters by dotted name; a tied one comes once."""
        return self._tensors(lambda info: info.parameters, prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Buffers by dotted name, each once."""
        return self._tensors(lambda info: info.buffers, prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (value for _, value in self.named_buffers(recurse=recurse))

    # -- state -----------------------------------------------------------------------------------

    def state_dict(self, prefix: str = "") -> OrderedDict[str, Tensor]:
        """Parameters and buffers by dotted name; they share memory with the module."""
        out: OrderedDict[str, Tensor] = OrderedDict()
        for path, module in self.named_modules(prefix=prefix.rstrip("."), remove_duplicate=False):
            info = module._info
            for names in (info.parameters, info.buffers):
                for name, value in module._own(names):
                    out[f"{path}.{name}" if path else name] = value.detach()
        return out

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Copy values into the parameters and buffers.

        Raises:
            GuardError: with `strict`, missing or unexpected names; always, a shape that differs.
        """
        own = self.state_dict()
        missing = [k for k in own if k not in state]
        unexpected = [k for k in state if k not in own]
        wrong = [
            f"size mismatch for {k}: copying a param with shape {list(state[k].shape)} from "
            f"checkpoint, the shape in current model is {list(v.shape)}."
            for k, v in own.items()
            if k in state and tuple(state[k].shape) != tuple(v.shape)
        ]
        if strict and unexpected:
            wrong.append(f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}.")
        if strict and missing:
            wrong.append(f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}.")
        if wrong:
            listed = "\n\t".join(wrong)
            raise GuardError(
                f"Error(s) in loading state_dict for {self.original_name}:\n\t{listed}"
            )
        for name, value in own.items():
            if name in state:
                value.copy_(state[name])

    def train(self, mode: bool = True) -> RecursiveScriptModule:
        """Set `training` here and below; gives back the module."""
        for module in self.modules():
            if "training" in module._script_object.attributes:
                module._script_object.attributes["training"] = mode
        return self

    def eval(self) -> RecursiveScriptModule:
        return self.train(False)

    def apply(self, function: Callable[[RecursiveScriptModule], Any]) -> RecursiveScriptModule:
        """Call `function` on every module, innermost first."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def _convert(self, dtype: DType) -> RecursiveScriptModule:
        for module in self.modules():
            info = module._info
            for _, value in module._own(info.parameters + info.buffers):
                if value.dtype.is_floating_point:
                    converted = value.to(dtype)
                    value._array, value.dtype = converted._array, converted.dtype
        return self

    def to(self, *args: Any, **kwargs: Any) -> RecursiveScriptModule:
        """Convert floating-point parameters and buffers, in place: `to(dtype)`, `to("cpu")`.

        Raises:
            GuardError: another device than the CPU.
        """
        for value in (*args, *kwargs.values()):
            if isinstance(value, DType):
                self._convert(value)
            elif isinstance(value, str | device) and device(value).type != "cpu":
                raise GuardError(f"modules live on the CPU; cannot move to {value}")
        return self

    def cpu(self) -> RecursiveScriptModule:
        return self

    def float(self) -> RecursiveScriptModule:
        return self._convert(float32)

    def double(self) -> RecursiveScriptModule:
        return self._convert(float64)

    def half(self) -> RecursiveScriptModule:
        return self._convert(float16)

    def requires_grad_(self, requires_grad: bool = True) -> RecursiveScriptModule:
        for value in self.parameters():
            value.requires_grad = requires_grad
        return self

    # -- saving ----------------------------------------------------------------------------------

    def save(self, f: str | os.PathLike[str], _extra_files: ExtraFiles | None = None) -> None:
        """Write the module to a `.pt` archive at a path.

        Raises:
            CompileError: its code calls Python.
            ArchiveError: an attribute that archives cannot hold.
        """
        save_to_path(self._archived(), f, _extra_files)

    def save_to_buffer(self, _extra_files: ExtraFiles | None = None) -> bytes:
        """The bytes of a `.pt` archive of the module; errors as `save`."""
        return save_to_bytes(self._archived(), _extra_files)

    def _archived(self) -> Archived:
        home = self._home
        return archived_module(home.classes, home.interpreter, self._script_object)

    # -- Python's own ----------------------------------------------------------------------------

    def __dir__(self) -> list[str]:
        info = self._info
        return sorted({*super().__dir__(), *info.attributes, *info.constants, *info.methods})

    def __len__(self) -> int:
        return int(self._method("__len__")())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        """The submodules of a list, the names of a dict."""
        info = self._info
        if not info.container:
            return iter(self._method("__iter__")())
        return (name if info.container == "dict" else getattr(self, name) for name in info.children)

    def __getitem__(self, at: Any) -> Any:
        info = self._info
        if not info.container:
            return self._method("__getitem__")(at)
        if info.container == "dict":
            return getattr(self, at)
        children = [getattr(self, name) for name in info.children]
        return children[at]

    def __contains__(self, key: Any) -> bool:
        return bool(self._method("__contains__")(key))

    def __repr__(self) -> str:
        head = f"original_name={self.original_name}"
        lines = []
        for name, child in self.named_children():
            text = repr(child).replace("\n", "\n  ")
            lines.append(f"  ({name}): {text}\n")
        if not lines:
            return f"RecursiveScriptModule({head})"
        return f"RecursiveScriptModule(\n  {head}\n{''.join(lines)})"


class UnsupportedMember(UserError, RuntimeError, AttributeError):
    """A member of nn.Module that script modules do not have."""


_UNSUPPORTED = frozenset({
    "register_forward_hook", "register_forward_pre_hook", "register_backward_hook",
    "register_full_backward_hook", "register_full_backward_pre_hook", "register_module",
    "register_parameter", "register_buffer", "add_module", "get_extra_state", "set_extra_state",
    "register_state_dict_pre_hook", "register_load_state_dict_post_hook", "get_parameter",
    "get_buffer", "get_submodule", "set_submodule", "compile",
})  # fmt: skip

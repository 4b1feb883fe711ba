"""What tracing a module gives: its script object and the faces of the module and its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorscript.base.errors import GuardError
from tensorscript.eager.nn.module import Module
from tensorscript.frontends.script.live import World
from tensorscript.frontends.trace.modules import Member, ModuleTree
from tensorscript.runtime.values import ScriptObject

from .boundary import to_script
from .home import ProgramHome
from .module import RecursiveScriptModule


class TracedModule(RecursiveScriptModule):
    """A submodule of a traced module: it holds parameters, and only the trace runs it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse.

        Raises:
            GuardError: always; what a call recorded is a method of this class, `forward` among
                them, that the outer trace calls.
        """
        raise GuardError("Trace submodules cannot be called.")

    def __getitem__(self, at: Any) -> Any:
        """Refuse.

        Raises:
            TypeError: always; what a container's methods do was not recorded.
        """
        raise TypeError(f"'{type(self).__name__}' object is not subscriptable")

    def __len__(self) -> int:
        """Refuse, as `__getitem__`.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"object of type '{type(self).__name__}' has no len()")

    def __iter__(self) -> Iterator[Any]:
        """Refuse, as `__getitem__`.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"'{type(self).__name__}' object is not iterable")

    def _get_name(self) -> str:
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """A traced module: callable, with `graph` and `code` of its recorded `forward`; hooks can be
    registered as of modules in Python, and are no part of what is recorded."""

    register_forward_hook = Module.register_forward_hook
    register_forward_pre_hook = Module.register_forward_pre_hook

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the recorded `forward`, and the hooks around it."""
        return Module.__call__(self, *args, **kwargs)


class TracedHome(ProgramHome):
    """The program of a traced module.

    Attributes:
        traced_inputs: the example inputs by method, if they are kept.
    """

    def __init__(self, world: World, tree: ModuleTree, traced_inputs: dict[str, list[Any]]) -> None:
        super().__init__(world.program, world)
        self._traced = tree.traced_classes
        self.traced_inputs = traced_inputs
        self.root = self._object(tree.member)

    def _object(self, member: Member) -> ScriptObject:
        made = ScriptObject(member.info.name)
        for name in member.info.attributes:
            if name == "training":
                made.attributes[name] = bool(member.module.training)
            elif name in member.tensors:
                made.attributes[name] = member.tensors[name]
            elif name in member.children:
                made.attributes[name] = self._child(member, name)
            else:
                declared = member.info.attributes[name]
                value = getattr(member.module, name)
                made.attributes[name] = to_script(value, declared, self.classes)
        return made

    def _child(self, member: Member, name: str) -> ScriptObject:
        """The object of a submodule: recorded with its parent, or scripted before."""
        child = member.children[name]
        if isinstance(child, Member):
            return self._object(child)
        return self.adopt(child, member.info.attributes[name])

    def wrap(self, target: ScriptObject, original: Any = None) -> Any:
        if target.class_name not in self._traced:
            return super().wrap(target, original)
        if id(target) not in self._faces:
            is_top = target.class_name == self.root.class_name
            face = TopLevelTracedModule if is_top else TracedModule
            self._faces[id(target)] = face(self, target)
        return self._faces[id(target)]

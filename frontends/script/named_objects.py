"""The Python around a piece of text: what its caller sees, and what `__torch__.a.b.name` means.

The code of a function names what it calls by its qualified name. Where that was Python of this
process, the name is that of a module and of what stands in it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping

from tensorscript.base.schema import has_operator
from tensorscript.base.source import Span

from .annotations import NOT_FOUND
from .callables import Builtin, Function
from .contexts import CONTEXTS
from .emission import Emission
from .function import FunctionEmitter
from .live import Namespace
from .live_functions import LiveFunctions, LiveResolver
from .python_names import qualified_name
from .values import Args, Kwargs, Sugared

_ROOT = "__torch__."
_MANGLED = re.compile(r"___torch_mangle_\d+\.")


class _TorchSeen(Namespace):
    """`torch` as the caller knows it.

    Printed code calls every operator by it (`torch.append`, `torch.__isnot__`), also those that
    Python writes otherwise.
    """

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # text is only ever emitted by FunctionEmitter
        if not has_operator(f"aten::{name}"):
            return super().attr(em, span, name)
        if not hasattr(self.module, name):
            return Builtin(f"aten::{name}")
        found = super().attr(em, span, name)
        return _NamedTwice(found.module, found.world) if isinstance(found, Namespace) else found


class _NamedTwice(Namespace):
    """A Python module that has an operator's name: `torch.cpu(x)`."""

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        name = self.module.__name__.rpartition(".")[2]
        return Builtin(f"aten::{name}").call(em, span, args, kwargs)


class NamedObjects(LiveResolver):
    """Resolves the names around a piece of text.

    Args:
        names: what its caller sees.
    """

    def __init__(self, world: LiveFunctions, names: Mapping[str, object]) -> None:
        super().__init__(world, _no_function)
        self.names = dict(names)

    def resolve(self, name: str, em: FunctionEmitter, span: Span) -> Sugared | None:
        found = super().resolve(name, em, span)
        if name == "torch" and isinstance(found, Namespace):
            return _TorchSeen(found.module, found.world)
        return found

    def qualified(self, path: str, em: FunctionEmitter, span: Span | None) -> Sugared | None:
        """What the Python object of a qualified name means; None if there is none.

        Printed calls name no arguments, not even those that are keyword-only.
        """
        found = self.qualified_object(path)
        if not callable(found):
            return None
        module, _, name = _MANGLED.sub("", path).removeprefix(_ROOT).rpartition(".")
        home = module.replace("torch", "tensorscript", 1)
        sugared = self.world.wrap(found, em, span, home, name)
        if isinstance(sugared, Function):
            return Function(sugared.name, sugared.signature.positional())
        return sugared

    def qualified_object(self, path: str) -> object:
        """The Python object of a qualified name, or `NOT_FOUND`.

        It is sought in its module, and among what the caller sees.
        """
        plain = _MANGLED.sub("", path).removeprefix(_ROOT)
        home, _, name = plain.rpartition(".")
        if home.partition(".")[0] == "torch":
            home = "tensorscript" + home.removeprefix("torch")
        if plain in CONTEXTS:
            return CONTEXTS[plain]
        module = sys.modules.get(home or "__main__")
        if module is not None and hasattr(module, name):
            return getattr(module, name)
        seen = self.names.get(name, NOT_FOUND)
        return seen if _is_called(seen, _ROOT + plain) else NOT_FOUND


def _is_called(thing: object, name: str) -> bool:
    """Whether a qualified name is that of a Python object."""
    given = getattr(thing, "qualified_name", None)
    if isinstance(given, str):
        return _MANGLED.sub("", given) == name
    return isinstance(thing, Callable | type) and qualified_name(thing) == name  # type: ignore[arg-type]


def _no_function() -> None:
    """Stands for the function around which there is nothing."""

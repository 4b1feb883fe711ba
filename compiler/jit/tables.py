"""The tables of a script module: nn.Module's names over the attributes of a script object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from tensorscript.base.errors import GuardError
from tensorscript.eager.tensor import Tensor
from tensorscript.runtime.values import ScriptObject


class TensorTable(MutableMapping[str, Any]):
    """Parameters or buffers; the tensors live in the script object.

    Args:
        names: which attributes count.
        store: writes an attribute, checking its type.
    """

    def __init__(
        self,
        target: ScriptObject,
        names: Callable[[], list[str]],
        store: Callable[[str, Any], None],
    ) -> None:
        self._target = target
        self._names = names
        self._store = store

    def __iter__(self) -> Iterator[str]:
        held = self._target.attributes
        names = set(self._names())
        return (k for k in held if k in names and isinstance(held[k], Tensor))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._target.attributes[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names() and isinstance(self._target.attributes[str(name)], Tensor)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self:
            raise GuardError(
                f"Can't add a new parameter after ScriptModule construction. Tried to add '{name}"
            )
        self._store(name, value)

    def __delitem__(self, name: str) -> None:
        raise GuardError("cannot delete methods or parameters of a script module")


class ModuleTable(MutableMapping[str, Any]):
    """Submodules; the objects live in the script object, their faces with whoever wraps them.

    Args:
        names: which attributes are submodules.
        read, store: read and write one.
    """

    def __init__(
        self,
        names: Callable[[], list[str]],
        read: Callable[[str], Any],
        store: Callable[[str, Any], None],
    ) -> None:
        self._names = names
        self._read = read
        self._store = store

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(name)
        return self._read(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._store(name, value)

    def __delitem__(self, name: str) -> None:
        raise GuardError("cannot delete methods or parameters of a script module")

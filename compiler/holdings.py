"""What the object of a method holds, for the disk cache: a digest of all of it, and its arrays.

The digest covers every value that a specialisation could look at: classes, attributes, numbers,
the elements of tensors, and which of them are one and the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import field
from typing import Any

import numpy as np

from tensorscript.base.records import dataclass
from tensorscript.eager.device import device
from tensorscript.eager.storage import TensorBase, shown
from tensorscript.eager.tensor import Tensor
from tensorscript.runtime.values import EnumValue, ScriptObject

_PLAIN = (type(None), bool, int, float, complex, str)


@dataclass(frozen=True)
class Holdings:
    """Attributes:
    digest: of all values.
    arrays: of the tensors, in the order in which a walk meets them; one for tensors that are the
        same elements in memory.
    """

    digest: str
    arrays: tuple[np.ndarray, ...]

    def index_of(self, array: np.ndarray) -> int | None:
        """The number of the array that holds the elements of a contiguous one."""
        place = array.ctypes.data, array.nbytes
        known = (k for k, a in enumerate(self.arrays) if (a.ctypes.data, a.nbytes) == place)
        return next((k for k in known if self.arrays[k].flags.c_contiguous), None)


class _Unknown(Exception):
    """A value that has no digest."""


def holdings(receiver: ScriptObject) -> Holdings | None:
    """What an object holds; None if some of it has no digest (a future, say)."""
    walk = _Walk()
    try:
        walk.value(receiver)
    except _Unknown:
        return None
    return Holdings(walk.digest.hexdigest(), tuple(walk.arrays))


@dataclass
class _Walk:
    """Values in order of declaration. Each is written as a word that says its kind and how many
    parts follow, so that two structures never give the same text."""

    digest: Any = field(default_factory=hashlib.sha256)
    arrays: list[np.ndarray] = field(default_factory=list)
    _met: dict[object, int] = field(default_factory=dict)

    def value(self, value: Any) -> None:
        match value:
            case Tensor():
                self._tensor(value)
            case ScriptObject():
                if not self._again(id(value)):
                    self._parts("object", value.class_name, value.attributes)
            case EnumValue():
                self._word("enum", value.class_name, value.name, value.value)
            case device():
                self._word("device", str(value))
            case dict():
                self._parts("dict", "", value)
            case list():
                self._parts("list", "", dict(enumerate(value)))
            case tuple():
                fields = getattr(value, "_fields", ())
                self._parts("tuple", type(value).__name__, dict(enumerate((*fields, *value))))
            case _ if type(value) in _PLAIN:
                self._word(type(value).__name__, value)
            case _:
                raise _Unknown

    def _word(self, *parts: object) -> None:
        text = repr(parts).encode()
        self.digest.update(len(text).to_bytes(8, "little") + text)

    def _parts(self, kind: str, name: str, parts: dict[Any, Any]) -> None:
        self._word(kind, name, len(parts))
        for key, part in parts.items():
            self.value(key)
            self.value(part)

    def _again(self, key: object) -> bool:
        """Whether this was met before; if so, which it was is all there is to say."""
        is_known = key in self._met
        self._word("met", self._met.setdefault(key, len(self._met)))
        return is_known

    def _tensor(self, value: TensorBase) -> None:
        if (held := value._sparse) is not None:
            self._word("sparse", value._array.shape, held.rows is None, held.coalesced)
            for part in held.parts:
                self._tensor(part)
            return
        array = shown(value)
        self._word("tensor", value.dtype.short, array.shape, array.strides, value.requires_grad)
        if self._again((array.ctypes.data, array.shape, array.strides, array.dtype.str)):
            return
        self.arrays.append(array)
        if array.size:
            self.digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

"""The object a dumped method belongs to, as text beside arrays.

`receiver_text` writes a script object as a Python literal: `{'id', 'class', 'attributes'}` for an
object (a second mention is `{'ref': id}`), `{'tensor': digest, 'dtype', 'shape', 'grad'}` for a
tensor whose bytes lie in the side file, `{'tuple'|'list': [...]}`, `{'dict': [[k, v]...]}`,
`{'float': text}` for infinities and NaN, and plain numbers, strings, bools and None.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from tensorscript.base.dtypes import BY_SHORT
from tensorscript.base.errors import NotCompilable, UserError
from tensorscript.dialects.te.data import ConstantData
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor
from tensorscript.runtime.values import ScriptObject

Arrays = dict[str, np.ndarray]


def receiver_text(receiver: ScriptObject) -> tuple[str, Arrays]:
    """The text of an object, and its arrays by digest.

    Raises:
        NotCompilable: an attribute holds something that has no text.
    """
    writer = _Writer()
    return repr(writer.value(receiver)), writer.arrays


class _Writer:
    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self.known: dict[int, int] = {}

    def value(self, value: Any) -> Any:
        match value:
            case None | bool() | int() | str():
                return value
            case float():
                return value if math.isfinite(value) else {"float": str(value)}
            case Tensor():
                return self.tensor(value)
            case ScriptObject():
                return self.object(value)
            case tuple() if not hasattr(value, "_fields"):
                return {"tuple": [self.value(v) for v in value]}
            case list():
                return {"list": [self.value(v) for v in value]}
            case dict():
                return {"dict": [[self.value(k), self.value(v)] for k, v in value.items()]}
        raise NotCompilable(f"an attribute of type {type(value).__name__} cannot be dumped")

    def tensor(self, value: Tensor) -> Any:
        array = shown(value)
        data = ConstantData(array)
        self.arrays[data.digest] = np.ascontiguousarray(array)
        shape = list(value._array.shape)
        grad = bool(value.requires_grad)
        return {"tensor": data.digest, "dtype": value.dtype.short, "shape": shape, "grad": grad}

    def object(self, value: ScriptObject) -> Any:
        if (number := self.known.get(id(value))) is not None:
            return {"ref": number}
        number = self.known[id(value)] = len(self.known)
        attributes = {n: self.value(v) for n, v in value.attributes.items()}
        return {"id": number, "class": value.class_name, "attributes": attributes}


def restore_receiver(text: str, arrays: Arrays) -> ScriptObject:
    """The object that `receiver_text` wrote.

    Raises:
        UserError: malformed text, or an array that is missing or damaged.
    """
    try:
        found = _Reader(arrays).value(ast.literal_eval(text))
    except (ValueError, SyntaxError, KeyError, TypeError) as error:
        raise UserError(f"the dumped object is malformed: {error!r}") from error
    if not isinstance(found, ScriptObject):
        raise UserError("the dumped object is malformed: not an object")
    return found


class _Reader:
    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.known: dict[int, ScriptObject] = {}

    def value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "tensor" in value:
            return self.tensor(value)
        if "class" in value:
            made = self.known[value["id"]] = ScriptObject(value["class"])
            for name, attribute in value["attributes"].items():
                made.attributes[name] = self.value(attribute)
            return made
        ((kind, inside),) = value.items()
        if kind == "ref":
            return self.known[inside]
        if kind == "float":
            return float(inside)
        if kind == "dict":
            return {self.value(k): self.value(v) for k, v in inside}
        elements = [self.value(v) for v in inside]
        return tuple(elements) if kind == "tuple" else elements

    def tensor(self, value: dict[str, Any]) -> Tensor:
        digest = value["tensor"]
        if digest not in self.arrays:
            raise UserError(f"the side file lacks the tensor {digest[:12]}")
        array = self.arrays[digest]
        if ConstantData(array).digest != digest:
            raise UserError(f"the tensor {digest[:12]} of the side file is damaged")
        dtype = BY_SHORT[value["dtype"]]
        # Equal bytes of another dtype or shape are stored once.
        made = Tensor(array.reshape(-1).view(dtype.numpy).reshape(value["shape"]), dtype)
        made.requires_grad = value["grad"]
        return made

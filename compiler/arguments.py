"""From call arguments to specialisation: specs, leaves, and how results go back.

Array-like arguments are NumPy arrays, our Tensors, and PyTorch CPU tensors (recognised by their
class, never imported); results come back in the kind of the first one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bfloat16, bool_, float64, from_numpy, int64
from tensorscript.base.errors import GuardError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import Device, EnumRef, Opaque
from tensorscript.eager.device import device
from tensorscript.eager.foreign import is_foreign_tensor, storage_of
from tensorscript.eager.kernels.script_text import script_text
from tensorscript.eager.modes import MODES
from tensorscript.eager.placement import different_devices, gpu_under
from tensorscript.eager.random import Generator
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.ts_to_tg.paths import below
from tensorscript.lowering.ts_to_tg.specs import (
    ArgumentSpec,
    ConstantSpec,
    DictSpec,
    ListSpec,
    NumberSpec,
    ObjectSpec,
    OutputTree,
    SameSpec,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
)
from tensorscript.lowering.ts_to_tg.state import uniform_dtype
from tensorscript.lowering.ts_to_tg.values import ABSENT
from tensorscript.runtime.values import EnumValue, Future, ScriptObject, named_tuple

from .lists import list_leaves, rows, text_of_bytes


class OnGPU(GuardError):
    """A tensor of a GPU where code for the CPU is asked for; other code answers the call.

    Attributes:
        ordinal: of the GPU.
    """

    def __init__(self, ordinal: int) -> None:
        super().__init__(f"a tensor is on cuda:{ordinal}, and this code is for the CPU")
        self.ordinal = ordinal


def check_place(array: np.ndarray, gpu: int | None) -> None:
    """See to it that code for a GPU, or for the CPU, can take an array. A number of the CPU may go
    to a GPU.

    Args:
        gpu: its number, None for the CPU.

    Raises:
        OnGPU: a tensor of a GPU is for code of the CPU.
        GuardError: it is on another device than the others.
    """
    if (found := gpu_under(array)) == gpu or (found is None and not array.ndim):
        return
    if gpu is None:
        assert found is not None
        raise OnGPU(found)
    here = "cpu" if found is None else f"cuda:{found}"
    raise GuardError(different_devices(f"cuda:{gpu}", here))


def is_array(value: object) -> bool:
    """What compiled code takes for a tensor."""
    return isinstance(value, np.ndarray | np.generic | Tensor) or is_foreign_tensor(value)


def opaque_kind(value: object) -> str:
    """What a tensor is whose elements compiled code does not take; empty for any other."""
    if not isinstance(value, Tensor):
        return ""
    return "a sparse tensor" if value._sparse else "a quantized tensor" if value._quantizer else ""


def tensor_of(value: Any) -> Tensor:
    """An eager tensor over the memory of an array-like value.

    Raises:
        GuardError: its dtype or device has no counterpart.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.generic):
        value = np.asarray(value)
    array, dtype = _storage(value, "tensor")
    made = Tensor(value if isinstance(value, np.ndarray) else array, dtype)
    made.requires_grad = is_foreign_tensor(value) and bool(value.requires_grad)
    return made


def _storage(value: Any, name: str) -> tuple[np.ndarray, DType]:
    """The NumPy array of an array-like argument, native-endian and aligned, and its dtype."""
    if isinstance(value, Tensor):
        array = shown(value)
        if value._sign is not None:  # writes would miss the tensor's own memory
            array.setflags(write=False)
        return array, value.dtype
    if is_foreign_tensor(value):
        if value.device.type != "cpu":
            raise GuardError(f"argument {name!r} is on {value.device}; expected a CPU tensor")
        try:
            return storage_of(value)
        except TypeError as error:  # PyTorch's own, of layouts and dtypes that NumPy lacks
            raise GuardError(f"argument {name!r}: {error}") from error
    value = np.asarray(value)  # native code knows arrays by their type, which a subclass has not
    try:
        dtype = from_numpy(value.dtype)
    except TypeError as error:
        raise GuardError(f"argument {name!r}: {error}") from error
    if not value.dtype.isnative or not value.flags.aligned:
        value = np.array(value, dtype.numpy)
    # Compiled code knows arrays by NumPy's own dtype objects; others may equal them.
    return value if value.dtype is dtype.numpy else value.view(dtype.numpy), dtype


def _has_hash(value: object) -> bool:
    """Whether a specialisation can be looked up by a value; a memoryview says only when asked."""
    try:
        hash(value)
    except (TypeError, ValueError):
        return False
    return True


def _strides(array: np.ndarray) -> tuple[int, ...] | None:
    """Strides in elements of an array that is not row-major contiguous."""
    if array.flags.c_contiguous:
        return None
    return tuple(step // array.itemsize for step in array.strides)


@dataclass(frozen=True)
class Taking:
    """How arguments are taken.

    Attributes:
        lists: arguments that are lists of any length.
        known: ints and bools are part of the specialisation. False where that does not help, None
            where it was not needed so far.
        gpu: the number of the GPU that tensors are on; None for the CPU.
        objects: which tensors are one object is part of the specialisation.
        of_state: what `self` holds. Every list of numbers may have any length, unless they are
            known.
    """

    lists: Mapping[str, ListSpec] = field(default_factory=dict)
    known: bool | None = None
    of_state: bool = False
    gpu: int | None = None
    objects: bool = False


@dataclass
class Bound:
    """Call arguments taken apart.

    Attributes:
        key: what a specialisation depends on.
        specs: per argument, for `specialise`.
        leaves: arrays and numbers in the order of the native inputs.
        paths: path -> array, to copy updates back.
        kind: of the first array, which results take on.
        has_signs: some tensor is read as the conjugate or negative of its memory, which the leaf
            is not.
        taking: how the arguments were taken.
        state: what native code is handed of the receiver, taken apart.
    """

    taking: Taking
    key: tuple[object, ...] = ()
    specs: list[ArgumentSpec] = field(default_factory=list)
    leaves: list[Any] = field(default_factory=list)
    paths: dict[str, np.ndarray] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    has_signs: bool = False
    state: Bound | None = None


_SCALARS: dict[type, DType] = {bool: bool_, int: int64, float: float64}


class Binder:
    """Takes the arguments of one call apart."""

    def __init__(self, taking: Taking) -> None:
        self.out = Bound(taking)
        self.taking = taking

    def argument(self, value: Any, name: str) -> ArgumentSpec:
        """The spec of an argument; its leaves are collected.

        Raises:
            GuardError: a value that no compiled function can take.
        """
        listed = self.taking.lists.get(name)
        found = list_leaves(value, listed) if listed and isinstance(value, list) else None
        if listed is None or found is None:
            return self.value(value, name)
        self.out.leaves += found
        return listed

    def value(self, value: Any, name: str) -> ArgumentSpec:
        """The spec of an argument or of a part of one.

        Raises:
            GuardError: a value that no compiled function can take.
        """
        if type(value) is str:  # vocabularies have thousands of them
            return ConstantSpec(value)
        if is_array(value):
            opaque = opaque_kind(value)
            return ConstantSpec(Opaque(opaque)) if opaque else self._tensor(value, name)
        if (dtype := _SCALARS.get(type(value))) is not None:
            if dtype is int64 and not -(2**63) <= value < 2**63:
                raise GuardError(f"argument {name!r}: Overflow when unpacking long")
            if self.taking.known and dtype is not float64:
                return NumberSpec(value, dtype)
            self.out.leaves.append(value)
            return ScalarSpec(dtype)
        if isinstance(value, list) and (listed := self._numbers(value)) is not None:
            self.out.leaves += list_leaves(value, listed) or ()
            return listed
        if isinstance(value, tuple | list):
            parts = tuple(self.value(v, below(name, k)) for k, v in enumerate(value))
            fields = tuple(getattr(value, "_fields", ()))
            return SequenceSpec(parts, isinstance(value, tuple), fields, type(value).__name__)
        if isinstance(value, dict):
            return DictSpec(tuple((k, self.value(v, below(name, k))) for k, v in value.items()))
        if isinstance(value, EnumValue):
            return ConstantSpec(EnumRef(value.class_name, value.name))
        if isinstance(value, ScriptObject):
            held = value.attributes.items()
            items = tuple((k, self.value(v, below(name, k))) for k, v in held)
            return ObjectSpec(value.class_name, items)
        if isinstance(value, Generator):
            return ConstantSpec(Opaque("a random generator"))
        if isinstance(value, set):
            return ConstantSpec(frozenset(value))  # keys are hashed; `convert` makes it a list
        if not _has_hash(value):
            return ConstantSpec(Opaque(f"a value of type {type(value).__name__}"))
        return ConstantSpec(Device(str(value)) if isinstance(value, device) else value)

    def _numbers(self, value: list[Any]) -> ListSpec | None:
        """The spec of a list of numbers that `self` holds."""
        if not self.taking.of_state or self.taking.known:
            return None
        dtype = uniform_dtype(value)
        return None if dtype is None else ListSpec(dtype)

    def _tensor(self, value: Any, name: str) -> TensorSpec | SameSpec:
        if self.taking.objects:
            for earlier, other in self.out.given.items():
                if other is value:
                    return SameSpec(earlier)
        if isinstance(value, np.generic):
            value = np.asarray(value)
        array, dtype = _storage(value, name)
        if MODES.has_gpus:
            check_place(array, self.taking.gpu)
        if not self.out.kind:
            self.out.kind = _kind(value)
        if any(step % array.itemsize for step in array.strides):
            array = np.ascontiguousarray(array)
        self.out.leaves.append(array)
        is_copy = isinstance(value, np.ndarray) and not np.may_share_memory(array, value)
        self.out.paths[name] = value if is_copy else array
        self.out.given[name] = value
        self.out.has_signs |= isinstance(value, Tensor) and value._sign is not None
        return TensorSpec(dtype, array.shape, _strides(array))


def _kind(value: Any) -> str:
    return (
        "numpy" if isinstance(value, np.ndarray) else "ts" if isinstance(value, Tensor) else "torch"
    )


def bind(names: Sequence[str], values: Sequence[Any], taking: Taking) -> Bound:
    """Take apart positional values, one per name."""
    binder = Binder(taking)
    out = binder.out
    out.specs = [binder.argument(v, n) for n, v in zip(names, values, strict=True)]
    out.key = tuple(out.specs)
    return out


def wrapper(kind: str) -> Callable[[np.ndarray, DType], Any]:
    """How result arrays are handed out for arguments of a kind."""
    if kind == "numpy":
        return lambda array, dtype: array
    if kind == "torch":
        return _to_torch
    return Tensor


def _to_torch(array: np.ndarray, dtype: DType) -> Any:
    torch = sys.modules["torch"]
    made = torch.from_numpy(array)
    return made.view(torch.bfloat16) if dtype is bfloat16 else made


def rebuild(
    tree: OutputTree,
    leaves: Sequence[Any],
    tensor: Callable[[int, np.ndarray | None], Any],
    enum: Callable[[EnumRef], Any] = str,
) -> Any:
    """The result that an output tree describes.

    Args:
        leaves: results of the native call.
        tensor: the wrapped tensor of a leaf number, or of a part of it.
        enum: the member that a constant refers to.
    """
    match tree.kind:
        case "tensor":
            return tensor(tree.leaf, None)
        case "each":
            return rows(tree.children[0], leaves, tensor)
        case "map":
            return dict(rows(tree.children[0], leaves, tensor))
        case "scalar":
            return leaves[tree.leaf]
        case "text":
            return text_of_bytes(leaves[tree.leaf].tolist())
        case "constant":
            return _constant(tree.value, enum)
        case "choice":
            return rebuild(tree.children[leaves[tree.leaf]], leaves, tensor, enum)
        case "absent":
            return ABSENT
    children = [rebuild(child, leaves, tensor, enum) for child in tree.children]
    if tree.kind == "shown":
        return "".join(script_text(tensor_of(v) if is_array(v) else v) for v in children)
    if tree.kind == "future":
        done = Future()
        done.set_result(children[0])
        return done
    if tree.kind == "object":
        names = map(str, tree.keys)
        return ScriptObject(tree.class_name, dict(zip(names, children, strict=True)))
    if tree.kind == "dict":
        pairs = zip(tree.keys, children, strict=True)
        return {key: value for key, value in pairs if value is not ABSENT}
    if tree.kind == "list":
        return children
    if tree.fields and tree.class_name:
        return named_tuple(tree.class_name, tree.fields)(*children)
    return tuple(children)


def _constant(value: object, enum: Callable[[EnumRef], Any]) -> Any:
    match value:
        case Device():
            return device(value.text)
        case EnumRef():
            return enum(value)
    return value

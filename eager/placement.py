"""Where tensors lie: on the CPU, or on a GPU, in memory that it shares with the host.

A tensor is where its memory is: no tensor remembers a device, and every view has that of its base.
Operators on tensors of a GPU compute on the host, over that memory, and their results are put
beside the operands (`between_devices`); compiled functions compute on the GPU. As long as no tensor
has been put on a GPU nothing of this is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from tensorscript.base.accelerator import ACCELERATOR, block_of, empty_on_gpu
from tensorscript.base.array_memory import owner
from tensorscript.base.errors import NoDeviceError, OperatorError
from tensorscript.base.schema import Schema

from .device import CPU, PLACES, device
from .memory_format import kept_strides, laid_out
from .modes import MODES
from .storage import Array, TensorBase, make

Kernel = Callable[..., Any]
Where = str | int | device | None

NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed "
    "a driver from http://www.nvidia.com/Download/index.aspx"
)


@cache
def _gpu(ordinal: int) -> device:
    return device("cuda", ordinal)


def gpu_of(where: str | int | device) -> int | None:
    """The number of the GPU that is named, None for the CPU.

    Raises:
        NoDeviceError: there is no GPU.
        OperatorError: there is no such device.
    """
    named = device(where)
    if named.type == "cpu":
        return None
    if named.type != "cuda":
        raise OperatorError(
            f"eager tensors live on the CPU and on NVIDIA GPUs; there is no device {named!s}"
        )
    return existing(named.index)


def existing(ordinal: int | None) -> int:
    """The number of a GPU, the current one for None.

    Raises:
        NoDeviceError: there is no GPU.
        OperatorError: there is none of that number.
    """
    if not (count := ACCELERATOR.driver.count()):
        raise NoDeviceError(NO_DRIVER)
    chosen = ACCELERATOR.current if ordinal is None else ordinal
    if not 0 <= chosen < count:
        raise OperatorError(f"CUDA error: invalid device ordinal: {chosen} of {count}")
    return chosen


def place_of(array: Array) -> device:
    """Where memory is."""
    ordinal = gpu_under(array)
    return CPU if ordinal is None else _gpu(ordinal)


def device_of(t: TensorBase) -> device:
    """Where a tensor is."""
    return place_of(t._array) if MODES.has_gpus else CPU


def gpu_under(array: Array) -> int | None:
    """The number of the GPU in whose memory an array is; None for the CPU."""
    if not MODES.has_gpus or (block := block_of(array)) is None:
        return None
    return block.ordinal


def different_devices(first: str, second: str) -> str:
    """PyTorch's words for operands on several devices."""
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first} and {second}!"
    )


def array_on(a: Array, ordinal: int | None) -> Array:
    """An array in the memory of a GPU, or of the host for None: itself, or a copy in its strides
    (without gaps, where it has some)."""
    if gpu_under(a) == ordinal:
        return a
    strides = kept_strides(a)
    if ordinal is None:
        return laid_out(np.array(a), strides)
    return _copied(a, ordinal, [step * a.itemsize for step in strides])


def _copied(a: Array, ordinal: int, strides: Sequence[int]) -> Array:
    """A copy in memory of a GPU, in strides in bytes."""
    MODES.has_gpus = MODES.has_readings = True
    made = empty_on_gpu(a.shape, a.dtype, ordinal, strides)
    made[...] = a
    return made


def beside(made: Array, like: Array) -> Array:
    """New memory on the device where that of `like` is."""
    ordinal = gpu_under(like)
    return made if ordinal is None else array_on(made, ordinal)


def _check_movable(t: TensorBase) -> None:
    """Refuse to put a tensor on a GPU that is not stored as it shows itself.

    Raises:
        OperatorError: it is one.
    """
    if t._sparse or t._quantizer or t._lengths is not None:
        raise OperatorError("sparse, quantized and nested tensors live on the CPU only")


def placed(t: Any, where: Where) -> Any:
    """`t` on a device: itself, or a copy.

    Raises:
        NoDeviceError, OperatorError: as `gpu_of`, or a tensor that no GPU holds.
    """
    ordinal = None if where is None or where is CPU else gpu_of(where)
    if ordinal is None and not MODES.has_gpus:
        return t
    if ordinal is not None:
        _check_movable(t)
    if (memory := array_on(t._array, ordinal)) is t._array:
        return t
    made = make(memory, t.dtype)
    made._sign, made._lengths = t._sign, t._lengths
    made._requires_grad, made._computed = t.requires_grad, t._computed
    return made


def made_on(t: Any, where: Where) -> Any:
    """A new tensor on the device that is asked for, or on the default one."""
    return placed(t, PLACES[-1] if where is None else where)


# -- operators ------------------------------------------------------------------------------------

_ANYWHERE = frozenset((
    ("copy_", "src"), ("expand_as", "other"), ("index", "indices"), ("index_put", "indices"),
    ("index_put_", "indices"), ("_index_put_impl_", "indices"), ("is_same_size", "other"),
    ("_pack_padded_sequence", "lengths"), ("_pad_packed_sequence", "batch_sizes"),
    ("gru", "batch_sizes"), ("lstm", "batch_sizes"), ("rnn_relu", "batch_sizes"),
    ("rnn_tanh", "batch_sizes"), ("reshape_as", "other"), ("resize_as_", "the_template"),
    ("set_data", "new_data"), ("tensor_split", "tensor_indices_or_sections"), ("to", "other"),
    ("type_as", "other"), ("view_as", "other"),
))  # fmt: skip
"""Operators and those of their arguments that may be on another device."""
_AS_OTHER = frozenset(("aten::to.other", "aten::type_as"))
"""Operators that make a tensor on the device of another."""
_TOLD = frozenset(("aten::cpu", "aten::cuda"))
"""Operators whose name says where the result is."""


@cache
def target_of(declared: Schema) -> int | None:
    """Which argument says where the result is made: a device, or a tensor there."""
    wanted = ("other", "Tensor") if declared.full_name in _AS_OTHER else ("device", "Device")
    found = (
        k for k, a in enumerate(declared.arguments)
        if (a.name, a.type.without_optional().kind) == wanted
    )  # fmt: skip
    return next(found, None)


def onto_target(at: int, run: Kernel) -> Kernel:
    """The kernel, whose result goes where argument `at` says; None leaves that to the operands."""

    def placing(*bound: Any) -> Any:
        where = bound[at]
        if isinstance(where, TensorBase):
            where = device_of(where)
        if where is None or (where is CPU and not MODES.has_gpus):
            return run(*bound)
        gpu_of(where)  # refused before anything is computed
        return placed(run(*bound), where)

    return placing


def between_devices(declared: Schema, run: Kernel) -> Kernel:
    """The kernel, where tensors of GPUs are about: operands have to be on one device, and results
    lie there, or where new tensors are made if there is no operand."""
    target = target_of(declared)

    def checked(*bound: Any) -> Any:
        where = _common(declared, bound)
        if where is None and target is not None:
            where = PLACES[-1]
        if where is None or where.type == "cpu":
            return run(*bound)
        held = [owner(t._array) for t in _tensors(bound)]
        result = run(*bound)
        told = declared.full_name in _TOLD or (target is not None and bound[target] is not None)
        moved = not told and _put_beside(result, held, existing(where.index))
        ACCELERATOR.on_host += moved or declared.is_mutable
        return result

    return checked


def _put_beside(result: Any, held: Sequence[Array], ordinal: int) -> bool:
    """Put what an operator made on a GPU, and say whether there was any. Views of operands, whose
    memory is `held`, stay in it."""
    fresh = [t for t in _tensors((result,)) if all(owner(t._array) is not a for a in held)]
    for t in fresh:
        _check_movable(t)
        t._array = _copied(t._array, ordinal, t._array.strides)
    return bool(fresh)


def _tensors(values: Any) -> Iterator[TensorBase]:
    for x in values:
        if isinstance(x, TensorBase):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _tensors(x)


def _common(declared: Schema, bound: Sequence[Any]) -> device | None:
    """The device of the operands: of a 0-dim tensor of the CPU only if there are no others.

    Raises:
        OperatorError: there are several.
    """
    found: dict[device, None] = {}
    scalars = False
    for argument, v in zip(declared.arguments, bound, strict=False):
        if (declared.base_name, argument.name) in _ANYWHERE:
            continue
        alone = isinstance(v, TensorBase) and not argument.is_write
        for t in _tensors((v,)):
            if (where := device_of(t)) is CPU and alone and not t._array.ndim:
                scalars = True
            else:
                found[where] = None
    if len(found) > 1:
        first, second = sorted(found, key=str, reverse=True)[:2]
        raise OperatorError(different_devices(str(first), str(second)))
    return next(iter(found), CPU if scalars else None)

"""Ways out of a tensor: Python numbers and lists, NumPy arrays, DLPack, text, pickles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorscript.base import dtypes
from tensorscript.base.dtypes import bfloat16
from tensorscript.base.errors import ArgumentError, DLPackError, OperatorError, ValueRangeError

from . import foreign
from .answering import answer_by_default
from .copies import copied, reduced
from .device import CPU
from .device import device as Device
from .dispatch import call
from .dlpack import exported
from .growth import keep_size
from .kernels.nested_rules import NO_SIZES
from .modes import MODES
from .placement import device_of
from .storage import TENSOR_CLASS, Array, TensorBase, make, shown, value
from .tensor_repr import tensor_repr
from .tracing import active_tracer

_MANAGED_BY_CUDA = 13  # kDLCUDAManaged


class TensorValues(TensorBase):
    """What becomes of a tensor outside; a tracer is told, as no trace can follow."""

    __slots__ = ()

    def item(self) -> Any:
        """The only element as a Python number."""
        self._leaves("Python number")
        return self._only()

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by PyTorch when one of its functions is given a tensor of ours, and by ours when
        they are given one of a subclass that says nothing else."""
        if foreign.is_foreign_function(function):
            return foreign.call(function, args, kwargs or {})
        return answer_by_default(cls, function, types, args, kwargs or {})

    def _leaves(self, kind: str) -> None:
        """Tell the tracer that the value becomes a `kind`, which no trace can follow.

        Raises:
            OperatorError: a nested tensor, which is none.
        """
        if self._lengths is not None:
            raise OperatorError(NO_SIZES)
        if (tracer := active_tracer()) is not None:
            tracer.leaves(self, kind)

    def _scalar(self) -> Any:
        if self._array.size != 1:
            raise ValueRangeError("only one element tensors can be converted to Python scalars")
        return self._only()

    def _only(self) -> Any:
        if self._array.size != 1:
            raise OperatorError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
            )
        return value(self).reshape(-1)[0].item()

    def tolist(self) -> Any:
        self._leaves("Python list")
        if active_tracer() is not None:  # what the list is read from
            call("aten::resolve_neg", (call("aten::resolve_conj", (self,)),))
        return value(self).tolist()

    def numpy(self, *, force: bool = False) -> Array:
        """The array itself, sharing memory; bfloat16 has no NumPy dtype.

        A result that requires a gradient only because an operand does is given out: no gradient is
        recorded that could be lost.

        Raises:
            OperatorError: the program asked for the gradient of this tensor, or it is a conjugate
                that is a view, and not `force`.
            ArgumentError: the dtype is bfloat16, or a quantized one, or it is on a GPU.
        """
        self._leaves("NumPy array")
        if MODES.has_gpus and not force:
            self._check_on_cpu()
        asked = MODES.grad_enabled and self.requires_grad
        if asked and not (self._computed or force):
            raise OperatorError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self.dtype is bfloat16 or self._quantizer is not None:
            raise ArgumentError(f"Got unsupported ScalarType {self.dtype.word}")
        if self._sparse is not None:
            layout = "Sparse" if self._sparse.rows is None else "SparseCsr"
            raise ArgumentError(
                f"can't convert {layout} layout tensor to numpy. Use Tensor.to_dense() first."
            )
        if not force:
            self._check_sign()
        return keep_size(shown(self))

    def _check_on_cpu(self) -> None:
        """Refuse to show NumPy the memory of a GPU.

        Raises:
            ArgumentError: the tensor is on one.
        """
        if (where := device_of(self)) is not CPU:
            raise ArgumentError(
                f"can't convert {where} device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )

    def _check_sign(self) -> None:
        """Refuse to show NumPy memory that holds other numbers than the tensor.

        Raises:
            OperatorError: the tensor is a conjugate or a negative that is a view.
        """
        if self._sign is not None:
            kind = "conj" if self._sign.conjugated else "neg"
            bit = "conjugate" if kind == "conj" else "negative"
            raise OperatorError(
                f"Can't call numpy() on Tensor that has {bit} bit set. Use "
                f"tensor.resolve_{kind}().numpy() instead."
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The numbers for NumPy's functions, bfloat16 as float32; also where a gradient is asked
        for, as none is recorded, and of a conjugate that is a view."""
        self._leaves("NumPy array")
        if MODES.has_gpus:
            self._check_on_cpu()
        stored = value(self)
        made = np.array(stored, dtype=dtype, copy=copy)
        return keep_size(made) if made is stored else made

    def __array_wrap__(self, array: Array, context: Any = None, scalar: bool = False) -> Any:
        """Results of NumPy's functions on tensors are tensors again."""
        made = make(array, dtypes.from_numpy(array.dtype))
        tracer = active_tracer()
        return made if tracer is None else tracer.enters("from_numpy", made)

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule for other libraries, sharing memory.

        Raises:
            DLPackError: a gradient is asked for, the tensor is a conjugate that is a view or on a
                GPU, or NumPy cannot export the memory.
        """
        if MODES.has_gpus and device_of(self) is not CPU:
            raise DLPackError("Can't export tensors of a GPU, use tensor.cpu()")
        if self.requires_grad:
            raise DLPackError("Can't export tensors that require gradient, use tensor.detach()")
        if self._sign is not None and self._sign.conjugated:
            raise DLPackError("Can't export tensors with the conjugate bit set")
        if self.dtype is bfloat16:
            return exported(keep_size(self._array), **options)
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        where = device_of(self)
        return (1, 0) if where is CPU else (_MANAGED_BY_CUDA, where.index or 0)

    def cpu(self, memory_format: Any = None) -> Any:
        options = {} if memory_format is None else {"memory_format": memory_format}
        return call("aten::to", (self,), {"device": CPU, **options})

    def cuda(
        self, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Any:
        """The tensor on a GPU, the current one if none is named.

        Raises:
            NoDeviceError: there is no GPU.
            OperatorError: `device` is none.
        """
        where = Device("cuda" if device is None else device)
        if where.type != "cuda":
            raise OperatorError(f"Invalid device, must be cuda device, but got {where}")
        options = {} if memory_format is None else {"memory_format": memory_format}
        return call("aten::to", (self,), {"device": where, **options})

    def __bool__(self) -> bool:
        self._leaves("Python boolean")
        if self._array.size != 1:
            words = "no values" if self._array.size == 0 else "more than one value"
            raise OperatorError(f"Boolean value of Tensor with {words} is ambiguous")
        return bool(value(self).reshape(-1)[0])

    def __int__(self) -> int:
        self._leaves("Python integer")
        return int(self._scalar())

    def __float__(self) -> float:
        self._leaves("Python float")
        return float(self._scalar())

    def __complex__(self) -> complex:
        self._leaves("Python complex")
        return complex(self._scalar())

    def __index__(self) -> int:
        if self._array.size != 1 or self.dtype.category > 1:
            raise ArgumentError(
                "only integer tensors of a single element can be converted to an index"
            )
        return int(self._only())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise ArgumentError("len() of a 0-d tensor")
        if (tracer := active_tracer()) is not None:
            tracer.uses_length("len")
        if self._lengths is not None:
            raise OperatorError(NO_SIZES)
        return int(self._array.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self._array.ndim == 0:
            raise ArgumentError("iteration over a 0-d tensor")
        if (tracer := active_tracer()) is not None:
            tracer.uses_length("iteration")
        return iter(call("aten::unbind", (self, 0)))

    def __contains__(self, element: object) -> bool:
        if not isinstance(element, TensorBase | bool | int | float | complex):
            raise OperatorError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(element)}."
            )
        found: TensorValues = call("aten::any", (call("aten::eq", (self, element)),))
        return bool(found.item())

    def __repr__(self) -> str:
        """The numbers and what they are; of a subclass under its name."""
        kind = type(self)
        return tensor_repr(self, "tensor" if kind is TENSOR_CLASS[0] else kind.__name__)

    def __format__(self, spec: str) -> str:
        """A 0-dim tensor is formatted as its number, any other, a parameter too, as its text."""
        if self._array.ndim or getattr(self, "_is_parameter", False):
            return object.__format__(self, spec)
        return format(self.item(), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copied(self, memo)

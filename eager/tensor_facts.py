"""What a tensor is: sizes, strides, device, kind of elements, and the views that are attributes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tensorscript.base.array_memory import owner
from tensorscript.base.dtypes import BY_NAME, BY_WORD, DType, of_python
from tensorscript.base.errors import ArgumentError, DimensionError, OperatorError, ValueRangeError

from .device import Layout, MemoryFormat, device, sparse_coo, sparse_csr, strided
from .dispatch import call, call_overload
from .kernels.nested_rules import NO_SIZES, NO_STRIDES
from .memory_format import element_strides, is_in_format
from .modes import MODES
from .placement import device_of
from .size import Size
from .storage import TensorBase, make
from .storages import UntypedStorage, storage_of
from .tracing import active_tracer
from .typed_storages import TypedStorage, quiet_typed_storage_of, typed_storage_of


class TensorFacts(TensorBase):
    """Attributes that are asked, and no operator computes."""

    __slots__ = ()

    is_ipu = is_meta = is_mkldnn = is_mps = is_mtia = False
    is_vulkan = is_xla = is_xpu = is_maia = False
    name = None
    output_nr = 0

    @property
    def is_quantized(self) -> bool:
        return self._quantizer is not None

    @property
    def is_sparse(self) -> bool:
        return self._sparse is not None and self._sparse.rows is None

    @property
    def is_sparse_csr(self) -> bool:
        return self._sparse is not None and self._sparse.rows is not None

    @property
    def is_nested(self) -> bool:
        return self._lengths is not None

    @property
    def shape(self) -> Size:
        """The sizes; while traced, 0-dim tensors that stand for them."""
        if (tracer := active_tracer()) is not None:
            return Size(tracer.size(self, dim) for dim in range(self._array.ndim))
        if self._lengths is not None:
            raise OperatorError(NO_SIZES)
        return tuple.__new__(Size, self._array.shape)  # of ints: nothing to check

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def device(self) -> device:
        return device_of(self)

    @property
    def is_cpu(self) -> bool:
        return not self.is_cuda

    @property
    def is_cuda(self) -> bool:
        return MODES.has_gpus and device_of(self).type == "cuda"

    @property
    def layout(self) -> Layout:
        if self._sparse is None:
            return strided
        return sparse_coo if self._sparse.rows is None else sparse_csr

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        count = self._array.size if self._lengths is None else call("aten::numel", (self,))
        return int(count * self.dtype.itemsize)

    @property
    def data(self) -> Any:
        """The same memory without the gradient flag; assigning replaces the memory."""
        made = make(self._array, self.dtype)
        made._sign, made._lengths = self._sign, self._lengths
        return made

    @data.setter
    def data(self, source: TensorBase) -> None:
        if not isinstance(source, TensorBase):
            kind = type(source).__name__
            raise ArgumentError(f"Variable data has to be a tensor, but got {kind}")
        self._array, self.dtype, self._sign = source._array, source.dtype, source._sign
        self._lengths = source._lengths

    @property
    def T(self) -> Any:
        return call("aten::numpy_T", (self,))

    @property
    def mT(self) -> Any:
        return call("aten::mT", (self,))

    @property
    def mH(self) -> Any:
        return call("aten::mH", (self,))

    @property
    def H(self) -> Any:
        return call("aten::matrix_H", (self,))

    @property
    def real(self) -> Any:
        return call("aten::real", (self,)) if self.dtype.is_complex else self

    @real.setter
    def real(self, value: Any) -> None:
        call("aten::real", (self,))[...] = value

    @property
    def imag(self) -> Any:
        return call("aten::imag", (self,))

    @imag.setter
    def imag(self, value: Any) -> None:
        call("aten::imag", (self,))[...] = value

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or the size of one dimension."""
        if dim is None:
            return self.shape
        if (tracer := active_tracer()) is not None:
            return tracer.size(self, dim)
        if isinstance(dim, str):
            raise ArgumentError("size(): argument 'dim' (position 1) must be int, not str")
        return call("aten::size", (self, dim))

    def dim(self) -> int:
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        if (tracer := active_tracer()) is not None:
            return tracer.count(self)  # type: ignore[no-any-return]  # a tensor that stands for it
        if self._lengths is not None:
            return int(call("aten::numel", (self,)))
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements."""
        if self._lengths is not None:
            raise OperatorError(NO_STRIDES)
        found = element_strides(self._array)
        if dim is None:
            return found
        if not found:
            raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
        least, most = -len(found), len(found) - 1
        if not least <= dim <= most:
            raise DimensionError(
                "Dimension out of range (expected to be in range of "
                f"[{least}, {most}], but got {dim})"
            )
        return found[dim]

    def storage_offset(self) -> int:
        """Elements between the start of the memory this is a view of and the first element."""
        start = owner(self._array).__array_interface__["data"][0]
        first = self._array.__array_interface__["data"][0]
        return int((first - start) // self.dtype.itemsize)

    def data_ptr(self) -> int:
        """The address of the first element; 0 of a tensor without elements."""
        if not self._array.size:
            return 0
        return int(self._array.__array_interface__["data"][0])

    def untyped_storage(self) -> UntypedStorage:
        """The memory that this tensor is a view of."""
        return storage_of(self)

    def storage(self) -> TypedStorage:
        """The same as elements, with a warning that PyTorch will remove the class."""
        return typed_storage_of(self)

    def _typed_storage(self) -> TypedStorage:
        return quiet_typed_storage_of(self)

    def storage_type(self) -> Any:
        """The class of the storage."""
        return TypedStorage

    def get_device(self) -> int:
        """The number of the GPU; -1 on the CPU."""
        found = device_of(self).index
        return -1 if found is None else found

    def type(self, dtype: DType | str | None = None) -> Any:
        """The type's name (`torch.FloatTensor`), or a conversion to `dtype`."""
        if dtype is None:
            return f"torch.{'cuda.' if self.is_cuda else ''}{self.dtype.word}Tensor"
        if (wanted := of_python(dtype) or dtype) in BY_NAME.values():
            return call("aten::to", (self, wanted))
        named = _named_type(dtype) if isinstance(dtype, str) else getattr(dtype, "dtype", dtype)
        if not isinstance(named, DType):
            raise ArgumentError("dtype must be a type, str, or dtype object")
        to_gpu = isinstance(dtype, str) and dtype.startswith("torch.cuda.")
        where = device("cuda") if to_gpu else self.device
        return call_overload("aten::to.device", (self, where, named, False, False, None))

    def dim_order(self, *, ambiguity_check: bool | list[MemoryFormat] = False) -> tuple[int, ...]:
        """The dimensions from the one whose neighbours lie farthest apart to the closest.

        Args:
            ambiguity_check: True refuses tensors whose strides allow several orders; formats refuse
                those whose elements lie in two of them.

        Raises:
            ArgumentError: neither a bool nor a list of memory formats.
            OperatorError: the order is ambiguous.
        """
        if not _is_ambiguity_check(ambiguity_check):
            raise ArgumentError(
                "The ambiguity_check argument must be a bool or a list of memory formats."
            )
        steps = element_strides(self._array)
        order = tuple(sorted(range(self._array.ndim), key=lambda dim: -steps[dim]))
        if isinstance(ambiguity_check, list):
            several = sum(is_in_format(self._array, f) for f in ambiguity_check) > 1
        else:
            sizes = self._array.shape
            pairs = pairwise(order)
            several = ambiguity_check and any(
                1 in (sizes[d], sizes[e]) or steps[d] == steps[e] for d, e in pairs
            )
        if several:
            raise OperatorError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
        return order

    @property
    def _version(self) -> int:
        """How often in-place operators have written to this memory, here or through a view."""
        return 0 if self._writes is None else self._writes[0]

    def _is_view(self) -> bool:
        """Whether an operator made this tensor as a view of another."""
        return self._base is not None

    def is_shared(self) -> bool:
        """Whether other processes see the memory: never."""
        return False

    def share_memory_(self) -> Any:
        """The tensor itself: programs run in one process."""
        return self

    def to_sparse_coo(self) -> Any:
        """The elements that are not zero, by coordinates."""
        return call("aten::to_sparse", (self,))

    def to_dense(self, dtype: DType | None = None, *, masked_grad: bool = True) -> Any:
        """The tensor itself, in `dtype` if one is given; a sparse one with all its elements."""
        if self._sparse is not None:
            return call("aten::to_dense", (self, dtype))
        return self if dtype is None else call("aten::to", (self, dtype))

    def is_inference(self) -> bool:
        """Whether `inference_mode` made the tensor; no difference is kept here."""
        return False


def _is_ambiguity_check(given: Any) -> bool:
    if isinstance(given, list):
        return all(isinstance(f, MemoryFormat) for f in given)
    return isinstance(given, bool)


def _named_type(name: str) -> DType:
    """The dtype of `torch.LongTensor` or `torch.int64`.

    Raises:
        ValueRangeError: no such type.
    """
    short = name.removeprefix("torch.").removeprefix("cuda.")
    is_named = short.endswith("Tensor") or short != name
    found = BY_WORD.get(short.removesuffix("Tensor")) or BY_NAME.get(short)
    found = found if is_named else None
    if found is None:
        raise ValueRangeError(f"invalid type: {name!r}")
    return found

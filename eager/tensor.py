"""Tensor: a NumPy array with PyTorch's face.

Operators and methods are not written out: an attribute that is the name of an `aten` operator is a
method that dispatches to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, SupportsIndex

import numpy as np

from tensorscript.base import dtypes
from tensorscript.base.dtypes import BY_NAME, DType, bfloat16
from tensorscript.base.errors import ArgumentError, DimensionError, OperatorError, ValueRangeError
from tensorscript.base.schema import has_operator

from . import foreign, subscript
from .composites import METHODS
from .device import CPU, Layout, device, strided
from .dispatch import call
from .indexing import gather, split
from .printing import tensor_text
from .storage import TENSOR_CLASS, Array, TensorBase, promoted, to_storage, value
from .tracing import active_tracer


class Size(tuple[int, ...]):
    """The sizes of a tensor."""

    __slots__ = ()

    def numel(self) -> int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))


_WORDS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
    "int": "int32", "long": "int64", "short": "int16", "char": "int8", "byte": "uint8",
    "bool": "bool", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
_NOT_METHODS = frozenset({"tensor", "zeros", "ones", "arange", "rand", "randn", "cat", "stack"})


def _operator(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """`x + y`, or with `swapped` `y + x`, as the operator `name`.

    A plain function: were it a new object at each look-up, as a partial method is, Python would
    take a subclass to have overridden it and ask the right operand first.
    """

    def run(self: Any, other: Any) -> Any:
        return self._binary(other, name, swapped)

    return run


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    """`x += y` as the operator `name`."""

    def run(self: Any, other: Any) -> Any:
        return call(name, (self, other))

    return run


class _Operators(type):
    """`Tensor.add(x, y)`: a method taken from the class is the operator itself."""

    def __getattr__(cls, name: str) -> Callable[..., Any]:
        if name.startswith("__") or not _is_method(name):
            raise AttributeError(f"type object 'Tensor' has no attribute '{name}'")
        return partial(_unbound, name)


def _unbound(name: str, self: Tensor, *args: Any, **kwargs: Any) -> Any:
    return getattr(self, name)(*args, **kwargs)


def _is_method(name: str) -> bool:
    known = name not in _NOT_METHODS and has_operator(f"aten::{name}")
    return name in _WORDS or name in METHODS or known


class Tensor(TensorBase, metaclass=_Operators):
    """Elements of one dtype in `shape`; views share memory with their base.

    Every `aten` operator whose first argument takes a tensor is a method.
    """

    __slots__ = ("__dict__",)
    __array_priority__ = 1000
    __hash__ = object.__hash__

    # -- what it is ---------------------------------------------------------------------------
    @property
    def shape(self) -> Size:
        """The sizes; while traced, 0-dim tensors that stand for them."""
        if (tracer := active_tracer()) is not None:
            return Size(tracer.size(self, dim) for dim in range(self._array.ndim))
        return Size(self._array.shape)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def device(self) -> device:
        return CPU

    @property
    def layout(self) -> Layout:
        return strided

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.size * self.dtype.itemsize

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def is_quantized(self) -> bool:
        return False

    @property
    def is_mkldnn(self) -> bool:
        return False

    @property
    def is_nested(self) -> bool:
        return False

    @property
    def is_leaf(self) -> bool:
        return True

    @property
    def grad(self) -> None:
        """Always None: eager mode records no gradients."""
        return None

    @property
    def data(self) -> Tensor:
        """The same memory without the gradient flag; assigning replaces the memory."""
        return Tensor(self._array, self.dtype)

    @data.setter
    def data(self, source: Tensor) -> None:
        self._array, self.dtype = source._array, source.dtype

    @property
    def T(self) -> Tensor:
        return self._tensor("numpy_T")

    @property
    def mT(self) -> Tensor:
        return self._tensor("mT")

    @property
    def mH(self) -> Tensor:
        return self._tensor("mH")

    @property
    def H(self) -> Tensor:
        return self._tensor("matrix_H")

    @property
    def real(self) -> Tensor:
        return self._tensor("real")

    @property
    def imag(self) -> Tensor:
        return self._tensor("imag")

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or the size of one dimension."""
        if dim is None:
            return self.shape
        if (tracer := active_tracer()) is not None:
            return tracer.size(self, dim)
        return call("aten::size", (self, dim))

    def dim(self) -> int:
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        if (tracer := active_tracer()) is not None:
            return tracer.count(self)  # type: ignore[no-any-return]  # a tensor that stands for it
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements."""
        found = strides(self)
        return found if dim is None else found[dim]

    def storage_offset(self) -> int:
        """Elements between the start of the memory this is a view of and the first element."""
        base = self._array
        while isinstance(base.base, np.ndarray):
            base = base.base
        distance = self._array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return int(distance // self.dtype.itemsize)

    def data_ptr(self) -> int:
        return int(self._array.__array_interface__["data"][0])

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if requires_grad and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise OperatorError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.requires_grad = requires_grad
        return self

    def get_device(self) -> int:
        return -1

    def type(self, dtype: DType | str | None = None) -> Any:
        """The type's name (`torch.FloatTensor`), or a conversion to `dtype`."""
        if dtype is None:
            return f"torch.{self.dtype.word}Tensor"
        return self.to(BY_NAME[dtype.removeprefix("torch.")] if isinstance(dtype, str) else dtype)

    # -- ways out -----------------------------------------------------------------------------
    def item(self) -> Any:
        """The only element as a Python number."""
        self._leaves("Python number")
        return self._only()

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Called by PyTorch when one of its functions is given a tensor of ours."""
        return foreign.call(function, args, kwargs or {})

    def _leaves(self, kind: str) -> None:
        """Tell the tracer that the value becomes a `kind`, which no trace can follow."""
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
        return value(self).tolist()

    def numpy(self, *, force: bool = False) -> Array:
        """The array itself, sharing memory; bfloat16 has no NumPy dtype.

        Raises:
            OperatorError: the gradient flag is set and `force` is not.
            ArgumentError: the dtype is bfloat16.
        """
        self._leaves("NumPy array")
        if self.requires_grad and not force:
            raise OperatorError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self.dtype is bfloat16:
            raise ArgumentError("Got unsupported ScalarType BFloat16")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self._leaves("NumPy array")
        found = value(self)
        return np.array(found, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def cpu(self) -> Tensor:
        return self

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
        return int(self._array.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise ArgumentError("iteration over a 0-d tensor")
        if (tracer := active_tracer()) is not None:
            tracer.uses_length("iteration")
        return iter(self._call("unbind", 0))

    def __contains__(self, element: object) -> bool:
        return bool(self._call("eq", element)._call("any"))

    def __repr__(self) -> str:
        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        """A 0-dim tensor is formatted as its number, any other as its text."""
        return format(self.item(), spec) if self._array.ndim == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        out = Tensor(self._array.copy(), self.dtype)
        out.requires_grad = self.requires_grad
        memo[id(self)] = out
        return out

    # -- indexing -----------------------------------------------------------------------------
    def __getitem__(self, index: Any) -> Tensor:
        if active_tracer() is not None:
            return subscript.get(self, index)  # type: ignore[no-any-return]  # always a Tensor
        view, advanced = split(self._array, index)
        if advanced is None:
            return Tensor(view, self.dtype)
        return Tensor(gather(view, advanced), self.dtype)

    def __setitem__(self, index: Any, source: Any) -> None:
        if active_tracer() is not None:
            subscript.put(self, index, source)
            return
        view, advanced = split(self._array, index)
        if isinstance(source, Tensor) and source.dtype is self.dtype:
            new: Array = source._array
        else:
            found = value(source) if isinstance(source, Tensor) else source
            new = to_storage(found, self.dtype)
        target = view if advanced is None else gather(view, advanced)
        while new.ndim > target.ndim and new.shape[0] == 1:
            new = new[0]
        if new.ndim > target.ndim or any(
            n not in (1, m) for n, m in zip(new.shape[::-1], target.shape[::-1], strict=False)
        ):
            raise OperatorError(
                f"shape mismatch: value tensor of shape {list(new.shape)} cannot be broadcast to "
                f"indexing result of shape {list(target.shape)}"
            )
        view[... if advanced is None else advanced] = new

    # -- conversions --------------------------------------------------------------------------
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Convert dtype and device; gives `self` back where nothing changes."""
        return call("aten::to", (self, *args), kwargs)  # type: ignore[no-any-return]

    def reshape(self, *shape: Any) -> Tensor:
        return self._tensor("reshape", *shape)

    def view(self, *shape: Any) -> Tensor:
        """A view of another shape, or of another dtype (`x.view(ts.int32)`)."""
        return self._tensor("view", *shape)

    def new_tensor(self, data: Any, *, dtype: DType | None = None) -> Tensor:
        return Tensor(
            np.array(to_storage(np.asarray(data), dtype or self.dtype)), dtype or self.dtype
        )

    def split(self, split_size: Any, dim: int = 0) -> Any:
        name = "split_with_sizes" if isinstance(split_size, (list, tuple)) else "split"
        return tuple(self._call(name, split_size, dim))

    def chunk(self, chunks: int, dim: int = 0) -> Any:
        return tuple(self._call("chunk", chunks, dim))

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """`self` where `condition` holds, else `other`."""
        result: Tensor = call("aten::where", (condition, self, other))
        return result

    def norm(
        self, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: DType | None = None
    ) -> Tensor:
        """The p-norm over all dimensions or some; "fro" is the 2-norm, "nuc" the sum of the
        singular values of a matrix."""
        dims = [dim] if isinstance(dim, int) else dim
        if p == "nuc":
            source = self if dtype is None else self.to(dtype)
            return source._tensor("linalg_matrix_norm", "nuc", dims or [-2, -1], keepdim)
        order = 2 if p in ("fro", None) else p
        return self._tensor("linalg_vector_norm", order, dims, keepdim, dtype=dtype)

    def unbind(self, dim: int = 0) -> Any:
        return tuple(self._call("unbind", dim))

    def _tensor(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        result: Tensor = call(f"aten::{name}", (self, *args), kwargs)
        return result

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return call(f"aten::{name}", (self, *args), kwargs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if (word := _WORDS.get(name)) is not None:
            return partial(self.to, BY_NAME[word])
        if (face := METHODS.get(name)) is not None:
            return partial(face, self)
        if name.startswith("__") or not _is_method(name):
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")
        return partial(call_method, self, f"aten::{name}")

    # -- operators ----------------------------------------------------------------------------
    def _binary(self, other: Any, name: str, swapped: bool = False) -> Any:
        if isinstance(other, np.generic):
            other = other.item()
        elif isinstance(other, np.ndarray):
            other = from_numpy(other)
        if not isinstance(other, (Tensor, bool, int, float, complex)):
            return NotImplemented
        if not swapped:
            return call(name, (self, other))
        if not isinstance(other, Tensor):
            dtype = promoted(self, other)
            other = Tensor(to_storage(np.asarray(other), dtype), dtype)
        return call(name, (other, self))

    __add__ = _operator("aten::add")
    __radd__ = _operator("aten::add")
    __sub__ = _operator("aten::sub")
    __rsub__ = _operator("aten::rsub")
    __mul__ = _operator("aten::mul")
    __rmul__ = _operator("aten::mul")
    __truediv__ = _operator("aten::div")
    __floordiv__ = _operator("aten::floor_divide")
    __rfloordiv__ = _operator("aten::floor_divide", swapped=True)
    __mod__ = _operator("aten::remainder")
    __pow__ = _operator("aten::pow")
    __matmul__ = _operator("aten::matmul")
    __and__ = _operator("aten::__and__")
    __rand__ = _operator("aten::bitwise_and")
    __or__ = _operator("aten::__or__")
    __ror__ = _operator("aten::bitwise_or")
    __xor__ = _operator("aten::__xor__")
    __rxor__ = _operator("aten::bitwise_xor")
    __lshift__ = _operator("aten::__lshift__")
    __rshift__ = _operator("aten::__rshift__")
    __lt__ = _operator("aten::lt")
    __le__ = _operator("aten::le")
    __gt__ = _operator("aten::gt")
    __ge__ = _operator("aten::ge")
    __iadd__ = _in_place("aten::add_")
    __isub__ = _in_place("aten::sub_")
    __imul__ = _in_place("aten::mul_")
    __itruediv__ = _in_place("aten::div_")
    __ifloordiv__ = _in_place("aten::floor_divide_")
    __imod__ = _in_place("aten::remainder_")
    __ipow__ = _in_place("aten::pow_")
    __iand__ = _in_place("aten::__iand__")
    __ior__ = _in_place("aten::__ior__")
    __ixor__ = _in_place("aten::__ixor__")

    def __eq__(self, other: object) -> Any:
        return self._binary(other, "aten::eq")

    def __ne__(self, other: object) -> Any:
        return self._binary(other, "aten::ne")

    def __rtruediv__(self, other: Any) -> Any:
        return self._tensor("reciprocal") * other

    __div__, __rdiv__ = __truediv__, __rtruediv__

    def __rmod__(self, other: Any) -> Any:
        return call("aten::remainder", (other, self))

    def __rpow__(self, base: Any) -> Any:
        return call("aten::pow", (base, self))

    def __rmatmul__(self, other: Any) -> Any:
        return call("aten::matmul", (other, self)) if isinstance(other, Tensor) else NotImplemented

    def __neg__(self) -> Tensor:
        return self._tensor("neg")

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return self._tensor("abs")

    def __rlshift__(self, other: Any) -> Any:
        return self._binary(other, "aten::bitwise_left_shift", swapped=True)

    def __rrshift__(self, other: Any) -> Any:
        return self._binary(other, "aten::bitwise_right_shift", swapped=True)

    def __invert__(self) -> Tensor:
        if self.dtype.is_floating_point or self.dtype.is_complex:
            raise ArgumentError(
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
            )
        return self._tensor("bitwise_not")

    def __round__(self, digits: SupportsIndex = 0) -> Tensor:
        return self._tensor("round", decimals=int(digits)) if digits else self._call("round")


TENSOR_CLASS.append(Tensor)


def strides(t: TensorBase) -> tuple[int, ...]:
    """Strides in elements."""
    width = t._array.itemsize
    return tuple(s // width for s in t._array.strides)


def call_method(self: Tensor, name: str, *args: Any, **kwargs: Any) -> Any:
    """A generated method: the operator on `self` and the arguments."""
    result = call(name, (self, *args), kwargs)
    return tuple(result) if type(result) is list else result


def from_numpy(array: Array) -> Tensor:
    """A tensor that shares memory with `array`.

    Raises:
        ArgumentError: not an array, or no tensor dtype corresponds.
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"expected np.ndarray (got {type(array).__name__})")
    if any(s < 0 for s in array.strides):
        raise ValueRangeError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported."
        )
    return Tensor(array, dtypes.from_numpy(array.dtype))


def from_dlpack(source: Any) -> Tensor:
    """A tensor that shares memory with any object of the DLPack protocol."""
    return from_numpy(np.from_dlpack(source))


def broadcast_shapes(*shapes: tuple[int, ...]) -> Size:
    """The common shape.

    Raises:
        DimensionError: they do not broadcast.
    """
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError as error:
        raise DimensionError(
            "Shape mismatch: objects cannot be broadcast to a single shape"
        ) from error

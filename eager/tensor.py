"""Tensor: a NumPy array with PyTorch's face.

Operators and methods are not written out: an attribute that is the name of an `aten` operator is a
method that dispatches to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from numbers import Number
from typing import Any, TypeVar

import numpy as np

from tensorscript.base.cpp_names import legacy_name
from tensorscript.base.dtypes import BY_NAME, DType, of_python
from tensorscript.base.errors import ArgumentError, OperatorError
from tensorscript.base.overlap import DEPRECATED
from tensorscript.base.scalar_range import check_range
from tensorscript.base.schema import has_operator, operator_names

from . import subscript
from .answering import (
    answer,
    ask_for_subclass,
    asking,
    method_of,
    never_answers,
    who_answers,
)
from .caution import warn
from .composites import METHODS
from .demands.index import check_put
from .device import device as Device
from .dispatch import call, call_overload
from .indexing import check_places, gather, kinds_of, selected, split
from .kernels.nested_rules import NO_SIZES
from .memory_sharing import check_apart, check_partial, check_repeats, is_onto_itself, repeats
from .modes import MODES
from .old_constructor import fill
from .placement import beside, placed
from .storage import TENSOR_CLASS, Array, TensorBase, shown, signed, to_storage, value
from .tensor_facts import TensorFacts
from .tensor_gradients import TensorGradients
from .tensor_operators import TensorOperators
from .tensor_values import TensorValues
from .tracing import active_tracer
from .tracking import check_leaf, depends, shares, written

_WORDS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
    "int": "int32", "long": "int64", "short": "int16", "char": "int8", "byte": "uint8",
    "bool": "bool", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
_COPIED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than "
    "tensor.new_tensor(sourceTensor)."
)
_NOT_METHODS = frozenset({"tensor", "zeros", "ones", "arange", "rand", "randn", "cat", "stack"})


_ONE_MASK = ([BY_NAME["bool"]], [BY_NAME["uint8"]])
_ASKING = (
    "H", "T", "__getitem__", "__iter__", "__reversed__", "__setitem__", "apply_", "backward",
    "chunk", "cpu", "cuda", "data", "detach_", "imag", "item", "mH", "mT", "map2_", "map_",
    "new_tensor", "norm", "numpy", "real", "requires_grad_", "reshape", "split", "to", "tolist",
    "type", "unbind", "view", "where",
)  # fmt: skip
"""Methods and properties that are written out, which subclasses answer."""


T = TypeVar("T")


class _Operators(type):
    """`Tensor.add(x, y)`: a method taken from the class is the operator itself."""

    def __getattr__(cls, name: str) -> Callable[..., Any]:
        if name.startswith("__") or not _is_method(name):
            raise AttributeError(f"type object 'Tensor' has no attribute '{name}'")
        return method_of(name)


@cache
def _method(name: str) -> Callable[..., Any]:
    """A method that is no operator on the same arguments."""
    return asking(METHODS[name], method_of(name))


def _no_fit(new: Array, target: Sequence[int], dtype: DType, plain: bool) -> str:
    """Why `new` does not fill the shape `target`, which plain indices selected or index tensors."""
    have, want = list(new.shape), list(target)
    lead = len(want) - len(have)
    if not plain:
        return (
            f"shape mismatch: value tensor of shape {have} cannot be broadcast to indexing result "
            f"of shape {want}"
        )
    if lead < 0:
        return (
            f"expand({legacy_name(dtype)}{{{have}}}, size={want}): the number of sizes provided "
            f"({len(want)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(have)})"
        )
    at = next(k for k in range(len(want))[::-1] if k < lead or have[k - lead] not in (1, want[k]))
    return (
        f"The expanded size of the tensor ({want[at]}) must match the existing size "
        f"({have[at - lead]}) at non-singleton dimension {at}.  Target sizes: {want}.  Tensor "
        f"sizes: {have}"
    )


def _assigned(source: Any, target: Tensor) -> Array:
    """A number or a tensor as elements for `target`, without leading dimensions of size 1.

    Raises:
        ArgumentError: neither.
        OperatorError: a number outside the range of the dtype.
    """
    if isinstance(source, TensorBase):
        same = source.dtype is target.dtype
        found = shown(source) if same else to_storage(value(source), target.dtype)
        while found.ndim and found.shape[0] == 1:
            found = found[0]
        return found
    if not isinstance(source, (bool, int, float, complex, np.generic)):
        kind = type(source)
        name = "numpy.ndarray" if kind is np.ndarray else kind.__name__
        raise ArgumentError(f"can't assign a {name} to a {target.type()}")
    number = source.item() if isinstance(source, np.generic) else source
    check_range(number, target.dtype, rounds_halves=True)
    with np.errstate(over="ignore"):
        return to_storage(np.asarray(number), target.dtype)


def _is_method(name: str) -> bool:
    known = name not in _NOT_METHODS and has_operator(f"aten::{name}")
    return name in _WORDS or name in METHODS or known


class Tensor(
    TensorFacts, TensorValues, TensorGradients, TensorOperators, TensorBase, metaclass=_Operators
):
    """Elements of one dtype in `shape`; views share memory with their base.

    Every `aten` operator whose first argument takes a tensor is a method. `Tensor(array, dtype)` is
    made over an array; `Tensor(2, 3)` and `Tensor([1, 2])` are PyTorch's old constructors.
    """

    __slots__ = ("__dict__",)

    def __init__(self, data: Any = (), dtype: Any = None, *sizes: Any) -> None:
        if type(dtype) is DType:
            TensorBase.__init__(self, data, dtype)
            return
        if (tracer := active_tracer()) is not None:
            tracer.builds("Tensor")
        fill(self, _given(data, () if dtype is None else (dtype, *sizes)), MODES.default_dtype)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        ask_for_subclass(cls, Tensor, _ASKING)

    def __dir__(self) -> Iterable[str]:
        names = (name.removeprefix("aten::") for name in operator_names())
        methods = (name for name in names if _is_method(name))
        return sorted({*object.__dir__(self), *_WORDS, *METHODS, *methods})

    # -- indexing -----------------------------------------------------------------------------
    def __getitem__(self, index: Any) -> Tensor:
        if active_tracer() is not None or self._reads_otherwise():
            return subscript.get(self, index)  # type: ignore[no-any-return]  # always a Tensor
        view, advanced = split(self._array, index)
        found = view if advanced is None else beside(gather(view, advanced), view)
        made = Tensor(found, self.dtype)
        if advanced is None:
            shares(made, self)
        if self.requires_grad:
            depends(made, (self,))
        return made

    def __setitem__(self, index: Any, source: Any) -> None:
        if active_tracer() is not None or self._sign is not None:
            subscript.put(self, index, source)
            return
        if self._lengths is not None:
            raise OperatorError(NO_SIZES)
        check_leaf(self)
        new = _assigned(source, self)
        if index is False:
            return
        view, advanced = split(self._array, index)
        plain = advanced is None or index is True
        kinds = [] if advanced is None or plain else kinds_of(index, advanced)
        if kinds in _ONE_MASK and new.size == 1:
            check_put(self, kinds, source)
        target = view.shape if advanced is None else selected(view, advanced)
        if new.ndim > len(target) or any(
            n not in (1, m) for n, m in zip(new.shape[::-1], target[::-1], strict=False)
        ):
            raise OperatorError(_no_fit(new, target, getattr(source, "dtype", self.dtype), plain))
        if advanced is not None:
            if kinds and isinstance(source, Tensor):
                check_put(self, kinds, source)
            check_places(view, advanced, target)
        if plain and is_onto_itself(self, view, source):
            written(self)
            return
        if plain:
            check_repeats(view)
        elif repeats(view):
            warn(DEPRECATED["aten::index_put_"])
            if new.size == 1 and kinds in _ONE_MASK:
                warn(DEPRECATED["aten::masked_fill_"])  # which PyTorch hands such writes to
        if isinstance(source, Tensor) and plain and new.shape == view.shape:
            check_partial(view, new)
        elif isinstance(source, Tensor) and advanced is not None and source._array.size > 1:
            check_apart(view, source._array)
        if 0 not in target:
            view[... if advanced is None else advanced] = new
        written(self)
        depends(self, (source,))

    # -- conversions --------------------------------------------------------------------------
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Convert dtype and device (an int is a GPU's); gives `self` back where nothing changes."""
        if args and type(args[0]) is int:
            args = (Device(args[0]), *args[1:])
        return self._call("to", *args, **kwargs)  # type: ignore[no-any-return]  # a Tensor

    def reshape(self, *shape: Any) -> Tensor:
        return self._call("reshape", *shape)  # type: ignore[no-any-return]  # a Tensor

    def view(self, *shape: Any, **named: Any) -> Tensor:
        """A view of another shape, or of another dtype (`x.view(ts.int32)`)."""
        return self._call("view", *shape, **named)  # type: ignore[no-any-return]  # a Tensor

    def new_tensor(
        self, data: Any, *, dtype: DType | None = None, device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        """A copy of `data` in the dtype of this tensor or another."""
        kind = of_python(dtype) or dtype or self.dtype
        if isinstance(data, Tensor):
            warn(_COPIED)
            there = self.device if device is None else Device(device)
            given = (data.detach(), there, kind, False, True, None)
            made: Tensor = call_overload("aten::to.device", given).detach()
        else:
            made = Tensor.__new__(Tensor)
            elements = list(data) if isinstance(data, (list, tuple)) else np.asarray(data)
            fill(made, (elements,), kind, copies=True)
            made = placed(made, self.device if device is None else device)
            made = made.detach() if active_tracer() is not None else made
        made.requires_grad = requires_grad
        return made

    def new(self, *data: Any, size: Any = None) -> Tensor:
        """PyTorch's old constructor in the dtype of this tensor."""
        made = Tensor.__new__(Tensor)
        fill(made, data if size is None else tuple(size), self.dtype, self.dtype)
        return placed(made, self.device)  # type: ignore[no-any-return]  # a Tensor

    def as_subclass(self, cls: type[T]) -> T:
        """The same memory as a tensor of another class."""
        made = object.__new__(cls)
        assert isinstance(made, TensorBase)
        fill(made, (self,), self.dtype)
        made._requires_grad, made._sign = self.requires_grad, self._sign
        return made

    def apply_(self, function: Callable[[Any], Any]) -> Tensor:
        """Put a Python function of each element in its place."""
        self._refuse_gradient("apply_", self)
        found = [function(x) for x in value(self).reshape(-1).tolist()]
        odd = next((x for x in found if not isinstance(x, Number)), None)
        if odd is not None:
            raise TypeError(f"must be real number, not {type(odd).__name__}")
        stored = to_storage(np.asarray(found), self.dtype)
        if self._sign is not None:
            stored = signed(stored, self._sign, self.dtype)
        self._array[...] = stored.reshape(self._array.shape)
        return self

    @staticmethod
    def _refuse_gradient(name: str, *operands: Tensor) -> None:
        if any(t.requires_grad for t in operands):
            raise OperatorError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
                "instead."
            )

    def map_(self, other: Tensor, function: Callable[[Any, Any], Any]) -> Tensor:
        """Put a Python function of each element and that of `other` in its place."""
        self._refuse_gradient("map_", self, other)
        theirs = iter(np.broadcast_to(value(other), self._array.shape).reshape(-1).tolist())
        return self.apply_(lambda x: function(x, next(theirs)))

    def map2_(self, x: Tensor, y: Tensor, function: Callable[[Any, Any, Any], Any]) -> Tensor:
        """Put a Python function of each element and those of `x` and `y` in its place."""
        self._refuse_gradient("map2_", self, x, y)
        shape = self._array.shape
        pairs = zip(*(np.broadcast_to(value(t), shape).reshape(-1).tolist() for t in (x, y)),
                    strict=True)  # fmt: skip
        return self.apply_(lambda own: function(own, *next(pairs)))

    def __delitem__(self, index: Any) -> None:
        raise ArgumentError("Tensor does not support deleting items")

    def __reversed__(self) -> Tensor:
        """The elements in the other order along the first dimension."""
        return self._tensor("flip", [0]) if self._array.ndim else self

    def split(self, split_size: Any, dim: int = 0) -> Any:
        return tuple(call_split(self, split_size, dim))

    def chunk(self, *args: Any, **named: Any) -> Any:
        return tuple(self._call("chunk", *args, **named))

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
            return source._tensor(
                "linalg_matrix_norm", "nuc", dims or [*range(self.dim())], keepdim
            )
        order = 2 if p in ("fro", None) else p
        return self._tensor("linalg_vector_norm", order, dims, keepdim, dtype=dtype)

    def unbind(self, *args: Any, **named: Any) -> Any:
        return tuple(self._call("unbind", *args, **named))

    def _tensor(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        result: Tensor = call(f"aten::{name}", (self, *args), kwargs)
        return result

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return call(f"aten::{name}", (self, *args), kwargs, public=True, method=True)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if (word := _WORDS.get(name)) is not None:
            return partial(self.to, BY_NAME[word])
        if name in METHODS:
            return partial(_method(name), self)
        if name.startswith("__") or not _is_method(name):
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")
        return partial(call_method, self, f"aten::{name}")


TENSOR_CLASS[0] = never_answers(Tensor)


def _given(first: Any, more: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an old constructor: none for `Tensor()`."""
    return () if type(first) is tuple and not first and not more else (first, *more)


def call_split(tensor: Any, size: Any, dim: int) -> Any:
    """Pieces of one size, or of those in a list."""
    is_size = isinstance(size, (int, np.integer, TensorBase))
    chosen = "aten::split" if is_size else "aten::split_with_sizes"
    sizes = int(size) if isinstance(size, Tensor) else size  # read here: a constant of a trace
    return call(chosen, (tensor, sizes, dim), public=True)


def call_method(self: Tensor, name: str, *args: Any, **kwargs: Any) -> Any:
    """A generated method: the operator on `self` and the arguments; those that make tensors
    (`new_zeros`) take `requires_grad`."""
    if asked := who_answers((self, *args), kwargs):
        return answer(method_of(name.removeprefix("aten::")), asked, (self, *args), kwargs)
    grad = kwargs.pop("requires_grad", False) if name.startswith("aten::new_") else False
    result = call(name, (self, *args), kwargs, public=True, method=True)
    if grad:
        return result.requires_grad_()
    return tuple(result) if type(result) is list else result

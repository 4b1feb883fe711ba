"""Python's operators on tensors: each is an `aten` operator on the two operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bfloat16
from tensorscript.base.dtypes import from_numpy as of_array
from tensorscript.base.errors import ArgumentError

from .answering import NoAnswer, answer, demand_tensor, method_of, who_answers
from .dispatch import call
from .exchange import from_numpy
from .storage import TensorBase
from .tracing import number_beside

_TENSORS_ONLY = frozenset(("aten::floor_divide",))
"""Operators of which no overload takes a number in front."""
_NO_NAMES: dict[str, Any] = {}


def _operator(method: str, name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """The `method` of `x + y`, or with `swapped` of `y + x`, as the operator `name`.

    A plain function: were it a new object at each look-up, as a partial method is, Python would
    take a subclass to have overridden it and ask the right operand first.
    """

    def run(self: Any, other: Any) -> Any:
        demand_tensor(self, method)
        if isinstance(other, np.ndarray):
            self, other = _as_numpy_would(self, from_numpy(other))
        return self._binary(other, name, swapped)

    return run


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    """`x += y` as the operator `name`."""

    def run(self: Any, other: Any) -> Any:
        return self._binary(other, name)

    return run


def _as_numpy_would(tensor: Any, array: Any) -> tuple[Any, Any]:
    """A tensor and an array in the dtype that NumPy computes them in, as PyTorch lets it."""
    if tensor.dtype is bfloat16 or tensor.dtype is array.dtype:
        return tensor, array
    dtype = of_array(np.result_type(tensor.dtype.numpy, array.dtype.numpy))
    return tensor.to(dtype), array.to(dtype)


def _operand_answers(name: str, asked: Sequence[Any], operands: tuple[Any, Any]) -> Any:
    """What an operand says of the operator; Python asks its own operators where it says nothing."""
    try:
        return answer(method_of(name.removeprefix("aten::")), asked, operands, _NO_NAMES)
    except NoAnswer:
        return NotImplemented


class TensorOperators(TensorBase):
    """`x + y`, `x @ y`, `x == y`, `x += y` and their kind."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def _unary(self, name: str) -> Any:
        if asked := who_answers((self,), _NO_NAMES):
            return answer(method_of(name), asked, (self,), _NO_NAMES)
        return call(f"aten::{name}", (self,))

    def _binary(self, other: Any, name: str, swapped: bool = False) -> Any:
        if asked := who_answers((self, other), _NO_NAMES):
            return _operand_answers(name, asked, (self, other))
        if isinstance(other, np.generic):
            other = other.item()
        elif isinstance(other, np.ndarray):
            other = from_numpy(other)
        if not isinstance(other, (TensorBase, bool, int, float, complex)):
            return NotImplemented
        if not swapped:
            return call(name, (self, other))
        takes = isinstance(other, TensorBase) or name not in _TENSORS_ONLY
        return call(name, (other if takes else number_beside(self, other), self))

    __add__ = _operator("__add__", "aten::add")
    __radd__ = _operator("__radd__", "aten::add")
    __sub__ = _operator("__sub__", "aten::sub")
    __rsub__ = _operator("__rsub__", "aten::rsub")
    __mul__ = _operator("__mul__", "aten::mul")
    __rmul__ = _operator("__rmul__", "aten::mul")
    __truediv__ = _operator("__truediv__", "aten::div")
    __floordiv__ = _operator("__floordiv__", "aten::floor_divide")
    __rfloordiv__ = _operator("__rfloordiv__", "aten::floor_divide", swapped=True)
    __mod__ = _operator("__mod__", "aten::remainder")
    __pow__ = _operator("__pow__", "aten::pow")

    def __matmul__(self, other: Any) -> Any:
        is_no_matrix = isinstance(other, (bool, int, float, complex, np.generic, np.ndarray))
        return NotImplemented if is_no_matrix else self._binary(other, "aten::matmul")

    __and__ = _operator("__and__", "aten::__and__")
    __rand__ = _operator("__rand__", "aten::bitwise_and")
    __or__ = _operator("__or__", "aten::__or__")
    __ror__ = _operator("__ror__", "aten::bitwise_or")
    __xor__ = _operator("__xor__", "aten::__xor__")
    __rxor__ = _operator("__rxor__", "aten::bitwise_xor")
    __lshift__ = _operator("__lshift__", "aten::__lshift__")
    __rshift__ = _operator("__rshift__", "aten::__rshift__")
    __lt__ = _operator("__lt__", "aten::lt")
    __le__ = _operator("__le__", "aten::le")
    __gt__ = _operator("__gt__", "aten::gt")
    __ge__ = _operator("__ge__", "aten::ge")
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
    __ilshift__ = _in_place("aten::__ilshift__")
    __irshift__ = _in_place("aten::__irshift__")

    def __eq__(self, other: object) -> Any:
        return self._binary(other, "aten::eq")

    def __ne__(self, other: object) -> Any:
        return self._binary(other, "aten::ne")

    def __rtruediv__(self, other: Any) -> Any:
        return self._unary("reciprocal") * other

    __div__, __rdiv__ = __truediv__, __rtruediv__

    def __rmod__(self, other: Any) -> Any:
        return call("aten::remainder", (other, self))

    def __rpow__(self, other: Any) -> Any:
        return call("aten::pow", (other, self))

    def __rmatmul__(self, other: Any) -> Any:
        return (
            call("aten::matmul", (other, self)) if isinstance(other, TensorBase) else NotImplemented
        )

    def __neg__(self) -> Any:
        return self._unary("neg")

    def __pos__(self) -> Any:
        return self._unary("positive")

    def __abs__(self) -> Any:
        return self._unary("abs")

    def __rlshift__(self, other: Any) -> Any:
        return self._binary(other, "aten::bitwise_left_shift", swapped=True)

    def __rrshift__(self, other: Any) -> Any:
        return self._binary(other, "aten::bitwise_right_shift", swapped=True)

    def __invert__(self) -> Any:
        if self.dtype.is_floating_point or self.dtype.is_complex:
            raise ArgumentError(
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
            )
        return self._unary("bitwise_not")

"""What operators ask of the tensors that they write: `out=`, and `self` of the in-place forms."""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import bool_, complex128, float64, int64, uint8

from ..kernels.random import check_drawn
from ..storage import promoted
from .words import Demand, each, require


def _boolean_result(name: str) -> Demand:
    """`all` and `any` write bools, or bytes."""

    def check(*bound: Any) -> None:
        found = bound[-1].dtype
        require(
            found in (bool_, uint8),
            f"{name} only supports bool tensor for result, got: {found.word}",
        )

    return check


def _only_boolean(name: str) -> Demand:
    return lambda *bound: require(
        bound[-1].dtype is bool_, f"{name} does not support non-boolean outputs."
    )


def _nonzero(self: Any, out: Any) -> None:
    require(
        out.dtype is int64,
        "nonzero: Expected out tensor to have scalar type Long but got scalar type"
        f"{out.dtype.word}",
    )


def _double(what: str, base: Any, exponent: Any, written: Any) -> None:
    dtype = complex128 if promoted(base, exponent).is_complex else float64
    require(
        written.dtype is dtype,
        f"the {what} has dtype {written.dtype.word} but the operation's result requires dtype "
        f"{dtype.word}",
    )


def _float_power_out(base: Any, exponent: Any, out: Any) -> None:
    _double("output given to float_power", base, exponent, out)


def _float_power_in_place(base: Any, exponent: Any) -> None:
    _double("base given to float_power_", base, exponent, base)


def _abs_in_place(self: Any) -> None:
    require(not self.dtype.is_complex, "In-place abs is not supported for complex tensors.")


def _polygamma_in_place(self: Any, n: int) -> None:
    require(
        self.dtype.is_floating_point,
        f"result type Float can't be cast to the desired output type {self.dtype.word}",
    )


def _random(self: Any, low: int, high: int | None, generator: Any = None) -> None:
    """The integers that are drawn are numbers of the dtype."""
    if high is not None:
        check_drawn(low, high, self.dtype)


WRITTEN: dict[str, Demand] = {
    **{
        f"aten::{name}.{overload}": _boolean_result(name)
        for name in ("all", "any")
        for overload in ("out", "dims_out", "all_out")
    },
    **{f"aten::{name}.out": _only_boolean(name) for name in ("isposinf", "isneginf")},
    "aten::nonzero.out": _nonzero,
    **{
        f"aten::float_power.{overload}_out": _float_power_out
        for overload in ("Tensor_Tensor", "Tensor_Scalar", "Scalar")
    },
    **each(_float_power_in_place, "float_power_.Tensor", "float_power_.Scalar"),
    **each(_abs_in_place, "abs_", "absolute_"),
    "aten::polygamma_": _polygamma_in_place,
    "aten::random_.from": _random,
    "aten::random_.to": lambda self, to, generator=None: _random(self, 0, to),
}
"""Overloads to what they ask, in the words of PyTorch."""

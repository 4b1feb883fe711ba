"""What each operator computes: one table, merged from one table a family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import activation, comparison, creation, elementwise, reduction, view

KERNELS: dict[str, Callable[..., Any]] = {
    **elementwise.KERNELS,
    **comparison.KERNELS,
    **reduction.KERNELS,
    **view.KERNELS,
    **creation.KERNELS,
    **activation.KERNELS,
}
"""Overload name ("aten::add.Tensor") to a function of all its arguments in schema order."""

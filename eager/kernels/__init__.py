"""What each operator computes: one table, merged from one table a family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    activation,
    comparison,
    container,
    convolution,
    creation,
    elementwise,
    fft,
    index,
    linalg,
    loss,
    normalization,
    pooling,
    query,
    random,
    recurrent,
    reduction,
    resize,
    scalar,
    sort,
    view,
)

KERNELS: dict[str, Callable[..., Any]] = {
    **elementwise.KERNELS,
    **comparison.KERNELS,
    **reduction.KERNELS,
    **view.KERNELS,
    **creation.KERNELS,
    **activation.KERNELS,
    **linalg.KERNELS,
    **convolution.KERNELS,
    **pooling.KERNELS,
    **normalization.KERNELS,
    **index.KERNELS,
    **sort.KERNELS,
    **random.KERNELS,
    **loss.KERNELS,
    **fft.KERNELS,
    **resize.KERNELS,
    **recurrent.KERNELS,
    **scalar.KERNELS,
    **container.KERNELS,
    **query.KERNELS,
}
"""Overload name ("aten::add.Tensor") to a function of all its arguments in schema order."""

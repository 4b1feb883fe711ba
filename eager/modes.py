"""What eager operators read besides their arguments: default dtype, gradient and autocast modes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import field
from typing import Any, TypeVar

import numpy as np

from tensorscript.base.dtypes import DType, bfloat16, float32
from tensorscript.base.errors import ArgumentError
from tensorscript.base.records import dataclass


@dataclass
class Modes:
    """The process's eager settings. Nothing below the eager folder reads them.

    Attributes:
        grad_byte: `grad_enabled` once more, where native code can read it.
        has_readings: some tensor was made whose elements are not read as they are stored
            (`storage.Reading`), or that lies on a GPU; until then no operator looks for one among
            its arguments.
        has_gpus: a tensor was put on a GPU, or new ones are to be made there (`placement`).
    """

    default_dtype: DType = float32
    grad_enabled: bool = True
    autocast_enabled: bool = False
    autocast_dtype: DType = bfloat16
    inference: bool = False
    deterministic: bool = False
    deterministic_warns: bool = False
    matmul_precision: str = "highest"
    warns_always: bool = False
    has_readings: bool = False
    has_gpus: bool = False
    grad_byte: np.ndarray = field(default_factory=lambda: np.ones(1, np.uint8))


MODES = Modes()


def switch_gradients(enabled: bool) -> None:
    """Record gradients from now on, or not; the only place that changes it."""
    MODES.grad_enabled = enabled
    MODES.grad_byte[0] = enabled


def get_default_dtype() -> DType:
    return MODES.default_dtype


def set_default_dtype(d: DType) -> None:
    """Set the dtype of new floating-point tensors.

    Raises:
        ArgumentError: `d` is not a floating-point dtype.
    """
    if not isinstance(d, DType):
        raise ArgumentError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if not d.is_floating_point:
        raise ArgumentError("only floating-point types are supported as the default type")
    MODES.default_dtype = d


def is_grad_enabled() -> bool:
    return MODES.grad_enabled


F = TypeVar("F", bound=Callable[..., Any])


class GradMode(ContextDecorator):
    """A `with` block, or a decorator of functions, in which gradients are on or off."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(MODES.grad_enabled)
        switch_gradients(self.enabled)

    def __exit__(self, *exception: object) -> None:
        switch_gradients(self._before.pop())


class InferenceMode(GradMode):
    """As `no_grad`, and `is_inference_mode_enabled()` is True; `mode=False` ends it."""

    def __init__(self, mode: bool) -> None:
        super().__init__(not mode)
        self._mode = mode
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        super().__enter__()
        self._outer.append(MODES.inference)
        MODES.inference = self._mode

    def __exit__(self, *exception: object) -> None:
        MODES.inference = self._outer.pop()
        super().__exit__(*exception)


class set_grad_enabled(GradMode):
    """Sets the mode at once; as the object of a `with`, for the block only."""

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self._at_first = MODES.grad_enabled
        switch_gradients(self.enabled)

    def __enter__(self) -> None:
        self._before.append(self._at_first)
        switch_gradients(self.enabled)

    def __call__(self, function: F) -> F:
        switch_gradients(self._at_first)
        return GradMode(self.enabled)(function)


def no_grad(function: Any = None) -> Any:
    """Inside, `is_grad_enabled()` is False: `with no_grad():`, `@no_grad()`, `@no_grad`."""
    return GradMode(False) if function is None else GradMode(False)(function)


def enable_grad(function: Any = None) -> Any:
    """Inside, `is_grad_enabled()` is True; forms as of `no_grad`."""
    return GradMode(True) if function is None else GradMode(True)(function)


def inference_mode(mode: Any = True) -> Any:
    """Inside, gradients are off and `is_inference_mode_enabled()` is True."""
    return InferenceMode(True)(mode) if callable(mode) else InferenceMode(bool(mode))


def is_inference_mode_enabled() -> bool:
    return MODES.inference

"""Rows on numbers, bools and strings: computed now if known, else as an expression.

Conversions, and what a script asks about its world, stand here.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable

from tensorscript.base.dtypes import bfloat16, float16, float64, int64
from tensorscript.base.text import float_of, integer_of
from tensorscript.dialects.te.expr import Expr

from .builder import Builder, Rows
from .elements import convert, known
from .scalar_arithmetic import ARITHMETIC
from .scalar_math import MATH
from .scalar_truth import TRUTH
from .scalar_values import is_unknown, tidy
from .values import Value


def _to_int(b: Builder, x: Value, *_: Value) -> Value:
    if isinstance(x, Expr):
        return known(convert(x, int64))
    if isinstance(x, float) and not math.isfinite(x):
        return -(2**63)
    return tidy(_of_text(b, integer_of, x) if isinstance(x, str) else int(x))


def _to_float(b: Builder, x: Value, *_: Value) -> Value:
    if isinstance(x, Expr):
        return known(convert(x, float64))
    return _of_text(b, float_of, x) if isinstance(x, str) else float(x)


def _of_text(b: Builder, convert: Callable[[str], Value], text: str) -> Value:
    try:
        return convert(text)
    except ValueError as error:
        return b.error(str(error))


def _complex(b: Builder, fn: Callable[..., complex], *parts: Value) -> complex:
    """A complex number of numbers, which have to be known."""
    if is_unknown(*parts):
        b.cannot("a complex number that is not known")
    return fn(*parts)


def _asked_gradients(b: Builder) -> Value:
    return b.cannot("a mode of gradients that is not known") if b.gradients is None else b.gradients


def _set_gradients(b: Builder, mode: Value, *_: Value) -> None:
    b.gradients = mode if isinstance(mode, bool) else None


SCALAR: Rows = {
    **ARITHMETIC,
    **TRUTH,
    **MATH,
    "aten::fabs": lambda b, x: ARITHMETIC["aten::abs"](b, _to_float(b, x)),
    "aten::Int": _to_int,
    "aten::IntImplicit": _to_int,
    "aten::Float": _to_float,
    "aten::FloatImplicit": _to_float,
    "aten::ScalarImplicit": lambda b, x: x,
    "aten::polar": lambda b, *parts: _complex(b, cmath.rect, *parts),
    "aten::Complex": lambda b, *parts: _complex(b, complex, *parts),
    "aten::is_grad_enabled": _asked_gradients,
    "aten::set_grad_enabled": _set_gradients,
    "aten::get_autocast_dtype": lambda b, device: (bfloat16 if device == "cpu" else float16).code,
    "aten::is_scripting": lambda b: True,
    "aten::_get_tracing_state": lambda b: False,
    "aten::has_torch_function": lambda b, *_: False,
}

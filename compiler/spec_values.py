"""Arrays of seeded random numbers in place of specs, where a program is to be run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bfloat16, bool_
from tensorscript.base.errors import UserError

from .specs import ScalarSpec, TensorSpec

SEED = 0


def values_of(inputs: Sequence[Any], sizes: Mapping[str, int]) -> list[Any]:
    """Inputs with an array in place of each spec.

    Args:
        sizes: of named dimensions.

    Raises:
        UserError: a spec that does not say enough to make a value, or a size that none asks for.
    """
    if unknown := sizes.keys() - _names(inputs):
        name = min(unknown)
        raise UserError(f"no input has a dimension {name!r}, whose size is given")
    random = np.random.default_rng(SEED)
    return [_value(given, sizes, random) for given in inputs]


def _names(inputs: Iterable[Any]) -> set[str]:
    """The names of dimensions in all specs."""
    found: set[str] = set()
    for given in inputs:
        if isinstance(given, list | tuple):
            found |= _names(given)
        elif isinstance(given, TensorSpec):
            found |= {size for size in given.shape if isinstance(size, str)}
    return found


def _value(given: Any, sizes: Mapping[str, int], random: np.random.Generator) -> Any:
    if isinstance(given, list | tuple):
        return type(given)(_value(item, sizes, random) for item in given)
    if isinstance(given, ScalarSpec):
        raise UserError(f"a run needs a number in place of {given.kind!r}")
    if not isinstance(given, TensorSpec):
        return given
    shape = []
    for size in given.shape:
        if isinstance(size, str):
            if size not in sizes:
                raise UserError(f"a run needs the size of {size!r}: give --size {size}=128")
            size = sizes[size]
        shape.append(size)
    dtype = given.dtype
    if dtype is bfloat16:
        raise UserError("NumPy has no bfloat16 arrays: give a spec of another dtype")
    if dtype is bool_:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.is_floating_point or dtype.is_complex:
        return random.standard_normal(shape).astype(dtype.numpy)
    return random.integers(0, 100, shape).astype(dtype.numpy)

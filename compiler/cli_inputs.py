"""What `--input` may say: arrays, numbers, and specs of arrays that are not at hand.

`x.npy` is that array; `1x3x224x224:f32` is a spec, whose array is made of seeded random numbers
where one is needed; `int`, `float` and `bool` are numbers given at each call; anything else is a
Python literal: `27`, `0.5`, `True`, `[1, 2]`, `(1, 2)`, `None`, `"text"`. Lists and tuples may hold
inputs of every kind: `[x.npy, 4x8:f32]`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bfloat16, bool_
from tensorscript.base.errors import UserError
from tensorscript.dialects.te.buffers import split_commas

from .specs import ScalarSpec, TensorSpec, parse_spec

SEED = 0


def parse_input(text: str) -> Any:
    """The array, number or spec that one `--input` spells.

    Raises:
        UserError: no such form, or an unreadable file.
    """
    if text in ("int", "float", "bool") or (text.endswith(".npy") and text[0] not in "[("):
        return parse_spec(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    if text[:1] + text[-1:] in ("[]", "()"):
        parts = [parse_input(part.strip()) for part in split_commas(text[1:-1])]
        return parts if text[0] == "[" else tuple(parts)
    return parse_spec(text)


def parse_sizes(texts: Sequence[str]) -> dict[str, int]:
    """`N=128` as a size by name.

    Raises:
        UserError: not of that form.
    """
    sizes = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name.isidentifier() or not number.isdigit():
            raise UserError(f"cannot read the size {text!r}: expected N=128")
        sizes[name] = int(number)
    return sizes


def values_of(inputs: Sequence[Any], sizes: Mapping[str, int]) -> list[Any]:
    """Inputs with an array in place of each spec.

    Args:
        sizes: of named dimensions.

    Raises:
        UserError: a spec that does not say enough to make a value.
    """
    random = np.random.default_rng(SEED)
    return [_value(given, sizes, random) for given in inputs]


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

"""Specifications of inputs: what `example_inputs` and the CLI's `--input` may say.

`1x3x224x224:f32` is a tensor of that shape; a word in place of a number (`Nx784:f32`) is a named,
dynamic size; `:f32` alone is a 0-dim tensor; `int`, `float`, `bool` are scalars; a path ending in
`.npy` is that array.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tensorscript.base.dtypes import BY_NAME, BY_SHORT, DType, float32
from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass


@dataclass(frozen=True)
class TensorSpec:
    """A tensor to compile for.

    Attributes:
        shape: sizes; a string names a dynamic size (equal names are equal sizes).
        dtype: element type, or its name (`float32`, `f32`).
        strides: in elements, None for row-major contiguous.

    Raises:
        UserError: no such size or dtype.
    """

    shape: tuple[int | str, ...]
    dtype: DType = float32
    strides: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.shape, str):  # whose letters would be names
            raise UserError(f"a shape is a tuple of sizes and names, not {self.shape!r}")
        for size in self.shape:
            if not _is_size(size):
                raise UserError(f"a size is a number >= 0 or a name, not {size!r}")
        if isinstance(self.dtype, str):
            object.__setattr__(self, "dtype", _dtype(self.dtype))
        if not isinstance(self.dtype, DType):
            raise UserError(f"a dtype is one of tensorscript's or its name, not {self.dtype!r}")

    def __str__(self) -> str:
        return "x".join(map(str, self.shape)) + f":{self.dtype.short}"


@dataclass(frozen=True)
class ScalarSpec:
    """A number that is passed at each call: `int`, `float` or `bool`.

    Raises:
        UserError: another kind.
    """

    kind: str

    def __post_init__(self) -> None:
        if self.kind not in ("int", "float", "bool"):
            raise UserError(f"a scalar is 'int', 'float' or 'bool', not {self.kind!r}")


InputSpec = TensorSpec | ScalarSpec | np.ndarray

_SPEC = re.compile(r"(?P<shape>[\w]*(?:x[\w]+)*):(?P<dtype>\w+)")


def _is_size(size: object) -> bool:
    if isinstance(size, str):
        return re.fullmatch(r"[A-Za-z_]\w*", size) is not None
    return isinstance(size, int) and size >= 0


def _dtype(name: str, where: str = "") -> DType:
    found = BY_SHORT.get(name) or BY_NAME.get(name)
    if found is None:
        raise UserError(f"unknown dtype {name!r}{where}")
    return found


def _size(word: str) -> int | str:
    return int(word) if word.isdigit() else word


def parse_spec(text: str) -> InputSpec:
    """The input that `text` spells.

    Raises:
        UserError: no such form, unknown dtype, or an unreadable file.
    """
    if text in ("int", "float", "bool"):
        return ScalarSpec(text)
    if text.endswith(".npy"):
        return load_array(Path(text))
    found = _SPEC.fullmatch(text)
    if not found:
        raise UserError(f"cannot read the input {text!r}: expected 1x3x224x224:f32, int or x.npy")
    dtype = _dtype(found["dtype"], f" in the input {text!r}")
    words = re.findall(r"\d+|[A-Za-z_]+[A-Za-wyz_0-9]*", found["shape"].replace("x", " "))
    return TensorSpec(tuple(_size(w) for w in words), dtype)


def load_array(path: Path) -> np.ndarray:
    """An `.npy` file's array; pickled objects are refused.

    Raises:
        UserError: no such file, or not an array.
    """
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the array {path}: {error}") from error

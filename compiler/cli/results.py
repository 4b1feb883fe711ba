"""Results of a run, printed and written: a tree of arrays and numbers, flattened with its paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensorscript.base.errors import UserError
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor

ROOT = "result"


def flatten(value: Any, path: str = ROOT) -> Iterator[tuple[str, Any]]:
    """Leaves by path: `result`, or `result.0`, `result.key`, `result.field`, ..."""
    match value:
        case tuple() if hasattr(value, "_fields"):
            for field, item in zip(value._fields, value, strict=True):
                yield from flatten(item, f"{path}.{field}")
        case tuple() | list():
            for number, item in enumerate(value):
                yield from flatten(item, f"{path}.{number}")
        case dict():
            for key, item in value.items():
                yield from flatten(item, f"{path}.{key}")
        case Tensor():
            yield path, shown(value)
        case _:
            yield path, value


def result_text(value: Any) -> str:
    """One paragraph a leaf: its path, dtype and shape, then its elements."""
    return "".join(_leaf_text(path, leaf) for path, leaf in flatten(value))


def _leaf_text(path: str, leaf: Any) -> str:
    if isinstance(leaf, np.ndarray):
        sizes = ", ".join(map(str, leaf.shape))
        elements = np.array2string(leaf, precision=6, threshold=200, max_line_width=100)
        if leaf.ndim == 0:
            return f"{path}: {leaf.dtype}[] {elements}\n"
        return f"{path}: {leaf.dtype}[{sizes}]\n{elements}\n"
    return f"{path}: {leaf!r}\n"


def write_results(value: Any, path: Path) -> None:
    """Write all leaves that are arrays, numbers or text as `.npz`, or the only one as `.npy`.

    A None is left out: an array file has no form for it.

    Raises:
        UserError: another suffix, several results for `.npy`, or a leaf of another kind.
    """
    leaves = {name: leaf for name, leaf in flatten(value) if leaf is not None}
    for name, leaf in leaves.items():
        if not isinstance(leaf, np.ndarray | bool | int | float | complex | str):
            raise UserError(f"{name} is a {type(leaf).__name__}, which an array file cannot hold")
    if path.suffix == ".npz":
        with path.open("wb") as file:
            np.savez(file, **leaves)
    elif path.suffix == ".npy" and len(leaves) == 1:
        np.save(path, next(iter(leaves.values())))
    elif path.suffix == ".npy":
        raise UserError(f"{path} holds one array and there are {len(leaves)} results: use .npz")
    else:
        raise UserError(f"cannot write results to {path}: expected .npz or .npy")

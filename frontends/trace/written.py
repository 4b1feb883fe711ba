"""The names of tensors inside the functions that PyTorch writes in Python.

A trace names a value by the variable that holds it in the innermost Python frame. Where PyTorch has
a frame that eager mode has not, as of `torch.split`, the names are that frame's.
"""

from __future__ import annotations

from typing import Any

from tensorscript.base.schema import Schema
from tensorscript.eager.storage import TensorBase

Names = list[tuple[str, TensorBase]]

_VARIABLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("block_diag", "cartesian_prod", "chain_matmul", "einsum", "meshgrid",
         "split", "split_with_sizes", "unflatten"), ()
    ),
    **dict.fromkeys(("norm", "unique_consecutive", "unique_dim", "_unique2"), ("input",)),
    "cdist": ("x1", "x2"),
    "istft": ("input",),
    "pad": ("input",),
    "tensordot": ("a", "b"),
}  # fmt: skip
"""Operator to the variables that hold its first arguments."""


def written_names(found: Schema, arguments: tuple[Any, ...]) -> Names | None:
    """The names of an operator's tensors; None if the program's variables name them."""
    if (variables := _VARIABLES.get(found.base_name)) is None:
        return None
    pairs = zip(variables, arguments, strict=False)
    return [(name, held) for name, held in pairs if isinstance(held, TensorBase)]

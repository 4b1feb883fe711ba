"""Operators that are a few calls of others give what PyTorch's kernels of that name give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from native_recipes import calls

import tensorscript as ts
from tensorscript.base.composites import COMPOSITES
from tensorscript.base.schema import schema
from tensorscript.eager.dispatch import call_overload

torch = pytest.importorskip("torch")

NOT_OF_CPU = frozenset(("aten::sym_numel", "aten::sym_stride", "aten::sym_stride.int"))
"""Symbols in PyTorch; here as the operators without `sym_`."""
_DTYPES = ("float32", "float64", "complex64", "complex128")


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]


def _moved(value: Any, make: Any) -> Any:
    if isinstance(value, np.ndarray):
        return make(np.array(value, order="C"))
    if isinstance(value, list):
        return [_moved(part, make) for part in value]
    return value


@pytest.mark.parametrize("name", sorted(set(COMPOSITES) - NOT_OF_CPU))
def test_a_composite_gives_what_pytorch_gives(name: str) -> None:
    declared = schema(name)
    packet = getattr(torch.ops.aten, declared.base_name)
    theirs = getattr(packet, declared.overload or "default")
    compared = 0
    for call in calls(declared):
        arrays = [a for a in _leaves(list(call.arguments)) if isinstance(a, np.ndarray)]
        if arrays[0].dtype.name not in _DTYPES or not all(np.isfinite(a).all() for a in arrays):
            continue
        given = dict(zip((a.name for a in declared.arguments), call.arguments, strict=True))
        if any(name == "dtype" for name in given):
            given["dtype"] = None
        moved = {k: _moved(v, torch.from_numpy) for k, v in given.items()}
        try:
            expected = theirs(**moved)
        except (RuntimeError, IndexError, TypeError, NotImplementedError):
            continue  # refusals are compared elsewhere
        found = call_overload(name, tuple(_moved(v, ts.from_numpy) for v in given.values()))
        for ours, their in zip(_leaves(found), _leaves(expected), strict=True):
            assert str(ours.dtype) == str(their.dtype)
            np.testing.assert_allclose(
                ours.numpy(), their.numpy(), rtol=1e-4, atol=1e-4, equal_nan=True, err_msg=str(call)
            )
        compared += 1
    assert compared

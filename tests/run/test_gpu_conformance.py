"""Every operator of PyTorch's database on tensors of a GPU: results are there, with the elements
and the strides of those on the CPU. A driver stands in for a GPU (`host_driver.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conformance import in_scope
from host_driver import host_gpus
from opinfo_samples import Missing, Unconvertible, dtypes_of, face, samples, to_ours, torch

import tensorscript as ts
from tensorscript.base.errors import OperatorError
from tensorscript.eager.tensor import Tensor

_LEAVES = frozenset(("to",))
"""Operators whose samples name a device."""


def _on_gpu(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.cuda()
    if type(value) in (list, tuple):
        return type(value)(map(_on_gpu, value))
    return {k: _on_gpu(v) for k, v in value.items()} if isinstance(value, dict) else value


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def _fault(call: Any, sample: Any) -> str | None:
    """How a call on a GPU differs from that on the CPU.

    Raises:
        Unconvertible: the CPU refuses it (in-place forms of results of another size).
    """
    args, kwargs = to_ours(sample.copied().all)
    kwargs.pop("device", None)
    there = _on_gpu((args, kwargs))
    ts.manual_seed(0)
    try:
        expected = [*_tensors(call(*args, **kwargs))]
    except OperatorError as error:
        raise Unconvertible from error
    ts.manual_seed(0)
    found = [*_tensors(call(*there[0], **there[1]))]
    for x, y in zip(found, expected, strict=True):
        if not x.is_cuda and any(_tensors((there[0],))):
            return f"a result on {x.device}"
        if x.stride() != y.stride():
            return f"strides {x.stride()} instead of {y.stride()}"
        nan = x.dtype.is_floating_point or x.dtype.is_complex
        if not np.array_equal(x.cpu()._array, y._array, equal_nan=nan):
            return "other elements"
    return None


@pytest.mark.parametrize("form", ["function", "inplace"])
def test_operators_agree_on_a_gpu(form: str) -> None:
    faults, compared = {}, 0
    with host_gpus():
        for name, op in in_scope().items():
            lacks = form == "inplace" and not hasattr(op.inplace_variant, "__name__")
            if lacks or name in _LEAVES or torch.float32 not in dtypes_of(op):
                continue
            for sample in samples(op, torch.float32, 1):
                try:
                    if (fault := _fault(face(op, form), sample)) is not None:
                        faults[name] = fault
                    compared += 1
                except (Missing, Unconvertible):
                    continue
    assert not faults
    assert compared > (500 if form == "function" else 150)

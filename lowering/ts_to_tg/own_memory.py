"""Results in memory of their own: what an operator computes is never an operand itself.

A row may give an operand back where there is nothing to compute (`floor` of integers, a shuffle by
1). Only an operator that says so in its schema, or is known to do so in PyTorch, shares memory
with its operands; of any other the elements are copied, or a write to the result would be one to
the operand. Copies that nobody writes to are no work, as what reads them reads their source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tensorscript.base.schema import has_operator, overloads

from .builder import Builder
from .complex_tensors import copied
from .values import ComplexTensor, Storage, Tensor, Value

_MAY_SHARE = """
    _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short
    _unsafe_view alpha_dropout atleast_1d atleast_2d atleast_3d broadcast_tensors cartesian_prod
    chain_matmul conj_physical data dequantize dropout einsum feature_alpha_dropout feature_dropout
    meshgrid native_dropout sum_to_size to_dense type_as unsafe_chunk unsafe_split
    unsafe_split_with_sizes"""
_SHARES = frozenset(f"aten::{name}" for name in _MAY_SHARE.split())
"""Operators that may give an operand, or views of it, though their schemas do not say so."""


def owned(b: Builder, name: str, result: Value, operands: Sequence[Value]) -> Value:
    """What the row of an operator gave, without memory of the operands that it may not share."""
    if not _computes(name):
        return result
    given = set(_storages(operands))
    if isinstance(result, tuple):
        return tuple(_owned(b, one, given) for one in result)
    return _owned(b, result, given)


def _owned(b: Builder, x: Value, given: set[Storage]) -> Value:
    is_tensor = isinstance(x, Tensor | ComplexTensor)
    return copied(b, x) if is_tensor and not given.isdisjoint(_storages([x])) else x


def _storages(values: Sequence[Value]) -> Iterator[Storage]:
    """Of the tensors among the values, and in lists of them."""
    for v in values:
        if isinstance(v, Tensor):
            yield v.storage
        elif isinstance(v, ComplexTensor):
            yield from (v.real.storage, v.imag.storage)
        elif isinstance(v, list):
            yield from _storages(v)


@cache
def _computes(name: str) -> bool:
    """Whether the results of an operator share no memory with its operands."""
    base = name.partition(".")[0]
    if base in _SHARES or not base.startswith("aten::") or not has_operator(base):
        return False
    forms = [s for s in overloads(base) if s.full_name == name] or overloads(base)
    return not any(r.alias for s in forms for r in s.returns)

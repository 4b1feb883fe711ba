"""Every overload with a native row, in machine code next to its eager kernel.

Calls come from tables and schemas (`native_recipes.py`): dtypes, layouts, broadcasting, empty
tensors, NaN and infinities, numbers known and unknown. About 100 calls share one module
(`native_grid.py`). Values, dtypes, shapes and refusals must agree; what native code cannot do, and
what has no calls, is listed with its reason and fails here once that is no longer so.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from native_grid import Call, Disagreement, disagreements
from native_recipes import calls

from tensorscript.base.schema import Schema, operator_names, overloads, schema
from tensorscript.eager.dispatch import has_kernel
from tensorscript.lowering.ts_to_tg.table import has_row

BATCH = 100

UNSAMPLED = {
    **dict.fromkeys(
        (
            "eq.enum", "ne.enum", "eq.Tensor_list", "ne.Tensor_list", "sorted.Tensor",
            "sort.Tensor", "keys.Tensor", "values.Tensor", "items.Tensor", "clear.Tensor",
            "len.Dict_Tensor", "copy.Dict_Tensor", "__contains__.Tensor", "__getitem__.Dict_Tensor",
            "dict.Tensor", "dict.Dict_Tensor", "get.Tensor", "get.default_Tensor",
            "pop.Dict_Tensor", "pop.Dict_default_Tensor", "setdefault.Tensor", "popitem.Tensor",
            "Delete.Dict_Tensor", "_set_item.Tensor", "update.Tensor",
        ),
        "enums and containers of tensors are no constants of a graph",
    ),
    **dict.fromkeys(
        (
            "_make_per_tensor_quantized_tensor", "_make_per_channel_quantized_tensor",
            "quantize_per_tensor.tensors",
        ),
        "quantized tensors are no results of machine code; test_quantized_tensors.py",
    ),
    **dict.fromkeys(
        ("sparse_coo_tensor.indices_size", "_sparse_coo_tensor_unsafe"),
        "sparse tensors are no results of machine code; test_sparse.py",
    ),
    "manual_seed.generator": "random generators are no arguments of machine code",
    "warn": "warnings are errors in these tests",
    "einsum.sublist": "takes any number of arguments; test_language_programs.py",
    **dict.fromkeys(
        ("_native_multi_head_attention", "_transformer_encoder_layer_fwd"),
        "a whole layer; the tests of models run it",
    ),
}  # fmt: skip
"""Overloads without calls, and why."""

_DATA = "the shape of the result depends on the data"
_RESHAPED = "changes the shape of an argument in place"
_OF_COMPLEX = {
    "polar": "int float int_float float_int",
    "Complex": """Scalar bool_bool bool_int bool_float int_bool int_int int_float float_bool
        float_int float_float Tensor_bool Tensor_int Tensor_float bool_Tensor int_Tensor
        float_Tensor""",
}
LIMITS: dict[str, str] = {
    **dict.fromkeys(
        ("tensor_split.tensor_indices_or_sections",),
        _DATA,
    ),
    **dict.fromkeys(
        ("as_strided_", "t_", "squeeze_", "squeeze_.dim", "squeeze_.dims", "unsqueeze_",
         "transpose_", "swapaxes_", "swapdims_", "resize_", "resize_as_", "set_",
         "set_.source_Tensor"),
        _RESHAPED,
    ),
    **dict.fromkeys(
        ("tril_", "triu_", "masked_fill_.Tensor", "index_fill_.int_Tensor",
         "index_fill_.int_Scalar", "index_put_", "_index_put_impl_"),
        "an argument whose elements share memory, written one after the other",
    ),
    "as_strided": "strides over a tensor that is a view or not contiguous",
    "as_strided_scatter": "strides over a tensor that is a view or not contiguous",
    "as_strided_copy": "strides over a tensor that is a view or not contiguous",
    "manual_seed": "a seed that only the running program knows",
    "complex": "complex numbers of half precision",
    **dict.fromkeys(
        (f"{name}.{kind}" for name, kinds in _OF_COMPLEX.items() for kind in kinds.split()),
        "a complex number that only the running program knows",
    ),
    **dict.fromkeys(
        ("index.list_Tensor", "remove.Tensor"), "comparing tensors for equality"
    ),
}  # fmt: skip
"""Overloads of which native code refuses some calls that the kernel takes, and why."""

RANDOM = frozenset(
    f"aten::{n}" for n in ("empty_like", "linalg_eig", "linalg_eigh", "linalg_svd", "svd")
)
"""Overloads whose values are not determined: dtypes and shapes are compared."""


def rows() -> list[Schema]:
    """Overloads with a native row and an eager kernel."""
    found = (s for name in operator_names() if name.startswith("aten::") for s in overloads(name))
    return [s for s in found if has_row(s) and has_kernel(s.full_name)]


def batches() -> list[list[Schema]]:
    """Neighbours in the table, about BATCH calls at a time."""
    out: list[list[Schema]] = [[]]
    count = 0
    for found in rows():
        count += len(calls(found))
        out[-1].append(found)
        if count >= BATCH:
            out.append([])
            count = 0
    return [b for b in out if b]


BATCHES = batches()


@cache
def outcome(number: int) -> tuple[Disagreement, ...]:
    """What one batch gives (a refused call is listed, and compared no further)."""
    made: list[Call] = [call for found in BATCHES[number] for call in calls(found)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.filterwarnings("ignore", r"cov\(\)|Use of ", UserWarning)  # of eager kernels
        return tuple(disagreements(made, RANDOM))


def short(name: str) -> str:
    return name.removeprefix("aten::")


@pytest.mark.parametrize("number", range(len(BATCHES)), ids=lambda k: BATCHES[k][0].full_name)
def test_eager_equals_native(number: int) -> None:
    found = outcome(number)
    unlisted = [d for d in found if not (d.is_refusal and short(d.call.name) in LIMITS)]
    assert not unlisted, "\n" + "\n".join(map(str, unlisted))
    refused = {short(d.call.name) for d in found if d.is_refusal}
    listed = {short(s.full_name) for s in BATCHES[number]} & set(LIMITS)
    assert listed == refused, f"no limit any more: {sorted(listed - refused)}"


def test_every_overload_has_calls_or_a_reason() -> None:
    without = {short(s.full_name) for s in rows() if not calls(s)}
    assert without == set(UNSAMPLED)


def test_listed_names_exist() -> None:
    for name in (*LIMITS, *UNSAMPLED, *map(short, RANDOM)):
        schema(f"aten::{name}")

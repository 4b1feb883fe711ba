"""`torch.return_types`: the tuples with names that operators of several named results give.

`torch.max(x, 1)` is a `return_types.max`, and into given tensors (`out=`) a `return_types.max_out`.
Their fields are the results that the operator's schema names; a class is made when it is asked for.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from tensorscript.base.schema import Schema, overloads

_WITHOUT_OUT = frozenset((
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "_fused_moving_avg_obs_fq_helper",
    "_lu_with_info", "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu", "_unpack_dual", "histogramdd",
))  # fmt: skip
_WITH_OUT = frozenset((
    "_linalg_det", "_linalg_eigh", "_linalg_slogdet", "_linalg_solve_ex", "_linalg_svd", "aminmax",
    "cummax", "cummin", "frexp", "geqrf", "histogram", "kthvalue", "linalg_cholesky_ex",
    "linalg_eig", "linalg_eigh", "linalg_inv_ex", "linalg_ldl_factor", "linalg_ldl_factor_ex",
    "linalg_lstsq", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_qr",
    "linalg_slogdet", "linalg_solve_ex", "linalg_svd", "lu_unpack", "max", "median", "min", "mode",
    "nanmedian", "qr", "slogdet", "sort", "svd", "topk", "triangular_solve",
))  # fmt: skip
NAMES = _WITHOUT_OUT | _WITH_OUT | {f"{name}_out" for name in _WITH_OUT}
"""The classes that PyTorch has; other operators give plain tuples, whatever their schemas name."""


def record_of(found: Schema) -> Callable[[Iterable[Any]], Any] | None:
    """What makes the named results of an overload of its results; None where they are plain."""
    if len(found.returns) < 2:
        return None
    name = f"{found.base_name}_out" if found.is_out else found.base_name
    return record(name)._make if name in NAMES else None


@cache
def record(name: str) -> Any:
    """The class `return_types.name`, of a sequence of the results.

    Raises:
        AttributeError: there is none.
    """
    if name not in NAMES:
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
    fields = _fields(name)
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # a name that is not known here
    return type(name, (base,), {
        "__slots__": (), "__module__": "torch.return_types", "__new__": _new, "__repr__": _text,
        "__reduce__": lambda self: (_remade, (name, tuple(self))),
        "n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0,
    })  # fmt: skip


def _fields(name: str) -> list[str]:
    """The names of the results of the first overload that has several."""
    is_out = name.endswith("_out")
    found = overloads(f"aten::{name.removesuffix('_out')}")
    several = next(s for s in found if s.is_out is is_out and len(s.returns) > 1 and _named(s))
    return [r.name for r in several.returns]


def _named(found: Schema) -> bool:
    return all(r.name for r in found.returns)


def _new(cls: Any, iterable: Iterable[Any] = (), dict: Any = None) -> Any:
    """Of a sequence of all the results; a `dict` may say nothing, as there are no fields beside.

    Raises:
        TypeError: there are more or fewer.
    """
    if dict is not None and not isinstance(dict, Mapping):
        raise TypeError(f"torch.return_types.{cls.__name__}() takes a dict as second arg, if any")
    values = tuple(iterable)
    if len(values) != cls.n_fields:
        raise TypeError(
            f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence "
            f"({len(values)}-sequence given)"
        )
    return cls._make(values)


def _text(self: Any) -> str:
    """As PyTorch writes named results: a line each."""
    lines = ",\n".join(f"{name}={part!r}" for name, part in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"


def _remade(name: str, values: tuple[Any, ...]) -> Any:
    """What a pickle names, as the class is not found by its module."""
    return record(name)._make(values)

"""PyTorch's own operator database as a source of samples for our operators.

`torch.testing._internal` holds an entry (OpInfo) for each operator with generators of valid and of
refused arguments. Here they become arguments of ours: `entries()` lists the database, `samples`
draws valid arguments, `to_ours` and `to_torch` convert nested values, `face` finds the function,
method, in-place or operator form of ours, and `difference` says where two results differ.

Needs PyTorch and `expecttest` (which its testing package imports).
"""

from __future__ import annotations

import functools
import itertools
import random
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.dtypes import DTYPES
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
with warnings.catch_warnings():  # the testing package warns about what it imports
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

OUR_DTYPES = {getattr(torch, d.name): d for d in DTYPES}
FORMS = ("function", "method", "inplace", "out")
_DRAWN = 48
"""How many samples of one operator are looked at before some are chosen."""


@dataclass(frozen=True)
class Sample:
    """Arguments of one call, in PyTorch's values."""

    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def all(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.input, *self.args), self.kwargs

    def copied(self) -> Sample:
        """The same sample in memory of its own: in-place forms write into their arguments."""
        return Sample(_cloned(self.input), _cloned(self.args), _cloned(self.kwargs))


def _cloned(v: Any) -> Any:
    if isinstance(v, torch.Tensor):
        return v.clone()
    if isinstance(v, (list, tuple)):
        return type(v)(map(_cloned, v))
    if isinstance(v, dict):
        return {k: _cloned(x) for k, x in v.items()}
    return v


class Missing(Exception):
    """We have no function of that name."""


class Unconvertible(Exception):
    """A value that our tensors cannot hold (sparse, quantized, a dtype we lack)."""


@functools.cache
def entries() -> dict[str, Any]:
    """The database: an entry's name with its variant ("div/floor_rounding") to the OpInfo."""
    return {f"{op.name}/{op.variant_test_name}".rstrip("/"): op for op in op_db}


def dtypes_of(op: Any) -> list[Any]:
    """The dtypes that both sides have and that `op` takes on the CPU."""
    return [d for d in OUR_DTYPES if d in op.supported_dtypes("cpu")]


def samples(op: Any, dtype: Any, limit: int) -> list[Sample]:
    """At most `limit` samples, spread evenly over the first ones the database makes."""
    torch.manual_seed(0)
    random.seed(0)  # the database draws from all three
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Not `op.sample_inputs`, which looks the calling test up on the stack for each sample.
        made = op.sample_inputs_func(op, "cpu", dtype, requires_grad=False)
        drawn = list(itertools.islice(made, min(_DRAWN, 6 * limit)))
    step = max(1, -(-len(drawn) // limit))
    return [Sample(s.input, tuple(s.args), dict(s.kwargs)) for s in drawn[::step]]


def refused(op: Any) -> Iterator[tuple[Sample, type[Exception], str]]:
    """Samples that PyTorch refuses, with the kind of error and a pattern of its text."""
    if op.error_inputs_func is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for error in op.error_inputs_func(op, "cpu"):
            s = error.sample_input
            sample = Sample(s.input, tuple(s.args), dict(s.kwargs))
            yield sample, error.error_type, error.error_regex


Memories = dict[int, tuple[np.ndarray, Any]]
"""Of storages by address: a copy of the bytes, and the bytes themselves."""


# -- values ---------------------------------------------------------------------------------------
def _array(t: Any, memories: Memories) -> np.ndarray:
    """A tensor's numbers with its strides (bfloat16 as bits), over the copy of its memory that
    `memories` has by address, as other tensors of the same call may share it."""
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype is torch.bfloat16:
        t = t.view(torch.int16)
        return _shared(t, memories).view(np.uint16)
    return _shared(t, memories)


def _shared(t: Any, memories: Memories) -> np.ndarray:
    if t.numel() == 0:
        return t.clone(memory_format=torch.preserve_format).numpy()
    storage = t.untyped_storage()
    if (at := storage.data_ptr()) not in memories:
        bytes_ = torch.empty(0, dtype=torch.uint8).set_(storage)
        memories[at] = bytes_.clone().numpy(), bytes_  # kept: its address is not used again
    elements = memories[at][0][t.storage_offset() * t.itemsize :]
    elements = elements[: elements.size // t.itemsize * t.itemsize]
    dtype = torch.empty(0, dtype=t.dtype).numpy().dtype
    strides = tuple(s * t.itemsize for s in t.stride())
    return np.lib.stride_tricks.as_strided(elements.view(dtype), tuple(t.shape), strides)


def to_ours(v: Any) -> Any:
    """A PyTorch value as ours: tensors (copied; strides, and memory that they share, are kept),
    dtypes, devices, containers."""
    return _to_ours(v, {})


def _to_ours(v: Any, memories: Memories) -> Any:
    if isinstance(v, torch.Tensor):
        ordinary = v.layout is torch.strided and v.device.type == "cpu" and not v.is_quantized
        if not ordinary or v.dtype not in OUR_DTYPES or v.dim() > 64:  # NumPy's most
            raise Unconvertible(f"{v.dtype} {v.layout}")
        return Tensor(_array(v, memories), OUR_DTYPES[v.dtype])
    if isinstance(v, torch.dtype):
        if v not in OUR_DTYPES:
            raise Unconvertible(str(v))
        return OUR_DTYPES[v]
    if isinstance(v, torch.device):
        return ts.device(str(v))
    if isinstance(v, (torch.layout, torch.memory_format)):
        return getattr(ts, str(v).removeprefix("torch."))
    if isinstance(v, torch.Generator):
        return ts.Generator().manual_seed(v.initial_seed())
    if isinstance(v, torch.Size):
        return ts.Size(v)
    if isinstance(v, (list, tuple)):
        return type(v)(_to_ours(x, memories) for x in v)
    if isinstance(v, dict):
        return {k: _to_ours(x, memories) for k, x in v.items()}
    if isinstance(v, torch.nn.PairwiseDistance):
        return ts.nn.functional.pairwise_distance
    return _rebound(v) if isinstance(v, types.FunctionType) else v


def to_torch(v: Any) -> Any:
    """Our value as PyTorch's."""
    if isinstance(v, Tensor):
        if v.dtype.name == "bfloat16":
            return torch.from_numpy(shown(v).view(np.int16).copy()).view(torch.bfloat16)
        return torch.from_numpy(np.array(shown(v)))
    if isinstance(v, type(ts.float32)):
        return getattr(torch, v.name)
    if isinstance(v, (list, tuple)):
        return tuple(map(to_torch, v))
    return v


# -- functions ------------------------------------------------------------------------------------
def _seeded(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    ts.manual_seed(42)
    return fn(*args, **kwargs)


def _rebound(fn: Any) -> Any:
    """A lambda of the database with our package where it says `torch`."""
    if "torch" not in fn.__globals__ and "wrapper_set_seed" not in fn.__globals__:
        return fn
    names = {**fn.__globals__, "torch": ts, "wrapper_set_seed": _seeded}
    made = types.FunctionType(fn.__code__, names, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__ = fn.__kwdefaults__
    return made


def _by_path(name: str) -> Any:
    found: Any = ts
    for part in name.removeprefix("torch.").split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise Missing(name) from error
    return found


def method(name: str) -> Callable[..., Any]:
    """`x.name(...)` as a function of `x`."""

    def run(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    return run


def face(op: Any, form: str = "function") -> Callable[..., Any]:
    """Our counterpart of one form of an entry.

    Raises:
        Missing: no function of ours has the name (a method that lacks shows when it is called).
    """
    target = {"method": op.method_variant, "inplace": op.inplace_variant}.get(form, op.op)
    if isinstance(target, types.FunctionType) and "torch.testing" in target.__module__:
        return _rebound(target)
    if form in ("method", "inplace"):
        return method(target.__name__)
    if type(op.op).__name__ in ("method_descriptor", "wrapper_descriptor"):
        return getattr(Tensor, op.op.__name__)  # type: ignore[no-any-return]
    if getattr(op.op, "__module__", "") == "torch._tensor":
        return method(op.op.__name__)
    return _by_path(op.name)


def oracle(op: Any, form: str = "function") -> Callable[..., Any] | None:
    """PyTorch's function of that form, or None where the entry has none."""
    if form == "method":
        return op.method_variant if hasattr(op.method_variant, "__name__") else None
    if form == "inplace":
        return op.inplace_variant if hasattr(op.inplace_variant, "__name__") else None
    return op.op


# -- results --------------------------------------------------------------------------------------
def difference(found: Any, expected: Any, values: bool = True, steps: float = 2) -> str | None:
    """Where our result (converted) differs from PyTorch's in kind, dtype, shape or value.

    `values=False` compares dtypes and shapes only, for random and uninitialised results; `steps`
    is how many rounding steps of the largest element the elements may be apart.
    """
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            return f"{type(found).__name__} for {len(expected)} results"
        pairs = zip(found, expected, strict=True)
        return next((why for f, e in pairs if (why := difference(f, e, values, steps))), None)
    if not isinstance(expected, torch.Tensor):
        same = type(found) is type(expected) and (not values or _same_number(found, expected))
        return None if same else f"{found!r} for {expected!r}"
    if not isinstance(found, torch.Tensor):
        return f"{type(found).__name__} for a tensor"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype} for {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape {list(found.shape)} for {list(expected.shape)}"
    if not values:
        return None
    try:
        torch.testing.assert_close(
            found, expected.detach(), equal_nan=True, **_tolerance(expected.detach(), steps)
        )
    except AssertionError as error:
        return " ".join(str(error).split())
    return None


def _tolerance(expected: Any, steps: float) -> dict[str, float]:
    """PyTorch's defaults, the absolute one at least some rounding steps of the largest element:
    sums cancel, and neither side fixes the order of its additions."""
    if not (expected.is_floating_point() or expected.is_complex()):
        return {}
    rtol, atol = torch.testing._comparison.default_tolerances(expected)
    finite = expected[expected.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    return {"rtol": rtol, "atol": max(atol, steps * torch.finfo(expected.dtype).eps * largest)}


def _same_number(found: Any, expected: Any) -> bool:
    if isinstance(expected, (float, complex)):
        return bool(np.isclose(found, expected, 1e-5, 1e-8, equal_nan=True))
    return bool(found == expected)


def default_dtypes() -> list[Any]:
    """The dtypes a survey looks at."""
    names = ("float32", "int64", "bool", "float64", "int32", "bfloat16", "float16", "complex64")
    return [getattr(torch, n) for n in names]

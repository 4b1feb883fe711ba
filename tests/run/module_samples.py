"""PyTorch's own module database as a source of layers and their inputs.

`torch.testing._internal.common_modules` holds an entry (ModuleInfo) for each layer with generators
of constructor arguments and of forward arguments, valid ones and refused ones. `cases` draws them;
a `Case` builds the layer in PyTorch, and ours with the same state.

Needs PyTorch and `expecttest` (which its testing package imports).
"""

from __future__ import annotations

import copy
import functools
import random
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from opinfo_samples import to_ours, torch

import tensorscript as ts

pytest.importorskip("expecttest")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import ModuleErrorEnum, module_db


@functools.cache
def entries() -> dict[str, Any]:
    """The database: a layer's name below `torch` ("nn.Linear") to its ModuleInfo."""
    return {info.name: info for info in module_db}


@dataclass(frozen=True)
class Call:
    """Positional arguments and keywords, in PyTorch's values."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def copied(self) -> Call:
        return copy.deepcopy(self)

    @property
    def ours(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments in our values; raises `Unconvertible`."""
        return tuple(map(_ours, self.args)), {k: _ours(v) for k, v in self.kwargs.items()}


def _ours(value: Any) -> Any:
    if isinstance(value, types.BuiltinFunctionType | types.FunctionType):
        return getattr(ts.nn.functional, value.__name__, value)
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return _encoder_layer(value)
    if isinstance(value, torch.nn.Module):
        return _counterpart(type(value).__name__)()
    return to_ours(value)


def _encoder_layer(theirs: Any) -> Any:
    first, activation = theirs.linear1, theirs.activation.__name__
    return ts.nn.TransformerEncoderLayer(
        first.in_features, theirs.self_attn.num_heads, first.out_features, theirs.dropout.p,
        activation, batch_first=theirs.self_attn.batch_first, norm_first=theirs.norm_first,
        bias=first.bias is not None,
    )  # fmt: skip


def _counterpart(name: str) -> Any:
    return getattr(ts.nn, name)


@dataclass(frozen=True)
class Case:
    """One layer with its arguments and, where PyTorch refuses, where and with what error."""

    name: str
    dtype: Any
    training: bool
    made: Call
    called: Call | None
    error: tuple[str, type[Exception], str] | None = None

    def __str__(self) -> str:
        called = f"({_shown(self.called)})" if self.called else ""
        mode = "train" if self.training else "eval"
        return f"{self.name}({_shown(self.made)}){called} {mode}"

    @property
    def is_lazy(self) -> bool:
        """Whether it has its parameters only after the first call, which `theirs` makes."""
        return self.name.startswith("nn.Lazy")

    def theirs(self) -> Any:
        """PyTorch's layer with weights of one seed."""
        torch.manual_seed(1)
        call = self.made.copied()
        layer = getattr(torch.nn, self.name.removeprefix("nn."))(*call.args, **call.kwargs)
        layer = layer.to(self.dtype).train(self.training)
        if self.is_lazy and self.called is not None:
            layer(*self.called.args, **self.called.kwargs)
        return layer

    def ours(self, theirs: Any) -> Any:
        """Our layer with the state of PyTorch's, or as it is constructed where that is None."""
        args, kwargs = self.made.copied().ours
        layer = _counterpart(self.name.removeprefix("nn."))(*args, **kwargs)
        layer.train(self.training)
        if theirs is not None:
            layer.to(to_ours(self.dtype))
        if self.is_lazy and self.called is not None:
            inputs, named = self.called.ours
            layer(*inputs, **named)
        if theirs is not None:
            layer.load_state_dict({k: to_ours(v) for k, v in theirs.state_dict().items()})
        return layer


def _shown(call: Call) -> str:
    def text(v: Any) -> str:
        if isinstance(v, torch.Tensor):
            return f"{str(v.dtype).removeprefix('torch.')}{list(v.shape)}"
        return getattr(v, "__name__", None) or repr(v).partition("(\n")[0]

    return ", ".join([*map(text, call.args), *(f"{k}={text(v)}" for k, v in call.kwargs.items())])


def _call(given: Any) -> Call:
    return Call(tuple(given.args), dict(given.kwargs))


def _drawn(draw: Any, info: Any, dtype: Any, training: bool) -> list[Any]:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(draw(info, device="cpu", dtype=dtype, requires_grad=False, training=training))


def cases(info: Any, dtype: Any, training: bool, limit: int) -> Iterator[Case]:
    """What PyTorch accepts: at most `limit` cases, spread evenly over the database's."""
    drawn = _drawn(info.module_inputs_func, info, dtype, training)
    for given in drawn[:: max(1, -(-len(drawn) // limit))]:
        if given.forward_input is not None:
            made, called = _call(given.constructor_input), _call(given.forward_input)
            made.kwargs.pop("device", None)
            made.kwargs.pop("dtype", None)
            yield Case(info.name, dtype, training, made, called)


def refused(info: Any, dtype: Any, training: bool) -> Iterator[Case]:
    """What PyTorch refuses, in the constructor or in the call."""
    if info.module_error_inputs_func is None:
        return
    for error in _drawn(info.module_error_inputs_func, info, dtype, training):
        given = error.module_error_input
        built = error.error_on == ModuleErrorEnum.CONSTRUCTION_ERROR
        called = None if built else _call(given.forward_input)
        made = _call(given.constructor_input)
        made.kwargs.pop("device", None)
        where = "constructor" if built else "call"
        yield Case(info.name, dtype, training, made, called,
                   (where, error.error_type, error.error_regex))  # fmt: skip

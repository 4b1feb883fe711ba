"""Operators that PyTorch records by their parts: recurrent cells, and convolutions of one sample.

Each function computes the operator again out of others, while the tracer listens; in place where
PyTorch works in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.schema import Schema
from tensorscript.eager.dispatch import call_overload

Arguments = tuple[Any, ...]
Parts = Callable[[], Any]


def parts_of(found: Schema, arguments: Arguments) -> Parts | None:
    """What computes the operator out of what PyTorch records for it; None if it is recorded."""
    if (cell := _CELLS.get(found.base_name)) is not None:
        return lambda: cell(*arguments)
    is_convolution = found.base_name.startswith(("conv1d", "conv2d", "conv3d", "conv_transpose"))
    if is_convolution and arguments[0]._array.ndim == arguments[1]._array.ndim - 1:
        return lambda: _one_sample(found, arguments)
    return None


def _one_sample(found: Schema, arguments: Arguments) -> Any:
    """A convolution of a sample without batch dimension."""
    batch = call_overload("aten::unsqueeze", (arguments[0], 0))
    made = call_overload(found.full_name, (batch, *arguments[1:]))
    return call_overload("aten::squeeze.dim", (made, 0))


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    return call_overload("aten::linear", (x, weight, bias))


def _add_(x: Any, y: Any) -> Any:
    return call_overload("aten::add_.Tensor", (x, y, 1))


def _unary(name: str, x: Any) -> Any:
    return call_overload(f"aten::{name}", (x,))


def _mul(x: Any, y: Any) -> Any:
    return call_overload("aten::mul.Tensor", (x, y))


def _chunks(x: Any, count: int) -> Any:
    return call_overload("aten::unsafe_chunk", (x, count, 1))


def _lstm(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    hidden, cell = hx
    gates = _add_(_linear(hidden, w_hh, b_hh), _linear(x, w_ih, b_ih))
    into, forget, new, out = _chunks(gates, 4)
    into, forget = _unary("sigmoid_", into), _unary("sigmoid_", forget)
    new, out = _unary("tanh_", new), _unary("sigmoid_", out)
    cell = _add_(_mul(forget, cell), _mul(into, new))
    return _mul(out, _unary("tanh", cell)), cell


def _gru(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    reset_x, update_x, new_x = _chunks(_linear(x, w_ih, b_ih), 3)
    reset_h, update_h, new_h = _chunks(_linear(hx, w_hh, b_hh), 3)
    reset = _unary("sigmoid_", _add_(reset_h, reset_x))
    update = _unary("sigmoid_", _add_(update_h, update_x))
    gated = call_overload("aten::mul_.Tensor", (new_h, reset))
    new = _unary("tanh_", call_overload("aten::add.Tensor", (new_x, gated, 1)))
    kept = call_overload("aten::sub.Tensor", (hx, new, 1))
    return _add_(call_overload("aten::mul_.Tensor", (kept, update)), new)


def _plain(nonlinearity: str) -> Callable[..., Any]:
    def run(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        total = _add_(_linear(hx, w_hh, b_hh), _linear(x, w_ih, b_ih))
        return _unary(nonlinearity, total)

    return run


_CELLS: dict[str, Callable[..., Any]] = {
    "lstm_cell": _lstm,
    "gru_cell": _gru,
    "rnn_tanh_cell": _plain("tanh"),
    "rnn_relu_cell": _plain("relu"),
}

"""Recurrent cells: one step at a time."""

from __future__ import annotations

import math
from typing import Any

from ... import namespace as ts
from ...tensor import Tensor
from .. import init
from ..module import Module
from .layer import optional_parameter, parameter


class RNNCellBase(Module):
    """Parameters of a cell with `num_chunks` gates."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = parameter((gates, input_size), device, dtype)
        self.weight_hh = parameter((gates, hidden_size), device, dtype)
        optional_parameter(self, "bias_ih", bias, gates, device, dtype)
        optional_parameter(self, "bias_hh", bias, gates, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _batched(self, name: str, input: Tensor) -> Tensor:
        if input.dim() != 1 and input.dim() != 2:
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        return input.unsqueeze(0) if input.dim() == 1 else input

    def _state(
        self, name: str, batch: Tensor, hx: Tensor | None, alone: bool, part: str = "hidden"
    ) -> Tensor:
        if hx is None:
            return ts.zeros(
                [batch.size(0), self.hidden_size], dtype=batch.dtype, device=batch.device
            )
        if hx.dim() != 1 and hx.dim() != 2:
            raise ValueError(f"{name}: Expected {part} to be 1D or 2D, got {hx.dim()}D instead")
        return hx.unsqueeze(0) if alone else hx


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        alone = input.dim() == 1
        input = self._batched("RNNCell", input)
        hx = self._state("RNNCell", input, hx, alone)
        if self.nonlinearity == "tanh":
            found = ts.rnn_tanh_cell(
                input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
            )
        elif self.nonlinearity == "relu":
            found = ts.rnn_relu_cell(
                input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
            )
        else:
            found = input
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return found.squeeze(0) if alone else found


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: (input, (h, c)) to (h, c)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        alone = input.dim() == 1
        batch = self._batched("LSTMCell", input)
        if hx is None:
            state = self._state("LSTMCell", batch, None, alone)
            cells = state
        else:
            state = self._state("LSTMCell", batch, hx[0], alone, "hx[0]")
            cells = self._state("LSTMCell", batch, hx[1], alone, "hx[1]")
        hidden, cell = ts.lstm_cell(
            batch, [state, cells], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        if alone:
            return hidden.squeeze(0), cell.squeeze(0)
        return hidden, cell


class GRUCell(RNNCellBase):
    """One step of `GRU`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        alone = input.dim() == 1
        input = self._batched("GRUCell", input)
        hx = self._state("GRUCell", input, hx, alone)
        found = ts.gru_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return found.squeeze(0) if alone else found

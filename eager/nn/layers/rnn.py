"""Recurrent layers over whole sequences: RNN, LSTM, GRU."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any, overload

from ... import namespace as ts
from ...autocast import is_autocast_cpu_enabled
from ...executor_flags import is_scripting
from ...tensor import Tensor
from .. import init
from ..module import Module
from ..packing import PackedSequence
from ..parameter import Parameter
from .layer import parameter

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Parameters, checks and text of the recurrent layers.

    A parameter is called by its part, its layer and `_reverse` in the backward direction:
    `weight_ih_l0`, `bias_hh_l1_reverse`. `_flat_weights` lists them all in the operators' order.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip
    __jit_unused_properties__ = ["all_weights"]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        _check_options(bias, batch_first, dropout, num_layers)
        _check_sizes(mode, input_size, hidden_size, num_layers, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        self._flat_weights: list[Parameter] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                self._add_cell(layer, suffix, device, dtype)
        self.reset_parameters()

    def _add_cell(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        gates = _GATES[self.mode] * self.hidden_size
        state = self.proj_size or self.hidden_size
        taken = self.input_size if layer == 0 else state * (1 + self.bidirectional)
        sizes: dict[str, Any] = {"weight_ih": (gates, taken), "weight_hh": (gates, state)}
        if self.bias:
            sizes |= {"bias_ih": gates, "bias_hh": gates}
        if self.proj_size:
            sizes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{part}_l{layer}{suffix}" for part in sizes]
        for name, size in zip(names, sizes.values(), strict=True):
            setattr(self, name, parameter(size, device, dtype))
        self._flat_weights_names.extend(names)
        self._all_weights.append(names)
        self._flat_weights.extend(getattr(self, name) for name in names)

    def __setattr__(self, name: str, value: Any) -> None:
        names = self.__dict__.get("_flat_weights_names", [])
        if name in names and len(self._flat_weights) == len(names):
            self._flat_weights[names.index(name)] = value
        super().__setattr__(name, value)

    def flatten_parameters(self) -> None:
        """Nothing to do: only GPU libraries want the parameters in one piece."""

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of every layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
            ("dropout", 0), ("bidirectional", False),
        )  # fmt: skip
        for name, value in usual:
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text

    def _check_dtype(self, input: Tensor) -> None:
        weight = self._flat_weights[0]
        if weight is None or input.dtype is weight.dtype or is_autocast_cpu_enabled():
            return
        raise ValueError(
            f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert"
            f" input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
        )

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        if not is_scripting():
            self._check_dtype(input)
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> list[int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        elif self.batch_first:
            batch = input.size(0)
        else:
            batch = input.size(1)
        return [self.num_layers * (2 if self.bidirectional else 1), batch, size]

    def check_hidden_size(self, hx: Tensor, expected: list[int], name: str) -> None:
        if list(hx.size()) != expected:
            wanted = f"({expected[0]}, {expected[1]}, {expected[2]})"
            raise RuntimeError(f"Expected {name} size {wanted}, got {list(hx.size())}")

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        return self._permuted(hx, permutation)

    def _batched(self, input: Tensor) -> Tensor:
        """(T, B, I) or, with `batch_first`, (B, T, I) of a sequence alone as well."""
        if input.dim() == 2:
            return input.unsqueeze(0 if self.batch_first else 1)
        if input.dim() != 3:
            raise ValueError(
                f"{self.mode}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        return input

    def _check_state(self, input: Tensor, hx: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a first state of another size."""
        self.check_input(input, batch_sizes)
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        self.check_hidden_size(hx, self._state_size(input, batch_sizes, size), "hidden")

    def _hidden(self, batch: Tensor, hx: Tensor | None, alone: bool) -> Tensor:
        """The first state, of zeros if none is given; its size is checked, as PyTorch checks also
        the one it made: a trace warns of what a check reads."""
        if hx is None:
            state = ts.zeros(
                self._state_size(batch, None, self.hidden_size),
                dtype=batch.dtype,
                device=batch.device,
            )
        elif hx.dim() != (2 if alone else 3):
            kind = "unbatched 2-D" if alone else "batched 3-D"
            raise RuntimeError(
                f"For {kind} input, hx should also be {2 if alone else 3}-D but got "
                f"{hx.dim()}-D tensor"
            )
        else:
            state = hx.unsqueeze(1) if alone else hx
        self._check_state(batch, state, None)
        return state

    def _packed_zeros(self, data: Tensor, largest: Tensor, size: int) -> Tensor:
        """The first state of a packed batch of `largest` sequences."""
        cells = self.num_layers * (2 if self.bidirectional else 1)
        zeros: Tensor = ts.zeros(cells, largest, size, dtype=data.dtype, device=data.device)
        return zeros

    def _packed_hidden(self, sequence: PackedSequence, hx: Tensor | None) -> Tensor:
        """The first state of a packed batch in the order of packing, of zeros if none is given."""
        data, batch_sizes, order, _ = sequence
        largest = batch_sizes[0]  # read first, as traces of PyTorch read it
        if hx is None:
            state = self._packed_zeros(data, largest, self.hidden_size)
        else:
            state = self._permuted(hx, order)
        self._check_state(data, state, batch_sizes)
        return state

    def _permuted(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """States in another order of the batch."""
        if permutation is None:
            return hx
        return hx.index_select(1, permutation)


def _check_options(bias: Any, batch_first: Any, dropout: Any, num_layers: int) -> None:
    valid = isinstance(dropout, Number) and not isinstance(dropout, bool)
    if not valid or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")


def _check_sizes(
    mode: str, input_size: Any, hidden_size: Any, num_layers: int, proj_size: int
) -> None:
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu.

    (T, B, input_size), or (B, T, ...) with `batch_first`, to outputs of `hidden_size` (times 2 in
    both directions) and the last states (layers * directions, B, hidden_size).
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, device: Any = None, dtype: Any = None, *,
        proj_size: int | None = None,
    ) -> None:  # fmt: skip
        if proj_size is not None:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    @overload
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def forward(
        self, input: PackedSequence, hx: Tensor | None = None
    ) -> tuple[PackedSequence, Tensor]: ...
    def forward(self, input, hx=None):  # type: ignore[no-untyped-def]  # typed by its overloads
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            state = self._packed_hidden(input, hx)
            if self.mode == "RNN_TANH":
                output, hidden = ts.rnn_tanh(
                    data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers,
                    self.dropout, self.training, self.bidirectional,
                )  # fmt: skip
            else:
                output, hidden = ts.rnn_relu(
                    data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers,
                    self.dropout, self.training, self.bidirectional,
                )  # fmt: skip
            packed = PackedSequence(output, batch_sizes, order, back)
            return packed, self.permute_hidden(hidden, back)
        alone = input.dim() == 2
        batch = self._batched(input)
        state = self._hidden(batch, hx, alone)
        if self.mode == "RNN_TANH":
            output, hidden = ts.rnn_tanh(
                batch, state, self._flat_weights, self.bias, self.num_layers, self.dropout,
                self.training, self.bidirectional, self.batch_first,
            )  # fmt: skip
        else:
            output, hidden = ts.rnn_relu(
                batch, state, self._flat_weights, self.bias, self.num_layers, self.dropout,
                self.training, self.bidirectional, self.batch_first,
            )  # fmt: skip
        if alone:
            return output.squeeze(0 if self.batch_first else 1), hidden.squeeze(1)
        return output, hidden


class GRU(RNNBase):
    """Gated recurrent units (Cho and others, 2014); shapes as `RNN`."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        device: Any = None, dtype: Any = None, *,
        proj_size: int | None = None,
    ) -> None:  # fmt: skip
        if proj_size is not None:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip

    @overload
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def forward(
        self, input: PackedSequence, hx: Tensor | None = None
    ) -> tuple[PackedSequence, Tensor]: ...
    def forward(self, input, hx=None):  # type: ignore[no-untyped-def]  # typed by its overloads
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            state = self._packed_hidden(input, hx)
            output, hidden = ts.gru(
                data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers,
                self.dropout, self.training, self.bidirectional,
            )  # fmt: skip
            packed = PackedSequence(output, batch_sizes, order, back)
            return packed, self.permute_hidden(hidden, back)
        alone = input.dim() == 2
        batch = self._batched(input)
        state = self._hidden(batch, hx, alone)
        output, hidden = ts.gru(
            batch, state, self._flat_weights, self.bias, self.num_layers, self.dropout,
            self.training, self.bidirectional, self.batch_first,
        )  # fmt: skip
        if alone:
            return output.squeeze(0 if self.batch_first else 1), hidden.squeeze(1)
        return output, hidden


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); shapes as `RNN`.

    The state is a pair: hidden states (of `proj_size`, if that is given) and cell states.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def _zeros(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """First states of zeros; the size of the batch is asked for once."""
        expected = self._state_size(batch, None, self.hidden_size)
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        hidden = [expected[0], expected[1], size]
        hx = ts.zeros(hidden, dtype=batch.dtype, device=batch.device)
        return hx, ts.zeros(expected, dtype=batch.dtype, device=batch.device)

    def _pair(self, hx: Tensor, cx: Tensor, alone: bool) -> tuple[Tensor, Tensor]:
        """The first states that are given."""
        dim = 2 if alone else 3
        if hx.dim() != dim or cx.dim() != dim:
            kind = "unbatched 2-D" if alone else "batched 3-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dim}-D but got ({hx.dim()}-D, "
                f"{cx.dim()}-D) tensors"
            )
        return (hx.unsqueeze(1), cx.unsqueeze(1)) if alone else (hx, cx)

    def _check_pair(self, batch: Tensor, hx: Tensor, cx: Tensor) -> None:
        """Refuse an input or first states of another size."""
        self.check_input(batch, None)
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        self.check_hidden_size(hx, self._state_size(batch, None, size), "hidden[0]")
        expected = self._state_size(batch, None, self.hidden_size)
        self.check_hidden_size(cx, expected, "hidden[1]")

    def permute_hidden(  # type: ignore[override]  # its states are pairs
        self, hx: tuple[Tensor, Tensor], permutation: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        return self._permuted(hx[0], permutation), self._permuted(hx[1], permutation)

    @overload
    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...
    @overload
    def forward(
        self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]: ...
    def forward(self, input, hx=None):  # type: ignore[no-untyped-def]  # typed by its overloads
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            largest = batch_sizes[0]  # read first, as traces of PyTorch read it
            if hx is None:
                size = self.proj_size if self.proj_size > 0 else self.hidden_size
                state = self._packed_zeros(data, largest, size)
                cells = self._packed_zeros(data, largest, self.hidden_size)
            else:  # whose sizes the operator checks
                state, cells = self._permuted(hx[0], order), self._permuted(hx[1], order)
            output, hidden, cell = ts.lstm(
                data, batch_sizes, [state, cells], self._flat_weights, self.bias, self.num_layers,
                self.dropout, self.training, self.bidirectional,
            )  # fmt: skip
            packed = PackedSequence(output, batch_sizes, order, back)
            return packed, self.permute_hidden((hidden, cell), back)
        alone = input.dim() == 2
        batch = self._batched(input)
        if hx is None:
            state, cells = self._zeros(batch)
        else:
            state, cells = self._pair(hx[0], hx[1], alone)
        self._check_pair(batch, state, cells)
        output, hidden, cell = ts.lstm(
            batch, [state, cells], self._flat_weights, self.bias, self.num_layers, self.dropout,
            self.training, self.bidirectional, self.batch_first,
        )  # fmt: skip
        if alone:
            output = output.squeeze(0 if self.batch_first else 1)
            hidden, cell = hidden.squeeze(1), cell.squeeze(1)
        return output, (hidden, cell)

"""Quantized models that PyTorch saves and we load: dynamic, static, with packed sequences.

Run as a program it writes `quantized_samples/`, which are read where PyTorch is not installed.
"""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.ao.quantization as ao
import torch.nn.functional as F
from archive_program import ArchiveProgram, values
from torch import Tensor, nn
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

QUANTIZED: dict[str, ArchiveProgram] = {}
IMAGE = values(2, 3, 8, 8)


def dynamic(name: str, make: Callable[[], nn.Module], *calls: tuple[Any, ...],
            dtype: torch.dtype = torch.qint8) -> None:  # fmt: skip
    """Weights are quantized, activations when they are seen."""

    def build() -> Any:
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kinds = {nn.Linear, nn.LSTM, nn.GRU}
            return torch.jit.script(ao.quantize_dynamic(make().eval(), kinds, dtype=dtype))

    QUANTIZED[name] = ArchiveProgram(build, calls)


def static(name: str, make: Callable[[], nn.Module], *calls: tuple[Any, ...],
           engine: str = "fbgemm") -> None:  # fmt: skip
    """Everything is quantized, on grids that one call has shown."""

    def build() -> Any:
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mapping = ao.get_default_qconfig_mapping(engine)
            prepared = prepare_fx(make().eval(), mapping, calls[0])
            prepared(*calls[0])
            return torch.jit.trace(convert_fx(prepared), calls[0])

    QUANTIZED[name] = ArchiveProgram(build, calls, is_exact=engine == "qnnpack")


class Recurrent(nn.Module):
    def __init__(self, both_ways: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=both_ways, batch_first=True)
        self.gru = nn.GRU(10 if both_ways else 5, 3, bidirectional=both_ways)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, _ = self.lstm(x)
        return self.gru(y.transpose(0, 1))


class OfTexts(nn.Module):
    """Sequences of several lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, bidirectional=True)
        self.gru = nn.GRU(6, 2, bidirectional=True)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        packed, (h, c) = self.lstm(pack_padded_sequence(x, lengths, enforce_sorted=False))
        texts, last = self.gru(packed)
        return pad_packed_sequence(texts)[0], h, c, last


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.mix = nn.Conv2d(8, 4, 1)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm(self.stem(x)))
        y = F.relu(self.depthwise(y) + y)
        y = self.mix(torch.cat([y, F.hardtanh(y, -0.5, 0.5)], 1))
        y = F.adaptive_avg_pool2d(F.max_pool2d(y, 2) * torch.sigmoid(F.avg_pool2d(y, 2)), 1)
        return self.head(torch.flatten(y, 1))


class Wide(nn.Module):
    """Channels enough for products of bytes, around a residual and a pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1)
        self.grown, self.back = nn.Conv2d(16, 24, 1), nn.Conv2d(24, 16, 3, padding=1)
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.stem(x))
        y = F.relu(self.back(F.relu(self.grown(y))) + y)
        return self.head(F.max_pool2d(y, 2).mean((2, 3)))


class Waves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv1d(2, 4, 3, stride=2)
        self.b = nn.Conv1d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(F.relu(self.a(x))).mean(2)


class Explicit(nn.Module):
    """The operators that programs call themselves."""

    def __init__(self) -> None:
        super().__init__()
        weight = torch.randn(2, 4)
        self.register_buffer("whole", torch.quantize_per_tensor(weight, 0.1, 5, torch.quint8))
        steps, zeros = torch.tensor([0.1, 0.2]), torch.tensor([0, 1])
        rows = torch.quantize_per_channel(weight, steps, zeros, 0, torch.qint8)
        self.register_buffer("rows", rows)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, float, int, bool]:
        q = torch.quantize_per_tensor(x, 0.05, 3, torch.quint8)
        kept = q.reshape(2, 2, -1)[:, 1].relu().dequantize()
        total = x[:2, :1] + self.whole.dequantize().sum() + self.rows.dequantize().sum()
        return kept, total, q.q_scale(), q.q_zero_point(), q.is_quantized


class Padded(nn.Module):
    """Built by hand: stubs, float functions, padding by reflection."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = ao.QuantStub(), ao.DeQuantStub()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect")
        self.sums = torch.ao.nn.quantized.FloatFunctional()
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(self.quant(x))
        y = self.sums.add_relu(y, self.sums.mul(y, y))
        y = F.adaptive_avg_pool2d(self.sums.cat([y, y], 1)[:, :4], 2)
        return self.dequant(self.head(y.reshape(y.shape[0], -1)))


class Words(nn.Module):
    """Rows of embeddings, and sums of them, on grids whose zero points are no integers."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.sums = nn.Embedding(10, 8), nn.EmbeddingBag(6, 4, mode="sum")

    def forward(self, tokens: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        return self.rows(tokens), self.sums(tokens.reshape(-1) % 6, starts)


class Grids(nn.Module):
    """Tensors that are quantized when they are seen, in integers of 32 bits and by channels."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.quantize_per_tensor(values(8), 0.001, 0, torch.qint32)
        self.scales, self.zeros = torch.tensor([0.1, 0.2]), torch.tensor([1, 3])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        wide = torch.quantize_per_tensor(x, 0.001, 5, torch.qint32)
        rows = torch.quantize_per_channel(x, self.scales, self.zeros, 0, torch.quint8)
        moved = torch.quantize_per_channel(x, self.scales, self.zeros * 0.3, 0, torch.quint8)
        total = x + self.wide.dequantize() + wide.dequantize() + moved.dequantize()
        return total, wide.int_repr(), rows.int_repr(), rows.dequantize()


def _words() -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Words().eval()
        for layer in model.children():
            layer.qconfig = ao.float_qparams_weight_only_qconfig
        ao.prepare(model, inplace=True)
        return torch.jit.script(ao.convert(model))


def _by_hand(engine: str) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Padded().eval()
        model.qconfig = ao.get_default_qconfig(engine)
        ao.prepare(model, inplace=True)
        model(IMAGE)
        return torch.jit.script(ao.convert(model))


def _scripted(make: Callable[[], nn.Module]) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(make().eval())


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


dynamic("dynamic", _mlp, (values(2, 4),), (values(5, 4),))
dynamic("dynamic_half", _mlp, (values(2, 4),), dtype=torch.float16)
dynamic("dynamic_recurrent", lambda: Recurrent(False), (values(2, 5, 4),))
dynamic("dynamic_both_ways", lambda: Recurrent(True), (values(2, 3, 4),))
dynamic("dynamic_texts", OfTexts, (values(5, 3, 4), torch.tensor([3, 5, 2])))
static("static", Residual, (IMAGE,), (IMAGE[:1] * 2,))
static("static_wide", Wide, (values(2, 3, 18, 18),))
static("static_waves", Waves, (values(2, 2, 9),))
static("static_mlp", _mlp, (values(2, 4),), (values(3, 4),), engine="qnnpack")
QUANTIZED["by_hand"] = ArchiveProgram(lambda: _by_hand("fbgemm"), ((IMAGE,), (IMAGE[:1],)))
dynamic("dynamic_half_recurrent", lambda: Recurrent(True), (values(2, 3, 4),), dtype=torch.float16)
TOKENS = torch.tensor([[3, 1], [9, 0]])
QUANTIZED["words"] = ArchiveProgram(_words, ((TOKENS, torch.tensor([0, 1])),))
QUANTIZED["grids"] = ArchiveProgram(lambda: _scripted(Grids), ((values(2, 8),),))
QUANTIZED["explicit"] = ArchiveProgram(lambda: _scripted(Explicit), ((values(2, 8),),))


def frozen(name: str) -> None:
    """As PyTorch freezes it: packed weights are constants of the code."""
    program = QUANTIZED[name]
    make = lambda: torch.jit.freeze(program.make())  # noqa: E731 - one line
    QUANTIZED[f"{name}_frozen"] = ArchiveProgram(make, program.calls)


frozen("dynamic")
frozen("static")


def write(folder: Path, names: tuple[str, ...]) -> None:
    """Archives, and beside each the inputs and the result of its first call."""
    for name in names:
        program, out = QUANTIZED[name], io.BytesIO()
        torch.jit.save(program.make(), out)
        (folder / f"{name}.pt").write_bytes(out.getvalue())
        with torch.no_grad():
            found = torch.jit.load(io.BytesIO(out.getvalue()))(*program.calls[0])
        inputs = {f"input{k}": x.numpy() for k, x in enumerate(program.calls[0])}
        np.savez(folder / f"{name}.npz", result=found.numpy(), **inputs)


if __name__ == "__main__":
    write(Path(__file__).parent / "quantized_samples", ("dynamic", "static"))

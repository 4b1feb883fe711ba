"""Whole models, written with `torch.nn` or our own where PyTorch is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers import lib
from tensor_programs import Workload, normal

nn = lib.nn


class Block(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """A residual block of ResNet-18."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Identity()
        if stride != 1 or channels != out:
            layers = nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            self.shortcut = nn.Sequential(*layers)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet18() -> Any:
    blocks = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1),
              (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]  # fmt: skip
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), *(Block(*b) for b in blocks),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(512, 1000),
    )  # fmt: skip


def mlp() -> Any:
    return nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


class Encoder(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """One layer of a MiniLM-sized text encoder: 384 wide, 12 heads."""

    def __init__(self) -> None:
        super().__init__()
        self.heads, self.width = 12, 384
        self.qkv = nn.Linear(384, 3 * 384)
        self.out = nn.Linear(384, 384)
        self.norm1, self.norm2 = nn.LayerNorm(384), nn.LayerNorm(384)
        self.up, self.down = nn.Linear(384, 1536), nn.Linear(1536, 384)
        self.gelu = nn.GELU()

    def forward(self, x):
        b, s = x.shape[0], x.shape[1]
        parts = self.qkv(x).view(b, s, 3, self.heads, self.width // self.heads)
        parts = parts.permute(2, 0, 3, 1, 4)
        mixed = lib.nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = self.norm1(x + self.out(mixed.transpose(1, 2).reshape(b, s, self.width)))
        return self.norm2(x + self.down(self.gelu(self.up(x))))


class Recurrent(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """The outputs of an LSTM over a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(64, 128, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def _model(name: str, build: Callable[[], Any], shape: tuple[int, ...]) -> Workload:
    lib.manual_seed(0)
    return Workload(name, build().eval(), normal(shape))


def models() -> tuple[Workload, ...]:
    """Built when asked for: ResNet-18 alone has 45 MB of weights."""
    return (
        _model("MLP 784-512-512-10, batch 1", mlp, (1, 784)),
        _model("MLP 784-512-512-10, batch 64", mlp, (64, 784)),
        _model("ResNet-18, batch 1", resnet18, (1, 3, 224, 224)),
        _model("encoder layer 384, S=128, batch 1", Encoder, (1, 128, 384)),
        _model("LSTM 64 to 128, T=100, batch 1", Recurrent, (1, 100, 64)),
    )

"""Models of images, written with `torch.nn`, or our own where PyTorch is not installed."""

from __future__ import annotations

from typing import Any

from peers import lib
from transformer_layer import Layer
from workload import Workload, model, normal

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


def linear_layers() -> Any:
    """192 MiB of weights, which is most of what a process holds."""
    return nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(12)))


def mlp() -> Any:
    return nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


class Inverted(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """An inverted residual of MobileNetV2: widen, filter each channel, narrow."""

    def __init__(self, channels: int, out: int, stride: int, factor: int) -> None:
        super().__init__()
        wide = channels * factor
        layers = [] if factor == 1 else [*_normed(channels, wide, 1, 1, 1), nn.ReLU6()]
        layers += [*_normed(wide, wide, 3, stride, wide), nn.ReLU6(), *_normed(wide, out, 1, 1, 1)]
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and channels == out

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.adds else y


def _normed(channels: int, out: int, kernel: int, stride: int, groups: int) -> list[Any]:
    padding = kernel // 2
    convolution = nn.Conv2d(channels, out, kernel, stride, padding, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(out)]


def mobilenet_v2() -> Any:
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
              (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]  # fmt: skip
    layers, channels = [*_normed(3, 32, 3, 2, 1), nn.ReLU6()], 32
    for factor, out, count, first in stages:
        for k in range(count):
            layers.append(Inverted(channels, out, first if k == 0 else 1, factor))
            channels = out
    layers += [*_normed(channels, 1280, 1, 1, 1), nn.ReLU6()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(1280, 1000))


class VisionTransformer(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """ViT-tiny: 12 layers of 192, patches of 16x16."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 192, 16, 16)
        self.first = nn.Parameter(lib.randn(1, 1, 192))
        self.places = nn.Parameter(lib.randn(1, 197, 192))
        self.layers = nn.Sequential(*(Layer(192, 3, before=True) for _ in range(12)))
        self.norm = nn.LayerNorm(192)
        self.head = nn.Linear(192, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = lib.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


IMAGE_MODELS: tuple[Workload, ...] = (
    *(
        model(f"MLP 784-512-512-10, batch {n}", mlp, normal((n, 784)), n * 1.337e6)
        for n in (1, 8, 64)
    ),
    *(
        model(f"{name}, batch {n}", build, normal((n, 3, 224, 224)), n * flops)
        for name, build, flops in (
            ("ResNet-18", resnet18, 3.628e9),
            ("MobileNetV2", mobilenet_v2, 0.602e9),
            ("ViT-tiny", VisionTransformer, 2.511e9),
        )
        for n in (1, 8)
    ),
)

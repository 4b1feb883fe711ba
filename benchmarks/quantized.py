"""Quantized layers, as PyTorch saves them in archives: only with PyTorch there are any."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from peers import quantize_fx, torch
from workload import Workload, normal

import tensorscript as ts

UNIT = 2.0**-5
"""Of the largest magnitude: where a sum lies between two steps of a grid, either may be taken."""


def loaded(program: Any) -> Any:
    """The same program, by way of its archive, as ours."""
    file = io.BytesIO()
    torch.jit.save(program, file)
    return ts.jit.load(io.BytesIO(file.getvalue()))


def dynamic(layers: Callable[[], Any], shape: tuple[int, ...]) -> Any:
    """Weights are bytes, what they are multiplied with becomes bytes at each call."""
    made, example = _seeded(layers, shape)
    bytes_ = torch.ao.quantization.quantize_dynamic(made, {torch.nn.Linear}, torch.qint8)
    return torch.jit.trace(bytes_, example)


def static(layers: Callable[[], Any], shape: tuple[int, ...]) -> Any:
    """Everything between the first and the last layer is bytes."""
    made, example = _seeded(layers, shape)
    mapping = torch.ao.quantization.get_default_qconfig_mapping("x86")
    prepared = quantize_fx.prepare_fx(made, mapping, (example,))
    prepared(example)
    return torch.jit.trace(quantize_fx.convert_fx(prepared), example)


def _seeded(layers: Callable[[], Any], shape: tuple[int, ...]) -> tuple[Any, Any]:
    torch.manual_seed(0)
    made = layers().eval()
    return made, torch.from_numpy(*normal(shape)(np.random.default_rng(0)))


def _linear(*widths: int) -> Any:
    pairs = pairwise(widths)
    layers = [part for a, b in pairs for part in (torch.nn.Linear(a, b), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers)


def _convolutions(channels: int, taps: int) -> Any:
    pairs = (
        (torch.nn.Conv2d(channels, channels, taps, padding=taps // 2), torch.nn.ReLU())
        for _ in range(2)
    )
    return torch.nn.Sequential(*(layer for pair in pairs for layer in pair))


def _row(
    name: str,
    how: Callable[..., Any],
    layers: Callable[[], Any],
    shape: tuple[int, ...],
    products: float,
) -> Workload:
    def build() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return how(layers, shape)

    return Workload(name, build, normal(shape), flops=2 * products, unit=UNIT, archive=True)


QUANTIZED: tuple[Workload, ...] = () if torch is None else (
    *(
        _row(f"{how.__name__} linear {n}x512, 512", how, lambda: _linear(512, 512), (n, 512),
             n * 512.0**2)
        for n in (1, 256)
        for how in (dynamic, static)
    ),
    _row("dynamic MLP 128x768, 3072, 768", dynamic, lambda: _linear(768, 3072, 768), (128, 768),
         128 * 2 * 768 * 3072.0),
    _row("static MLP 64x512, 1024, 512", static, lambda: _linear(512, 1024, 512), (64, 512),
         64 * 2 * 512 * 1024.0),
    _row("two 3x3 of 64 at 56x56", static, lambda: _convolutions(64, 3), (1, 64, 56, 56),
         2 * 9 * 64.0**2 * 56**2),
    _row("two 3x3 of 256 at 14x14", static, lambda: _convolutions(256, 3), (1, 256, 14, 14),
         2 * 9 * 256.0**2 * 14**2),
    _row("two 1x1 of 128 at 28x28", static, lambda: _convolutions(128, 1), (1, 128, 28, 28),
         2 * 128.0**2 * 28**2),
)  # fmt: skip

"""Graphs of scripted modules equal PyTorch's."""

from __future__ import annotations

import re
import warnings

import pytest
from graph_texts import canonical

from tensorscript.frontends.script.api import compile_module

torch = pytest.importorskip("torch")
nn = torch.nn

MODULES = {
    "Linear": lambda: nn.Linear(3, 4),
    "LinearNoBias": lambda: nn.Linear(3, 4, bias=False),
    "Conv2d": lambda: nn.Conv2d(3, 4, 3, padding=1),
    "Conv1d": lambda: nn.Conv1d(3, 4, 3, stride=2),
    "ConvTranspose2d": lambda: nn.ConvTranspose2d(3, 4, 3),
    "BatchNorm2d": lambda: nn.BatchNorm2d(3),
    "LayerNorm": lambda: nn.LayerNorm([4]),
    "GroupNorm": lambda: nn.GroupNorm(2, 4),
    "InstanceNorm2d": lambda: nn.InstanceNorm2d(3),
    "Embedding": lambda: nn.Embedding(10, 4),
    "ReLU": nn.ReLU,
    "GELU": nn.GELU,
    "SiLU": nn.SiLU,
    "Sigmoid": nn.Sigmoid,
    "Softmax": lambda: nn.Softmax(dim=1),
    "Hardtanh": nn.Hardtanh,
    "Dropout": nn.Dropout,
    "MaxPool2d": lambda: nn.MaxPool2d(2),
    "AvgPool2d": lambda: nn.AvgPool2d(2),
    "AdaptiveAvgPool2d": lambda: nn.AdaptiveAvgPool2d((1, 1)),
    "Flatten": nn.Flatten,
    "Sequential": lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)),
    "LSTMCell": lambda: nn.LSTMCell(3, 4),
    "MultiheadAttention": lambda: nn.MultiheadAttention(8, 2),
    "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(8, 2, 16),
    "CrossEntropyLoss": nn.CrossEntropyLoss,
    "MSELoss": nn.MSELoss,
    "PReLU": nn.PReLU,
    "PixelShuffle": lambda: nn.PixelShuffle(2),
    "ZeroPad2d": lambda: nn.ZeroPad2d(1),
    "Bilinear": lambda: nn.Bilinear(2, 3, 4),
    "Identity": nn.Identity,
}


def plain(graph: str) -> list[str]:
    graph = re.sub(r"\[warn_id=\d+\]", "", graph)
    return canonical(re.sub(r"___torch_mangle_\d+\.", "", graph))


@pytest.mark.parametrize("name", MODULES)
def test_forward_graph_equals_torch(name: str) -> None:
    module = MODULES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = str(torch.jit.script(module).graph)
    assert plain(compile_module(module).graph) == plain(wanted)

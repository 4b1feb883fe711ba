"""Modules to trace with either library: a constructor over its `nn`, and the shapes of the inputs.

An `l` in front of a shape makes integers; a tuple of shapes is a tuple of inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shapes = tuple[Any, ...]


def _shared(linear: Any, n: Any) -> Any:
    """One submodule in several places."""
    return n.Sequential(linear, n.Sequential(linear, n.ReLU()), n.Sequential(n.Tanh()), linear)


def _tied(embedding: Any, linear: Any, n: Any) -> Any:
    """One parameter in two submodules."""
    linear.weight = embedding.weight
    return n.Sequential(embedding, linear)


MODULES: dict[str, tuple[Callable[[Any], Any], Shapes]] = {
    "linear": (lambda n: n.Linear(3, 4), ("2 3",)),
    "perceptron": (
        lambda n: n.Sequential(n.Linear(3, 4), n.ReLU(), n.Dropout(), n.Linear(4, 2), n.Softmax(1)),
        ("2 3",),
    ),
    "nested": (
        lambda n: n.Sequential(n.Sequential(n.Linear(3, 3), n.ReLU()), n.Linear(3, 3)),
        ("2 3",),
    ),
    "conv1d": (lambda n: n.Conv1d(2, 3, 3), ("1 2 5",)),
    "conv2d": (lambda n: n.Conv2d(2, 3, 3, padding=1), ("1 2 4 4",)),
    "conv_transpose2d": (lambda n: n.ConvTranspose2d(2, 3, 3), ("1 2 4 4",)),
    "batch_norm": (lambda n: n.BatchNorm2d(2), ("1 2 4 4",)),
    "layer_norm": (lambda n: n.LayerNorm(4), ("2 4",)),
    "group_norm": (lambda n: n.GroupNorm(2, 4), ("2 4 3",)),
    "instance_norm": (lambda n: n.InstanceNorm2d(2), ("1 2 4 4",)),
    "rms_norm": (lambda n: n.RMSNorm(3), ("2 3",)),
    "embedding": (lambda n: n.Embedding(5, 3), ("l2 3",)),
    "lstm_cell": (lambda n: n.LSTMCell(3, 4), ("2 3", ("2 4", "2 4"))),
    "gru_cell": (lambda n: n.GRUCell(3, 4), ("2 3", "2 4")),
    "rnn_cell": (lambda n: n.RNNCell(3, 4), ("2 3", "2 4")),
    "pooling": (
        lambda n: n.Sequential(n.MaxPool2d(2), n.AvgPool2d(2), n.AdaptiveAvgPool2d(1), n.Flatten()),
        ("1 2 8 8",),
    ),
    "activations": (
        lambda n: n.Sequential(
            n.ReLU6(), n.SiLU(), n.GELU(), n.ELU(), n.LeakyReLU(), n.Tanh(), n.Sigmoid(),
            n.Hardswish(), n.Hardsigmoid(), n.Softplus(), n.PReLU(), n.Mish(), n.SELU(), n.CELU(),
            n.LogSoftmax(1), n.Hardtanh(), n.Identity(), n.Softsign(), n.Tanhshrink(), n.GLU(),
        ),
        ("2 4",),
    ),
    "padding": (
        lambda n: n.Sequential(
            n.ZeroPad2d(1), n.ReflectionPad2d(1), n.ReplicationPad2d(1), n.ConstantPad2d(1, 2.0)
        ),
        ("1 2 4 4",),
    ),
    "mse_loss": (lambda n: n.MSELoss(), ("2 3", "2 3")),
    "cross_entropy": (lambda n: n.CrossEntropyLoss(), ("2 3", "l2")),
    "bilinear": (lambda n: n.Bilinear(2, 3, 4), ("5 2", "5 3")),
    "pixel_shuffle": (lambda n: n.PixelShuffle(2), ("1 4 2 2",)),
    "upsample": (lambda n: n.Upsample(scale_factor=2), ("1 2 4 4",)),
    "unfold": (lambda n: n.Unfold(2), ("1 2 4 4",)),
    "unflatten": (lambda n: n.Unflatten(1, (2, 2)), ("2 4",)),
    "shared": (lambda n: _shared(n.Linear(2, 2), n), ("3 2",)),
    "tied": (lambda n: _tied(n.Embedding(4, 3), n.Linear(3, 4), n), ("l2",)),
    "cosine": (lambda n: n.CosineSimilarity(), ("2 3", "2 3")),
}  # fmt: skip

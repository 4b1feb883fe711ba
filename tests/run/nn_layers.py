"""One row a layer: class, constructor arguments, and the shapes or arrays of its inputs.

An input is a shape (normal numbers), `Ints(high, shape)`, `Unit(shape)`, or an array as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Ints:
    high: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Unit:
    """Numbers in (0, 1)."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    name: str
    args: tuple[Any, ...]
    inputs: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self.name}({', '.join(options)})"


def row(name: str, args: tuple[Any, ...], *inputs: Any, **kwargs: Any) -> Row:
    return Row(name, args, inputs, kwargs)


def arrays(spec: Any, rng: np.random.Generator) -> Any:
    """The input that a spec stands for."""
    match spec:
        case Ints(high, shape):
            return rng.integers(0, high, shape)
        case Unit(shape):
            return (rng.random(shape) * 0.9 + 0.05).astype(np.float32)
        case tuple() if all(isinstance(n, int) for n in spec):
            return rng.standard_normal(spec).astype(np.float32)
        case tuple():
            return tuple(arrays(s, rng) for s in spec)
    return spec


X1, X2, X3 = (2, 4, 9), (2, 4, 6, 7), (2, 4, 5, 6, 4)
SIGNS = np.array([1.0, -1.0, 1.0], np.float32)
MASK = np.triu(np.ones((5, 5), bool), 1)
PADDED = np.array([[False] * 5, [False] * 3 + [True] * 2])

PLAIN = (
    "ReLU", "ReLU6", "SiLU", "Mish", "SELU", "Hardsigmoid", "Hardswish", "Sigmoid", "Tanh",
    "LogSigmoid", "Softsign", "Tanhshrink", "Hardtanh", "ELU", "CELU", "LeakyReLU", "RReLU",
    "GELU", "Hardshrink", "Softshrink", "Softplus", "PReLU", "Softmax2d", "Identity", "Flatten",
)  # fmt: skip

ACTIVATIONS = [
    *(row(name, (), X2) for name in PLAIN),
    row("ReLU", (), X2, inplace=True), row("Threshold", (0.1, 2.0), X2),
    row("Threshold", (0.1, 2.0, True), X2), row("Hardtanh", (-0.5, 0.5), X2),
    row("ELU", (0.5, True), X2), row("GELU", ("tanh",), X2), row("PReLU", (4,), X2),
    row("Softmax", (1,), X2), row("LogSoftmax", (), X2, dim=-1), row("Softmin", (0,), X2),
    row("Softplus", (2.0, 0.5), X2), row("GLU", (1,), X2), row("GLU", (), X3),
    row("LeakyReLU", (0.3,), X2),
    row("Flatten", (0, 2), X2), row("Unflatten", (1, (2, 2)), X2),
]  # fmt: skip

PRODUCTS = [
    row("Linear", (7, 3), X2), row("Linear", (7, 3, False), (7,)),
    row("Bilinear", (3, 4, 5), (2, 3), (2, 4)), row("Bilinear", (3, 4, 5, False), (3,), (4,)),
    row("Embedding", (10, 3), Ints(10, (2, 4))), row("Embedding", (10, 3, -1), Ints(10, (4,))),
    row("Embedding", (6, 3), Ints(6, (2, 4)), max_norm=1.0),
    row("EmbeddingBag", (10, 3), Ints(10, (2, 4))),
    row("EmbeddingBag", (10, 3), Ints(10, (6,)), np.array([0, 2]), mode="sum"),
    row("EmbeddingBag", (10, 3), Ints(10, (2, 4)), mode="max", padding_idx=2),
]  # fmt: skip

CONVOLUTIONS = [
    row("Conv1d", (4, 6, 3), X1), row("Conv1d", (4, 6, 3), X1, padding="same", dilation=2),
    row("Conv1d", (4, 6, 3), (4, 9), padding=1, padding_mode="circular"),
    row("Conv2d", (4, 6, 3), X2), row("Conv2d", (4, 6, (3, 2), 2, (1, 0)), X2),
    row("Conv2d", (4, 6, 3), X2, padding=1, padding_mode="reflect"),
    row("Conv2d", (4, 8, 3), X2, groups=4, bias=False), row("Conv2d", (4, 6, 1), X2),
    row("Conv2d", (4, 6, 3), X2, padding="valid"), row("Conv3d", (4, 6, 3), X3),
    row("Conv3d", (4, 6, 2), X3, padding=1, padding_mode="replicate"),
    row("ConvTranspose1d", (4, 6, 3, 2), X1), row("ConvTranspose2d", (4, 6, 3), X2),
    row("ConvTranspose2d", (4, 6, 3, 2, 1, 1), X2, groups=2, bias=False),
    row("ConvTranspose3d", (4, 6, 2, 2), X3),
]  # fmt: skip

POOLINGS = [
    *(row(f"{kind}Pool{n}d", (2,), x)
      for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg")
      for n, x in ((1, X1), (2, X2), (3, X3))),
    row("MaxPool2d", (3, 2, 1), X2), row("MaxPool2d", (2,), X2, return_indices=True),
    row("MaxPool2d", ((2, 3),), X2, ceil_mode=True), row("MaxPool1d", (3,), X1, stride=1),
    row("AvgPool2d", (3, 2, 1), X2, count_include_pad=False), row("AvgPool1d", (3, 2, 1), X1),
    row("AvgPool2d", (2,), X2, divisor_override=3),
    row("AdaptiveAvgPool2d", ((3, 4),), X2),
    row("AdaptiveMaxPool2d", (3,), X2, return_indices=True), row("LPPool1d", (2, 3), X1),
    row("LPPool2d", (2, 2), X2), row("LPPool3d", (2.0, 2), X3),
    row("MaxUnpool1d", (2,), (2, 3, 4), np.arange(4) * 2 + np.zeros((2, 3, 1), np.int64)),
    row("MaxUnpool2d", (2, 2), (1, 1, 2, 2), np.array([[[[0, 3], [9, 11]]]])),
    row("MaxUnpool3d", (2,), (1, 1, 1, 1, 2), np.array([[[[[1, 6]]]]])),
    row("FractionalMaxPool2d", (2, (3, 4)), X2, _random_samples=(2, 4, 2)),
    row("FractionalMaxPool3d", (2,), X3, output_ratio=0.5, _random_samples=(2, 4, 3)),
]  # fmt: skip

PADDINGS = [
    *(row(f"{kind}Pad{n}d", (1,), x)
      for kind in ("Reflection", "Replication", "Zero", "Circular")
      for n, x in ((1, X1), (2, X2), (3, X3))),
    *(row(f"ConstantPad{n}d", (2, 3.5), x) for n, x in ((1, X1), (2, X2), (3, X3))),
    row("ZeroPad2d", ((1, 0, 2, 1),), X2),
]  # fmt: skip

NORMS = [
    row("BatchNorm1d", (4,), X1), row("BatchNorm1d", (4,), (3, 4)), row("BatchNorm2d", (4,), X2),
    row("BatchNorm2d", (4,), X2, affine=False, momentum=None), row("BatchNorm3d", (4,), X3),
    row("BatchNorm2d", (4,), X2, track_running_stats=False),
    row("InstanceNorm1d", (4,), X1), row("InstanceNorm2d", (4,), X2, affine=True),
    row("InstanceNorm2d", (4,), X2, track_running_stats=True), row("InstanceNorm3d", (4,), X3),
    row("InstanceNorm1d", (4,), (4, 9)),
    row("LayerNorm", (7,), X2), row("LayerNorm", ((6, 7),), X2, elementwise_affine=False),
    row("LayerNorm", (7,), X2, bias=False), row("GroupNorm", (2, 4), X2),
    row("GroupNorm", (4, 4), X1, affine=False), row("RMSNorm", (7,), X2),
    row("RMSNorm", ((6, 7), 1e-3), X2, elementwise_affine=False),
    row("LocalResponseNorm", (3,), X2), row("LocalResponseNorm", (2,), X1, k=2.0),
    row("CrossMapLRN2d", (3,), X2),
]  # fmt: skip

DROPOUTS = [
    row("Dropout", (), X2), row("Dropout1d", (0.3,), X1), row("Dropout2d", (0.3,), X2),
    row("Dropout3d", (), X3), row("AlphaDropout", (), X2), row("FeatureAlphaDropout", (), X2),
]  # fmt: skip

Y, Z, C = (3, 5), (3, 5), Ints(5, (3,))
LOSSES = [
    row("L1Loss", (), Y, Z), row("MSELoss", (), Y, Z, reduction="sum"),
    row("SmoothL1Loss", (), Y, Z, beta=0.5), row("HuberLoss", (), Y, Z, delta=0.5),
    row("SoftMarginLoss", (), Y, Z), row("BCELoss", (), Unit(Y), Unit(Y)),
    row("BCEWithLogitsLoss", (), Y, Unit(Y), pos_weight=Unit((5,))),
    row("KLDivLoss", (), Y, Unit(Y), reduction="batchmean"),
    row("KLDivLoss", (), Y, Z, reduction="none", log_target=True),
    row("NLLLoss", (), Y, C), row("NLLLoss", (), Y, C, weight=Unit((5,)), reduction="none"),
    row("CrossEntropyLoss", (), Y, C), row("CrossEntropyLoss", (), Y, Unit(Y), label_smoothing=0.1),
    row("PoissonNLLLoss", (), Y, Unit(Y)), row("PoissonNLLLoss", (), Y, Unit(Y), full=True),
    row("GaussianNLLLoss", (), Y, Z, Unit(Y)), row("HingeEmbeddingLoss", (), Y, SIGNS[:, None]),
    row("CosineEmbeddingLoss", (0.2,), Y, Z, SIGNS),
    row("MarginRankingLoss", (0.1,), (3,), (3,), SIGNS),
    row("MultiLabelMarginLoss", (), Y, np.array([[1, 3, -1, 0, 0]] * 3)),
    row("MultiLabelSoftMarginLoss", (), Y, Unit(Y)), row("MultiMarginLoss", (), Y, C),
    row("MultiMarginLoss", (2, 0.5), Y, C, weight=Unit((5,))),
    row("TripletMarginLoss", (), Y, Z, Y, swap=True),
    row("CTCLoss", (), (6, 2, 4), np.array([[1, 2, 1], [3, 1, 2]]), np.array([6, 5]),
        np.array([3, 2])),
]  # fmt: skip

SEQUENCES = [
    row("RNN", (4, 3), (5, 2, 4)), row("RNN", (4, 3, 2), (2, 5, 4), nonlinearity="relu",
                                       batch_first=True, bidirectional=True),
    row("GRU", (4, 3), (5, 2, 4)), row("GRU", (4, 3, 2), (5, 4), bias=False),
    row("GRU", (4, 3), (5, 2, 4), (1, 2, 3)),
    row("LSTM", (4, 3), (5, 2, 4)), row("LSTM", (4, 3, 2), (2, 5, 4), batch_first=True,
                                        bidirectional=True),
    row("LSTM", (4, 3), (5, 2, 4), ((1, 2, 3), (1, 2, 3))), row("LSTM", (4, 3), (5, 4)),
    row("LSTM", (4, 3), (5, 2, 4), proj_size=2),
    row("RNNCell", (4, 3), (2, 4)), row("RNNCell", (4, 3), (4,), nonlinearity="relu", bias=False),
    row("LSTMCell", (4, 3), (2, 4)), row("LSTMCell", (4, 3), (4,), ((3,), (3,))),
    row("GRUCell", (4, 3), (2, 4), (2, 3)),
]  # fmt: skip

ATTENTION = [
    row("MultiheadAttention", (8, 2), (5, 2, 8), (5, 2, 8), (5, 2, 8)),
    row("MultiheadAttention", (8, 2), (2, 5, 8), (2, 6, 8), (2, 6, 8), batch_first=True),
    row("MultiheadAttention", (8, 2), (5, 8), (5, 8), (5, 8), bias=False),
    row("MultiheadAttention", (8, 2), (5, 2, 8), (5, 2, 8), (5, 2, 8), PADDED, add_bias_kv=True,
        add_zero_attn=True),
    row("MultiheadAttention", (8, 4), (5, 2, 8), (5, 2, 6), (5, 2, 7), kdim=6, vdim=7),
    row("TransformerEncoderLayer", (8, 2, 16), (5, 2, 8)),
    row("TransformerEncoderLayer", (8, 2, 16), (2, 5, 8), MASK, PADDED, batch_first=True,
        norm_first=True, activation="gelu"),
    row("TransformerDecoderLayer", (8, 2, 16), (5, 2, 8), (6, 2, 8)),
    row("Transformer", (8, 2, 1, 1, 16), (5, 2, 8), (4, 2, 8)),
]  # fmt: skip

OTHERS = [
    row("Upsample", (), X2, scale_factor=2), row("Upsample", ((3, 9),), X2, mode="bilinear"),
    row("Upsample", (), X1, scale_factor=1.5, mode="linear", align_corners=True),
    row("Upsample", (), X2, scale_factor=(2.0, 1.5), mode="bicubic"),
    row("UpsamplingNearest2d", (), X2, scale_factor=2), row("UpsamplingBilinear2d", (5,), X2),
    row("PixelShuffle", (2,), X2), row("PixelUnshuffle", (2,), (1, 2, 4, 6)),
    row("ChannelShuffle", (2,), X2), row("Unfold", (2,), X2, padding=1),
    row("Fold", ((4, 5), 2), (1, 8, 12)), row("CosineSimilarity", (), Y, Z),
    row("PairwiseDistance", (1.0,), Y, Z, keepdim=True),
]  # fmt: skip

LAYERS: list[Row] = [
    *ACTIVATIONS, *PRODUCTS, *CONVOLUTIONS, *POOLINGS, *PADDINGS, *NORMS, *DROPOUTS, *LOSSES,
    *SEQUENCES, *ATTENTION, *OTHERS,
]  # fmt: skip

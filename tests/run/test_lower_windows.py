"""Convolutions, pooling, normalisations against PyTorch: strides, padding, groups, half types."""

from __future__ import annotations

import math

import pytest
from test_lower_operators import check, samples

torch = pytest.importorskip("torch")
HALF = torch.bfloat16
NAN = torch.tensor([[[1.0, math.nan, 2, 0], [3, 4, 5, 6], [9, 9, 1, 1], [9, 9, 1, math.nan]]])
X = samples(1, 3, 5, 5)
W = samples(4, 3, 3, 3)
POOLED = samples(2, 3, 7, 8)
CHANNELS = samples(3)
SPREAD = samples(3, low=0.5)

CASES = [
    ("aten::conv1d", (samples(2, 3, 9), samples(4, 3, 3), samples(4), [2], [1], [2])),
    ("aten::conv1d", (samples(0, 3, 9), samples(4, 3, 3))),
    (
        "aten::conv2d",
        (samples(2, 4, 6, 7), samples(6, 2, 3, 2), samples(6), [2, 1], [1, 2], [1, 2], 2),
    ),
    ("aten::conv2d", (samples(1, 4, 5, 5), samples(4, 1, 3, 3), None, [1], [1], [1], 4)),
    ("aten::conv2d", (samples(3, 5, 5), W)),
    ("aten::conv2d", (X.to(HALF), W.to(HALF), samples(4, dtype=HALF))),
    ("aten::conv3d", (samples(1, 2, 4, 5, 6), samples(3, 2, 2, 3, 2), samples(3))),
    ("aten::conv2d.padding", (X, W, samples(4), [1, 1], "same", [1, 2])),
    ("aten::conv2d.padding", (X, samples(4, 3, 2, 3), None, [2, 2], "valid")),
    (
        "aten::conv_transpose1d",
        (samples(2, 4, 5), samples(4, 3, 3), samples(3), [2], [1], [1]),
    ),
    (
        "aten::conv_transpose2d.input",
        (samples(1, 4, 3, 4), samples(4, 3, 3, 2), samples(6), [2, 3], [1, 0], [1, 2], 2, [2, 1]),
    ),
    ("aten::conv_transpose2d.input", (samples(4, 3, 4), samples(4, 3, 2, 2))),
    (
        "aten::conv_transpose3d.input",
        (samples(1, 2, 2, 3, 2), samples(2, 2, 2, 2, 2), None, [2, 1, 2]),
    ),
    (
        "aten::convolution",
        (X, samples(3, 4, 3, 3), samples(4), [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
    ),
    ("aten::max_pool1d", (samples(2, 3, 9), [3], [2], [1], [1], True)),
    ("aten::max_pool2d", (POOLED, [3, 2], [2, 2], [1, 1], [1, 1], True)),
    ("aten::max_pool2d", (samples(1, 1, 4, 4, dtype=torch.int64), [2, 2], [2, 2], [1, 1])),
    ("aten::max_pool2d_with_indices", (POOLED, [3, 2], [2, 1], [1, 1], [1, 2])),
    ("aten::max_pool2d_with_indices", (NAN, [2, 2])),
    ("aten::max_pool2d_with_indices", (NAN, [2, 2], [2, 2], [1, 1])),
    ("aten::max_pool2d_with_indices", (NAN * torch.nan, [2, 2], [1, 1])),
    ("aten::max_pool2d_with_indices", (NAN - torch.inf, [2, 2], [1, 1], [1, 1])),
    ("aten::max_pool2d_with_indices", (torch.zeros(1, 1, 3, 3).byte(), [2, 2], [2, 2], [1, 1])),
    ("aten::max_pool2d_with_indices", (torch.zeros(1, 1, 4, 4), [3, 3], [1, 1], [1, 1])),
    ("aten::max_pool3d", (samples(1, 2, 4, 5, 6), [2, 2, 2])),
    ("aten::avg_pool1d", (samples(2, 3, 9), [3], [2], [1])),
    ("aten::avg_pool2d", (POOLED, [3, 2], [2, 2], [1, 1], True, True)),
    ("aten::avg_pool2d", (POOLED, [3, 2], [2, 2], [1, 1], True, False)),
    ("aten::avg_pool2d", (POOLED, [3, 2], [2, 2], [1, 1], False, False, 5)),
    ("aten::avg_pool2d", (POOLED.to(HALF), [3, 3], [2, 2])),
    ("aten::avg_pool3d", (samples(1, 2, 4, 5, 6), [2, 3, 2], [1, 2, 2], [1, 1, 1], True)),
    ("aten::adaptive_avg_pool1d", (samples(2, 3, 7), [3])),
    ("aten::adaptive_avg_pool2d", (samples(1, 2, 3, 3), [5, 7])),
    ("aten::adaptive_avg_pool3d", (samples(1, 2, 4, 5, 6), [2, 2, 4])),
    (
        "aten::batch_norm",
        (samples(2, 3, 4), CHANNELS, CHANNELS, CHANNELS, SPREAD, False, 0.1, 1e-5, False),
    ),
    ("aten::batch_norm", (samples(5, 3), None, None, CHANNELS, SPREAD, False, 0.1, 1e-5, False)),
    (
        "aten::batch_norm",
        (samples(2, 3, 4), CHANNELS, CHANNELS, None, None, True, 0.1, 1e-5, False),
    ),
    ("aten::layer_norm", (samples(2, 3, 8), [3, 8])),
    ("aten::layer_norm", (samples(2, 8, dtype=HALF), [8], samples(8, dtype=HALF), None)),
    ("aten::rms_norm", (samples(2, 3, 8, dtype=torch.float64), [3, 8], None, 1e-3)),
    ("aten::group_norm", (samples(2, 6, 3, 3), 3, samples(6), samples(6))),
    (
        "aten::instance_norm",
        (samples(2, 3, 4), CHANNELS, CHANNELS, None, None, True, 0.1, 1e-5, False),
    ),
]


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].removeprefix("aten::"))
def test_operator(case: tuple[str, tuple[object, ...]]) -> None:
    check(case[0], *case[1])

"""What operators refuse before they are lowered: PyTorch's words for PyTorch's reasons."""

from __future__ import annotations

import pytest
from test_lower_operators import samples, specialised

from tensorscript.base.errors import OperatorError

torch = pytest.importorskip("torch")
X = samples(1, 3, 5, 5)
W = samples(4, 3, 3, 3)
ZEROS = torch.zeros(2, 5, dtype=torch.int64)

CASES = [
    ("aten::conv2d", (samples(1, 2, 5, 5), W)),
    ("aten::conv2d", (samples(1, 3, 2, 2), W)),
    ("aten::conv2d", (samples(2, 3), W)),
    ("aten::conv2d", (X, W, samples(3))),
    ("aten::conv2d", (X, W.double())),
    ("aten::conv2d", (X, W, None, [0, 1])),
    ("aten::conv2d", (X, W, None, [1, 1], [-1, 0])),
    ("aten::conv2d", (samples(1, 4, 5, 5), samples(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], 2)),
    ("aten::conv2d.padding", (X, W, None, [2, 2], "same")),
    ("aten::conv_transpose1d", (samples(2, 3, 5), samples(4, 3, 3))),
    ("aten::conv_transpose1d", (samples(2, 4, 5), samples(4, 3, 3), None, [1], [0], [1])),
    ("aten::max_pool2d", (samples(1, 1, 4, 4), [2, 2], [2, 2], [2, 2])),
    ("aten::max_pool2d", (samples(1, 1, 2, 2), [3, 3])),
    ("aten::max_pool2d", (samples(4, 4), [2, 2])),
    ("aten::avg_pool2d", (samples(1, 1, 2, 2), [3, 3])),
    ("aten::avg_pool2d", (samples(1, 1, 4, 4), [2, 2], [], [0, 0], False, True, 0)),
    ("aten::layer_norm", (samples(2, 3), [4])),
    ("aten::layer_norm", (samples(2, 3), [3], samples(4))),
    ("aten::rms_norm", (samples(2, 3), [4])),
    ("aten::group_norm", (samples(2, 5), 2)),
    ("aten::group_norm", (samples(2, 4), 2, samples(3))),
    (
        "aten::batch_norm",
        (samples(2, 3, 4), samples(4), None, samples(3), samples(3), False, 0.1, 1e-5, False),
    ),
    ("aten::nll_loss", (samples(4, 3), torch.tensor([0, 2, 1]))),
    ("aten::gather", (samples(2, 3), 0, torch.tensor([0, 1]))),
    ("aten::gather", (samples(2, 3), 0, torch.zeros(1, 4, dtype=torch.int64))),
    ("aten::gather", (samples(3, 4), 0, samples(2, 4))),
    ("aten::scatter.src", (samples(3, 4), 0, ZEROS[:, :4], samples(1, 4))),
    ("aten::scatter.src", (samples(3, 4), 0, ZEROS, samples(2, 5))),
    ("aten::scatter.src", (samples(3, 4), 0, ZEROS[0, :2], samples(2))),
    ("aten::scatter.src", (samples(3, 4), 0, ZEROS[:, :4], samples(2, 4).double())),
    ("aten::scatter.value", (samples(3, 4), 0, ZEROS, 1.0)),
    ("aten::scatter_add", (samples(3, 4), 0, ZEROS[:, :4], samples(1, 4))),
    ("aten::scatter_reduce.two", (samples(3, 4), 0, ZEROS, samples(2, 5), "sum")),
    ("aten::index_add", (samples(3, 4), 0, ZEROS[0, :2], samples(3, 4))),
    ("aten::index_add", (samples(3, 4), 0, ZEROS[0, :2], samples(2, 5))),
    ("aten::index_add", (samples(3, 4), 0, ZEROS[:, :2], samples(2, 4))),
    ("aten::index_add", (samples(3, 4), 0, ZEROS[0, :2], samples(2, 4).double())),
    ("aten::index_copy", (samples(3, 4), 0, ZEROS[0, :2], samples(3, 4))),
    ("aten::index_copy", (samples(3, 4), 0, ZEROS[0, :2], samples(2, 5))),
    ("aten::index_copy", (samples(3, 4), 0, ZEROS[0, :2], samples(2))),
    ("aten::index_select", (samples(3, 4), 0, ZEROS[:, :2])),
    ("aten::index_select", (samples(3, 4), 0, samples(2))),
    ("aten::embedding", (samples(3), ZEROS[0])),
    ("aten::embedding", (samples(3, 4), samples(2))),
    ("aten::take_along_dim", (samples(3, 4), ZEROS, 0)),
    ("aten::reflection_pad1d", (samples(1, 3), [3, 0])),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].removeprefix("aten::"))
def test_refusal(case: tuple[str, tuple[object, ...]]) -> None:
    name, arguments = case
    base, _, overload = name.removeprefix("aten::").partition(".")
    with pytest.raises((RuntimeError, IndexError)) as theirs:
        getattr(getattr(torch.ops.aten, base), overload or "default")(*arguments)
    with pytest.raises(OperatorError) as ours:
        specialised(name, list(arguments))
    assert ours.value.message == str(theirs.value).splitlines()[0]

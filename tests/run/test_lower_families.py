"""Operator rows of the smaller families, one at a time, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_lower_operators import check, samples, specialised

from tensorscript.base.errors import OperatorError, ScriptError
from tensorscript.lowering.tg.evaluate import evaluate

torch = pytest.importorskip("torch")
HALF = torch.bfloat16
INT = torch.int64
NAN_ROW = torch.tensor([[1.0, math.nan, 3.0, 3.0], [5.0, 4.0, -1.0, 5.0]])
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan])


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=INT)


def places(*shape: int, high: int) -> torch.Tensor:
    return samples(*shape, dtype=INT, low=0, high=high - 1)


CASES = [
    # adaptive maximum pooling
    ("aten::adaptive_max_pool1d", (samples(2, 3, 7), [3])),
    ("aten::adaptive_max_pool2d", (samples(2, 3, 6, 8), [3, 4])),
    ("aten::adaptive_max_pool2d", (samples(3, 5, 7), [3, 2])),
    ("aten::adaptive_max_pool2d", (samples(1, 2, 5, 7, dtype=HALF), [2, 3])),
    ("aten::adaptive_max_pool2d", (torch.zeros(1, 1, 4, 4), [2, 2])),
    ("aten::adaptive_max_pool3d", (samples(1, 2, 3, 4, 5), [2, 2, 2])),
    # special functions
    ("aten::heaviside", (SPECIAL[:7], samples(7))),
    ("aten::heaviside", (samples(4, dtype=INT), samples(4, dtype=INT))),
    ("aten::logaddexp2", (samples(5), samples(5))),
    ("aten::logaddexp2", (SPECIAL[5:7], SPECIAL[5:7])),
    ("aten::sinc", (samples(2, 5),)),
    ("aten::sinc", (samples(4, dtype=INT),)),
    ("aten::signbit", (SPECIAL[:7],)),
    ("aten::signbit", (samples(5, dtype=torch.int32),)),
    ("aten::signbit", (samples(5, dtype=torch.uint8, low=0),)),
    ("aten::float_power.Tensor_Scalar", (samples(4, dtype=INT, low=1), 2)),
    ("aten::float_power.Tensor_Tensor", (samples(4, low=0.1), samples(4))),
    ("aten::ldexp.Tensor", (samples(4), samples(4, dtype=torch.int32))),
    ("aten::fmax", (SPECIAL, SPECIAL.flip(0))),
    ("aten::fmin", (SPECIAL, SPECIAL.flip(0))),
    ("aten::fmax", (samples(3, dtype=INT), samples(3, 1, dtype=torch.int32))),
    ("aten::nanmean", (NAN_ROW, [1], True)),
    ("aten::nanmean", (NAN_ROW,)),
    ("aten::renorm", (samples(3, 4), 2, 0, 1.5)),
    ("aten::renorm", (samples(3, 4, dtype=torch.float64), 1, 1, 2.0)),
    ("aten::round.decimals", (samples(8), 1)),
    ("aten::special_entr", (SPECIAL,)),
    ("aten::special_ndtr", (samples(6),)),
    ("aten::special_xlog1py", (SPECIAL, samples(8, low=-0.5))),
    ("aten::special_xlogy", (samples(4), samples(4, low=0.1))),
    ("aten::special_erfc", (samples(4),)),
    ("aten::special_log1p", (samples(4, dtype=INT, low=0),)),
    ("aten::special_logsumexp", (samples(3, 4), [1])),
    # order statistics
    ("aten::median", (samples(3, 5),)),
    ("aten::median", (NAN_ROW,)),
    ("aten::median", (torch.zeros(0),)),
    ("aten::median.dim", (samples(3, 6), 1)),
    ("aten::median.dim", (NAN_ROW[:1], 1, True)),
    ("aten::median.dim", (torch.tensor([[5, 1, 4], [2, 9, 3]]), 0)),
    ("aten::median.dim", (torch.tensor(3.0), 0)),
    ("aten::nanmedian", (NAN_ROW,)),
    ("aten::nanmedian", (torch.full((3,), math.nan),)),
    ("aten::kthvalue", (samples(3, 6), 2, 1)),
    ("aten::kthvalue", (samples(4, 2, dtype=HALF), 3, 0, True)),
    ("aten::cummax", (samples(3, 7), 1)),
    ("aten::cummax", (NAN_ROW, 1)),
    ("aten::cummin", (NAN_ROW, 0)),
    ("aten::cummin", (torch.tensor([3, 3, 1, 2, 1, 1]), 0)),
    ("aten::cummax", (samples(6, dtype=torch.float16), 0)),
    ("aten::cummax", (torch.tensor([False, True, False, True]), 0)),
    ("aten::cummax", (torch.zeros(0, 3), 0)),
    # distances
    ("aten::cosine_similarity", (samples(3, 5), samples(3, 5))),
    ("aten::cosine_similarity", (samples(3, 1, 5), samples(4, 5), 2)),
    ("aten::pairwise_distance", (samples(3, 5), samples(3, 5), 2.0, 1e-6, True)),
    ("aten::pairwise_distance", (samples(3, 5), samples(5, 3).t().contiguous(), 1.0)),
    ("aten::dist", (samples(3, 5), samples(5), 2)),
    *(("aten::cdist", (samples(2, 3, 4), samples(2, 5, 4), p)) for p in (0.0, 1.0, 2.0, 3.0)),
    ("aten::cdist", (samples(1, 3, 4), samples(2, 5, 4), math.inf)),
    ("aten::margin_ranking_loss", (samples(5), samples(5) * 2, torch.ones(5), 0.3)),
    ("aten::hinge_embedding_loss", (samples(4), torch.tensor([1.0, -1, -1, 1]))),
    ("aten::cosine_embedding_loss", (samples(2, 4), samples(2, 4) * 2, ints(1, -1), 0.1, 0)),
    ("aten::triplet_margin_loss", (samples(3, 4), samples(3, 4) + 1, samples(4, 3).t() * 1.0)),
    (
        "aten::triplet_margin_loss",
        (samples(3, 4), samples(3, 4) + 1, samples(3, 4) * 2, 1.0, 2.0, 1e-6, True, 0),
    ),
    ("aten::poisson_nll_loss", (samples(4), samples(4, low=2), True, True, 1e-8, 1)),
    ("aten::poisson_nll_loss", (samples(4, low=1), samples(4, low=0), False, True, 1e-8, 0)),
    # rearrangements
    ("aten::channel_shuffle", (samples(2, 6, 3, 2), 3)),
    ("aten::pixel_unshuffle", (samples(2, 3, 4, 6), 2)),
    *(("aten::rot90", (samples(2, 3, 4), k, [0, 2])) for k in (-1, 0, 1, 2)),
    ("aten::fliplr", (samples(2, 3),)),
    ("aten::flipud", (samples(3),)),
    ("aten::dstack", ([samples(2, 3), samples(2, 3, 2)],)),
    ("aten::dstack", ([samples(3), samples(3)],)),
    ("aten::column_stack", ([samples(3), samples(3, 2)],)),
    ("aten::row_stack", ([samples(3), samples(2, 3)],)),
    ("aten::tensor_split.sections", (samples(7, 2), 3)),
    ("aten::tensor_split.indices", (samples(7, 2), [2, 5])),
    ("aten::tensor_split.sections", (samples(2, 2), 4, 1)),
    ("aten::hsplit.int", (samples(2, 4), 2)),
    ("aten::hsplit.array", (samples(6), [1, 4])),
    ("aten::vsplit.int", (samples(4, 2), 2)),
    ("aten::meshgrid.indexing", ([samples(3), samples(2)], "xy")),
    ("aten::meshgrid.indexing", ([samples(3), torch.tensor(2.0), samples(4)], "ij")),
    ("aten::cartesian_prod", ([samples(3), samples(2)],)),
    ("aten::tril_indices", (3, 4, -1)),
    ("aten::triu_indices", (3, 3, 1, torch.int32)),
    ("aten::diff", (samples(2, 6), 2)),
    ("aten::diff", (torch.tensor([True, False, False]),)),
    ("aten::diff", (samples(4), 1, -1, samples(2), samples(1))),
    ("aten::im2col", (samples(2, 3, 5, 6), [3, 2], [1, 2], [1, 1], [2, 1])),
    ("aten::im2col", (samples(3, 4, 4), [2, 2], [1, 1], [0, 0], [2, 2])),
    ("aten::col2im", (samples(2, 12, 20), [5, 6], [2, 2], [1, 1], [0, 0], [1, 1])),
    ("aten::col2im", (samples(1, 12, 9), [5, 5], [2, 2], [1, 1], [1, 1], [2, 2])),
    ("aten::diag", (samples(3), 1)),
    ("aten::diag", (samples(3, 4), -1)),
    ("aten::diag_embed", (samples(2, 3), -1)),
    ("aten::diag_embed", (samples(2, 3), 1, 0, 2)),
    ("aten::trace", (samples(3, 4),)),
    # products
    ("aten::tensordot", (samples(2, 3, 4), samples(4, 3, 5), [1, 2], [1, 0])),
    ("aten::tensordot", (samples(2, dtype=HALF), samples(3, dtype=HALF), [], [])),
    ("aten::kron", (samples(2, 3), samples(3, 2))),
    ("aten::kron", (samples(2), samples(3, 1, 2))),
    ("aten::addr", (samples(3, 4), samples(3), samples(4), 0.5, 2)),
    ("aten::addr", (torch.full((2, 2), math.nan), samples(2), samples(2), 0)),
    ("aten::cross", (samples(3, 4), samples(3, 4))),
    ("aten::linalg_cross", (samples(2, 3), samples(1, 3))),
    ("aten::chain_matmul", ([samples(2, 3), samples(3, 4), samples(4, 2)],)),
    ("aten::bilinear", (samples(4, 3), samples(4, 2), samples(5, 3, 2), samples(5))),
    # selection
    ("aten::take", (samples(2, 3), ints(0, -1, 4))),
    ("aten::take", (samples(2, 3), places(2, 2, high=6))),
    ("aten::take_along_dim", (samples(3, 4), places(1, 2, high=4), 1)),
    ("aten::take_along_dim", (samples(1, 4), places(3, 4, high=1), 0)),
    ("aten::take_along_dim", (samples(3, 4), places(2, 2, high=12))),
    ("aten::index_fill.int_Scalar", (samples(3, 4), 1, ints(0, -1), 7)),
    ("aten::index_fill.int_Tensor", (samples(3, 4), 0, ints(1), torch.tensor(2.5))),
    *(
        ("aten::scatter_reduce.two", (samples(4, 3), 0, places(4, 3, high=4), samples(4, 3), r, s))
        for r in ("sum", "prod", "mean", "amax", "amin")
        for s in (True, False)
    ),
    ("aten::scatter_reduce.two", (samples(4, dtype=INT), 0, ints(0, 0, 2), ints(5, 8, -3), "mean")),
    # other names and arrangements
    ("aten::special_softmax", (samples(2, 3), 1)),
    ("aten::special_log_softmax", (samples(2, 3), 0)),
    ("aten::arcsinh", (samples(4),)),
    ("aten::arctan2", (samples(4), samples(4) * 2)),
    ("aten::unsafe_split.Tensor", (samples(5, 2), 2)),
    *(("aten::matrix_power", (samples(2, 3, 3), n)) for n in (0, 1, 5)),
    ("aten::isreal", (samples(3),)),
    ("aten::angle", (SPECIAL,)),
    ("aten::angle", (samples(4, dtype=INT),)),
    ("aten::native_layer_norm", (samples(2, 3, 4), [3, 4], samples(3, 4), None, 1e-5)),
    ("aten::native_layer_norm", (samples(2, 4, dtype=HALF), [4], None, None, 1e-5)),
    ("aten::native_group_norm", (samples(2, 6, 5), samples(6), samples(6), 2, 6, 5, 3, 1e-5)),
    ("aten::_convolution_mode", (samples(1, 2, 5), samples(3, 2, 3), None, [1], "same", [1], 1)),
    ("aten::conv_tbc", (samples(5, 2, 3), samples(2, 3, 4), samples(4), 1)),
    *((f"aten::atleast_{n}d", (x,)) for n in (1, 2, 3) for x in (samples(3), samples(2, 3))),
    ("aten::atleast_3d", (torch.tensor(2.0),)),
    ("aten::atleast_2d.Sequence", ([samples(3), torch.tensor(1.0)],)),
    ("aten::broadcast_tensors", ([samples(3, 1), samples(4)],)),
    ("aten::isin.Tensor_Tensor", (ints(1, 2, 3, 4), ints(2, 4))),
    ("aten::isin.Tensor_Tensor", (ints(1, 2), torch.zeros(0, dtype=INT), False, True)),
    ("aten::isin.Tensor_Scalar", (ints(1, 2, 3), 2)),
    ("aten::hann_window", (7,)),
    ("aten::hann_window.periodic", (8, False)),
    ("aten::hamming_window.periodic_alpha", (8, True, 0.6)),
    ("aten::blackman_window", (9,)),
    ("aten::hann_window", (1,)),
    # sampling
    *(
        ("aten::grid_sampler", (samples(2, 3, 4, 5), samples(2, 3, 3, 2) * 0.5, mode, pad, align))
        for mode in (0, 1)
        for pad in (0, 1, 2)
        for align in (True, False)
    ),
    ("aten::grid_sampler", (samples(1, 2, 3, 3, 3), samples(1, 2, 2, 2, 3) * 0.4, 0, 0, False)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].removeprefix("aten::"))
def test_operator(case: tuple[str, tuple[object, ...]]) -> None:
    check(case[0], *case[1])


@pytest.mark.parametrize("name", ["equal", "allclose"])
def test_scalar_answers(name: str) -> None:
    x = samples(2, 3)
    for other in (x, x + 1):
        out, arrays = specialised(f"aten::{name}", [x, other])
        (got,) = evaluate(out.function, arrays)
        assert got == getattr(torch, name)(x, other)


def test_equal_of_other_shapes() -> None:
    out, _ = specialised("aten::equal", [samples(2, 3), samples(3, 2)])
    assert out.plan.output.value is False


REFUSED = [
    ("aten::adaptive_max_pool2d", (samples(5, 5), [2, 2])),
    ("aten::kthvalue", (samples(3), 4)),
    ("aten::channel_shuffle", (samples(1, 5, 2), 2)),
    ("aten::pixel_unshuffle", (samples(1, 1, 3, 4), 2)),
    ("aten::hsplit.int", (samples(2, 5), 2)),
    ("aten::meshgrid.indexing", ([samples(2)], "ji")),
    ("aten::linalg_cross", (samples(2, 4), samples(2, 4))),
    ("aten::diag", (samples(2, 2, 2),)),
    ("aten::tensordot", (samples(2, 3), samples(4, 2), [1], [0])),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c[0].removeprefix("aten::"))
def test_refused(case: tuple[str, tuple[object, ...]]) -> None:
    """What PyTorch refuses is refused here, when the program is specialised."""
    name, arguments = case
    base, _, overload = name.removeprefix("aten::").partition(".")
    with pytest.raises((RuntimeError, IndexError)):
        getattr(getattr(torch.ops.aten, base), overload or "default")(*arguments)
    with pytest.raises(OperatorError):
        specialised(name, list(arguments))


@pytest.mark.parametrize("position", [6, -7])
def test_take_out_of_range(position: int) -> None:
    out, arrays = specialised("aten::take", [samples(2, 3), ints(0, position)])
    with pytest.raises(ScriptError):
        evaluate(out.function, arrays)


def test_sampling_at_nan_reads_nothing() -> None:
    grid = torch.full((1, 1, 1, 2), math.nan)
    out, arrays = specialised("aten::grid_sampler", [samples(1, 1, 2, 2), grid, 1, 0, False])
    np.testing.assert_array_equal(evaluate(out.function, arrays)[0], np.zeros((1, 1, 1, 1)))

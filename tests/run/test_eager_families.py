"""The longer eager kernels (attention, spectra, factorisations, sampling) and PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError
from tensorscript.base.schema import schema
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.exchange import from_numpy
from tensorscript.eager.storage import TensorBase, shown
from tensorscript.eager.tensor import Tensor

RNG = np.random.default_rng(23)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


E = 8
QKV, QB, PROJ, PB = normal(3 * E, E), normal(3 * E), normal(E, E), normal(E)
X, KEY = normal(2, 5, E), normal(2, 5, E)
SOURCE = np.triu(np.ones((5, 5), bool), 1)
PADDING = np.array([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]], bool)
NORMS = [np.abs(normal(E)) + 1, normal(E), np.abs(normal(E)) + 1, normal(E)]
FEED = [normal(16, E), normal(16), normal(E, 16), normal(E)]
SIGNAL = normal(2, 64)
WINDOW = np.hanning(16).astype(np.float32)
TURNED = WINDOW * (1 + 0.5j * np.arange(16, dtype=np.float32))
SPECTRUM = (normal(2, 9, 12) + 1j * normal(2, 9, 12)).astype(np.complex64)
SPECTRUM[:, 0], SPECTRUM[:, -1] = SPECTRUM[:, 0].real, SPECTRUM[:, -1].real
BOTH_SIDES = np.concatenate([SPECTRUM, SPECTRUM[:, :7]], 1)
SQUARE, TALL = normal(2, 4, 4), normal(2, 5, 3)
POSITIVE = SQUARE @ SQUARE.swapaxes(1, 2) + 4 * np.eye(4, dtype=np.float32)
IMAGE, GRID = normal(2, 3, 5, 4), normal(2, 6, 7, 2)
VOLUME, GRID3 = normal(1, 2, 4, 3, 5), normal(1, 2, 3, 2, 3)
TABLE, PICKS = normal(7, 3), np.array([1, 2, 4, 5, 4, 3, 2, 1])
OFFSETS = np.array([0, 4, 4, 6])
ENDS = np.array([0, 4, 4, 8])
WITH_NAN = normal(4, 5)
WITH_NAN[0, 1] = WITH_NAN[2, 3] = np.nan
SMALL = RNG.integers(0, 3, (4, 5))
PLACES = RNG.integers(0, 4, (3, 5))
ROWS, STEPS = normal(9, 3), np.array([4, 3, 2])
LSTM = [normal(8, 3), normal(8, 2), normal(8), normal(8)]
LSTM_2 = [*LSTM, *[normal(8, 3), normal(8, 2), normal(8), normal(8)]]
GRU = [normal(6, 3), normal(6, 2), normal(6), normal(6)]
STATE = [normal(2, 4, 2), normal(2, 4, 2)]

CASES: list[tuple[str, tuple[Any, ...]]] = [
    *(("_native_multi_head_attention", (X, X, X, E, 2, QKV, QB, PROJ, PB, mask, True, mean, kind))
      for mask, kind in ((None, None), (SOURCE, 0), (PADDING, 1)) for mean in (True, False)),
    *(("_transformer_encoder_layer_fwd",
       (X, E, 2, QKV, QB, PROJ, PB, gelu, first, 1e-5, *NORMS, *FEED, mask, kind))
      for gelu, first, mask, kind in ((False, False, None, None), (True, True, SOURCE, 0),
                                      (True, False, PADDING, 1))),
    ("stft.center", (SIGNAL, 16, 4, None, WINDOW, True, "reflect", False, True, True)),
    ("stft.center", (SIGNAL[0], 16, None, 12, WINDOW[:12], True, "constant", True, False, True)),
    ("stft", (SIGNAL, 16, 5, 16, None, False, None, False)),
    ("istft", (SPECTRUM, 16, 4, None, WINDOW)), ("istft", (SPECTRUM, 16, None, 16, None, True,
                                                          True, True, 30)),
    ("stft", (SIGNAL, 16, 5, None, TURNED, False, None, True)),
    ("istft", (BOTH_SIDES, 16, 4, None, TURNED, True, False, None, None, True)),
    ("linalg_svdvals", (TALL,)), ("linalg_norm", (TALL[0],)), ("linalg_norm", (TALL[0], 1)),
    ("linalg_norm.ord_str", (TALL, "nuc", [1, 2], True)), ("linalg_norm", (TALL, 3, [1])),
    ("linalg_matrix_norm", (TALL, np.inf)), ("linalg_matrix_norm.str_ord", (TALL,)),
    ("linalg_cholesky", (POSITIVE,)), ("cholesky", (POSITIVE, True)), ("matrix_exp", (SQUARE,)),
    ("linalg_solve", (POSITIVE, TALL[:, :4])), ("linalg_solve", (POSITIVE[0], TALL[0, :4, 0])),
    ("linalg_solve", (POSITIVE, TALL[:, :4].swapaxes(1, 2).copy(), False)),
    ("linalg_solve_triangular", (POSITIVE, TALL[:, :4], True)), ("logdet", (POSITIVE,)),
    ("linalg_eigvalsh", (POSITIVE,)), ("linalg_slogdet", (SQUARE,)), ("pinverse", (TALL,)),
    ("linalg_lstsq", (TALL, normal(2, 5, 2), None, "gelsd")),
    *(("grid_sampler", (IMAGE, GRID, mode, padding, align)) for mode in (0, 1, 2)
      for padding in (0, 1, 2) for align in (True, False)),
    *(("grid_sampler", (VOLUME, GRID3, mode, 1, False)) for mode in (0, 1)),
    *(("affine_grid_generator", (normal(2, 2, 3), [2, 3, 4, 5], align)) for align in (True, False)),
    ("affine_grid_generator", (normal(1, 3, 4), [1, 2, 2, 3, 4], False)),
    ("embedding_bag", (TABLE, PICKS, OFFSETS)), ("embedding_bag", (TABLE, PICKS, OFFSETS, False,
                                                                  0, False, normal(8))),
    *(("embedding_bag", (TABLE.astype(dtype), PICKS, OFFSETS.astype(index), False, mode))
      for mode in (0, 1, 2) for dtype in ("f4", "f8") for index in ("i4", "i8")),
    *(("embedding_bag.padding_idx", (TABLE, PICKS, ENDS, False, mode, False, None, True, 4))
      for mode in (0, 1, 2)),
    ("quantile", (WITH_NAN, np.array([0.1, 0.5], np.float32), 1)), ("quantile.scalar", (X, 0.3)),
    ("quantile.scalar", (X, 0.3, 1, True, "nearest")), ("nanquantile.scalar", (WITH_NAN, 0.6, 1)),
    ("quantile.scalar", (X, 0.3, 0, False, "lower")), ("mode", (SMALL,)),
    ("mode", (SMALL, 0, True)),
    ("nanmedian", (WITH_NAN,)), ("nanmedian.dim", (WITH_NAN, 0)), ("median", (WITH_NAN,)),
    *(("scatter_reduce.two", (normal(4, 5), 0, PLACES, normal(3, 5), word, own))
      for word in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)),
    ("scatter_reduce.two", (SMALL, 0, PLACES, SMALL[:3] - 4, "mean", True)),
    ("scatter.reduce", (normal(4, 5), 0, PLACES, normal(3, 5), "multiply")),
    ("index_reduce", (normal(4, 5), 0, PLACES[:, 0].copy(), normal(3, 5), "prod", False)),
    ("_pack_padded_sequence", (normal(5, 3, 2), np.array([5, 3, 1]), False)),
    ("_pack_padded_sequence", (normal(3, 5, 2), np.array([4, 3, 1]), True)),
    ("_pad_packed_sequence", (ROWS, STEPS, True, 0.5, 5)),
    ("_pad_packed_sequence", (ROWS, STEPS, False, 0.0, -1)),
    ("lstm.data", (ROWS, STEPS, [s[:1] for s in STATE], LSTM, True, 1, 0.0, False, False)),
    ("lstm.data", (ROWS, STEPS, STATE, LSTM_2, True, 1, 0.0, False, True)),
    ("gru.data", (ROWS, STEPS, STATE[0][:1], GRU, True, 1, 0.0, False, False)),
    ("_unique", (SMALL, True, True)),
    ("max_unpool2d", (normal(1, 2, 2, 2), np.array([[[[0, 3], [9, 14]], [[5, 2], [8, 15]]]]),
                      [4, 4])),
    ("cosine_embedding_loss", (TALL[0], TALL[1], np.array([1, -1, 1, 1, -1]), 0.2)),
    ("triplet_margin_loss", (TALL[0], TALL[1], TALL[0] * 2, 1.0, 2.0, 1e-6, True, 0)),
    ("poisson_nll_loss", (TALL[0], np.abs(TALL[1]) + 2, True, True, 1e-8, 1)),
    *(("ctc_loss.IntList", (np.log(np.abs(normal(6, 2, 5)) + 0.1), np.array([[1, 2, 2], [3, 1, 0]]),
                            [6, 5], [3, 2], 0, reduction, False)) for reduction in (0, 1, 2)),
    ("tensor_split.tensor_indices_or_sections", (X, np.array([1, 3]), 1)),
    ("isin.Scalar_Tensor", (2, SMALL)), ("float_power.Tensor_Tensor", (np.abs(X), X)),
    ("float_power.Scalar", (2, X)), ("copy", (X, SMALL[0, 0])), ("i0", (X,)),
    ("polygamma", (1, np.abs(X) + 1)),
    ("logspace.Tensor_Tensor", (np.array(0.0), np.array(2.0), 3)),
    *((f"bitwise_{op}.Scalar_Tensor", (-2, SMALL)) for op in (
        "and", "or", "xor", "left_shift", "right_shift")),
    ("searchsorted.Tensor", (np.zeros((0, 0)), np.zeros((0, 0)))),
    ("searchsorted.Tensor", (np.zeros((2, 3)), np.zeros((2, 0)))),
    ("linspace.Tensor_Scalar", (np.array(0.0, np.float32), 2, 3)),
    ("select_scatter", (X, KEY[:, 0], 1, 2)), ("slice_scatter", (X, KEY[:, :2], 1, 1, 3)),
    ("diagonal_scatter", (SQUARE[0], TALL[0, :4, 0])), ("block_diag", ([TALL[0], TALL[1]],)),
    ("cartesian_prod", ([TALL[0, 0], TALL[0, 1]],)), ("histc", (X, 5, -1, 1)),
    ("trapz.dx", (X, 0.5)), ("cov", (TALL[0],)), ("corrcoef", (TALL[0],)),
    ("cov", (TALL[0].astype(np.float64), 2, np.array([1, 3, 2]), TALL[1, 0] ** 2)),
    ("cov", (TALL[0].astype(np.float64), 1, None, TALL[1, 0] ** 2)),
    ("cov", (SPECTRUM[0, 1], 0, None, SPECTRUM[0, 2].real ** 2)),
]  # fmt: skip


def convert(v: Any, make: Any) -> Any:
    if isinstance(v, (np.ndarray, np.generic)):
        return make(np.array(v))
    return [convert(x, make) for x in v] if isinstance(v, list) else v


def close(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            close(a, b)
        return
    a, b = shown(ours), theirs.resolve_conj().numpy()
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    size = float(np.abs(b[np.isfinite(b)]).max(initial=1.0))
    wide = b.dtype in (np.float64, np.complex128)
    limit = 0.0 if b.dtype.kind in "iub" else 1e-10 if wide else 3e-5
    np.testing.assert_allclose(a, b, rtol=limit, atol=limit * size, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "args"), CASES, ids=[f"{n}-{k}" for k, (n, _) in enumerate(CASES)]
)
def test_against_torch(name: str, args: tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch")
    base, _, overload = name.partition(".")
    found = schema(f"aten::{name}")
    full = [*args, *(list(a.default) if isinstance(a.default, tuple) else a.default
                     for a in found.arguments[len(args) :])]  # fmt: skip
    given = [convert(v, torch.from_numpy) for v in full]
    named = {a.name: v for a, v in zip(found.arguments, given, strict=True) if a.kwarg_only}
    plain = given[: len(given) - len(named)]
    wanted = getattr(getattr(torch.ops.aten, base), overload or "default")(*plain, **named)
    ours = call_overload(f"aten::{name}", tuple(convert(v, from_numpy) for v in full))
    close(ours, wanted)


def product(*parts: Any) -> Any:
    out = shown(parts[0])
    for p in parts[1:]:
        out = out @ shown(p)
    return out


@pytest.mark.parametrize("full", [False, True])
def test_factorisations_multiply_back(full: bool) -> None:
    """The signs of vectors are free, so the product is what is checked."""
    x = from_numpy(TALL)
    u, s, vh = call_overload("aten::linalg_svd", (x, full, None))
    middle = np.zeros((2, shown(u).shape[-1], 3), np.float32)
    middle[:, np.arange(3), np.arange(3)] = shown(s)
    np.testing.assert_allclose(shown(u) @ middle @ shown(vh), TALL, atol=1e-5)
    q, r = call_overload("aten::linalg_qr", (x, "complete" if full else "reduced"))
    np.testing.assert_allclose(product(q, r), TALL, atol=1e-5)
    u, s, v = call_overload("aten::svd", (x, not full, True))
    if not full:
        back = shown(u) * shown(s)[:, None] @ shown(v).swapaxes(1, 2)
        np.testing.assert_allclose(back, TALL, atol=1e-5)


def test_set_and_resize() -> None:
    x = Tensor(np.arange(6.0), from_numpy(np.arange(6.0)).dtype)
    call_overload("aten::resize_", (x, [2, 2], None))
    assert x.tolist() == [[0, 1], [2, 3]]
    y = from_numpy(np.arange(12))
    z = from_numpy(np.zeros(1, np.int64))
    call_overload("aten::set_.source_Tensor_storage_offset", (z, y, 1, [2, 3], [4, 1]))
    assert z.tolist() == [[1, 2, 3], [5, 6, 7]]
    shown(y)[1] = 50
    assert z.tolist()[0][0] == 50


def test_refusals() -> None:
    square = from_numpy(-np.eye(2, dtype=np.float32))
    for name, args in (
        ("aten::linalg_cholesky", (square, False)),
        ("aten::linalg_cholesky", (from_numpy(TALL), False)),
        ("aten::istft", (from_numpy(X), 16, 4, None, None, True, False, None, None, False)),
        ("aten::quantile.scalar", (from_numpy(X), 1.5, None, False, "linear")),
    ):
        with pytest.raises(OperatorError):
            call_overload(name, args)


def test_weights_are_none_unless_asked_for() -> None:
    given = [convert(v, from_numpy) for v in (X, X, X, E, 2, QKV, QB, PROJ, PB)]
    out, weights = call_overload(
        "aten::_native_multi_head_attention", (*given, None, False, True, None)
    )
    assert isinstance(out, TensorBase)
    assert weights is None


def test_conv_tbc_is_conv1d_with_time_first() -> None:
    x, w = from_numpy(np.arange(24.0).reshape(4, 2, 3)), from_numpy(np.ones((2, 3, 2)))
    bias = from_numpy(np.ones(2))
    found = ts.conv_tbc(x, w, bias, 1)
    plain = ts.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), bias, padding=1)
    assert ts.equal(found, plain.permute(2, 0, 1))

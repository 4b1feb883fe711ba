"""nn.functional against PyTorch."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tensorscript.eager.dispatch import listening
from tensorscript.eager.exchange import from_numpy
from tensorscript.eager.nn import functional

RNG = np.random.default_rng(3)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


X = normal(2, 4, 6, 5)
Y = normal(3, 4)
Z = normal(3, 4)
UNIT = RNG.random((3, 4)).astype(np.float32)
CLASSES = np.array([1, 3, 0])
C4 = normal(4)
SIGNS = np.array([1.0, -1.0, 1.0], np.float32)
GRID = normal(2, 3, 3, 2)
POOLED = X[:, :, ::2, ::2][:, :, :, :2]
PLACES = np.arange(6).reshape(3, 2) % 3 * 2 + np.zeros((2, 4, 1, 1), np.int64)

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("relu", (Y,), {}), ("gelu", (Y,), {"approximate": "tanh"}), ("softsign", (Y,), {}),
    ("tanhshrink", (Y,), {}), ("logsigmoid", (Y,), {}), ("leaky_relu", (Y, 0.2), {}),
    ("elu", (Y,), {"alpha": 0.5}), ("glu", (Y,), {}), ("softmax", (Y,), {"dim": 1}),
    ("softmin", (Y,), {"dim": 1}), ("normalize", (Y,), {}), ("dropout", (Y, 0.5, False), {}),
    ("linear", (Y, Z, normal(3)), {}), ("layer_norm", (Y, [4], C4, C4), {}),
    ("max_pool2d", (X, 2), {}), ("max_pool2d", (X, 3, 2, 1), {"return_indices": True}),
    ("max_pool2d", (X, 2, 2), {"ceil_mode": True}),
    ("max_pool2d", (X - np.inf, 2, 2, 1), {"return_indices": True}),
    ("max_pool2d", (X * np.nan, 2, 1, 1), {"return_indices": True}),
    ("max_pool3d", (X.astype(np.uint8) * 0, 2, 2, 1), {"return_indices": True}),
    ("avg_pool2d", (X, 3, 2, 1), {"count_include_pad": False}), ("avg_pool2d", (X, (2, 3)), {}),
    ("avg_pool2d", (X, 2, 2, 1), {"ceil_mode": True}),
    ("avg_pool2d", (X, 2), {"divisor_override": 3}), ("adaptive_avg_pool2d", (X, (3, None)), {}),
    ("adaptive_avg_pool2d", (X, 4), {}), ("adaptive_max_pool2d", (X, 4), {"return_indices": True}),
    ("mse_loss", (Y, Z), {}), ("l1_loss", (Y, Z), {"reduction": "sum"}),
    ("smooth_l1_loss", (Y, Z), {"beta": 0.5}), ("huber_loss", (Y, Z), {}),
    ("kl_div", (Y, UNIT), {"reduction": "batchmean"}), ("cross_entropy", (Y, CLASSES), {}),
    ("cross_entropy", (Y, CLASSES, np.abs(C4)), {"label_smoothing": 0.1}),
    ("cross_entropy", (Y, UNIT), {}), ("cross_entropy", (Y, CLASSES), {"ignore_index": 3}),
    ("nll_loss", (Y, CLASSES), {"reduction": "none"}), ("binary_cross_entropy", (UNIT, UNIT), {}),
    ("binary_cross_entropy_with_logits", (Y, UNIT), {"pos_weight": np.abs(C4)}),
    ("pad", (X, (1, 2)), {}), ("pad", (X, (1, 2, 0, 3)), {"mode": "reflect"}),
    ("pad", (X, (1, 1, 2, 2)), {"mode": "replicate"}), ("pad", (Y, (-1, 2)), {"value": 3.0}),
    ("pad", (X, (1, 2, 1, 0)), {"mode": "circular"}), ("unfold", (X, 3), {"padding": 1}),
    ("fold", (normal(1, 8, 20), (6, 5), 2), {}),
    ("interpolate", (X,), {"scale_factor": 2}), ("interpolate", (X, (9, 3)), {"mode": "bilinear"}),
    ("interpolate", (X, (9, 3)), {"mode": "bilinear", "align_corners": True}),
    ("interpolate", (X,), {"scale_factor": 1.7, "mode": "bicubic"}),
    ("interpolate", (X,), {"scale_factor": 1.7, "mode": "lanczos", "antialias": True}),
    ("interpolate", (X,), {"scale_factor": 1.7, "mode": "nearest"}),
    ("interpolate", (X, 7), {"mode": "nearest-exact"}),
    ("interpolate", (X[0], 9), {"mode": "linear"}),
    ("interpolate", (X,), {"scale_factor": 0.5, "mode": "area"}),
    ("huber_loss", (Y, Z), {"weight": UNIT}),
    ("cosine_embedding_loss", (Y, Z, SIGNS), {"margin": 0.1}),
    ("margin_ranking_loss", (Y, Z, SIGNS[:, None]), {"reduction": "sum"}),
    ("hinge_embedding_loss", (Y, SIGNS[:, None]), {}),
    ("multilabel_soft_margin_loss", (Y, UNIT, C4), {}), ("poisson_nll_loss", (Y, UNIT), {}),
    ("gaussian_nll_loss", (Y, Z, UNIT), {"full": True}),
    ("gaussian_nll_loss", (Y, Z, UNIT[:, 0]), {"reduction": "none"}),
    ("triplet_margin_loss", (Y, Z, UNIT), {"swap": True}),
    ("triplet_margin_with_distance_loss", (Y, Z, UNIT), {"swap": True}),
    ("lp_pool1d", (X[0], 2.0, 2), {}), ("lp_pool2d", (np.abs(X), 3.0, 2), {"stride": 1}),
    ("lp_pool3d", (X, 2.0, 2), {}), ("adaptive_max_pool1d", (X[0], 2), {}),
    ("max_unpool2d", (POOLED, PLACES, 2), {}),
    ("max_unpool2d", (POOLED, PLACES, 2), {"output_size": (6, 5)}),
    ("local_response_norm", (X, 3), {}), ("local_response_norm", (X[0], 2), {"k": 2.0}),
    ("embedding", (CLASSES % 3, Y), {}), ("embedding_bag", (np.array([[0, 1], [2, 2]]), Y), {}),
    ("embedding_bag", (CLASSES[::2] % 3, Y, np.array([0, 1])), {"mode": "max"}),
    ("grid_sample", (X, GRID), {"align_corners": True}),
    ("grid_sample", (X, GRID, "nearest", "border"), {"align_corners": False}),
    ("affine_grid", (normal(2, 2, 3), [2, 1, 3, 4]), {"align_corners": False}),
    ("scaled_dot_product_attention", (X, X, X), {"is_causal": False}),
    ("scaled_dot_product_attention", (X, X, X), {"is_causal": True}),
    ("scaled_dot_product_attention", (X, X, X, X[:1, :1, :, 0:1] > 0), {}),
    ("one_hot", (CLASSES,), {}), ("group_norm", (X, 2, C4, C4), {}),
    ("instance_norm", (X,), {}), ("conv2d", (X, normal(2, 4, 3, 3)), {"stride": 2}),
    ("cosine_similarity", (Y, Z), {}), ("prelu", (X, C4), {}), ("softplus", (Y,), {}),
]  # fmt: skip


def compare(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b)
        return
    a, b = ours.numpy(), theirs.numpy()
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    limit = float(np.finfo(np.float32).eps) * 64
    np.testing.assert_allclose(a, b, rtol=limit, atol=limit)


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES)
def test_against_torch(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")

    def both(make: Any) -> tuple[list[Any], dict[str, Any]]:
        turn = lambda x: make(x) if isinstance(x, np.ndarray) else x  # noqa: E731 - a short name
        return [turn(a) for a in args], {k: turn(v) for k, v in kwargs.items()}

    their_args, their_kwargs = both(torch.from_numpy)
    our_args, our_kwargs = both(from_numpy)
    theirs = getattr(torch.nn.functional, name)(*their_args, **their_kwargs)
    compare(functional.lookup(name)(*our_args, **our_kwargs), theirs)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("two", [False, True])
def test_recurrent_layers(kind: str, two: bool) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 5, num_layers=2, bidirectional=two, batch_first=True)
    x = torch.randn(2, 7, 3)
    h = torch.randn(4 if two else 2, 2, 5)
    hx = (h, h.clone()) if kind == "LSTM" else h
    with torch.no_grad():
        theirs = layer(x, hx)
    ours_h = (
        [from_numpy(h.numpy()), from_numpy(h.numpy())] if kind == "LSTM" else from_numpy(h.numpy())
    )
    params = [from_numpy(p.detach().numpy()) for p in layer._flat_weights]
    name = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[kind]
    run = functional.lookup(name)
    ours = run(from_numpy(x.numpy()), ours_h, params, True, 2, 0.0, False, two, True)
    flat = (theirs[0], *theirs[1]) if kind == "LSTM" else theirs
    compare(tuple(ours), flat)


def test_composites_are_heard_by_their_parts() -> None:
    heard: list[str] = []
    with listening(lambda schema, args, result: heard.append(schema.full_name)):
        functional.lookup("softsign")(from_numpy(Y))
    assert heard == ["aten::abs", "aten::add.Scalar", "aten::div.Tensor"]


def test_unknown_reduction() -> None:
    with pytest.raises(ValueError, match="avg is not a valid value for reduction"):
        functional.lookup("mse_loss")(from_numpy(Y), from_numpy(Z), reduction="avg")


BUILTIN = {"logsigmoid", "adaptive_avg_pool1d"}
"""Functions of PyTorch's that do not tell their arguments."""


@pytest.mark.torch
@pytest.mark.parametrize("name", sorted(functional.WRITTEN.keys() - BUILTIN))
def test_arguments_are_pytorch_s(name: str) -> None:
    torch = pytest.importorskip("torch")
    expected = inspect.signature(getattr(torch.nn.functional, name)).parameters.values()
    found = inspect.signature(functional.WRITTEN[name]).parameters.values()
    shape = [(p.name, p.kind, p.default) for p in found]
    assert shape == [(p.name, p.kind, p.default) for p in expected]

"""Programs that a trace warns of, written once for PyTorch and for ours.

Each is a function of a library (`torch` or ours) that gives a module or a function and its inputs.
Not among them: `max_unpool*d`, which PyTorch does not trace; and `CrossMapLRN2d`,
which works on resized memory there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], tuple[Any, tuple[Any, ...]]]


def _layer(make: str, *shapes: str, state: str = "") -> Program:
    """A layer `nn.<make>` on inputs of `shapes`: `3 4` floats, `l3 4` indices; `state`: how they
    are nested, as an expression of `x`, the list of inputs."""

    def program(t: Any) -> tuple[Any, tuple[Any, ...]]:
        x = [_input(t, shape) for shape in shapes]
        given = eval(state, {"x": x}) if state else tuple(x)
        return eval(f"nn.{make}", {"nn": t.nn}), given

    return program


def _input(t: Any, shape: str) -> Any:
    if shape.startswith("="):
        return t.tensor(eval(shape[1:]))
    sizes = [int(n) for n in shape.removeprefix("l").split()]
    return t.ones(sizes, dtype=t.int64) if shape.startswith("l") else t.full(sizes, 0.5)


def function(text: str, *shapes: str) -> Program:
    """An expression of the inputs `x`, `y`, `z`, of the library `t`, of `F`, `rnn`,
    `dist`, `np` and `math`."""

    def program(t: Any) -> tuple[Any, tuple[Any, ...]]:
        names = ("x", "y", "z")[: len(shapes)]
        scope = {"__name__": __name__, "t": t, "F": t.nn.functional, "rnn": t.nn.utils.rnn}
        scope |= {"dist": t.distributions, "np": np, "math": math}
        made = eval(f"lambda {', '.join(names)}: {text}", scope)
        return made, tuple(_input(t, shape) for shape in shapes)

    return program


def _call(make: str, text: str, *shapes: str) -> Program:
    """A layer `nn.<make>` called with an expression of the inputs `x`, `y`, `z`; of attention the
    result without its weights, which may be None."""

    def program(t: Any) -> tuple[Any, tuple[Any, ...]]:
        class Caller(t.nn.Module):  # type: ignore[misc, name-defined]  # of either library
            def __init__(self) -> None:
                super().__init__()
                self.layer = eval(f"nn.{make}", {"nn": t.nn})

        names = ", ".join(("x", "y", "z")[: len(shapes)])
        scope = {"__name__": __name__, "t": t}
        part = "[0]" if make.startswith("MultiheadAttention") else ""
        Caller.forward = eval(f"lambda self, {names}: self.layer({text}){part}", scope)
        return Caller(), tuple(_input(t, shape) for shape in shapes)

    return program


_FLOAT = "2 3 8 8"
LAYERS: dict[str, Program] = {
    f"{make} {shapes} {state}".strip(): _layer(make, *shapes, state=state)
    for make, shapes, state in [
        ("RNN(4, 5)", ("3 2 4",), ""),
        ("RNN(4, 5, nonlinearity='relu')", ("3 2 4", "1 2 5"), ""),
        ("RNN(4, 5)", ("3 4",), ""),
        ("RNN(4, 5)", ("3 4", "1 5"), ""),
        ("LSTM(4, 5)", ("3 2 4",), ""),
        ("LSTM(4, 5, 2, batch_first=True, bidirectional=True)", ("3 2 4",), ""),
        ("LSTM(4, 5, proj_size=3)", ("3 2 4",), ""),
        ("LSTM(4, 5)", ("3 2 4", "1 2 5", "1 2 5"), "(x[0], (x[1], x[2]))"),
        ("LSTM(4, 5)", ("3 4",), ""),
        ("LSTM(4, 5)", ("3 4", "1 5", "1 5"), "(x[0], (x[1], x[2]))"),
        ("GRU(4, 5)", ("3 2 4",), ""),
        ("GRU(4, 5)", ("3 2 4", "1 2 5"), ""),
        ("GRU(4, 5)", ("3 4",), ""),
        ("GRU(4, 5)", ("3 4", "1 5"), ""),
        ("RNNCell(4, 5)", ("2 4",), ""),
        ("RNNCell(4, 5)", ("4", "5"), ""),
        ("LSTMCell(4, 5)", ("2 4",), ""),
        ("LSTMCell(4, 5)", ("2 4", "2 5", "2 5"), "(x[0], (x[1], x[2]))"),
        ("LSTMCell(4, 5)", ("4", "5", "5"), "(x[0], (x[1], x[2]))"),
        ("GRUCell(4, 5)", ("2 4", "2 5"), ""),
        ("MultiheadAttention(8, 2)", ("3 2 8", "3 2 8", "3 2 8"), ""),
        ("MultiheadAttention(8, 2).eval()", ("3 2 8", "3 2 8", "3 2 8"), ""),
        ("MultiheadAttention(8, 2, batch_first=True)", ("3 2 8", "3 2 8", "3 2 8"), ""),
        ("MultiheadAttention(8, 2)", ("3 8", "3 8", "3 8"), ""),
        ("MultiheadAttention(8, 2, add_zero_attn=True)", ("3 2 8", "3 2 8", "3 2 8"), ""),
        ("MultiheadAttention(8, 2, add_bias_kv=True)", ("3 2 8", "3 2 8", "3 2 8"), ""),
        ("MultiheadAttention(8, 2, kdim=6, vdim=6)", ("3 2 8", "3 2 6", "3 2 6"), ""),
        ("TransformerEncoderLayer(8, 2, 16, 0.0)", ("3 2 8",), ""),
        ("TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True).eval()", ("3 2 8",), ""),
        ("TransformerEncoderLayer(8, 2, 16, 0.0, norm_first=True)", ("3 2 8",), ""),
        ("TransformerDecoderLayer(8, 2, 16, 0.0)", ("3 2 8", "3 2 8"), ""),
        ("TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 1)", ("3 2 8",), ""),
        (
            "TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2)"
            ".eval()",
            ("3 2 8",),
            "",
        ),
        ("Transformer(8, 2, 1, 1, 16, 0.0)", ("3 2 8", "3 2 8"), ""),
        ("Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)", ("3 2 8", "3 2 8"), ""),
        ("BatchNorm1d(3)", ("2 3 4",), ""),
        ("BatchNorm1d(3)", ("2 3",), ""),
        ("BatchNorm2d(3)", (_FLOAT,), ""),
        ("BatchNorm2d(3).eval()", (_FLOAT,), ""),
        ("BatchNorm2d(3, track_running_stats=False).eval()", (_FLOAT,), ""),
        ("BatchNorm2d(3, momentum=None)", (_FLOAT,), ""),
        ("InstanceNorm1d(3)", ("2 3 4",), ""),
        ("InstanceNorm2d(3)", (_FLOAT,), ""),
        ("InstanceNorm2d(3)", ("3 8 8",), ""),
        ("InstanceNorm2d(3, affine=True, track_running_stats=True)", (_FLOAT,), ""),
        ("GroupNorm(3, 3)", (_FLOAT,), ""),
        ("LayerNorm(8)", (_FLOAT,), ""),
        ("RMSNorm(8)", (_FLOAT,), ""),
        ("LocalResponseNorm(2)", (_FLOAT,), ""),
        ("Upsample(scale_factor=2)", (_FLOAT,), ""),
        ("Upsample(size=5, mode='bilinear')", (_FLOAT,), ""),
        ("Upsample(scale_factor=1.5, mode='bilinear', recompute_scale_factor=True)", (_FLOAT,), ""),
        ("Upsample(scale_factor=2, mode='linear')", ("2 3 4",), ""),
        ("ReflectionPad2d(1)", (_FLOAT,), ""),
        ("ReplicationPad2d(1)", (_FLOAT,), ""),
        ("CircularPad2d(1)", (_FLOAT,), ""),
        ("ConstantPad2d(1, 0.5)", (_FLOAT,), ""),
        ("ZeroPad2d(1)", (_FLOAT,), ""),
        ("Conv2d(3, 2, 3)", (_FLOAT,), ""),
        ("Conv2d(3, 2, 3, padding=1, padding_mode='reflect')", (_FLOAT,), ""),
        ("Conv2d(3, 2, 3, padding='same', padding_mode='circular')", (_FLOAT,), ""),
        ("Conv1d(3, 2, 3)", ("3 8",), ""),
        ("ConvTranspose2d(3, 2, 3)", (_FLOAT,), ""),
        ("Fold((4, 4), 2)", ("1 8 9",), ""),
        ("Unfold(2)", (_FLOAT,), ""),
        ("AdaptiveLogSoftmaxWithLoss(4, 9, [3, 6])", ("5 4", "=[0, 4, 8, 3, 2]"), ""),
        ("AdaptiveLogSoftmaxWithLoss(4, 9, [3, 6])", ("4", "=4"), ""),
        ("Embedding(9, 3)", ("l2 4",), ""),
        ("Embedding(9, 3, padding_idx=1, max_norm=1.0)", ("l2 4",), ""),
        ("EmbeddingBag(9, 3)", ("l2 4",), ""),
        ("EmbeddingBag(9, 3, mode='sum')", ("l6", "=[0, 3]"), ""),
        ("Bilinear(3, 4, 2)", ("2 3", "2 4"), ""),
        ("MaxPool2d(2, return_indices=True)", (_FLOAT,), ""),
        ("MaxPool1d(2)", ("2 3 8",), ""),
        ("MaxPool3d(2)", ("2 3 4 4 4",), ""),
        ("FractionalMaxPool2d(2, output_size=3)", (_FLOAT,), ""),
        ("FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)", (_FLOAT,), ""),
        ("FractionalMaxPool3d(2, output_ratio=0.5)", ("2 3 4 4 4",), ""),
        ("LPPool1d(2, 2)", ("2 3 8",), ""),
        ("LPPool2d(2, 2)", (_FLOAT,), ""),
        ("AvgPool2d(2)", (_FLOAT,), ""),
        ("AdaptiveAvgPool2d((None, 2))", (_FLOAT,), ""),
        ("AdaptiveAvgPool2d(2)", (_FLOAT,), ""),
        ("AdaptiveMaxPool2d((None, 2), return_indices=True)", (_FLOAT,), ""),
        ("AdaptiveMaxPool1d(2)", ("2 3 8",), ""),
        ("AdaptiveAvgPool3d((None, 2, 2))", ("2 3 4 4 4",), ""),
        ("PixelShuffle(2)", ("1 4 3 3",), ""),
        ("PixelUnshuffle(2)", ("1 1 4 4",), ""),
        ("ChannelShuffle(3)", (_FLOAT,), ""),
        ("Flatten()", (_FLOAT,), ""),
        ("Unflatten(1, (1, 3))", (_FLOAT,), ""),
        ("Softmax()", ("2 3",), ""),
        ("Softmax2d()", (_FLOAT,), ""),
        ("GLU()", ("2 4",), ""),
        ("PReLU()", ("2 4",), ""),
        ("RReLU()", ("2 4",), ""),
        ("Threshold(0.1, 2)", ("2 4",), ""),
        ("Hardshrink()", ("2 4",), ""),
        ("Dropout(0.0)", ("2 4",), ""),
        ("Dropout1d(0.0)", ("2 3 4",), ""),
        ("Dropout2d(0.0)", (_FLOAT,), ""),
        ("Dropout3d(0.0)", ("2 3 4 4 4",), ""),
        ("AlphaDropout(0.0)", ("2 4",), ""),
        ("FeatureAlphaDropout(0.0)", (_FLOAT,), ""),
        ("L1Loss()", ("2 4", "2 4"), ""),
        ("MSELoss()", ("2 4", "2 4"), ""),
        ("SmoothL1Loss()", ("2 4", "2 4"), ""),
        ("HuberLoss()", ("2 4", "2 4"), ""),
        ("BCELoss()", ("2 4", "2 4"), ""),
        ("BCEWithLogitsLoss()", ("2 4", "2 4"), ""),
        ("CrossEntropyLoss()", ("2 4", "l2"), ""),
        ("NLLLoss()", ("2 4", "l2"), ""),
        ("NLLLoss()", ("2 4 3", "l2 3"), ""),
        ("KLDivLoss(reduction='batchmean')", ("2 4", "2 4"), ""),
        ("PoissonNLLLoss(full=True)", ("2 4", "2 4"), ""),
        ("GaussianNLLLoss()", ("2 4", "2 4", "2 4"), ""),
        ("GaussianNLLLoss()", ("2 4", "2 4", "2"), ""),
        ("GaussianNLLLoss(full=True)", ("2 4", "2 4", "2 1"), ""),
        ("CosineEmbeddingLoss()", ("2 4", "2 4", "l2"), ""),
        ("CTCLoss()", ("6 2 4", "l2 2", "=[6, 6]", "=[2, 2]"), ""),
        ("HingeEmbeddingLoss()", ("2 4", "l2 4"), ""),
        ("MarginRankingLoss()", ("4", "4", "l4"), ""),
        ("MultiLabelMarginLoss()", ("2 4", "l2 4"), ""),
        ("MultiLabelSoftMarginLoss()", ("2 4", "2 4"), ""),
        ("MultiMarginLoss()", ("2 4", "l2"), ""),
        ("SoftMarginLoss()", ("2 4", "l2 4"), ""),
        ("TripletMarginLoss()", ("2 4", "2 4", "2 4"), ""),
        ("TripletMarginLoss(swap=True)", ("2 4", "2 4", "2 4"), ""),
        ("TripletMarginWithDistanceLoss()", ("2 4", "2 4", "2 4"), ""),
        ("PairwiseDistance()", ("2 4", "2 4"), ""),
        ("CosineSimilarity()", ("2 4", "2 4"), ""),
    ]
}

_ATTENTION = "MultiheadAttention(8, 2)"
CALLS: dict[str, Program] = {
    f"{make} of {text} {shapes}": _call(make, text, *shapes)
    for make, text, shapes in [
        (_ATTENTION, "x, y, y", ("3 2 8", "4 2 8")),
        (_ATTENTION, "x, x, x, need_weights=False", ("3 2 8",)),
        (_ATTENTION, "x, x, x, average_attn_weights=False", ("3 2 8",)),
        (_ATTENTION, "x, x, x, y > 1", ("3 2 8", "2 3")),
        (_ATTENTION, "x, x, x, y > 1, attn_mask=z > 1", ("3 2 8", "2 3", "3 3")),
        (_ATTENTION, "x, x, x, None, False, y > 1", ("3 2 8", "4 3 3")),
        (_ATTENTION, "x, x, x, None, False, y, is_causal=True", ("3 2 8", "3 3")),
        ("MultiheadAttention(8, 2, batch_first=True)", "x, y, y", ("2 3 8", "2 4 8")),
        ("TransformerEncoderLayer(8, 2, 16, 0.0)", "x, y > 1, z > 1", ("3 2 8", "3 3", "2 3")),
        ("TransformerDecoderLayer(8, 2, 16, 0.0)", "x, x, y > 1", ("3 2 8", "3 3")),
    ]
}

FUNCTIONS: dict[str, Program] = {
    f"{text} {shapes}": function(text, *shapes)
    for text, shapes in [
        ("t.einsum('ij,jk->ik', x, y)", ("2 3", "3 4")),
        ("t.einsum('ij,jk,kl->il', x, y, z)", ("2 3", "3 4", "4 2")),
        ("t.einsum('...i->...', x)", ("2 3",)),
        ("t.stft(x, 4, return_complex=True)", ("16",)),
        ("t.stft(x, 4, return_complex=True, center=False)", ("2 16",)),
        ("t.istft(t.stft(x, 4, return_complex=True, window=y), 4, window=y)", ("16", "4")),
        ("t.meshgrid(x, y, indexing='ij')", ("2", "3")),
        ("t.norm(x)", ("2 3",)),
        ("t.norm(x, dim=1)", ("2 3",)),
        ("t.norm(x, 'nuc')", ("2 3",)),
        ("t.norm(x, 1, dim=(0, 1))", ("2 3",)),
        ("x.norm(dim=0, keepdim=True)", ("2 3",)),
        ("t.unique(x)", ("l2 3",)),
        ("t.unique(x, return_inverse=True, return_counts=True)", ("l2 3",)),
        ("x.unique(dim=0)", ("l2 3",)),
        ("t.unique_consecutive(x, return_counts=True)", ("l2 3",)),
        ("t.cdist(x, y)", ("2 3", "4 3")),
        ("t.split(x, 2)", ("4 3",)),
        ("x.split([1, 3])", ("4 3",)),
        ("x.split(x.size(0) // 2)", ("4 3",)),
        ("t.chunk(x, 2)", ("4 3",)),
        ("t.tensordot(x, y, 1)", ("2 3", "3 4")),
        ("t.tensordot(x, y, ([1], [0]))", ("2 3", "3 4")),
        ("t.tensordot(x, y, dims=z)", ("2 3", "3 4", "=1")),
        ("t.block_diag(x, y)", ("2 3", "3 4")),
        ("t.atleast_1d(x)", ("2 3",)),
        ("t.atleast_2d(x, y)", ("2", "3")),
        ("t.atleast_3d([x, y])", ("2", "3")),
        ("t.broadcast_tensors(x, y)", ("2 3", "3")),
        ("t.broadcast_to(x, (2, 3))", ("3",)),
        ("t.cartesian_prod(x, y)", ("2", "3")),
        ("t.combinations(x)", ("3",)),
        ("t.chain_matmul(x, y)", ("2 3", "3 2")),
        ("t.linalg.multi_dot([x, y])", ("2 3", "3 2")),
        ("t.lu(x)", ("=[[2.0, 1.0], [1.0, 3.0]]",)),
        ("t.unravel_index(x, (3, 4))", ("=[1, 5, 7]",)),
        ("t.unravel_index(x, 9)", ("=[1, 5, 7]",)),
        ("t.vander(x)", ("3",)),
        ("len(x) + x", ("2 3",)),
        ("t.stack([r + 1 for r in x])", ("2 3",)),
        ("t.stack([a + i for i, a in enumerate(x.unbind())])", ("2 3",)),
        ("[*x][0]", ("2 3",)),
        ("x if bool(x.sum() > 0) else x + 1", ("2 3",)),
        ("x if x.size(0) == 2 else x + 1", ("2 3",)),
        ("x if x.shape == (2, 3) else x + 1", ("2 3",)),
        ("x if 2 in x.shape else x + 1", ("2 3",)),
        ("x if x.numel() > 3 else x + 1", ("2 3",)),
        ("x if x.dim() > 1 else x + 1", ("2 3",)),
        ("x if x.size(0) and x.size(1) else x + 1", ("2 3",)),
        ("x + int(x.sum())", ("2 3",)),
        ("x + int(x.size(0))", ("2 3",)),
        ("x + float(x.sum())", ("2 3",)),
        ("x + float(x.size(0))", ("2 3",)),
        ("x * complex(x.sum())", ("2 3",)),
        ("x + x.sum().item()", ("2 3",)),
        ("x + [1, 2, 3][y]", ("2 3", "=1")),
        ("x + sum(range(y))", ("2 3", "=3")),
        ("x + sum(range(x.size(0)))", ("2 3",)),
        ("x[y]", ("2 3", "=1")),
        ("x[:y]", ("2 3", "=1")),
        ("x[:x.size(0) - 1]", ("2 3",)),
        ("x[int(y):]", ("2 3", "=1")),
        ("x + sum(y.tolist())", ("2 3", "3")),
        ("x + t.tensor(y.tolist())", ("2 3", "3")),
        ("x + float(y.numpy().sum())", ("2 3", "3")),
        ("x + t.from_numpy(y.numpy())", ("2 3", "3")),
        ("x + t.tensor(y)", ("2 3", "3")),
        ("x + t.as_tensor(y)", ("2 3", "3")),
        ("x + t.tensor([1.0, 2.0, 3.0])", ("2 3",)),
        ("x + t.as_tensor([1.0, 2.0, 3.0])", ("2 3",)),
        ("x + t.tensor([y.sum(), y.max(), 1.0])", ("2 3", "3")),
        ("x + t.tensor(x.shape).sum()", ("2 3",)),
        ("x + t.tensor(x.size(0))", ("2 3",)),
        ("x + t.tensor([x.size(0), 1, 2])", ("2 3",)),
        ("x + t.scalar_tensor(2.0)", ("2 3",)),
        ("x + x.new_tensor([1.0, 2.0, 3.0])", ("2 3",)),
        ("x + x.new_tensor(y)", ("2 3", "3")),
        ("x + x.new_tensor(y.sum())", ("2 3", "3")),
        ("x + x.new_tensor(2.0)", ("2 3",)),
        ("x + x.new([1.0, 2.0, 3.0])", ("2 3",)),
        ("x + x.new_tensor([y.sum(), y.max(), 1.0])", ("2 3", "3")),
        ("x + x.new_tensor([[y[0], y[1], y[2]]])", ("2 3", "3")),
        ("x + x.new_tensor([x.size(0), 1, 2])", ("2 3",)),
        ("x + x.new_tensor(x.shape).sum()", ("2 3",)),
        ("x + x.new_tensor(y.numpy())", ("2 3", "3")),
        ("x + x.new([y.sum(), 2.0, 3.0])", ("2 3", "3")),
        ("x + t.FloatTensor([y.sum(), y.max(), 1.0])", ("2 3", "3")),
        ("x + t.FloatTensor([[y[0], y[1], y[2]]])", ("2 3", "3")),
        ("x + t.FloatTensor([x.size(0), 1, 2])", ("2 3",)),
        ("x + t.FloatTensor(x.size(0), 3).fill_(0)", ("2 3",)),
        ("x + t.FloatTensor(y.numpy())", ("2 3", "3")),
        ("x + t.Tensor([y.sum(), y.max(), 1.0])", ("2 3", "3")),
        ("x + t.Tensor(y)", ("2 3", "3")),
        ("x + t.LongTensor([y.sum(), 1, 2])", ("2 3", "l3")),
        ("x + t.LongTensor([x.size(0), 1, 2])", ("2 3",)),
        ("x + t.as_tensor([y.sum(), y.max(), 1.0])", ("2 3", "3")),
        ("x + t.asarray([1.0, 2.0, 3.0])", ("2 3",)),
        ("x + t.asarray(y)", ("2 3", "3")),
        ("x + t.asarray(y, dtype=t.float64)", ("2 3", "3")),
        ("x + t.asarray(y, copy=True)", ("2 3", "3")),
        ("x + t.asarray([y.sum(), y.max(), 1.0])", ("2 3", "3")),
        ("x + t.frombuffer(bytearray(12), dtype=t.float32)", ("2 3",)),
        ("x + t.from_dlpack(y)", ("2 3", "3")),
        ("x + t.sparse_coo_tensor(z, y, (3,)).to_dense()", ("2 3", "2", "=[[0, 1]]")),
        ("x + t.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 3)).to_dense()", ("2 3",)),
        ("t.resize_as_(x.clone(), y) + 1", ("2 3", "3 2")),
        ("x.clone().resize_(3, 2) + 1", ("2 3",)),
        ("x.clone().resize_as_(y) + 1", ("2 3", "3 2")),
        ("x.set_(y)", ("2 3", "2 3")),
        ("x + x.new(x.size())", ("2 3",)),
        ("x + t.FloatTensor([1.0, 2.0, 3.0])", ("2 3",)),
        ("x + t.FloatTensor(y.tolist())", ("2 3", "3")),
        ("x + t.FloatTensor(y)", ("2 3", "3")),
        ("x + t.Tensor([1.0, 2.0, 3.0])", ("2 3",)),
        ("x + t.Tensor(2, 3).fill_(0)", ("2 3",)),
        ("x + t.LongTensor([1, 2, 3])", ("2 3",)),
        ("x + t.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,)).to_dense()", ("2 3",)),
        ("x + len(f'{x.sum():.2f} {x.shape}')", ("2 3",)),
        ("x + len(f'{x.size(0)} {x.numel()}')", ("2 3",)),
        ("x + len(f'{x.shape[0]:2d}')", ("2 3",)),
        ("x + 1 if y in x else x", ("2 3", "=0.5")),
        ("x + 1 if 0.5 in x else x", ("2 3",)),
        ("x + 1 if x.equal(y) else x", ("2 3", "2 3")),
        ("x + 1 if t.allclose(x, y) else x", ("2 3", "2 3")),
        ("x + 1 if x.is_nonzero() else x", ("=2.0",)),
        ("x + 1 if t.is_nonzero(x) else x", ("=2.0",)),
        ("x + 1 if not x.any() else x", ("2 3",)),
        ("x.add_(1)", ("2 3",)),
        ("x[0].add_(1)", ("2 3",)),
        ("x.clone()[0].fill_(1)", ("2 3",)),
        ("x.T.mul_(2)", ("2 3",)),
        ("x.view(x.size(0), -1)", ("2 3 4",)),
        ("x.reshape(x.shape[0] * x.shape[1], -1)", ("2 3 4",)),
        ("x.expand(*x.shape)", ("2 3",)),
        ("[x, x + 1]", ("2 3",)),
        ("x.repeat(x.size(0), 1)", ("2 3",)),
        ("t.zeros(x.shape) + x", ("2 3",)),
        ("t.arange(x.size(0)) + 1", ("2 3",)),
        ("t.full((2, 3), x.size(0)) + x", ("2 3",)),
        ("t.linspace(0, 1, x.size(1)) + x", ("2 3",)),
        ("F.interpolate(x, size=(5, 5))", ("1 2 3 3",)),
        ("F.interpolate(x, scale_factor=2.0)", ("1 2 3 3",)),
        ("F.interpolate(x, scale_factor=2.0, recompute_scale_factor=True)", ("1 2 3 3",)),
        ("F.interpolate(x, scale_factor=1.5, mode='bicubic')", ("1 2 3 3",)),
        ("F.interpolate(x, size=(2, 2), mode='area')", ("1 2 3 3",)),
        ("F.interpolate(x, size=[x.size(2) * 2, 4])", ("1 2 3 3",)),
        ("F.interpolate(x, scale_factor=0.5, mode='bilinear', antialias=True)", ("1 2 4 4",)),
        ("F.pad(x, (1, 1))", ("2 3",)),
        ("F.pad(x, (1, 1), mode='reflect')", ("2 3 4",)),
        ("F.pad(x, (1, 1), mode='circular')", ("2 3 4",)),
        ("F.pad(x, (0, x.size(1)))", ("2 3",)),
        ("F.grid_sample(x, y)", ("1 2 3 3", "1 2 2 2")),
        ("F.affine_grid(x, (1, 1, 2, 2))", ("1 2 3",)),
        ("F.affine_grid(x, [x.size(0), 1, 2, 2])", ("1 2 3",)),
        ("F.fold(x, (4, 4), 2)", ("1 8 9",)),
        ("F.normalize(x)", ("2 3",)),
        ("F.one_hot(x)", ("l2 3",)),
        ("F.one_hot(x, 5)", ("l2 3",)),
        ("F.gumbel_softmax(x, hard=True)", ("2 3",)),
        ("F.softmax(x)", ("2 3",)),
        ("F.softmin(x, 0)", ("2 3",)),
        ("F.batch_norm(x, None, None, training=True)", ("2 3 4",)),
        ("F.batch_norm(x, None, None, training=True)", ("2 3",)),
        ("F.instance_norm(x)", ("2 3 4",)),
        ("F.group_norm(x, 3)", ("2 3 4",)),
        ("F.layer_norm(x, (3,))", ("2 3",)),
        ("F.layer_norm(x, x.shape[1:])", ("2 3",)),
        ("F.local_response_norm(x, 2)", ("2 3 4",)),
        ("F.embedding_bag(x, y, z)", ("l6", "9 3", "=[0, 3]")),
        ("F.scaled_dot_product_attention(x, y, z)", ("1 2 3 4", "1 2 3 4", "1 2 3 4")),
        ("F.cross_entropy(x, y)", ("2 4", "2 4")),
        ("F.mse_loss(x, y)", ("2 4", "4")),
        ("F.binary_cross_entropy(x, y)", ("2 4", "2 4")),
        ("F.multilabel_soft_margin_loss(x, y)", ("2 4", "2 4")),
        ("F.lp_pool2d(x, 2, 2)", ("1 2 4 4",)),
        ("F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5))", ("1 2 4 4",)),
        ("F.dropout2d(x, 0.0)", ("2 3 4",)),
        ("rnn.pack_padded_sequence(x, y).data", ("3 2 4", "=[3, 2]")),
        ("rnn.pack_padded_sequence(x, [3, 2]).data", ("3 2 4",)),
        ("rnn.pack_padded_sequence(x, y, enforce_sorted=False).data", ("3 2 4", "=[2, 3]")),
        ("rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, y))", ("3 2 4", "=[3, 2]")),
        ("rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, y), total_length=5)",
         ("3 2 4", "=[3, 2]")),
        ("rnn.pad_sequence([x, y])", ("3 4", "2 4")),
        ("rnn.pad_sequence(x)", ("3 2 4",)),
        ("rnn.unpad_sequence(x, y)", ("3 2 4", "=[3, 2]")),
        ("rnn.unpad_sequence(x, y, batch_first=True)", ("2 3 4", "=[3, 2]")),
        ("rnn.pack_padded_sequence(x, [3, 2]).data", ("3 2 4",)),
        ("rnn.pack_sequence([x, y]).data", ("3 4", "2 4")),
        ("rnn.unpack_sequence(rnn.pack_sequence([x, y]))", ("3 4", "2 4")),
    ]
}  # fmt: skip


def _packed(make: str, with_state: bool = False) -> Program:
    """A recurrent layer over a packed sequence."""

    def program(t: Any) -> tuple[Any, tuple[Any, ...]]:
        class Packed(t.nn.Module):  # type: ignore[misc,name-defined]  # of either library
            def __init__(self) -> None:
                super().__init__()
                self.layer = eval(f"nn.{make}", {"nn": t.nn})

            def forward(self, x: Any, lengths: Any, *state: Any) -> Any:
                rnn = t.nn.utils.rnn
                packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
                if len(state) > 1:
                    state = (state,)
                return rnn.pad_packed_sequence(self.layer(packed, *state)[0])

        states = 2 if "LSTM" in make else 1
        given = [t.full((3, 2, 4), 0.5), t.tensor([2, 3])]
        given += [t.full((1, 2, 5), 0.5)] * (states if with_state else 0)
        return Packed(), tuple(given)

    return program


PACKED: dict[str, Program] = {
    f"packed {make} {state}": _packed(make, state)
    for make in ("RNN(4, 5)", "LSTM(4, 5)", "GRU(4, 5)")
    for state in (False, True)
}

PROGRAMS = LAYERS | CALLS | FUNCTIONS | PACKED

"""Eager operators against PyTorch where it is installed, and against NumPy everywhere.

A case is an operator name and arguments; arrays become tensors on either side. The tolerance comes
from the dtype and the number of elements a result may be summed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorscript.base.errors import OperatorError
from tensorscript.base.schema import schema
from tensorscript.eager.data import tensor
from tensorscript.eager.dispatch import call, has_kernel
from tensorscript.eager.exchange import from_numpy
from tensorscript.eager.kernels.table import KERNELS
from tensorscript.eager.namespace import lookup
from tensorscript.eager.tensor import Tensor

RNG = np.random.default_rng(7)
F = RNG.standard_normal((3, 4)).astype(np.float32)
G = RNG.standard_normal((3, 4)).astype(np.float32)
T = RNG.standard_normal((4, 3)).astype(np.float32).T
POSITIVE = np.abs(F) + np.float32(0.1)
UNIT = (RNG.random((3, 4)) * 0.9 + 0.05).astype(np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 0.5], np.float32)
INTS = RNG.integers(-5, 6, (3, 4)).astype(np.int64)
NONZERO = np.where(INTS == 0, 3, INTS)
SMALL = INTS.astype(np.int8)
BYTES = np.abs(INTS).astype(np.uint8)
BOOLS = INTS > 0
SCALAR = np.array(2.5, np.float32)
EMPTY = np.zeros((0, 3), np.float32)
DOUBLE = F.astype(np.float64)
HALF = F.astype(np.float16)
COMPLEX = (F + 1j * G).astype(np.complex64)
CUBE = RNG.standard_normal((2, 3, 4)).astype(np.float32)
IMAGE = RNG.standard_normal((2, 4, 7, 6)).astype(np.float32)
LINE = RNG.standard_normal((2, 4, 9)).astype(np.float32)
VOLUME = RNG.standard_normal((1, 2, 5, 4, 6)).astype(np.float32)
W2 = RNG.standard_normal((6, 4, 3, 2)).astype(np.float32)
W1 = RNG.standard_normal((6, 2, 3)).astype(np.float32)
W3 = RNG.standard_normal((3, 2, 2, 2, 3)).astype(np.float32)
BIAS = RNG.standard_normal(6).astype(np.float32)
C4 = RNG.standard_normal(4).astype(np.float32)
P4 = np.abs(C4) + np.float32(0.5)
CLASSES = np.array([1, 3, 0], np.int64)

UNARY_FLOAT = (
    "exp",     "log",     "sqrt",     "rsqrt",     "sin",     "cos",     "tan",     "tanh",
    "sinh",     "cosh",     "asin",     "acos",     "atan",     "asinh",     "acosh",
    "atanh",     "log1p",     "log2",     "log10",     "expm1",     "exp2",     "reciprocal",
    "sigmoid",     "erf",     "erfc",     "lgamma",     "digamma",     "sinc",     "erfinv",
)  # fmt: skip
UNARY_ANY = (
    "abs", "neg", "sign", "floor", "ceil", "trunc", "round", "square", "relu", "positive",
)  # fmt: skip
UNARY_ACTIVATION = (
    "gelu",     "silu",     "mish",     "relu6",     "hardtanh",     "hardsigmoid",
    "hardswish",     "leaky_relu",     "elu",     "selu",     "celu",     "softplus",
    "log_sigmoid",     "hardshrink",     "softshrink",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "remainder", "fmod", "floor_divide", "maximum", "minimum",
)  # fmt: skip
COMPARE = (
    "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
LOGIC = (
    "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
PAIRS = [
    (F, G), (F, T), (F, SCALAR), (F, DOUBLE), (SMALL, np.array(300)), (F, NONZERO), (HALF, F),
    (BYTES, NONZERO.astype(np.int8)), (NONZERO, NONZERO), (F, C4), (EMPTY, SCALAR),
    (SPECIAL, SPECIAL[::-1].copy()), (CUBE, CUBE[:, :1]),
]  # fmt: skip
REDUCE: list[Any] = [
    ("sum", (F,), {}), ("sum", (INTS, 0), {}), ("sum", (CUBE, [0, 2], True), {}),
    ("sum", (BOOLS,), {}), ("sum", (EMPTY, 0), {}), ("sum", (HALF,), {}), ("mean", (F,), {}),
    ("mean", (CUBE, -1), {}), ("prod", (F, 1), {}), ("prod", (INTS,), {}), ("var", (F,), {}),
    ("std", (F, 1), {}), ("var", (CUBE, [0, 1]), {"correction": 0}), ("var_mean", (F, 1), {}),
    ("max", (F,), {}), ("max", (F, 1), {}), ("min", (T, 0, True), {}), ("max", (SPECIAL,), {}),
    ("max", (SPECIAL, 0), {}), ("amax", (CUBE, [0, 2]), {}), ("amin", (F,), {}),
    ("argmax", (F,), {}), ("argmax", (F, 1), {}), ("argmin", (INTS, 0, True), {}),
    ("any", (BOOLS, 0), {}), ("all", (BOOLS,), {}), ("logsumexp", (F, 1), {}),
    ("cumsum", (INTS, 1), {}), ("cumprod", (F, 0), {}), ("cummax", (F, 1), {}),
    ("count_nonzero", (INTS,), {}), ("median", (F,), {}), ("median", (F, 1), {}),
    ("sort", (F, 1, True), {}), ("sort", (SPECIAL,), {}), ("topk", (F, 2), {}),
    ("argsort", (F, 0), {}), ("kthvalue", (F, 2), {}), ("aminmax", (F,), {"dim": 1}),
    ("nansum", (SPECIAL[:1],), {}), ("logcumsumexp", (F, 1), {}), ("diff", (F,), {}),
    ("unique_consecutive", (INTS,), {}),
]  # fmt: skip
SHAPES: list[Any] = [
    ("reshape", (F, [2, 6]), {}), ("reshape", (T, [-1]), {}), ("flatten", (CUBE, 1), {}),
    ("permute", (CUBE, [2, 0, 1]), {}), ("transpose", (CUBE, 0, -1), {}), ("t", (F,), {}),
    ("squeeze", (F[None],), {}), ("squeeze", (F[None], 0), {}), ("unsqueeze", (F, -1), {}),
    ("cat", ([F, G],), {}), ("cat", ([F, DOUBLE], 1), {}), ("stack", ([F, G], 1), {}),
    ("flip", (F, [0, 1]), {}), ("roll", (F, 1), {}), ("roll", (F, [1, 2], [0, 1]), {}),
    ("tile", (F, [2, 1]), {}), ("repeat_interleave", (F, 2, 0), {}), ("tril", (F,), {}),
    ("triu", (CUBE, 1), {}), ("diag", (C4,), {}), ("diagonal", (F, 1), {}),
    ("diag_embed", (F,), {}), ("narrow", (F, 1, 1, 2), {}), ("select", (F, 1, -1), {}),
    ("movedim", (CUBE, 0, 2), {}), ("rot90", (F,), {}), ("hstack", ([F, G],), {}),
    ("vstack", ([C4, C4],), {}), ("unbind", (F, 1), {}), ("chunk", (C4, 3), {}),
    ("tensor_split", (C4, 3), {}), ("split", (F, 3, 1), {}), ("broadcast_to", (C4, [3, 4]), {}),
    ("pixel_shuffle", (IMAGE, 2), {}), ("channel_shuffle", (IMAGE, 2), {}),
    ("unflatten", (F, 1, [2, 2]), {}), ("atleast_2d", (C4,), {}),
]  # fmt: skip
MATRIX: list[Any] = [
    ("matmul", (F, G.T.copy()), {}), ("matmul", (CUBE, C4), {}), ("matmul", (C4, C4), {}),
    ("mm", (F, T.T), {}), ("bmm", (CUBE, CUBE.swapaxes(1, 2)), {}), ("dot", (C4, C4), {}),
    ("mv", (F, C4), {}), ("addmm", (F[:, :3], F, G.T.copy()), {"beta": 0.5, "alpha": 2}),
    ("baddbmm", (CUBE[:, :, :3], CUBE, CUBE.swapaxes(1, 2)), {}), ("outer", (C4, C4), {}),
    ("einsum", ("bij,bkj->bik", [CUBE, CUBE]), {}), ("kron", (F, G), {}), ("cdist", (F, G), {}),
    ("inverse", (F[:, :3],), {}), ("det", (F[:, :3],), {}), ("trace", (F,), {}),
    ("cross", (F[:, :3], G[:, :3]), {"dim": 1}), ("addr", (F, F[:, 0].copy(), C4), {}),
]  # fmt: skip
NETWORK: list[Any] = [
    ("conv2d", (IMAGE, W2, BIAS), {}), ("conv2d", (IMAGE, W2, None, 2, 1, [1, 2]), {}),
    ("conv2d", (IMAGE, W2[..., :1].copy()), {"padding": "same"}), ("conv2d", (IMAGE[0], W2), {}),
    ("conv1d", (LINE, W1, BIAS, 2, 1, 1, 2), {}), ("conv3d", (VOLUME, W3), {}),
    ("conv_transpose2d", (IMAGE, W2.swapaxes(0, 1).copy(), BIAS, 2, 1, 1), {}),
    ("conv_transpose1d", (LINE, W1[:4], None, 3, 2, 1, 2), {}),
    ("conv_transpose2d", (IMAGE, W2.swapaxes(0, 1).copy(), None, 1, 2, 0, 1, 2), {}),
    ("max_pool2d", (IMAGE, 3, 2, 1), {}), ("max_pool2d", (IMAGE, 2), {"ceil_mode": True}),
    ("max_pool1d", (LINE, 2), {}), ("avg_pool1d", (LINE, 3, 2, 1), {}),
    ("adaptive_avg_pool1d", (LINE, 4), {}), ("batch_norm", (IMAGE, C4, C4, C4, P4, False, 0.1,
                                                            1e-5, True), {}),
    ("layer_norm", (CUBE, [4], C4, C4), {}), ("group_norm", (IMAGE, 2, C4, C4), {}),
    ("instance_norm", (IMAGE, None, None, None, None, True, 0.1, 1e-5, True), {}),
    ("rms_norm", (CUBE, [4], C4), {}), ("softmax", (F, -1), {}), ("log_softmax", (F, 0), {}),
    ("prelu", (IMAGE, C4), {}), ("embedding", (F, CLASSES[[0, 2]]), {}),
    ("cosine_similarity", (F, G), {}), ("pairwise_distance", (F, G), {}),
    ("bilinear", (F, G, RNG.standard_normal((2, 4, 4)).astype(np.float32), None), {}),
]  # fmt: skip
INDEXING: list[Any] = [
    ("index_select", (F, 1, CLASSES), {}), ("gather", (F, 1, np.abs(INTS) % 4), {}),
    ("scatter", (F, 1, np.abs(INTS[:, :2]) % 4, 1.5), {}),
    ("scatter_add", (F, 0, np.abs(INTS) % 3, G), {}), ("masked_fill", (F, BOOLS, 2), {}),
    ("masked_select", (F, BOOLS), {}), ("take", (F, CLASSES), {}), ("nonzero", (INTS,), {}),
    ("where", (BOOLS, F, G), {}), ("where", (BOOLS, F, 1.5), {}), ("where", (BOOLS, 1, INTS), {}),
    ("index_add", (F, 0, CLASSES % 3, G), {}), ("searchsorted", (np.sort(C4), F), {}),
    ("bucketize", (F, np.sort(C4)), {}), ("bincount", (CLASSES,), {}),
    ("isin", (INTS, CLASSES), {}), ("take_along_dim", (F, np.abs(INTS) % 4, 1), {}),
]  # fmt: skip
CREATION: list[Any] = [
    ("zeros", (2, 3), {}), ("ones", ([2],), {}), ("full", ([2, 2], 3), {}), ("arange", (5,), {}),
    ("arange", (1, 2, 0.25), {}), ("linspace", (0, 1, 5), {}), ("eye", (3,), {}),
    ("zeros_like", (INTS,), {}), ("full_like", (F, 2), {}), ("hann_window", (5,), {}),
    ("tril_indices", (3, 3), {}), ("logspace", (0, 2, 3), {}), ("scalar_tensor", (3,), {}),
]  # fmt: skip
TERNARY: list[Any] = [
    ("clamp", (F, -0.5, 0.5), {}), ("clamp", (INTS, 1), {}), ("clamp", (F,), {"max": 0.25}),
    ("lerp", (F, G, 0.3), {}), ("lerp", (F, G, UNIT), {}), ("addcmul", (F, F, G), {"value": 2}),
    ("addcdiv", (F, F, POSITIVE), {}), ("pow", (INTS, 2), {}), ("pow", (POSITIVE, 0.5), {}),
    ("pow", (2, F), {}), ("pow", (POSITIVE, F), {}), ("atan2", (F, G), {}),
    ("hypot", (F, G), {}), ("logaddexp", (F, G), {}), ("xlogy", (F, POSITIVE), {}),
    ("copysign", (F, G), {}), ("nan_to_num", (SPECIAL,), {}), ("rsub", (F, 2), {}),
    ("div", (F, G), {"rounding_mode": "trunc"}), ("div", (INTS, 3), {"rounding_mode": "floor"}),
    ("div", (INTS, NONZERO), {"rounding_mode": "trunc"}), ("add", (F, G), {"alpha": 2}),
    ("isclose", (F, F), {}), ("logit", (UNIT,), {}), ("bitwise_and", (INTS, 3), {}),
    ("bitwise_not", (INTS,), {}), ("bitwise_left_shift", (BYTES, 1), {}),
    ("gcd", (INTS, INTS), {}), ("round", (F,), {"decimals": 2}), ("frac", (F,), {}),
    ("add", (BOOLS, BOOLS), {}), ("mul", (COMPLEX, 2.0), {}), ("exp", (COMPLEX,), {}),
    ("add", (INTS, 1.5), {}), ("angle", (COMPLEX,), {}), ("heaviside", (F, G), {}),
    ("threshold", (F, 0.1, 20), {}), ("signbit", (F,), {}), ("deg2rad", (F,), {}),
]  # fmt: skip
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((n, (x,), {}) for n in UNARY_FLOAT for x in (UNIT, T, SPECIAL, BYTES, SCALAR, EMPTY, HALF)),
    *((n, (x,), {}) for n in UNARY_ANY for x in (F, T, SPECIAL, INTS, SCALAR, DOUBLE, HALF)),
    *((n, (x,), {}) for n in UNARY_ACTIVATION for x in (F, T, EMPTY, DOUBLE)),
    *((n, (a, b), {}) for n in (*BINARY, *COMPARE, *LOGIC) for a, b in PAIRS),
    *((n, (x,), {}) for n in ("isnan", "isinf", "isfinite", "logical_not")
      for x in (SPECIAL, INTS)),
    *REDUCE, *SHAPES, *MATRIX, *NETWORK, *INDEXING, *CREATION, *TERNARY,
]  # fmt: skip

EPSILON = {np.dtype(n): float(np.finfo(n).eps) for n in ("f2", "f4", "f8")}


def tolerance(dtype: np.dtype[Any], terms: int) -> float:
    """A few roundings for each doubling of the number of summed terms, in `dtype`."""
    real = np.zeros(0, dtype).real.dtype
    return EPSILON.get(real, 0.0) * 8 * (1 + float(np.log2(max(terms, 1))))


def convert(x: Any, make: Any) -> Any:
    if isinstance(x, np.ndarray):
        return make(x)
    if isinstance(x, list):
        return [convert(y, make) for y in x]
    return x


def agree(ours: Any, theirs: Any, terms: int) -> None:
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            agree(a, b, terms)
        return
    if not isinstance(ours, Tensor):
        assert ours == theirs
        return
    a, b = ours.numpy(), theirs.numpy()
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    limit = tolerance(a.dtype, terms)
    finite = b[np.isfinite(b)] if b.dtype.kind in "fc" else b
    size = float(np.abs(finite).max()) if finite.size and b.dtype.kind in "fc" else 0.0
    np.testing.assert_allclose(a, b, rtol=limit, atol=limit * min(size, 1.0), equal_nan=True)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"), CASES, ids=[f"{n}-{k}" for k, (n, _, _) in enumerate(CASES)]
)
def test_against_torch(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    theirs_fn = getattr(torch, name, None) or getattr(torch.nn.functional, name, None)
    theirs_fn = theirs_fn or getattr(torch._C._nn, name)
    ours_fn = lookup(name)
    terms = max((x.size for x in args if isinstance(x, np.ndarray)), default=1)
    theirs_args = [convert(a, lambda x: torch.from_numpy(x)) for a in args]
    try:
        theirs = theirs_fn(*theirs_args, **kwargs)
    except RuntimeError:
        with pytest.raises(OperatorError):
            ours_fn(*(convert(a, from_numpy) for a in args), **kwargs)
        return
    agree(ours_fn(*(convert(a, from_numpy) for a in args), **kwargs), theirs, terms)


def test_numpy_smoke() -> None:
    x, y = from_numpy(F), from_numpy(G)
    np.testing.assert_array_equal((x + y).numpy(), F + G)
    np.testing.assert_array_equal((x * 2 - y).numpy(), F * 2 - G)
    np.testing.assert_allclose((x @ y.t()).numpy(), F @ G.T, rtol=1e-5)
    np.testing.assert_array_equal(x.max(1).values.numpy(), F.max(1))
    assert x.sum().item() == pytest.approx(float(F.sum()), rel=1e-5)


TIER1 = (
    "relu",     "sigmoid",     "tanh",     "exp",     "log",     "sqrt",     "rsqrt",     "abs",
    "neg",     "sin",     "cos",     "gelu",     "silu",     "hardswish",     "hardsigmoid",
    "hardtanh",     "relu6",     "leaky_relu",     "floor",     "ceil",     "round",
    "clamp",     "reciprocal",     "square",     "erf",     "bitwise_not",     "logical_not",
    "add",     "sub",     "mul",     "div",     "rsub",     "pow",     "floor_divide",
    "remainder",     "fmod",     "maximum",     "minimum",     "where",     "lerp",
    "addcmul",     "addcdiv",     "__and__",     "__or__",     "__xor__",     "eq",     "ne",
    "lt",     "le",     "gt",     "ge",     "relu_",     "add_",     "sub_",     "mul_",
    "div_",     "copy_",     "fill_",     "zero_",     "clamp_",     "sigmoid_",     "silu_",
    "hardswish_",     "hardtanh_",     "dropout_",     "masked_fill_",     "bernoulli_",
    "normal_",     "uniform_",     "index_put_",     "sum",     "mean",     "max",     "min",
    "amax",     "amin",     "argmax",     "argmin",     "prod",     "var",     "std",
    "norm",     "any",     "all",     "logsumexp",     "cumsum",     "matmul",     "mm",
    "bmm",     "addmm",     "linear",     "baddbmm",     "einsum",     "dot",     "mv",
    "outer",     "t",     "_convolution",     "conv1d",     "conv2d",     "conv3d",
    "conv_transpose1d",     "conv_transpose2d",     "max_pool1d",     "max_pool2d",
    "avg_pool2d",     "adaptive_avg_pool1d",     "adaptive_avg_pool2d",
    "adaptive_max_pool2d",     "batch_norm",     "layer_norm",     "group_norm",
    "instance_norm",     "dropout",     "scaled_dot_product_attention",     "_weight_norm",
    "rms_norm",     "cross_entropy_loss",     "nll_loss",     "mse_loss",
    "binary_cross_entropy",     "binary_cross_entropy_with_logits",     "l1_loss",
    "smooth_l1_loss",     "log_softmax",     "softmax",     "size",     "view",     "reshape",
    "flatten",     "permute",     "transpose",     "swapaxes",     "numpy_T",     "squeeze",
    "unsqueeze",     "expand",     "expand_as",     "slice",     "select",     "chunk",
    "split",     "split_with_sizes",     "unbind",     "contiguous",     "unflatten",
    "narrow",     "repeat",     "roll",     "flip",     "stack",     "cat",     "dim",
    "numel",     "stride",     "is_contiguous",     "movedim",     "index",     "index_select",
    "gather",     "scatter",     "scatter_add",     "masked_fill",     "masked_select",
    "take",     "nonzero",     "embedding",     "one_hot",     "bucketize",     "searchsorted",
    "index_add",     "index_copy",     "zeros",     "ones",     "empty",     "full",
    "zeros_like",     "ones_like",     "empty_like",     "full_like",     "new_zeros",
    "new_ones",     "new_full",     "arange",     "linspace",     "eye",     "tensor",
    "scalar_tensor",     "clone",     "detach",     "to",     "type_as",     "rand",
    "randn",     "randint",     "randperm",     "rand_like",     "randn_like",     "bernoulli",
    "multinomial",     "manual_seed",     "sort",     "topk",     "argsort",     "len",
    "append",     "format",     "__contains__",     "__getitem__",     "floordiv",     "Int",
    "Float",     "Bool",     "__range_length",     "__derive_index",     "__is__",
    "__isnot__",     "__not__",     "keys",     "values",     "items",     "str",
    "is_grad_enabled",     "set_grad_enabled",     "is_autocast_enabled",
    "is_floating_point",     "is_complex",     "lstm",     "gru",     "lstm_cell",
    "gru_cell",     "upsample_nearest2d",     "upsample_bilinear2d",     "upsample_linear1d",
    "upsample_nearest1d",     "pad",     "constant_pad_nd",     "reflection_pad1d",
    "reflection_pad2d",     "replication_pad2d",
)  # fmt: skip
KNOWN_GAPS: frozenset[str] = frozenset()


def gaps() -> set[str]:
    names = {k.partition("::")[2].partition(".")[0] for k in KERNELS if k.startswith("aten::")}
    in_place = {n for n in TIER1 if n.endswith("_") and not n.startswith("_")}
    return {
        n for n in TIER1
        if n not in names and not (n in in_place and _derived(n))
    }  # fmt: skip


def _derived(name: str) -> bool:
    return any(has_kernel(f"aten::{name}{o}") for o in ("", ".Tensor", ".Scalar"))


def test_every_tier1_operator_has_a_kernel() -> None:
    assert gaps() == set(KNOWN_GAPS)


def test_every_kernel_has_a_schema() -> None:
    for name in KERNELS:
        assert schema(name).full_name == name


def test_call_takes_the_operator_name() -> None:
    assert call("aten::add", (tensor([1]), 2)).tolist() == [3]


def test_a_threshold_is_of_the_dtype_of_the_elements() -> None:
    bytes_ = tensor(np.array([1, 200, 2], np.uint8))
    assert lookup("threshold")(bytes_, -100, -5).tolist() == [251, 200, 251]
    assert lookup("threshold")(bytes_, 1.5, 7.7).tolist() == [7, 200, 2]

"""What operators refuse by dtypes and sizes, they refuse natively in eager mode's words."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.dtypes import bool_, float32, int64
from tensorscript.base.errors import OperatorError
from tensorscript.base.schema import schema
from tensorscript.eager.demands import DEMANDS
from tensorscript.eager.stand_in import Unknown, stand_in

F = ts.nn.functional
Program = Callable[..., Any]


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int64)


def cross_entropy(x, y):  # type: ignore[no-untyped-def]
    return F.cross_entropy(x, y)


def nll(x, y):  # type: ignore[no-untyped-def]
    return F.nll_loss(x, y)


def linear(x, y):  # type: ignore[no-untyped-def]
    return F.linear(x, y)


def bucketize(x, y):  # type: ignore[no-untyped-def]
    return ts.bucketize(x, y)


def addr(x, y):  # type: ignore[no-untyped-def]
    return ts.addr(x, y, y)


def cartesian(x, y):  # type: ignore[no-untyped-def]
    return ts.cartesian_prod([x, y])


def spectrum(x, y):  # type: ignore[no-untyped-def]
    return ts.fft.fft2(x, dim=(-1, -1)), y


def solved(x, y):  # type: ignore[no-untyped-def]
    return ts.cholesky_solve(x, y)


def added(x, y):  # type: ignore[no-untyped-def]
    return ts.index_add(x, 0, y, ts.ones(2, 4))


def halves(x, y):  # type: ignore[no-untyped-def]
    return ts.chunk(x, 0), y


def grouped(x, y):  # type: ignore[no-untyped-def]
    return F.group_norm(x, 1, y)


def normalised(x, y):  # type: ignore[no-untyped-def]
    return F.layer_norm(x, (3,), y)


def enlarged(x, y):  # type: ignore[no-untyped-def]
    return F.interpolate(x, (0, 3), mode="bilinear"), y


def unfolded(x, y):  # type: ignore[no-untyped-def]
    return F.unfold(x, 7), y


def sampled(x, y):  # type: ignore[no-untyped-def]
    return F.grid_sample(x, y, align_corners=False)


def strided(x, y):  # type: ignore[no-untyped-def]
    return ts.as_strided(x, (2, 2), (1, -1)), y


def bent(x, y):  # type: ignore[no-untyped-def]
    return F.celu(x, alpha=0.0), y


def multiplied(x, y):  # type: ignore[no-untyped-def]
    return ts.einsum("ij,jk->l", x, y)


def repeated(x, y):  # type: ignore[no-untyped-def]
    return ts.einsum("ii,j->j", x, y)


def chosen(x, y):  # type: ignore[no-untyped-def]
    return ts.where(x, y, y)


def picked(x, y):  # type: ignore[no-untyped-def]
    return ts.masked_select(x, y > 0)


def turned(x, y):  # type: ignore[no-untyped-def]
    return ts.flip(x, [0, -1]), y


def bounded(x, y):  # type: ignore[no-untyped-def]
    return F.huber_loss(x, y, delta=0.0)


REFUSED: list[tuple[Program, np.ndarray, np.ndarray, str]] = [
    (cross_entropy, ones(2, 3), zeros(3),
     "Expected input batch_size (2) to match target batch_size (3)."),
    (cross_entropy, ones(2, 3, 4), zeros(2, 5), "Expected target size [2, 4], got [2, 5]"),
    (cross_entropy, ones(2, 3), zeros(2, 3),
     "Expected floating point type for target with class probabilities, got Long"),
    (nll, ones(3), zeros(2), "For 1D input, 1D target must have size 1, but got target size: 2"),
    (nll, ones(2, 3, 4, 5), zeros(2, 5),
     "only batches of spatial targets supported (3D tensors) but got targets of dimension: 2"),
    (linear, ones(), ones(3, 4),
     "both arguments to linear need to be at least 1D, but they are 0D and 2D"),
    (bucketize, ones(3), ones(2, 2), "boundaries tensor must be 1 dimension, but got dim(2)"),
    (addr, ones(4), ones(3),
     "The expanded size of the tensor (3) must match the existing size (4) at non-singleton "
     "dimension 1.  Target sizes: [3, 3].  Tensor sizes: [4]"),
    (cartesian, ones(2, 3), ones(2), "Expect a 1D vector, but got shape [2, 3]"),
    (spectrum, ones(2, 3), ones(1), "FFT dims must be unique"),
    (solved, ones(2, 2), ones(3, 3),
     "Incompatible matrix sizes for cholesky_solve: each A matrix is 3 by 3 but each b matrix is "
     "2 by 2"),
    (added, ones(3, 5), zeros(2),
     "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
     "self.shape = [3, 5] source.shape = [2, 4]"),
    (grouped, ones(5, 1), ones(5),
     "Expected weight to be a vector of size equal to the number of channels in input, but got "
     "weight of shape [5] and input of shape [5, 1]"),
    (normalised, ones(2, 3), np.ones(3),
     "mixed dtype (CPU): expect parameter to have scalar type of Float"),
    (enlarged, ones(2, 3, 4, 4), ones(1),
     "Input and output sizes should be greater than 0, but got input (H: 4, W: 4) output (H: 0, "
     "W: 3)"),
    (unfolded, ones(1, 1, 5, 5), ones(1),
     "Given input with spatial size (5, 5), kernel_size=(7, 7), dilation=(1, 1), padding=(0, 0), "
     "calculated shape of the array of sliding blocks as (-1, -1), but its components must be at "
     "least one."),
    (sampled, ones(1, 1, 5, 5), np.ones((1, 5, 5, 2)),
     "expected scalar type Float but found Double"),
    (strided, ones(9), ones(1),
     "as_strided: Negative strides are not supported at the moment, got strides: [1, -1]"),
    (multiplied, ones(2, 3), ones(3, 4),
     "einsum(): output subscript l does not appear in the equation for any input operand"),
    (repeated, ones(2, 3), ones(4),
     "einsum(): subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
    (chosen, ones(3), ones(3),
     "where expected condition to be a boolean tensor, but got a tensor with dtype Float"),
    (picked, ones(4), ones(3),
     "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"),
    (turned, ones(3), ones(1), "dim 0 appears multiple times in the list of dims"),
    (bounded, ones(2), ones(2), "huber_loss does not support non-positive values for delta."),
    (bent, ones(2), ones(1), "ZeroDivisionError: alpha cannot be 0 for CELU"),
    (halves, ones(3), ones(1), "chunk expects `chunks` to be greater than 0, got: 0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "x", "y", "message"),
    REFUSED,
    ids=[f"{p.__name__}-{k}" for k, (p, *_) in enumerate(REFUSED)],
)
def test_eager_and_native_words(
    program: Program, x: np.ndarray, y: np.ndarray, message: str
) -> None:
    with pytest.raises(OperatorError) as eager:
        program(ts.from_numpy(x), ts.from_numpy(y))
    assert eager.value.message == message
    compiled = ts.compile(program, fallback="error", cache=False)
    with pytest.raises(OperatorError, match="Traceback of TorchScript") as native:
        compiled(x, y)
    assert str(native.value).rstrip().endswith(f"Error: {message}")


def _into(x: Any, y: Any, kind: Any = int64) -> Any:
    return ts.empty(0, dtype=kind)


FORMS: list[tuple[Program, np.ndarray, np.ndarray, str]] = [
    (lambda x, y: ts.fft.fft2(x, dim=(-1, -1), out=ts.empty(0, dtype=ts.complex64)),
     ones(2, 3), ones(1), "FFT dims must be unique"),
    (lambda x, y: ts.bucketize(x, y, out=_into(x, y)),
     ones(3), ones(2, 2), "boundaries tensor must be 1 dimension, but got dim(2)"),
    (lambda x, y: ts.cholesky_solve(x, y, out=_into(x, y, float32)), ones(2, 2), ones(3, 3),
     "Incompatible matrix sizes for cholesky_solve: each A matrix is 3 by 3 but each b matrix is "
     "2 by 2"),
    (lambda x, y: x.index_add_(0, y, ts.ones(2, 4)), ones(3, 5), zeros(2),
     "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
     "self.shape = [3, 5] source.shape = [2, 4]"),
    (lambda x, y: ts.celu_(x, alpha=0.0), ones(2), ones(1),
     "ZeroDivisionError: alpha cannot be 0 for CELU"),
    (lambda x, y: ts.mode(x, out=(_into(x, y, float32), _into(x, y))), ones(2, 0), ones(1),
     "mode(): Expected reduction dim 1 to have non-zero size."),
]  # fmt: skip


@pytest.mark.parametrize(("form", "x", "y", "message"), FORMS, ids=[f[3] for f in FORMS])
def test_forms_that_write_ask_the_same(
    form: Program, x: np.ndarray, y: np.ndarray, message: str
) -> None:
    with pytest.raises(OperatorError) as eager:
        form(ts.from_numpy(x), ts.from_numpy(y))
    assert eager.value.message == message


def test_a_target_of_a_named_size_is_checked_by_the_call() -> None:
    given = ts.TensorSpec(("N", 3)), ts.TensorSpec(("M",), int64)
    compiled = ts.compile(cross_entropy, given, fallback="error", cache=False)
    assert compiled(ones(2, 3), zeros(2)) == pytest.approx(np.log(3))
    with pytest.raises(RuntimeError, match="Expected input batch_size"):
        compiled(ones(2, 3), zeros(3))


def test_a_vector_of_scores_takes_one_class() -> None:
    compiled = ts.compile(cross_entropy, fallback="error", cache=False)
    assert compiled(ones(3), zeros(1)) == pytest.approx(np.log(3))
    assert float(cross_entropy(ts.ones(3), ts.zeros(1, dtype=ts.int64))) == pytest.approx(np.log(3))


def test_convolutions_take_empty_batches() -> None:
    def convolved(x, w):  # type: ignore[no-untyped-def]
        return F.conv2d(x, w), F.conv_transpose2d(x, w)

    x, w = np.ones((0, 3, 5, 5), np.float32), ones(3, 3, 3, 3)
    for found in (convolved(ts.from_numpy(x), ts.from_numpy(w)), ts.compile(convolved)(x, w)):
        assert [tuple(y.shape) for y in found] == [(0, 3, 3, 3), (0, 3, 7, 7)]


def test_rolled_along_one_dimension_twice() -> None:
    def rolled(x):  # type: ignore[no-untyped-def]
        return ts.roll(x, (1, 2), (0, 0))

    x = np.arange(5)
    assert ts.compile(rolled, cache=False)(x).tolist() == np.roll(x, 3).tolist()
    assert rolled(ts.from_numpy(x)).tolist() == np.roll(x, 3).tolist()


SIMPLE = {"int": 1, "float": 0.5, "bool": False, "Scalar": 1}
KINDS = [(d, rank, known) for d in (float32, int64, bool_) for rank in range(6) for known in (0, 1)]


def _kinds(name: str) -> list[str]:
    return [str(a.type.without_optional()) for a in schema(name).arguments]


@pytest.mark.parametrize(
    "name", [n for n in sorted(DEMANDS) if {*_kinds(n)} <= {*SIMPLE, "Tensor", "Tensor[]"}]
)
def test_demands_look_at_stand_ins(name: str) -> None:
    """Ranks that make no sense end in a refusal, or in what only elements tell."""
    kinds = _kinds(name)
    for kind, other in itertools.product(KINDS, KINDS[::5]):
        made = iter([kind, *[other] * len(kinds)])
        with contextlib.suppress(OperatorError, Unknown):
            DEMANDS[name](*[_argument(k, made) for k in kinds])


def _argument(kind: str, made: Any) -> Any:
    if kind in SIMPLE:
        return SIMPLE[kind]
    dtype, rank, known = next(made)
    found = stand_in(dtype, rank, tuple(range(1, rank + 1)) if known else None)
    return found if kind == "Tensor" else [found]


@pytest.mark.parametrize("dtype", [ts.int64, ts.bfloat16, ts.complex128])
def test_biases_have_the_dtype_of_images(dtype: ts.dtype) -> None:
    def convolved(x, w, b):  # type: ignore[no-untyped-def]
        return ts.conv2d(x, w, b)

    given = ts.ones(2, 4, 4), ts.ones(3, 2, 3, 3), ts.ones(3, dtype=dtype)
    for run in (convolved, ts.compile(convolved, fallback="error", cache=False)):
        with pytest.raises(RuntimeError, match=r"Input type \(float\) and bias type .* the same"):
            run(*given)

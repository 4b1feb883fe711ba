"""Einstein sums in eager mode: how operands are paired, and where the results lie."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

# PyTorch's strides.
LAYOUTS = [
    ("ij,jk->ki", [(2, 3), (3, 4)], (2, 1)),
    ("bij,bjk->bki", [(2, 3, 4), (2, 4, 5)], (15, 3, 1)),
    ("ijk,kl->lij", [(2, 3, 4), (4, 5)], (6, 3, 1)),
    ("bqhd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 4, 5)], (72, 18, 6, 1)),
    ("bhqk,bkhd->bqhd", [(2, 3, 4, 5), (2, 5, 3, 6)], (72, 6, 24, 1)),
    ("ijk->kj", [(2, 3, 4)], (3, 1)),
    ("ij,ij->ji", [(3, 4), (3, 4)], (1, 4)),
    ("ibnd,jnd->ijbn", [(4, 2, 3, 5), (6, 3, 5)], (12, 1, 6, 48)),
    ("bsact,dts->acdb", [(3, 2, 4, 5, 6), (7, 6, 2)], (105, 21, 1, 7)),
    ("abc,cd,de->abe", [(2, 3, 4), (4, 5), (5, 6)], (18, 6, 1)),
]


@pytest.mark.parametrize("dtype", [ts.float32, ts.bfloat16, ts.int64])
@pytest.mark.parametrize(("equation", "shapes", "strides"), LAYOUTS)
def test_strides(
    equation: str, shapes: list[tuple[int, ...]], strides: tuple[int, ...], dtype: ts.dtype
) -> None:
    made = ts.einsum(equation, *[ts.ones(shape).to(dtype) for shape in shapes])
    assert made.stride() == strides


def test_one_operand_is_viewed() -> None:
    x = ts.ones(2, 3)
    assert ts.einsum("ij->ji", x).stride() == (1, 3)
    ts.einsum("ii->i", x[:, :2]).zero_()
    assert x.tolist() == [[0, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize("equation", [
    "ij,jk,kl->il", "aab,bc->ac", "a,b,c->cab", "...a,...a->...", "ab,b->", ",ab->ba", "abc->c",
])  # fmt: skip
def test_values(equation: str) -> None:
    random = np.random.default_rng(3)
    sizes = dict.fromkeys("abcijkl", 3)
    terms = equation.partition("->")[0].split(",")
    operands = [random.random([2] * ("..." in t) + [sizes[c] for c in t.replace(".", "")])
                for t in terms]  # fmt: skip
    found = np.asarray(ts.einsum(equation, *map(ts.tensor, operands)))
    np.testing.assert_allclose(found, np.einsum(equation, *operands), rtol=1e-12)


def test_each_pair_is_rounded() -> None:
    small = ts.tensor([1.0, 2**-8], dtype=ts.bfloat16)
    ones = ts.ones(2, dtype=ts.bfloat16)
    path = ts.ops.aten.einsum
    # (1 + 2^-8) rounds to 1 before it is multiplied; 2^8 (1 + 2^-8) would be 257.
    found = path("a,a,->", [small, ones, ts.tensor(256.0, dtype=ts.bfloat16)], path=[0, 1, 0, 1])
    assert found.item() == 256


@pytest.mark.parametrize(("tensors", "sum_dtype"), [
    (((3,), (3,)), ts.int32), (((3,), (1,)), ts.int64),
])  # fmt: skip
def test_only_what_is_summed_alone_becomes_int64(
    tensors: tuple[tuple[int, ...], ...], sum_dtype: ts.dtype
) -> None:
    operands = [ts.ones(shape, dtype=ts.int32) for shape in tensors]
    assert ts.einsum("a,a->", *operands).dtype is sum_dtype


def test_repeated_subscripts_of_other_sizes() -> None:
    with pytest.raises(OperatorError, match="repeated for operand 0"):
        ts.einsum("aa->a", ts.ones(1, 3))


def test_a_path_of_another_size() -> None:
    with pytest.raises(OperatorError, match="to have size 2 but got 4"):
        ts.ops.aten.einsum("a,a->", [ts.ones(3), ts.ones(3)], path=[0, 1, 0, 1])

"""Sparse tensors in eager mode and in compiled programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import ArgumentError, OperatorError

AT = ts.tensor([[0, 1, 1, 0], [1, 0, 0, 1]])
TWICE = ts.sparse_coo_tensor(AT, ts.tensor([1.0, 2.0, 3.0, 4.0]), [2, 3])
DENSE = np.array([[0, 5, 0], [5, 0, 0]], np.float32)
X = ts.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))


def test_each_place_comes_once_after_coalescing() -> None:
    once = TWICE.coalesce()
    assert (TWICE._nnz(), once._nnz(), TWICE.is_coalesced(), once.is_coalesced()) == (4, 2, 0, 1)
    assert once.indices().tolist() == [[0, 1], [1, 0]] and once.values().tolist() == [5, 5]
    assert TWICE.to_dense().numpy().tolist() == DENSE.tolist()
    with pytest.raises(OperatorError, match="Cannot get indices on an uncoalesced tensor"):
        TWICE.indices()


def test_what_is_asked_and_shown() -> None:
    assert TWICE.is_sparse and not X.is_sparse and TWICE.layout is ts.sparse_coo
    assert (tuple(TWICE.shape), TWICE.sparse_dim(), TWICE.dense_dim()) == ((2, 3), 2, 0)
    assert repr(TWICE.coalesce()) == (
        "tensor(indices=tensor([[0, 1],\n                       [1, 0]]),\n"
        "       values=tensor([5., 5.]),\n       size=(2, 3), nnz=2, layout=torch.sparse_coo)"
    )
    with pytest.raises(ArgumentError, match="can't convert Sparse layout tensor to numpy"):
        TWICE.numpy()


def test_products_and_sums() -> None:
    wanted = DENSE @ X.numpy()
    for product in (TWICE @ X, ts.mm(TWICE, X), TWICE.to_sparse_csr() @ X):
        assert product.numpy().tolist() == wanted.tolist()
    assert (TWICE @ X[:, 0]).tolist() == (DENSE @ X.numpy()[:, 0]).tolist()
    assert (TWICE.t() @ ts.ones(2, 1)).flatten().tolist() == DENSE.sum(0).tolist()
    assert (ts.ones(2, 3) + TWICE).tolist() == (1 + DENSE).tolist()
    assert (TWICE + TWICE * 2).to_dense().tolist() == (3 * DENSE).tolist()
    assert TWICE.to(ts.float64).to_dense().dtype is ts.float64
    assert (-TWICE).relu().to_dense().sum().item() == 0 and TWICE.sum().item() == 10


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dim", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2), [-1]])
def test_sums_over_dimensions_as_torch(dim: Any) -> None:
    torch = pytest.importorskip("torch")

    def total(library: Any) -> Any:
        at, values = [[0, 1, 1], [1, 0, 0]], [[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]
        of = library.sparse_coo_tensor(library.tensor(at), library.tensor(values), (2, 2, 2))
        return library.sparse.sum(of, dim)

    ours, theirs = total(ts), total(torch)
    assert ours.is_sparse == theirs.is_sparse
    if ours.is_sparse:
        assert ours.indices().tolist() == theirs.indices().tolist()
        ours, theirs = ours.values(), theirs.values()
    assert ours.tolist() == theirs.tolist()


def test_names_of_the_namespace() -> None:
    def product(a: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
        return ts.sparse.mm(a, b)

    wanted = DENSE @ X.numpy()
    scripted = ts.jit.script(product)
    for found in (product(TWICE, X), ts.spmm(TWICE, X), ts.dsmm(TWICE, X), scripted(TWICE, X)):
        assert found.numpy().tolist() == wanted.tolist()
    assert ts.sparse.addmm(ts.ones(2, X.size(1)), TWICE, X).tolist() == (1 + wanted).tolist()
    assert ts.sparse.sum(TWICE, dtype=ts.float64).dtype is ts.float64
    assert TWICE.to_sparse_csr().layout is ts.sparse_csr


def test_forms_of_a_matrix() -> None:
    sparse = ts.from_numpy(DENSE).to_sparse()
    rows = sparse.to_sparse_csr()
    assert sparse.is_coalesced() and sparse.to_dense().tolist() == DENSE.tolist()
    assert rows.crow_indices().tolist() == [0, 1, 2] and rows.col_indices().tolist() == [1, 0]
    assert rows.is_sparse_csr and rows.to_sparse().to_dense().tolist() == DENSE.tolist()


@pytest.mark.parametrize("at", [[[0], [3]], [[-1], [0]]])
def test_coordinates_outside_are_refused(at: list[list[int]]) -> None:
    with pytest.raises(OperatorError, match="size is inconsistent with indices"):
        ts.sparse_coo_tensor(ts.tensor(at), ts.ones(1), [2, 3])


def test_operators_without_a_row_are_refused() -> None:
    with pytest.raises(OperatorError, match="Could not run 'aten::softmax"):
        ts.softmax(TWICE, 1)


def made_inside(x: ts.Tensor, at: ts.Tensor) -> ts.Tensor:
    weights = ts.sparse_coo_tensor(at, ts.ones(at.size(1)), [2, 3]).coalesce()
    return ts.mm(weights, x) + weights.values().sum()


def multiplied(weights: ts.Tensor, x: ts.Tensor) -> ts.Tensor:
    return weights @ x


def test_compiled() -> None:
    scripted = ts.jit.script(made_inside)
    native = ts.compile(scripted, fallback="error", cache=False)
    np.testing.assert_allclose(native(X, AT).numpy(), scripted(X, AT).numpy())
    with_argument = ts.compile(ts.jit.script(multiplied), cache=False)
    assert with_argument(TWICE, X).tolist() == (DENSE @ X.numpy()).tolist()
    assert with_argument.stats.fallbacks == [
        "(constant, 3x2:f32): this program: a sparse tensor as an argument"
    ]


def test_parts_of_a_sparse_tensor_may_be_lists_of_numbers() -> None:
    made = ts.sparse_coo_tensor([[0, 1], [2, 0]], [3, 4.5], (2, 3))
    assert made.to_dense().tolist() == [[0, 0, 3], [4.5, 0, 0]]
    named = ts.sparse_coo_tensor(indices=[[1]], values=[2], dtype=ts.float64)
    assert named.dtype is ts.float64 and named.to_dense().tolist() == [0, 2]
    rows = ts.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0])
    assert rows.to_dense().tolist() == [[1, 0], [0, 2]]
    for empty in (ts.sparse_coo_tensor((2, 3)), ts.sparse_coo_tensor(size=[2, 3])):
        assert empty._nnz() == 0 and empty.to_dense().tolist() == [[0] * 3] * 2

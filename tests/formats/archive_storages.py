"""Tensors of archives: dtypes, strides, shared memory."""

import torch
from archive_program import ArchiveProgram, X, cases_of, values
from torch import Tensor, nn

STORAGES: dict[str, ArchiveProgram] = {}

case = cases_of(STORAGES)


@case((X,))
class ViewsOfOneStorage(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        base = torch.arange(12.0)
        self.register_buffer("head", base[:4])
        self.register_buffer("tail", base[4:8])
        self.register_buffer("columns", base.reshape(3, 4).t())

    def forward(self, x: Tensor) -> Tensor:
        return x * self.head + self.tail + self.columns.sum()


@case((X,))
class NonContiguousParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(values(4, 5).t())

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.t()


@case((X,))
class ExpandedBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("row", torch.arange(4.0).expand(3, 4))
        self.register_buffer("none", torch.empty(0, 3))
        self.register_buffer("zero_dim", torch.tensor(2.5))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.row * self.zero_dim + self.none.numel()


@case((X,))
class ManyDtypes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name in ("float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64"):
            self.register_buffer(f"of_{name}", torch.arange(4).to(getattr(torch, name)))
        self.register_buffer("mask", torch.tensor([True, False, True, True]))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.of_float16.float() + self.of_bfloat16.float() + self.of_float64.float()
        x = x + self.of_int8 + self.of_uint8 + self.of_int16 + self.of_int32 + self.of_int64
        return torch.where(self.mask, x, torch.zeros_like(x))


@case((X,))
class ComplexBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("phase", torch.polar(torch.ones(4), torch.arange(4.0)))

    def forward(self, x: Tensor) -> Tensor:
        return torch.view_as_real(x * self.phase)


@case((X,))
class HalfWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4).half()

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.linear(x, self.fc.weight.float(), self.fc.bias.float())


@case((X,), tolerance=1e-2)
class BFloat16Weights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4).bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.to(torch.bfloat16)).float()


@case((X,))
class TensorConstant(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.tensor([1.0, 2.0, 3.0, 4.0]) * torch.tensor(2)


@case((values(2, 3, 4, 4),))
class LaidOutByChannels(nn.Module):
    """What says how its weights lie, and images that lie the other way."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        self.register_buffer("turned", values(4, 5).t())

    def forward(self, x: Tensor) -> tuple[Tensor, int, list[int], bool]:
        weight = self.conv.weight
        steps = [weight.stride(1), weight.stride(3), self.turned.stride(0)]
        return self.conv(x), (x + 1).stride(1), steps, self.turned.is_contiguous()


@case((values(3, 2),))
class SparseWeights(nn.Module):
    """By coordinates, of which some come twice, with dense rows, and by rows."""

    def __init__(self) -> None:
        super().__init__()
        at = torch.tensor([[0, 1, 1, 0], [1, 0, 0, 1]])
        self.register_buffer("twice", torch.sparse_coo_tensor(at, torch.arange(4.0), (2, 3)))
        self.rows = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), values(2, 3), (4, 3))
        self.matrix = values(4, 3).to_sparse_csr()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, int, bool, list[int]]:
        once = self.twice.coalesce()
        products = torch.sparse.mm(once, x), self.matrix @ x
        total = products[0].sum() + products[1]
        known = once.is_coalesced() and once.is_sparse and not x.is_sparse
        count, size = self.twice._nnz(), list(self.twice.size())
        return total, once.indices(), once.values(), self.rows.to_dense(), count, known, size


@case((values(4, 3), torch.tensor([[0, 1, 2, 0], [1, 2, 3, 1]])))
class SparseMade(nn.Module):
    """A graph's neighbours, as a sparse matrix that the program makes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        size = [x.size(0), x.size(0)]
        neighbours = torch.sparse_coo_tensor(edges, torch.ones(edges.size(1)), size)
        return torch.sparse.mm(neighbours, self.inner(x))

"""Data sets: samples by index, or one after another (`torch.utils.data`)."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tensorscript.base.dtypes import float64
from tensorscript.base.named_tuples import remade

from ..namespace import lookup
from ..storage import TensorBase


class Dataset:
    """Samples by index: a subclass says what `self[index]` is, and mostly how many there are."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after another: a subclass says what `iter(self)` is."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Any) -> ChainDataset:  # type: ignore[override]  # as PyTorch's
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """The rows of tensors of one length, a tuple a sample."""

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset):
    """Data sets side by side: samples are tuples, or dicts of those given by name."""

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        parts = list(args or kwargs.values())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset):
    """Data sets one behind the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][index - before]


class ChainDataset(IterableDataset):
    """Iterable data sets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from part

    def __len__(self) -> int:
        return sum(map(len, self.datasets))


class Subset(Dataset):
    """Some samples of a data set, by their indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[at] for at in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Disjoint random parts of a data set, of given lengths or of shares that sum to 1.

    Raises:
        ValueError: the lengths do not sum to that of the data set, or a share is no share.
    """
    sizes = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        sizes = _shared_out(len(dataset), sizes)
    if sum(sizes) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = lookup("randperm")(sum(sizes), generator=generator).tolist()
    ends = itertools.accumulate(int(n) for n in sizes)
    return [Subset(dataset, order[end - int(n) : end]) for end, n in zip(ends, sizes, strict=True)]


def _shared_out(total: int, shares: Sequence[float]) -> list[float]:
    """Lengths by shares; what rounding left goes to the first parts, one each."""
    for at, share in enumerate(shares):
        if not 0 <= share <= 1:
            raise ValueError(f"Fraction at index {at} is not between 0 and 1")
    sizes: list[float] = [math.floor(total * share) for share in shares]
    for at in range(int(total - sum(sizes))):
        sizes[at % len(sizes)] += 1
    for at, size in enumerate(sizes):
        if size == 0:
            warnings.warn(
                f"Length of split at index {at} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return sizes


def default_convert(data: Any) -> Any:
    """Arrays in a sample as tensors."""
    if isinstance(data, (TensorBase, str | bytes)):
        return data
    if type(data).__module__ == "numpy":
        is_text = getattr(data, "dtype", None) is not None and data.dtype.kind in "SUO"
        return data if is_text else lookup("as_tensor")(data)
    return _mapped(data, default_convert)


def _mapped(data: Any, change: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: change(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return remade(data, map(change, data))
    if isinstance(data, Sequence):
        return [change(value) for value in data]
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of samples: tensors, arrays and numbers are stacked, containers by their parts.

    Raises:
        TypeError: samples of another type.
        RuntimeError: containers of different sizes.
    """
    first = batch[0]
    if isinstance(first, TensorBase):
        return lookup("stack")(list(batch), 0)
    if type(first).__module__ == "numpy":
        return _collated_arrays(batch)
    if isinstance(first, float):
        return lookup("tensor")(list(batch), dtype=float64)
    if isinstance(first, int):
        return lookup("tensor")(list(batch))
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return remade(first, map(default_collate, zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(part) for part in zip(*batch, strict=True)]
    raise _no_batch(type(first))


def _collated_arrays(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if first.dtype.kind in "SUO":
        raise _no_batch(first.dtype)
    if first.shape == ():
        return lookup("as_tensor")(list(batch))
    return lookup("stack")([lookup("as_tensor")(sample) for sample in batch], 0)


def _no_batch(kind: Any) -> Exception:
    return TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {kind}"
    )

"""`torch.utils.data.DataLoader` in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .datasets import IterableDataset, default_collate, default_convert
from .samplers import BatchSampler, RandomSampler, SequentialSampler, drawn_seed


class DataLoader:
    """Batches of a data set.

    Samples are loaded in the process of the caller: `num_workers` and what belongs to workers and
    to pinned memory is taken and has no effect on what is loaded.

    Raises:
        ValueError: options that exclude each other.
    """

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
        generator: Any = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.generator = generator
        self.pin_memory = pin_memory
        is_stream = isinstance(dataset, IterableDataset)
        _check_order(is_stream, batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        self.batch_size, self.drop_last = batch_size, drop_last
        if sampler is None and not is_stream:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_size is not None and batch_sampler is None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        batched = batch_sampler is not None or (is_stream and batch_size is not None)
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)

    def __iter__(self) -> Iterator[Any]:
        drawn_seed(self.generator)  # that of the workers, which PyTorch draws without them, too
        return self._stream() if self.sampler is None else self._chosen()

    def _chosen(self) -> Iterator[Any]:
        """The samples that the samplers choose."""
        if self.batch_sampler is None:
            for index in self.sampler or ():
                yield self.collate_fn(self.dataset[index])
            return
        for indices in self.batch_sampler:
            if hasattr(self.dataset, "__getitems__"):
                yield self.collate_fn(self.dataset.__getitems__(indices))
            else:
                yield self.collate_fn([self.dataset[index] for index in indices])

    def _stream(self) -> Iterator[Any]:
        """The samples of an iterable data set."""
        if self.batch_size is None:
            yield from map(self.collate_fn, self.dataset)
            return
        batch: list[Any] = []
        for sample in self.dataset:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        if self.sampler is None:
            size, count = self.batch_size or 1, len(self.dataset)
            return count // size if self.drop_last else -(-count // size)
        chosen: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return len(chosen)


def _check_order(
    is_stream: bool, batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any,
    drop_last: bool,
) -> None:  # fmt: skip
    """Raise ValueError unless the options say one order of samples."""
    if is_stream and shuffle:
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified shuffle option, but got "
            f"shuffle={shuffle}"
        )
    for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if is_stream and given is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={given}"
            )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler or drop_last):
        raise ValueError(
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
            "drop_last"
        )
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def get_worker_info() -> None:
    """What a worker knows of itself: nothing, as the caller loads."""

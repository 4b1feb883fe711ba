"""A program over `torch.utils.data`; `outcome` gives all that it shows, for either library."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(part) for part in value]
    return value


def outcome(torch: Any, data: Any) -> list[Any]:
    class Samples(data.Dataset[dict[str, Any]]):  # type: ignore[misc]  # any library's
        def __len__(self) -> int:
            return 5

        def __getitem__(self, at: int) -> dict[str, Any]:
            row = np.ones(2, np.float32) * at
            return {"a": row, "b": at, "c": at / 2, "d": str(at), "e": (at, [at]), "f": row[0]}

    class Stream(data.IterableDataset):  # type: ignore[misc]  # any library's
        def __iter__(self) -> Any:
            return iter(range(5))

    rows = data.TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))
    torch.manual_seed(3)
    seeded = torch.Generator().manual_seed(5)
    drawn = data.RandomSampler(rows, replacement=True, num_samples=7)
    loaders = [
        data.DataLoader(rows, batch_size=3),
        data.DataLoader(rows, batch_size=3, shuffle=True),
        data.DataLoader(rows, batch_size=4, shuffle=True, drop_last=True),
        data.DataLoader(rows, batch_size=5, shuffle=True, generator=seeded),
        data.DataLoader(rows, batch_size=None),
        data.DataLoader(rows, sampler=data.WeightedRandomSampler([0.1, 0.2, 0.7], 5)),
        data.DataLoader(rows, sampler=data.SubsetRandomSampler([1, 5, 7])),
        data.DataLoader(rows, batch_sampler=data.BatchSampler(drawn, 2, False)),
        data.DataLoader(rows, batch_size=2, collate_fn=len),
        data.DataLoader(Samples(), batch_size=2),
    ]
    shown: list[Any] = [
        (len(loader), [[plain(b) for b in loader] for _ in range(2)]) for loader in loaders
    ]
    shown += [[plain(b) for b in data.DataLoader(Stream(), batch_size=n)] for n in (2, None)]
    shown += [[part.indices for part in data.random_split(rows, s)] for s in ([7, 3], [0.5, 0.5])]
    stacked = data.StackDataset(x=rows, y=rows)
    shown += [plain((rows + rows)[13]), plain((rows + rows)[-2]), plain(stacked[2]), len(stacked)]
    shown.append(plain(list(Stream() + Stream())))
    refused = [
        lambda: data.DataLoader(rows, shuffle=True, sampler=[1]),
        lambda: data.DataLoader(rows, batch_size=0),
        lambda: data.DataLoader(rows, batch_size=None, drop_last=True),
        lambda: data.DataLoader(rows, batch_size=2, batch_sampler=[[1]]),
        lambda: data.DataLoader(Stream(), shuffle=True),
        lambda: data.random_split(rows, [1, 2]),
        lambda: data.RandomSampler([]),
        lambda: data.TensorDataset(torch.ones(2), torch.ones(3)),
        lambda: data.default_collate([object()]),
        lambda: data.default_collate([[1], [1, 2]]),
    ]
    for call in refused:
        try:
            call()
        except (ValueError, TypeError, RuntimeError, AssertionError) as error:
            shown.append((type(error).__name__, str(error)[:60]))
    return [*shown, torch.rand(2).tolist()]

"""Which tier each entry of PyTorch's operator database belongs to.

The tiers are those of `docs/make_operators.py`: 1 is what the surveyed model families need, 2 what
is common elsewhere, 3 the rest. An entry has the tier of the most needed operator that it runs,
found by its name, its aten name and its aliases, or in `RUNS` where those say something else.
"""

from __future__ import annotations

import functools
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "make_operators.py"
TIERS = (1, 2, 3)

FUNCTIONS = {
    2: "softsign tanhshrink local_response_norm triplet_margin_with_distance_loss",
}
"""Names of a tier that are functions of Python over several operators, and no operator."""

_CASTS = "bfloat16 bool byte char double float half int long short cdouble cfloat"
RUNS = {
    "T": "numpy_T",
    "__getitem__": "index select slice",
    "__radd__": "add",
    "__rand__": "__and__",
    "__rdiv__": "div",
    "__rmatmul__": "matmul",
    "__rmod__": "remainder",
    "__rmul__": "mul",
    "__ror__": "__or__",
    "__rpow__": "pow",
    "__rsub__": "rsub",
    "__rxor__": "__xor__",
    "exponential": "exponential_",
    "fill": "fill_",
    "nn.functional.cross_entropy": "cross_entropy_loss",
    "nn.functional.dropout2d": "feature_dropout",
    "nn.functional.dropout3d": "feature_dropout",
    "nn.functional.grid_sample": "grid_sampler",
    "nn.functional.interpolate/area": "adaptive_avg_pool1d adaptive_avg_pool2d",
    "nn.functional.interpolate/bicubic": "upsample_bicubic2d",
    "nn.functional.interpolate/bilinear": "upsample_bilinear2d",
    "nn.functional.interpolate/linear": "upsample_linear1d",
    "nn.functional.interpolate/nearest":
        "upsample_nearest1d upsample_nearest2d upsample_nearest3d",
    "nn.functional.interpolate/nearest-exact":
        "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d",
    "nn.functional.interpolate/trilinear": "upsample_trilinear3d",
    "nn.functional.max_unpool1d": "max_unpool2d",
    "nn.functional.max_unpool1d/grad": "max_unpool2d",
    "nn.functional.pad/constant": "pad constant_pad_nd",
    "nn.functional.pad/reflect": "pad reflection_pad1d reflection_pad2d",
    "nn.functional.pad/replicate": "pad replication_pad1d replication_pad2d",
    "nn.functional.unfold": "im2col",
    "nn.functional.upsample_bilinear": "upsample_bilinear2d",
    "nn.functional.upsample_nearest": "upsample_nearest2d",
    "uniform": "uniform_",
    "unique": "_unique2 unique_dim",
    **dict.fromkeys(_CASTS.split(), "to"),
}  # fmt: skip
"""Entries whose names are not those of the operators they run."""


@functools.cache
def _page() -> dict[str, Any]:
    return runpy.run_path(str(_PAGE))


@functools.cache
def tiers() -> dict[str, int]:
    """The names of tiers 1 and 2, each to its tier."""
    found: dict[str, int] = {}
    for tier, families in _page()["TIERS"].items():
        for text in (*families.values(), FUNCTIONS.get(tier, "")):
            for name in text.split():
                found.setdefault(name, tier)
    return found


def names_of(entry: str, op: Any) -> Iterator[str]:
    """The operators and functions that an entry (an OpInfo) runs in its function form."""
    if entry in RUNS:
        yield from RUNS[entry].split()
    else:
        base = entry.partition("/")[0]
        yield from (base.removeprefix("nn.functional."), base.replace(".", "_"))
        yield op.aten_name.removeprefix("nn.functional.")
        yield from (alias.name for alias in op.aliases)


def tier_of(entry: str, op: Any) -> int:
    """1, 2 or 3."""
    return min((tiers()[name] for name in names_of(entry, op) if name in tiers()), default=3)


def uncovered(entries: dict[str, Any]) -> dict[int, dict[str, str]]:
    """Of tiers 1 and 2: the names that no entry runs in any form, and where each runs here
    (`native`, `interpret`, `not provided`)."""
    covered = {name for entry, op in entries.items() for name in names_of(entry, op)}
    covered |= {getattr(op.inplace_variant, "__name__", "") for op in entries.values()}
    state = _page()["state"]
    return {
        tier: {n: state(n) for n, own in tiers().items() if own == tier and n not in covered}
        for tier in TIERS[:2]
    }

"""Histograms, finite differences, segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import promote_types
from tensorscript.base.errors import OperatorError

from ..storage import (
    Array,
    array,
    cast,
    compute,
    floating,
    is_tensor,
    rounded,
    value,
    wrap,
    wrap_like,
)
from .creation import spaced
from .shapes import normal_dims

Kernel = Callable[..., Any]


def histc(self: Any, bins: int = 100, low: Any = 0, high: Any = 0) -> Any:
    """Counts of equal bins between two limits; by default those of the data."""
    if bins <= 0:
        raise OperatorError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    x = compute(self).reshape(-1)
    low, high = _limits(x, low, high, 1.0)
    inside = x[(x >= low) & (x <= high)]
    scaled = rounded(rounded(inside - x.dtype.type(low), self.dtype) * bins, self.dtype)
    place = rounded(scaled / x.dtype.type(high - low), self.dtype)
    cells = np.minimum(place.astype(np.int64), bins - 1)
    return wrap(np.bincount(cells, minlength=bins), self.dtype)


def _limits(x: Array, low: Any, high: Any, margin: float) -> tuple[float, float]:
    if low == high and x.size:
        low, high = x.min(), x.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise OperatorError(f"histogram: range of [{low}, {high}] is not finite")
    if low > high:
        raise OperatorError("torch.histc: max must be larger than min")
    margin = margin if low == high else 0.0
    return float(low) - margin, float(high) + margin


def _edges(points: Array, bins: Any, limits: Sequence[float] | None) -> list[Array]:
    """Bin edges of each dimension; `bins` counts them or gives them."""
    out = []
    for d, given in enumerate(bins):
        if is_tensor(given):
            out.append(compute(given))
            continue
        low, high = (0.0, 0.0) if limits is None else limits[2 * d : 2 * d + 2]
        ends = _limits(points[:, d], low, high, 0.5) if points.size or limits else (0.0, 1.0)
        out.append(spaced(*ends, given + 1, wrap_like(points).dtype))
    return out


def _counted(points: Array, edges: Sequence[Array], weight: Any, density: bool) -> Array:
    shape = tuple(len(e) - 1 for e in edges)
    inside = np.ones(points.shape[0], bool)
    cells = []
    for d, e in enumerate(edges):
        x = points[:, d]
        inside &= (x >= e[0]) & (x <= e[-1])
        cells.append(np.clip(np.searchsorted(e, x, "right") - 1, 0, shape[d] - 1))
    out = np.zeros(shape, points.dtype)
    heavy = np.ones(points.shape[0], points.dtype) if weight is None else compute(weight)
    at = tuple(c[inside] for c in cells)
    np.add.at(out, at, heavy.reshape(-1)[inside])
    if density:
        for d, e in enumerate(edges):
            out = out / np.diff(e).reshape([-1 if k == d else 1 for k in range(out.ndim)])
        out = out / heavy.reshape(-1)[inside].sum()
    return out


def histogram(
    self: Any, bins: Any, limits: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts (or weights, or their density) and bin edges."""
    points = compute(self).reshape(-1, 1)
    edges = _edges(points, [bins], limits)
    return wrap(_counted(points, edges, weight, density), self.dtype), wrap(edges[0], self.dtype)


def histogramdd(
    self: Any, bins: Any, limits: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """self (*, D) -> counts of a D-dimensional grid, and the edges of each dimension."""
    x = compute(self)
    if x.ndim < 2:
        raise OperatorError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {x.ndim}"
        )
    points = x.reshape(-1, x.shape[-1])
    given = [bins] * x.shape[-1] if isinstance(bins, int) else list(bins)
    if len(given) != x.shape[-1] and all(isinstance(n, int) for n in given):
        raise OperatorError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if len(given) != x.shape[-1]:
        raise OperatorError(
            f"torch.histogramdd: expected {x.shape[-1]} sequences of bin edges for a "
            f"{x.shape[-1]}-dimensional histogram but got {len(given)}"
        )
    edges = _edges(points, given, limits)
    found = _counted(points, edges, weight, density)
    return wrap(found, self.dtype), [wrap(e, self.dtype) for e in edges]


def gradient(self: Any, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> list[Any]:
    """Central differences inside, one-sided ones at the edges, along each of `dim`."""
    if edge_order not in (1, 2):
        raise OperatorError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dtype = floating(self.dtype)
    for step in spacing if isinstance(spacing, (list, tuple)) else ():
        dtype = promote_types(dtype, floating(step.dtype)) if is_tensor(step) else dtype
    x = cast(self, dtype)
    dims = _dimensions(dim, x.ndim)
    for axis in dims:
        if x.shape[axis] < edge_order + 1:
            raise OperatorError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    steps = _steps(spacing, len(dims))
    found = [np.gradient(x, step, axis=axis, edge_order=1 if edge_order == 1 else 2)
             for axis, step in zip(dims, steps, strict=True)]  # fmt: skip
    return [wrap(np.asarray(part), dtype) for part in found]


def _dimensions(dim: Any, ndim: int) -> list[int]:
    if dim is None:
        return list(range(ndim))
    return list(normal_dims([dim] if isinstance(dim, int) else dim, ndim))


def _steps(spacing: Any, count: int) -> list[Any]:
    if spacing is None:
        return [1.0] * count
    if not isinstance(spacing, (list, tuple)):
        return [spacing] * count
    if len(spacing) != count:
        raise OperatorError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's length to be "
            f"equal to {count}, but got {len(spacing)}"
        )
    return [value(s) if is_tensor(s) else s for s in spacing]


_SEGMENT: dict[str, tuple[Callable[..., Any], float]] = {
    "sum": (np.sum, 0.0), "mean": (np.mean, np.nan), "prod": (np.prod, 1.0),
    "max": (np.max, -np.inf), "min": (np.min, np.inf),
}  # fmt: skip


def segment_reduce(
    data: Any, reduce: str, lengths: Any = None, indices: Any = None, offsets: Any = None,
    axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Any:  # fmt: skip
    """Runs of `data` along `axis` reduced one by one; the runs' lengths or borders may differ by
    what comes before that axis."""
    if reduce not in _SEGMENT:
        raise OperatorError(f"unsupported reduction given! {reduce}")
    if lengths is None and offsets is None:
        raise OperatorError("Either lengths or offsets must be defined.")
    x = compute(data)
    borders = array(offsets) if lengths is None else _borders(array(lengths))
    if (np.diff(borders, axis=-1) < 0).any():
        raise OperatorError(
            "Expected segment_length >= 0 to be true, but got false."
            if lengths is None or unsafe else "lengths contains negative value!"
        )  # fmt: skip
    if lengths is not None and not unsafe and (borders[..., -1] != x.shape[axis]).any():
        raise OperatorError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe."
        )
    out = np.empty((*x.shape[:axis], borders.shape[-1] - 1, *x.shape[axis + 1 :]), x.dtype)
    for at in np.ndindex(*x.shape[:axis]):
        own = borders[at]
        for k in range(own.size - 1):
            out[(*at, k)] = _segment(x[at][own[k] : own[k + 1]], reduce, initial)
    return wrap(out, data.dtype)


def _borders(lengths: Array) -> Array:
    first = np.zeros((*lengths.shape[:-1], 1), np.int64)
    return np.concatenate([first, np.cumsum(lengths, -1)], -1)


def _segment(rows: Array, reduce: str, initial: Any) -> Any:
    fn, empty = _SEGMENT[reduce]
    if not len(rows):
        return empty if initial is None else initial
    if initial is None:
        return fn(rows, axis=0)
    if reduce == "mean":
        return (rows.sum(0) + initial) / len(rows)
    return fn(rows, axis=0, initial=initial)


KERNELS: dict[str, Kernel] = {
    "aten::histc": histc,
    "aten::histogram.bins_tensor": lambda self, bins, weight=None, density=False: histogram(
        self, bins, None, weight, density
    ),
    "aten::histogram.bin_ct": histogram,
    "aten::histogramdd": histogramdd,
    "aten::histogramdd.int_bins": histogramdd,
    "aten::histogramdd.TensorList_bins": histogramdd,
    **{
        f"aten::gradient.{name}": gradient
        for name in (
            "scalarint",
            "scalararray",
            "scalarrayint",
            "scalarrayarray",
            "tensorarrayint",
            "tensorarray",
        )
    },
    "aten::gradient.array": lambda self, dim, edge_order=1: gradient(self, None, dim, edge_order),
    "aten::segment_reduce": segment_reduce,
}

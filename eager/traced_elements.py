"""Elements of a traced tensor as text, read by operators as PyTorch's Python reads them.

The text is that of `printing.py`. What differs is how the numbers are come by, which a trace warns
of: every step from a tensor to a Python value is one that PyTorch's `torch/_tensor_str.py` takes,
in its order.
"""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import float64

from .dispatch import call
from .printing import PRINT_OPTIONS, ComplexFormatter, Formatter, joined, rows_text, vector_text


def traced_elements_text(t: Any, indent: int) -> str:
    """The elements in brackets; lines behind the first are moved by `indent`."""
    if t.numel() == 0:
        return "[]"
    shorten = t.numel() > PRINT_OPTIONS.threshold
    if t.is_neg():
        t = t.resolve_neg()
    fmt: Formatter | ComplexFormatter
    if t.dtype.is_complex:
        t = t.resolve_conj()
        fmt = _TracedComplexFormatter(t, shorten)
    else:
        fmt = _TracedFormatter(_shown(t, shorten))
    return _nested(t, indent, shorten, fmt)


class _TracedFormatter(Formatter):
    """How real elements are written; `scientific` is a tensor where they decide it."""

    def __init__(self, shown: Any) -> None:
        self.floating = shown.dtype.is_floating_point
        self.integral, self.scientific, self.width = True, False, 1
        flat = shown.reshape(-1)
        if not self.floating:
            self.width = max(1, *(len(f"{each}") for each in flat))
            return
        is_finite = call("aten::isfinite", (flat,))
        kept = call("aten::masked_select", (flat, is_finite & flat.ne(0)))
        if kept.numel() == 0:
            return
        sizes = kept.abs().to(float64)
        low, high = sizes.min(), sizes.max()
        self.integral = not any(each != each.ceil() for each in kept)
        wanted: Any = PRINT_OPTIONS.sci_mode
        if wanted is None:
            wanted = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        self.scientific = wanted
        self.width = self._common_width(kept)

    def _common_width(self, kept: Any) -> int:
        digits = 0 if self.integral else PRINT_OPTIONS.precision
        spec, point = f".{digits}f", int(self.integral)
        if self.scientific:
            spec, point = f".{PRINT_OPTIONS.precision}e", 0
        return max(1, *(len(f"{each:{spec}}") + point for each in kept))


class _TracedComplexFormatter(ComplexFormatter):
    """Complex elements: the parts are tensors too."""

    def __init__(self, t: Any, shorten: Any) -> None:
        self.real = _TracedFormatter(_shown(t.real, shorten))
        self.imag = _TracedFormatter(_shown(t.imag, shorten))
        self.width = self.real.width + self.imag.width + 1


def _shown(t: Any, shorten: Any) -> Any:
    """The elements that are shown."""
    return _summarised(t) if shorten else t


def _summarised(t: Any) -> Any:
    count = PRINT_OPTIONS.edgeitems
    if t.dim() == 0:
        return t
    if t.dim() == 1:
        if t.size(0) > 2 * count:
            return call("aten::cat", ([t[:count], t[-count:]],))
        return t
    if not count:
        return t.new_empty([0] * t.dim())
    parts = _ends(t) if t.size(0) > 2 * count else t
    return call("aten::stack", ([_summarised(part) for part in parts],))


def _ends(t: Any) -> list[Any]:
    """What stands at either end of the first dimension."""
    count = PRINT_OPTIONS.edgeitems
    first = [t[at] for at in range(count)]
    return first + [t[at] for at in range(len(t) - count, len(t))]


def _nested(t: Any, indent: int, shorten: Any, fmt: Any) -> str:
    if t.dim() == 0:
        return _scalar(t, fmt)
    if t.dim() == 1:
        return vector_text(_cells(t, shorten, fmt), indent, fmt.width)

    def row(part: Any) -> str:
        return _nested(part, indent + 1, shorten, fmt)

    count = PRINT_OPTIONS.edgeitems
    if shorten and t.size(0) > 2 * count:
        rows = [row(t[at]) for at in range(count)]
        rows.append("...")
        rows += [row(t[at]) for at in range(len(t) - count, len(t))]
    else:
        rows = [row(t[at]) for at in range(t.size(0))]
    return rows_text(rows, indent, t.dim())


def _scalar(t: Any, fmt: Any) -> str:
    if isinstance(fmt, ComplexFormatter):
        return joined(fmt.real.text(t.real.item()), fmt.imag.text(t.imag.item()))
    return fmt.text(t.item())  # type: ignore[no-any-return]  # of either formatter


def _cells(t: Any, shorten: Any, fmt: Any) -> list[str]:
    count = PRINT_OPTIONS.edgeitems
    if shorten and not count:
        return ["..."]
    if shorten and t.size(0) > 2 * count:
        first = [fmt.text(v) for v in t[:count].tolist()]
        return [*first, " ...", *(fmt.text(v) for v in t[-count:].tolist())]
    return [fmt.text(v) for v in t.tolist()]

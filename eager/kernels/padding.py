"""Padding with a number, mirrored elements, the last element, or those of the other end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.padding import check_elements, check_sizes, check_structure

from ..storage import Array, array, make, to_storage

Kernel = Callable[..., Any]
Widths = list[tuple[int, int]]


def _widths(pads: Sequence[int], ndim: int) -> Widths:
    """PyTorch's (last before, last after, next to last before, ...) by dimension."""
    given = [(pads[k], pads[k + 1]) for k in range(0, len(pads), 2)]
    return [(0, 0)] * (ndim - len(given)) + given[::-1]


def _cropped(a: Array, widths: Widths) -> tuple[Array, Widths]:
    """What negative widths leave of `a`, and the widths that remain."""
    inside = tuple(slice(max(0, -b), n - max(0, -e))
                   for n, (b, e) in zip(a.shape, widths, strict=True))  # fmt: skip
    return a[inside], [(max(0, b), max(0, e)) for b, e in widths]


def constant_pad(self: Any, pads: Sequence[int], number: Any = 0) -> Any:
    """Negative widths crop."""
    a = array(self)
    check_structure("constant", a.ndim, pads, None)
    check_sizes("constant", a.shape, pads)
    if not a.ndim:
        return make(a.copy(), self.dtype)
    cell = to_storage(np.asarray(number or 0), self.dtype)
    kept, grow = _cropped(a, _widths(pads, a.ndim))
    return make(np.pad(kept, grow, constant_values=cell.item()), self.dtype)


_NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad_by(mode: str) -> Kernel:
    """Padding from the tensor's own elements. Negative widths crop what has been padded, in
    circular mode before it is."""

    def run(self: Any, pads: Sequence[int]) -> Any:
        a = array(self)
        check_sizes(mode, a.shape, pads)
        widths = _widths(pads, a.ndim)
        if mode == "circular":
            a, widths = _cropped(a, widths)
        grow = [(max(0, b), max(0, e)) for b, e in widths]
        wide = np.pad(a, grow, mode=_NUMPY_MODES[mode])  # type: ignore[call-overload]  # a word
        crop = [(min(0, b), min(0, e)) for b, e in widths]
        return make(np.ascontiguousarray(_cropped(wide, crop)[0]), self.dtype)

    return run


_MODES = {mode: pad_by(mode) for mode in _NUMPY_MODES}


def pad(self: Any, pads: Sequence[int], mode: str = "constant", number: Any = None) -> Any:
    """The padding of `nn.functional.pad`."""
    check_structure(mode, array(self).ndim, pads, number)
    check_elements(mode, self.dtype, pads)
    return constant_pad(self, pads, number) if mode == "constant" else _MODES[mode](self, pads)


KERNELS: dict[str, Kernel] = {
    "aten::pad": pad,
    "aten::constant_pad_nd": constant_pad,
    **{f"aten::reflection_pad{n}d": _MODES["reflect"] for n in (1, 2, 3)},
    **{f"aten::replication_pad{n}d": _MODES["replicate"] for n in (1, 2, 3)},
}

"""What operators ask of their arguments before they compute: one row an overload.

A row is called with all arguments in schema order and raises in PyTorch's words. It stands here,
not in the kernel, where NumPy would refuse the same arguments in words of its own or take them.
The dtypes that operators take are in `base/operand_dtypes.py`.
"""

from __future__ import annotations

from .classes import CLASSES
from .convolution import CONVOLUTIONS
from .creation import MADE
from .fill import FILLED
from .index import INDEXED
from .joining import JOINED
from .layers import LAYERS
from .losses import LOSSES
from .matrices import MATRICES
from .norms import NORMS
from .resampling import RESAMPLED
from .spectra import SPECTRA
from .statistics import COUNTED
from .views import VIEWED
from .windows import WINDOWS
from .words import Demand
from .written import WRITTEN

DEMANDS: dict[str, Demand] = {
    **CLASSES,
    **CONVOLUTIONS,
    **COUNTED,
    **FILLED,
    **INDEXED,
    **JOINED,
    **LAYERS,
    **LOSSES,
    **MADE,
    **MATRICES,
    **NORMS,
    **RESAMPLED,
    **SPECTRA,
    **VIEWED,
    **WINDOWS,
    **WRITTEN,
}
"""Overloads to what they ask, in the words of PyTorch."""

"""What operators ask of their arguments before they compute: one row an overload.

A row is called with all arguments in schema order and raises in PyTorch's words. It stands here,
not in the kernel, where NumPy would refuse the same arguments in words of its own or take them.
The dtypes that operators take are in `base/operand_dtypes.py`.
"""

from __future__ import annotations

from functools import cache
from itertools import compress
from typing import Any

from tensorscript.base.schema import Schema, schema
from tensorscript.base.twins import counterparts, form_of, is_result

from .classes import CLASSES
from .convolution import CONVOLUTIONS
from .creation import MADE
from .dimensions import DIMENSIONED
from .fill import FILLED
from .index import INDEXED
from .joining import JOINED
from .layers import LAYERS
from .losses import LOSSES
from .matrices import MATRICES
from .norms import NORMS
from .resampling import RESAMPLED
from .searches import SEARCHED
from .solvers import SOLVED
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
    **DIMENSIONED,
    **FILLED,
    **INDEXED,
    **JOINED,
    **LAYERS,
    **LOSSES,
    **MADE,
    **MATRICES,
    **NORMS,
    **RESAMPLED,
    **SEARCHED,
    **SOLVED,
    **SPECTRA,
    **VIEWED,
    **WINDOWS,
    **WRITTEN,
}
"""Overloads to what they ask, in the words of PyTorch; of other forms only what they ask beside."""


@cache
def demand_on(full_name: str) -> Demand | None:
    """What an overload asks: its row, after what the one asks that it is another form of."""
    rows = [] if (row := DEMANDS.get(full_name)) is None else [row]
    try:
        wanted = schema(full_name)
    except KeyError:  # what lowerings call by the name of the operator alone
        return row
    if (found := form_of(wanted)) is not None:
        asked = (demand_on(s.full_name) for s in counterparts(wanted, found[1]))
        if (computes := next(filter(None, asked), None)) is not None:
            rows.insert(0, _of_what_is_read(wanted, computes))
    return rows[0] if len(rows) == 1 else _all(rows) if rows else None


def _of_what_is_read(wanted: Schema, computes: Demand) -> Demand:
    """The demand of the functional form, which has no `out=`."""
    read = [not is_result(wanted, at) for at in range(len(wanted.arguments))]
    return computes if all(read) else lambda *bound: computes(*compress(bound, read))


def _all(rows: list[Demand]) -> Demand:
    def check(*bound: Any) -> None:
        for asks in rows:
            asks(*bound)

    return check

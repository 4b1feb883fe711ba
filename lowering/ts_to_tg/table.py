"""The operator table: one row a name, merged from one file a family.

A key is `aten::name.overload` or `aten::name` for all overloads that have no row of their own. An
in-place operator `name_` needs no row: it is `name` written back into its first argument.
"""

from __future__ import annotations

from .activation import ACTIVATION
from .attention import ATTENTION
from .builder import Rows
from .comparison import COMPARISON
from .containers import CONTAINER
from .convolution import CONVOLUTION
from .creation import CREATION
from .index import INDEX
from .linalg import LINALG
from .loss import LOSS
from .normalization import NORMALIZATION
from .pointwise import POINTWISE
from .pooling import POOLING
from .recurrent import RECURRENT
from .reduction import REDUCTION
from .resize import RESIZE
from .scalars import SCALAR
from .view import VIEW

BUILDERS: Rows = {
    **POINTWISE,
    **COMPARISON,
    **ACTIVATION,
    **REDUCTION,
    **VIEW,
    **LINALG,
    **CREATION,
    **NORMALIZATION,
    **CONVOLUTION,
    **POOLING,
    **INDEX,
    **ATTENTION,
    **LOSS,
    **RESIZE,
    **RECURRENT,
}

TABLES: dict[str, Rows] = {"container": CONTAINER, "scalar": SCALAR, "tensor": BUILDERS}


def operator_names() -> frozenset[str]:
    """The operators (without overload) that have a native form."""
    keys = [k for table in TABLES.values() for k in table]
    return frozenset(k.partition(".")[0] for k in keys if not k.startswith("tg::"))

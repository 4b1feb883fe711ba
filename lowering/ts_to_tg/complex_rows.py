"""Rows of complex operands: which one stands for a row of real tensors."""

from __future__ import annotations

from .builder import Row, Rows
from .complex_creation import COMPLEX_CREATION
from .complex_layout import COMPLEX_LAYOUT, OF_NUMBERS, by_parts
from .complex_pointwise import COMPLEX_POINTWISE
from .complex_product import COMPLEX_PRODUCT
from .complex_programs import COMPLEX_PROGRAM
from .decomposition import DECOMPOSITION
from .factored import FACTORED
from .general_eigenvalues import GENERAL_EIGENVALUES
from .indefinite import INDEFINITE
from .indefinite_systems import INDEFINITE_SYSTEMS
from .matrix_norm import MATRIX_NORM
from .reinterpreted import REINTERPRETED
from .spectrum import SPECTRUM
from .stft import STFT
from .systems import SYSTEM

_ROWS: Rows = {
    **COMPLEX_POINTWISE,
    **COMPLEX_LAYOUT,
    **COMPLEX_CREATION,
    **COMPLEX_PRODUCT,
    **COMPLEX_PROGRAM,
    **SPECTRUM,
    **STFT,
    **REINTERPRETED,
}

_ALIKE: Rows = {
    **DECOMPOSITION,
    **SYSTEM,
    **FACTORED,
    **GENERAL_EIGENVALUES,
    **INDEFINITE,
    **INDEFINITE_SYSTEMS,
    **MATRIX_NORM,
}
"""Rows that treat both kinds of numbers themselves."""

_COMPOSED = frozenset(
    f"aten::{name}"
    for name in (
        "chain_matmul", "linalg_multi_dot", "matrix_power", "linalg_matrix_power", "equal",
        "allclose", "trapz", "trapezoid", "cumulative_trapezoid", "gradient", "cov", "corrcoef",
        "renorm", "pairwise_distance", "dist", "triplet_margin_loss", "logcumsumexp", "vander",
        "masked_select", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate",
        "_chunk_cat",
    )
) | {key.partition(".")[0] for key in _ALIKE}  # fmt: skip
"""Operators whose rows call others, or are of both kinds."""


def takes_complex(name: str) -> bool:
    """Whether an operator, `aten::name` or `aten::name.overload`, has a row of complex numbers."""
    base = name.partition(".")[0]
    plain = base.removeprefix("aten::")
    return name in _ROWS or base in _ROWS or plain in OF_NUMBERS or base in _COMPOSED


def complex_row(key: str, row: Row) -> Row | None:
    """What runs in the place of the row `key` where an operand is complex, if anything does."""
    base = key.partition(".")[0]
    if (found := _ROWS.get(key) or _ROWS.get(base)) is not None:
        return found
    if base.removeprefix("aten::") in OF_NUMBERS:
        return by_parts(base.removeprefix("aten::"), row)
    return row if base in _COMPOSED or base in _SHAPES else None


_SHAPES = frozenset(("tg::size", "aten::dim", "aten::numel", "aten::is_same_size"))
"""Rows that ask for nothing but shapes."""

"""The operator table: one row a name, merged from one file a family.

A key is `aten::name.overload` or `aten::name` for all overloads that have no row of their own. An
in-place operator `name_` needs no row: it is `name` written back into its first argument.

Families that most programs need stand here; the others are in `further_rows.py`, which is imported
when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorscript.base.composites import COMPOSITES
from tensorscript.base.schema import Schema
from tensorscript.base.twins import counterparts, maker_of

from . import late_rows
from .activation import ACTIVATION
from .builder import Row, Rows
from .checked_rows import checked
from .comparison import COMPARISON
from .complex_dispatch import with_complex
from .containers import CONTAINER
from .element_arguments import ELEMENT_ARGUMENTS
from .joining import JOINING
from .linalg import LINALG
from .list_joining import LIST_JOINING
from .lists import GROWN
from .maps import MAPS
from .pieces import PIECES
from .plain_rows import FOLDS_COMPLEX, functional_name
from .pointwise import POINTWISE
from .properties import PROPERTIES
from .reduction import REDUCTION
from .reshape import RESHAPE
from .reshaped_names import RESHAPES
from .row_table import RowTable
from .said import SAID
from .scalars import SCALAR
from .shown import OF_CONTAINERS, SHOWN
from .slicing import SLICING
from .strings import STRINGS
from .texts import TEXT_ROWS
from .view import VIEW

ORDINARY: Rows = {
    **POINTWISE,
    **COMPARISON,
    **ACTIVATION,
    **REDUCTION,
    **VIEW,
    **RESHAPE,
    **SLICING,
    **JOINING,
    **LINALG,
}

SPLIT = frozenset(("aten::round", "aten::view"))
"""Operators of ordinary families with an overload that has its row in another one."""

BUILDERS = RowTable(
    checked(with_complex(ORDINARY), ELEMENT_ARGUMENTS), lambda: late_rows.FURTHER, SPLIT
)

TABLES: dict[str, Mapping[str, Row]] = {
    "container": {**STRINGS, **CONTAINER, **PIECES, **PROPERTIES, **SAID, **SHOWN},
    "grown": GROWN | LIST_JOINING | OF_CONTAINERS,
    "map": MAPS | OF_CONTAINERS,
    "scalar": SCALAR,
    "text": TEXT_ROWS | SAID,
    "tensor": BUILDERS,
}


def has_row(found: Schema) -> bool:
    """Whether the evaluator finds a row for an overload, by the order in which it looks."""
    base, overload = found.name, found.full_name[len(found.name) :]
    if found.full_name in RESHAPES or found.full_name in COMPOSITES:
        return True
    if found.full_name in TABLES["container"] or base in TABLES["container"]:
        return not found.is_out
    if base not in FOLDS_COMPLEX and any(str(a.type) == "complex" for a in found.arguments):
        return False
    if any(found.full_name in table or base in table for table in TABLES.values()):
        return not found.is_out
    if (functional := functional_name(base)) != base:
        pure = functional + overload
        return pure in BUILDERS or pure in COMPOSITES or functional in BUILDERS
    pure = base.removesuffix("_copy")
    return pure != base and not found.is_out and (pure + overload in BUILDERS or pure in BUILDERS)


def has_native_form(found: Schema) -> bool:
    """Whether an overload has a row, or is the `out=` of one that has: what the row gives is then
    written into the tensors of the caller."""
    if not found.is_out:
        return has_row(found)
    computes = next(counterparts(found, found.name), None) or maker_of(found)
    return computes is not None and has_row(computes)


def operator_names() -> frozenset[str]:
    """The operators (without overload) that have a native form."""
    keys = [k for table in (*TABLES.values(), COMPOSITES) for k in table]
    return frozenset(k.partition(".")[0] for k in keys if not k.startswith("tg::"))

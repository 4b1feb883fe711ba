"""Arguments for every overload with a native row: rows of a table, or made from the schema.

A row of a table is the leading arguments of one call; `T` stands for a tensor. A `T` without a
dtype takes each of the dtypes and layouts of `VARIANTS` in turn; positions and masks keep theirs
and take the layouts. What a row leaves out has its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from native_grid import Call, Known
from native_rows_composites import COMPOSITE_ROWS
from native_rows_containers import CONTAINERS
from native_rows_layout import LAYOUT
from native_rows_matrices import MATRIX_ROWS
from native_rows_numeric import NUMERIC
from native_rows_random import RANDOM_ROWS
from native_values import (
    COMPLEX_VARIANTS,
    FLOAT,
    INT64,
    VARIANTS,
    Row,
    T,
    Variant,
    filled,
    tensor,
    variants_of,
)

from tensorscript.base.schema import Argument, Schema
from tensorscript.dialects.ts.constants import Device
from tensorscript.lowering.ts_to_tg.complex_rows import takes_complex

# --- defaults by schema ---------------------------------------------------------------------------

ONE = [
    *((T((4, 3)), v) for v in VARIANTS if not v.special),
    (T((9,)), Variant("f4", special=True)),
    (T(()), Variant("i4")),
    (T((0, 3)), Variant("f4")),
]
"""Tensors for an operator of one tensor."""
_PLAIN = Variant("f4")
TWO = [
    *(((T((4, 3)), v), (T((4, 3)), v)) for v in VARIANTS),
    ((T((2, 1, 3)), Variant("f4", "strided")), (T((4, 1)), Variant("f4", "expanded"))),
    ((T((4, 3)), Variant("f4")), (T((3,)), Variant("i8"))),
    ((T((3,)), Variant("u1")), (T((4, 1)), Variant("i2"))),
    ((T((5,)), Variant("i8")), (T(()), Variant("f8"))),
    ((T((0, 3)), Variant("f4")), (T((1, 1)), Variant("f4"))),
    ((T((4, 3)), Variant("f4")), (T((5, 3)), Variant("f4"))),  # refused
]
"""Tensors for an operator of two tensors."""
NUMBERS: dict[str, Sequence[object]] = {
    "Scalar": (2, -1.5, Known(3), Known(0.25), True),
    "int": (0, -1, 1),
    "float": (0.75,),
    "bool": (True, False),
    "ScalarType": (FLOAT, INT64),
    "Device": (Device("cpu"),),
    "str": ("sum",),
}
"""What required arguments that are not tensors take in turn, by type."""


def _kind(a: Argument) -> str:
    return str(a.type).partition("(")[0]


def _by_schema(found: Schema) -> Iterator[Call]:
    kinds = [_kind(a) for a in found.arguments if not a.has_default]
    count = kinds.count("Tensor")
    if not set(kinds) <= {"Tensor", *NUMBERS} or not 1 <= count <= 3:
        return
    choices: list[Sequence[tuple[T, Variant]]] = (
        [(one,) for one in ONE] if count == 1 else [(a, b, *[b] * (count - 2)) for a, b in TWO]
    )
    if takes_complex(found.full_name.replace("_.", ".").removesuffix("_")):
        extra = [(t, v) for v in COMPLEX_VARIANTS for t in (T((4, 3)), T(()))]
        choices = [*choices, *((one,) * count for one in extra)]
        if count > 1:
            choices.append((extra[0], *[(T((3,)), _PLAIN)] * (count - 1)))
    if found.is_mutable:
        choices = choices[::3]  # the out-of-place row has all of them
    for turn, chosen in enumerate(choices):
        tensors = (tensor(t, v, k) for k, (t, v) in enumerate(chosen))
        given = [
            next(tensors) if k == "Tensor" else NUMBERS[k][turn % len(NUMBERS[k])] for k in kinds
        ]
        yield required(found, given)


def leading(found: Schema, given: Sequence[object]) -> Call:
    """A call of the leading arguments `given`, all others their defaults."""
    rest = (_default(a) for a in found.arguments[len(given) :])
    return Call(found.full_name, (*given, *rest))


def required(found: Schema, given: Sequence[object]) -> Call:
    """A call of the arguments without defaults, all others their defaults."""
    rest = iter(given)
    values = (_default(a) if a.has_default else next(rest) for a in found.arguments)
    return Call(found.full_name, tuple(values))


def _default(a: Argument) -> object:
    """The default; one number for a list of N stands for N equal ones."""
    if isinstance(a.default, tuple):
        return list(a.default)
    kind = a.type.without_optional()
    is_spread = kind.is_list and kind.size and isinstance(a.default, int)
    return [a.default] * kind.size if is_spread else a.default


# --- numbers --------------------------------------------------------------------------------------

_SAMPLE_NUMBERS: dict[str, Sequence[object]] = {
    "int": (7, -3, 2, 0),
    "float": (2.5, -0.75, 0.5, 0.0),
    "bool": (True, False),
    "Scalar": (3, -1.5, 0.25, 2),
    "str": ("ab", "abc", ""),
    "complex": (1 + 2j,),
}


def _of_numbers(found: Schema) -> Iterator[Call]:
    """Operators of numbers and strings: each as constants and as values of run time."""
    kinds = [_kind(a) for a in found.arguments if not a.has_default]
    if not set(kinds) <= set(_SAMPLE_NUMBERS):
        return
    shifts = range(3 if len(kinds) > 1 else 1)
    pairs = (
        [_SAMPLE_NUMBERS[k][(turn + shift * place) % len(_SAMPLE_NUMBERS[k])]
         for place, k in enumerate(kinds)]
        for shift in shifts for turn in range(3)
    )  # fmt: skip
    for turn, values in enumerate(pairs):
        yield required(found, values)
        if turn < 4 and not any(isinstance(v, str | complex) for v in values):
            yield required(found, [Known(v) for v in values])


# --- all of them ----------------------------------------------------------------------------------

_TABLES = (NUMERIC, LAYOUT, CONTAINERS, RANDOM_ROWS, MATRIX_ROWS, COMPOSITE_ROWS)
ROWS: dict[str, list[Row]] = {
    name: rows for table in _TABLES for names, rows in table.items() for name in names.split()
}


FINITE = frozenset(f"{slow}conv_transpose{n}d" for slow in ("", "slow_") for n in (1, 2, 3)) | {
    "convolution"
}
"""Operators that meet inserted zeros or not, as they are computed: infinity times them is NaN."""


def rows_of(found: Schema) -> list[Row] | None:
    """The table's rows: of the overload, of its out-of-place form, or of all overloads."""
    full, base = found.full_name.removeprefix("aten::"), found.base_name
    if full in ROWS:
        return ROWS[full]
    if base.endswith("_") and not base.endswith("__"):
        pure = base[:-1] + full[len(base) :]
        if pure in ROWS:
            return ROWS[pure]
    if base.endswith("_copy"):
        view = base.removesuffix("_copy")
        return ROWS.get(view + full[len(base) :]) or ROWS.get(view)
    is_only = base in ROWS and not any(k.startswith(f"{base}.") for k in ROWS)
    return ROWS[base] if is_only and "." in full else None


def calls(found: Schema) -> list[Call]:
    """The calls of an overload; none if there is neither a row nor a default.

    The first row takes all variants, the others a few of them in turn.
    """
    if (rows := rows_of(found)) is None:
        return list(_by_schema(found)) or list(_of_numbers(found))
    return [
        leading(found, [filled(v, variant, k) for k, v in enumerate(row)])
        for number, row in enumerate(rows)
        for variant in _some(variants_of(row, takes_complex(found.full_name)), number)
        if not (variant.special and found.base_name in FINITE)
    ]


def _some(variants: Sequence[Variant], number: int) -> Sequence[Variant]:
    return variants if number == 0 else [*variants, *variants][number :: len(variants) // 2 + 1][:2]

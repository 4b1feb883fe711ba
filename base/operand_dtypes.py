"""Operators that take only some dtypes of elements, and how PyTorch words the refusal.

One row an operator, under the dtypes it refuses: its name (all overloads) or `name.overload`
(`name.` for the overload without a name), and the name of PyTorch's kernel, which its message shows
(`"mish_cpu" not implemented for 'Long'`), or the whole message where it has another, with `{word}`
or `{cpp}` for the dtype. The dtype that counts is the common one of all tensors among the
arguments and of a number that is the second operand, or the argument `dtype` where it is given.
Rows were taken from PyTorch 2.13 on a CPU by calling each operator with each dtype. The rows stand
by subject in `float_refusals` and `number_refusals`.

Both the eager kernels and the native rows ask here before they run; decompositions, which call
rows of other operators, do not. What refuses uint16, uint32 and uint64 alone stands in
`wide_unsigned`, what refuses complex numbers in `complex_refusals`, decompositions of matrices in
`matrix_dtypes`. Not here: a dtype that is refused for the value of another argument (the reduction
of `scatter_reduce`, the limits of `hardtanh`; `bool_clamp` is such a rule).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice

from . import complex_refusals, float_refusals, matrix_dtypes, number_refusals, wide_unsigned
from .cpp_names import cpp_name
from .dtypes import (
    WIDE_UNSIGNED,
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    result_type,
    uint8,
)
from .errors import OperatorError, UnsupportedDtypeError
from .records import dataclass
from .schema import Schema

_INTEGERS = frozenset((uint8, int8, int16, int32, int64)) | WIDE_UNSIGNED
_FLOATS = frozenset((float16, bfloat16, float32, float64))
_HALF = frozenset((float16, bfloat16))
_BOOL = frozenset((bool_,))
_COMPLEX = frozenset((complex64, complex128))

_REFUSED: tuple[tuple[dict[str, str], frozenset[DType]], ...] = (
    (complex_refusals.KERNELS, _COMPLEX),
    (wide_unsigned.KERNELS, WIDE_UNSIGNED),
    (number_refusals.NOT_BOOL, _BOOL),
    (float_refusals.SPECIAL, _HALF | _COMPLEX),
    (float_refusals.NOT_HALF, _HALF),
    (number_refusals.NOT_HALF_OR_BOOL, _HALF | _BOOL),
    (float_refusals.NOT_FLOAT16, frozenset((float16,))),
    (matrix_dtypes.NOT_HALF, _HALF),
    (matrix_dtypes.NOT_WHOLE, _INTEGERS | _BOOL),
    (number_refusals.INDICES, (_INTEGERS - {int32, int64}) | _BOOL | _FLOATS | _COMPLEX),
    (number_refusals.NOT_BYTE, frozenset((uint8,))),
    (float_refusals.FLOATING, _INTEGERS | _BOOL),
    (float_refusals.REAL_FLOATING, _INTEGERS | _BOOL | _COMPLEX),
    (float_refusals.SINGLE_OR_DOUBLE, _INTEGERS | _BOOL | _COMPLEX | {float16, bfloat16}),
    (float_refusals.FLOATING_OR_BYTE, (_INTEGERS | _BOOL) - {uint8}),
    (float_refusals.FLOATING_OR_LONG, (_INTEGERS | _BOOL) - {int64}),
    (float_refusals.FLOATING_OR_BOOL, _INTEGERS),
    (number_refusals.WHOLE_NUMBERS, _FLOATS | _BOOL),
)
"""Of two rows that refuse a dtype the first counts."""


@dataclass(frozen=True)
class Demand:
    """What one operator refuses.

    Attributes:
        kernels: the dtypes, with the name of PyTorch's kernel or a whole message.
        of_the_data: the first tensor alone counts.
        converts: of integers only a dtype that is asked for counts, they become int64.
    """

    kernels: Mapping[DType, str]
    of_the_data: bool = False
    converts: bool = False

    def check(
        self,
        dtypes: Iterable[DType],
        asked: DType | None = None,
        number: DType | None = None,
        is_last: bool = True,
    ) -> None:
        """Refuse tensors of these dtypes, or the dtype that is asked for; `number` is that of the
        number which takes part in promotion (see `number_place`). Another kernel than that of the
        last dimension is named unless `is_last` (see `dim_place`).

        Raises:
            UnsupportedDtypeError: the operator is not implemented for it.
            OperatorError: in the operator's own words.
        """
        if asked is not None:
            dtypes = (asked,)
        elif self.converts:
            dtypes = (d for d in dtypes if not d.is_integral and d is not bool_)
        elif self.of_the_data:
            dtypes = islice(dtypes, 1)
        common: DType | None = None
        for dtype in dtypes:
            common = dtype if common is None else promote_types(common, dtype)
        if common is not None and number is not None:
            common = result_type([common], scalars=[number])
        if common is None or (kernel := self.kernels.get(common)) is None:
            return
        if " " in kernel:
            is_missing = kernel in complex_refusals.UNIMPLEMENTED
            words = kernel.replace("{word}", common.word).replace("{cpp}", cpp_name(common))
            raise (UnsupportedDtypeError if is_missing else OperatorError)(words)
        raise unimplemented(kernel if is_last else kernel.replace("_lastdim", ""), common)


def unimplemented(kernel: str, dtype: DType) -> UnsupportedDtypeError:
    """The error of a kernel of PyTorch that is not instantiated for `dtype`."""
    return UnsupportedDtypeError(f"\"{kernel}\" not implemented for '{dtype.word}'")


def bool_clamp(has_low: bool, has_high: bool, by_tensors: bool) -> str | None:
    """The kernel that refuses to clamp truth values; None where they are taken: a bound that is one
    tensor makes it `maximum` or `minimum`."""
    if by_tensors:
        return "clamp_cpu" if has_low and has_high else None
    if has_low and has_high:
        return "clamp_scalar_cpu"
    return "clamp_min_scalar_cpu" if has_low else "clamp_max_scalar_cpu"


def number_place(declared: Schema) -> int | None:
    """The argument of an operator that is a number and decides, as a second operand, on the dtype
    (`mask % 2` is one of int64)."""
    arguments = enumerate(declared.arguments)
    return next((k for k, a in arguments if a.name == "other" and a.type.kind == "Scalar"), None)


def dim_place(declared: Schema) -> int | None:
    """The argument of an operator that says along which dimension its kernel runs."""
    arguments = enumerate(declared.arguments)
    return next((k for k, a in arguments if a.name == "dim" and a.type.kind == "int"), None)


def is_last_dim(dim: object, rank: int) -> bool:
    """Whether `dim` (None and what is unknown count as such) is the last of `rank` dimensions."""
    return not isinstance(dim, int) or dim in (-1, max(rank, 1) - 1)


@cache
def demand_of(full_name: str) -> Demand | None:
    """The demand of an overload (`aten::mish`, `aten::silu_`, `aten::__iand__.Tensor`)."""
    name = full_name.partition("::")[2]
    base, _, overload = name.partition(".")
    pure = base
    if base.startswith("__i") and base.endswith("__"):
        pure = f"__{base[3:]}"
    elif base.endswith("_") and not base.endswith("__"):
        pure = base[:-1]
    exact = f"{pure}.{overload}"
    kernels: dict[DType, str] = {}
    for rows, refused in _REFUSED:
        if (kernel := rows.get(exact) or rows.get(pure)) is not None:
            kernels = dict.fromkeys(refused, kernel) | kernels
    if exact in wide_unsigned.COMPUTED:
        kernels = {d: kernel for d, kernel in kernels.items() if d not in WIDE_UNSIGNED}
    if not kernels:
        return None
    return Demand(kernels, pure in wide_unsigned.OF_THE_DATA, pure in wide_unsigned.OF_THE_RESULT)

"""What `pad` and its operators ask of ranks, sizes and numbers of elements, in PyTorch's words.

Eager mode asks with the sizes of a tensor, the compiler with those it knows. Paddings are given as
PyTorch has them: before and after the last dimension, then the one in front of it, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .dtypes import DType
from .errors import OperatorError, UnsupportedShapeError
from .operand_dtypes import demand_of

MODES = ("constant", "reflect", "replicate", "circular")
_LETTERS = "WHD"
_OPERATORS = {"reflect": "reflection", "replicate": "replication"}
"""The operators whose dtypes count where `pad` is called."""


def check_elements(mode: str, dtype: DType, pads: Sequence[object]) -> None:
    """Refuse elements that the operator of a mode does not take.

    Raises:
        UnsupportedDtypeError: it has no kernel for them.
    """
    if demand := demand_of(f"aten::{_OPERATORS.get(mode)}_pad{len(pads) // 2}d"):
        demand.check((dtype,))


def check_structure(mode: str, rank: int, pads: Sequence[object], value: float | None) -> None:
    """Refuse a mode, or a number of paddings, that a tensor of `rank` dimensions cannot have.

    Raises:
        UnsupportedShapeError: no such mode, or none of so many paddings at this rank.
        OperatorError: paddings without partners or for dimensions that are not there; a value that
            the mode has no use for.
    """
    if mode not in MODES:
        raise UnsupportedShapeError(f"Unrecognised padding mode {mode}")
    count = len(pads)
    if count % 2:
        raise OperatorError("Padding length must be divisible by 2")
    if count > 2 * rank:
        raise OperatorError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {count} and input of dimension {rank}"
        )
    if mode == "constant":
        return
    if value:
        raise OperatorError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if count not in (2, 4, 6) or rank - count // 2 not in (1, 2):
        raise UnsupportedShapeError(
            f"Padding size {count} is not supported for {rank}D input tensor."
        )


def check_sizes(mode: str, sizes: Sequence[int], pads: Sequence[int]) -> None:
    """Refuse sizes that are too small for the paddings.

    Raises:
        OperatorError: in the words of the mode.
    """
    _BY_MODE[mode](sizes, pads)


def _amounts(sizes: Sequence[int], pads: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """(dimension, its size, before, after), the last dimension first."""
    rank = len(sizes)
    return [
        (rank - 1 - k, sizes[rank - 1 - k], pads[2 * k], pads[2 * k + 1])
        for k in range(len(pads) // 2)
    ]


def _constant(sizes: Sequence[int], pads: Sequence[int]) -> None:
    for _, size, low, high in _amounts(sizes, pads):
        if size + min(low, 0) + min(high, 0) < 0:
            raise OperatorError("narrow(): length must be non-negative.")


def _circular(sizes: Sequence[int], pads: Sequence[int]) -> None:
    for _, size, low, high in _amounts(sizes, pads):
        if max(low, high) > size:
            raise OperatorError("Padding value causes wrapping around more than once.")
        if size + low + high < 0:
            raise OperatorError("Negative padding value is resulting in an empty dimension")


def _replicate(sizes: Sequence[int], pads: Sequence[int]) -> None:
    n = len(pads) // 2
    _check_filled(sizes, n)
    _check_results(sizes, pads)


def _reflect(sizes: Sequence[int], pads: Sequence[int]) -> None:
    n = len(pads) // 2
    _check_filled(sizes, n)
    for k, (at, size, low, high) in enumerate(_amounts(sizes, pads)):
        if max(low, high) >= size:
            raise OperatorError(
                f"Argument #{4 + 2 * k}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({low}, {high}) at dimension {at} of input "
                f"{list(sizes)}"
            )
    _check_results(sizes, pads)


def _check_filled(sizes: Sequence[int], n: int) -> None:
    """Only a batch may be empty."""
    if len(sizes) - n not in (1, 2) or not all(sizes[len(sizes) - n - 1 :]):
        raise OperatorError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and "
            f"other non-zero dimensions for input, but got: {list(sizes)}"
        )


def _check_results(sizes: Sequence[int], pads: Sequence[int]) -> None:
    """Something has to be left in a dimension."""
    amounts = _amounts(sizes, pads)
    results = [size + low + high for _, size, low, high in amounts]
    if max(results) >= 1:
        return
    letters = _LETTERS[: len(results)][::-1]
    given = ", ".join(
        f"{c}: {size}" for c, (_, size, _, _) in zip(letters, amounts[::-1], strict=True)
    )
    made = " ".join(f"{c}: {size}" for c, size in zip(letters, results[::-1], strict=True))
    raise OperatorError(f"input ({given}) is too small. Calculated output {made}")


_BY_MODE: dict[str, Callable[[Sequence[int], Sequence[int]], None]] = {
    "constant": _constant, "reflect": _reflect, "replicate": _replicate, "circular": _circular,
}  # fmt: skip

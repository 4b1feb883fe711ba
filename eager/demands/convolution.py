"""What convolutions ask of their arguments."""

from __future__ import annotations

from typing import Any

from tensorscript.base.errors import OperatorError

from ..kernels.window import spread
from .words import Demand, Ints, each, require, sizes_of


def _convolution(n: int) -> Demand:
    def check(
        self: Any, weight: Any, bias: Any = None, stride: Ints = (1,), padding: Any = (0,),
        dilation: Ints = (1,), groups: int = 1,
    ) -> None:  # fmt: skip
        is_same = padding == "same"
        given, sizes = sizes_of(self), sizes_of(weight)
        _convolution_ranks(n, f"conv{n}d", given, sizes, stride, is_same)
        require(groups > 0, "non-positive groups is not supported")
        _enough_filters(groups, sizes)
        require(
            sizes[0] % groups == 0,
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {sizes} instead",
        )
        for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation)):
            require(
                isinstance(value, str) or len(value) in (1, n),
                f"expected {name} to be a single integer value or a list of {n} values to match "
                f"the convolution dimensions, but got {name}={list(value)}",
            )
        require(
            min(dilation) > 0,
            f"dilation should be greater than zero, but got {list(spread(dilation, n))}",
        )
        require(min(stride) > 0, "non-positive stride is not supported")
        require(min(sizes[2:]) > 0, f"kernel size should be greater than zero, but got {sizes[2:]}")
        if isinstance(padding, str):
            require(padding in ("same", "valid"), f"Invalid padding string: '{padding}'")
            require(
                padding != "same" or set(stride) == {1},
                "padding='same' is not supported for strided convolutions",
            )
        else:
            require(min(padding) >= 0, "negative padding is not supported")
        _bias(f"Given weight of size {sizes}", sizes[0], bias)

    return check


def _convolution_ranks(
    n: int, name: str, given: Ints, sizes: Ints, stride: Ints, is_same: bool = False
) -> None:
    """Of the input and of the weight, in the order in which PyTorch meets them; with `is_same` the
    padding is found before the steps are looked at."""
    require(
        len(given) in (n + 1, n + 2),
        f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of "
        f"size: {given}",
    )
    require(len(sizes) >= 3, "weight should have at least three dimensions")
    if len(sizes) == n + 2:
        return
    if n > 1 and not is_same:
        raise OperatorError(
            f"expected stride to be a single integer value or a list of {len(sizes) - 2} values to "
            f"match the convolution dimensions, but got stride={list(stride)}"
        )
    batch, gap = [1] * (n + 2 - len(given)), "" if is_same else " "
    raise OperatorError(
        f"Expected {len(sizes)}-dimensional input for {len(sizes)}-dimensional weight{gap}{sizes}, "
        f"but got {n + 2}-dimensional input of size {[*batch, *given]} instead"
    )


def _enough_filters(groups: int, sizes: Ints) -> None:
    require(
        sizes[0] >= groups,
        f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
        f"weight of size {sizes} instead",
    )


def _bias(given: str, channels: int, bias: Any) -> None:
    require(
        bias is None or sizes_of(bias) == [channels],
        f"{given}, expected bias to be 1-dimensional with {channels} elements, but got bias of "
        f"size {None if bias is None else sizes_of(bias)} instead",
    )


def _transposed(n: int) -> Demand:
    def check(
        self: Any, weight: Any, bias: Any = None, stride: Ints = (1,), padding: Ints = (0,),
        output_padding: Ints = (0,), groups: int = 1, dilation: Ints = (1,),
    ) -> None:  # fmt: skip
        sizes = sizes_of(weight)
        _convolution_ranks(n, f"conv_transpose{n}d", sizes_of(self), sizes, stride)
        require(min(output_padding) >= 0, "negative output_padding is not supported")
        if len(sizes) == n + 2:
            _enough_filters(groups, sizes)
            require(
                groups > 0 and sizes[0] % groups == 0,
                f"Given groups={groups}, expected weight to be divisible by {groups} at dimension "
                f"0, but got weight of size [{sizes}] instead",
            )
            _bias(f"Given transposed=1, weight of size {sizes}", sizes[1] * groups, bias)
        require(min(sizes[2:]) > 0, f"kernel size should be greater than zero, but got {sizes[2:]}")
        # One dimension is computed as two.
        front = (n == 1) * 1
        extra = [0] * front + list(spread(output_padding, n))
        step = [1] * front + list(spread(stride, n))
        apart = [1] * front + list(spread(dilation, n))
        names = ("depth", "height", "width")[-len(extra) :]
        shown = " ".join(
            f"{what}_{name}: {value}"
            for what, values in (("output_padding", extra), ("stride", step), ("dilation", apart))
            for name, value in zip(names, values, strict=True)
        )
        require(
            all(e < max(s, d) for e, s, d in zip(extra, step, apart, strict=True)),
            f"output padding must be smaller than either stride or dilation, but got {shown}",
        )
        _some_places(n, list(sizes_of(self)))
        pads = [0] * front + list(spread(padding, n))
        have = [1] * front + list(sizes_of(self)[-n:])
        cells = [1] * front + sizes[2:]
        found = [
            (size - 1) * s - 2 * p + d * (k - 1) + e + 1
            for size, s, p, d, k, e in zip(have, step, pads, apart, cells, extra, strict=True)
        ]
        require(
            min(found) > 0 or not all(have),
            f"Given input size per channel: ({_joined(have)}). Calculated output size per channel: "
            f"({_joined(found)}). Output size is too small",
        )

    return check


def _joined(sizes: Ints) -> str:
    return " x ".join(map(str, sizes))


def _some_places(n: int, given: list[int]) -> None:
    """Nothing to be convolved is fine only without channels, or without images."""
    sizes = [*[1] * (n + 2 - len(given)), *given]
    shown = [*sizes[:2], 1, sizes[2]] if n == 1 else sizes
    require(
        all(sizes[2:]) or not all(sizes[:2]),
        f"Only zero batch or zero channel inputs are supported, but got input shape: {shown}",
    )


CONVOLUTIONS: dict[str, Demand] = {
    **{f"aten::conv{n}d{form}": _convolution(n) for n in (1, 2, 3) for form in ("", ".padding")},
    **each(_transposed(1), "conv_transpose1d"),
    **each(_transposed(2), "conv_transpose2d.input"),
    **each(_transposed(3), "conv_transpose3d.input"),
}
"""Overloads to what they ask, in the words of PyTorch."""

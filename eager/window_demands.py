"""What convolutions and pools ask of their arguments."""

from __future__ import annotations

from typing import Any

from tensorscript.base.errors import OperatorError

from .demand import Demand, Ints, each, require, sizes_of
from .kernels.window import spread


# -- convolutions ---------------------------------------------------------------------------------
def _convolution(n: int) -> Demand:
    def check(
        self: Any, weight: Any, bias: Any = None, stride: Ints = (1,), padding: Any = (0,),
        dilation: Ints = (1,), groups: int = 1,
    ) -> None:  # fmt: skip
        sizes, given = sizes_of(weight), sizes_of(self)
        words = {3: "three", 4: "four", 5: "five"}
        if n == 1:
            require(len(sizes) >= 3, "weight should have at least three dimensions")
        if len(sizes) != n + 2:
            raise OperatorError(
                f"Expected {len(sizes)}-dimensional input for {len(sizes)}-dimensional weight"
                f"{sizes}, but got {len(given)}-dimensional input of size {given} instead"
                if len(sizes) >= 3
                else f"weight should have at least {words[n + 2]} dimensions"
            )
        require(groups > 0, "non-positive groups is not supported")
        require(
            sizes[0] >= groups,
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {sizes} instead",
        )
        require(
            sizes[0] % groups == 0,
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {sizes} instead",
        )
        require(min(stride) > 0, "non-positive stride is not supported")
        if isinstance(padding, str):
            require(
                padding != "same" or set(stride) == {1},
                "padding='same' is not supported for strided convolutions",
            )
        else:
            require(min(padding) >= 0, "negative padding is not supported")

    return check


# -- pooling --------------------------------------------------------------------------------------
def _adaptive(name: str, n: int) -> Demand:
    def check(self: Any, output_size: Ints) -> None:
        if n == 1:
            message = f"{name}() argument 'output_size' should contain one int (got "
            require(len(output_size) == 1, f"{message}{len(output_size)})")
        else:
            inner = "(): internal error: output_size.size()" if "max" in name else ": output_size"
            require(len(output_size) in (1, n), f"{name}{inner} must be {n}")
        if "max" in name and min(output_size) < 0:
            lead = sizes_of(self)[:-n]
            lead = [1, *lead] if n == 1 and len(lead) == 1 else lead
            extra = [1] if n == 1 else []
            raise OperatorError(
                f"Trying to create tensor with negative dimension {min(output_size)}: "
                f"{[*lead, *extra, *output_size]}"
            )

    return check


def _padding(kernel_size: Ints, padding: Ints, dilation: Ints = (1,)) -> None:
    for k, p in zip(spread(kernel_size, len(padding)), padding, strict=False):
        require(p >= 0, f"pad must be non-negative, but got pad: {p}")
        require(
            p <= k // 2,
            f"pad should be at most half of effective kernel size, but got pad={p}, "
            f"kernel_size={k} and dilation={dilation[0]}",
        )


def _max_pool1d(
    self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
    ceil_mode: bool = False,
) -> None:  # fmt: skip
    shape = sizes_of(self)
    require(
        len(shape) in (2, 3) and all(shape[-2:]),
        "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
        f"input, but got:{shape}",
    )
    step = stride or kernel_size
    for name, (value,) in (
        ("kernel_size", kernel_size), ("stride", step), ("dilation", dilation),
    ):  # fmt: skip
        require(value > 0, f"max_pool1d() {name} must be greater than zero, but got {value}")
    _padding(kernel_size, padding, dilation)
    (pad,), (kernel,) = padding, kernel_size
    outputs = (shape[-1] + 2 * pad - dilation[0] * (kernel - 1) - 1) // step[0] + 1
    require(outputs > 0, f"max_pool1d() Invalid computed output size: {outputs}")


def _pool(n: int, several: str) -> Demand:
    """Two and three dimensions: the positive sizes, and none of the inner sizes 0."""

    def check(
        self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), *_: Any
    ) -> None:
        shape = sizes_of(self)
        require(
            len(shape) in (n + 1, n + 2),
            f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input",
        )
        _padding(spread(kernel_size, n), spread(padding, n))
        require(
            all(shape[len(shape) - n - 1 :]),
            several.format(sizes=shape),
        )
        require(min(spread(kernel_size, n)) > 0, "kernel size should be greater than zero")
        require(not stride or min(stride) > 0, "stride should not be zero")

    return check


_POOL_2D = (
    "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
    "got:{sizes}"
)
_POOL_3D = (
    "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have "
    "positive length, but input has a shape of {sizes}"
)


def _line(name: str) -> Demand:
    """A pool of one dimension that is computed as one of two."""

    def check(self: Any, *_: Any) -> None:
        rank = len(sizes_of(self))
        require(
            rank in (2, 3),
            f"Expected 2 to 3 dimensions, but got {rank}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})",
        )

    return check


WINDOWS: dict[str, Demand] = {
    **each(_line("avg_pool1d"), "avg_pool1d"),
    **{f"aten::conv{n}d{form}": _convolution(n) for n in (1, 2, 3) for form in ("", ".padding")},
    **{f"aten::{name}": _adaptive(name, n) for n in (1, 2, 3)
       for name in (f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d")},
    **each(_max_pool1d, "max_pool1d", "max_pool1d_with_indices"),
    **each(_pool(2, _POOL_2D), "max_pool2d", "max_pool2d_with_indices"),
    **each(_pool(3, _POOL_3D), "max_pool3d", "max_pool3d_with_indices"),
    **each(_pool(3, "non-empty 4D or 5D (batch mode) tensor expected for input"), "avg_pool3d"),
}  # fmt: skip

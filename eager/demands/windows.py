"""What pools and samplers ask of their arguments."""

from __future__ import annotations

from typing import Any

from tensorscript.base.errors import OperatorError

from ..kernels.window import spread
from ..storage import array
from .words import Demand, Ints, each, require, size_of, sizes_of


# -- pooling --------------------------------------------------------------------------------------
def _adaptive(name: str, n: int) -> Demand:
    def check(self: Any, output_size: Ints) -> None:
        if n == 1:
            message = f"{name}() argument 'output_size' should contain one int (got "
            require(len(output_size) == 1, f"{message}{len(output_size)})")
        else:
            inner = "(): internal error: output_size.size()" if "max" in name else ": output_size"
            require(len(output_size) in (1, n), f"{name}{inner} must be {n}")
        rank = len(sizes_of(self))
        if n == 1:
            _line(name)(self)
        require(
            n == 1 or rank in (n + 1, n + 2),
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got"
            f"{':' if 'max' in name else ''} {sizes_of(self)}",
        )
        if "max" in name and min(output_size) < 0:
            lead = sizes_of(self)[:-n]
            lead = [1, *lead] if n == 1 and len(lead) == 1 else lead
            extra = [1] if n == 1 else []
            raise OperatorError(
                f"Trying to create tensor with negative dimension {min(output_size)}: "
                f"{[*lead, *extra, *output_size]}"
            )
        if rank in (n + 1, n + 2):
            _no_empty_image(name, n, self)

    return check


def _as_image(n: int, x: Any) -> list[int]:
    """The sizes with which it is computed: a line is an image of height 1."""
    sizes = list(sizes_of(x))
    return [*sizes[:-1], 1, sizes[-1]] if n == 1 else sizes


def _no_empty_image(name: str, n: int, x: Any) -> None:
    """Averages of lines and images look at what is pooled, others at all sizes but the first."""
    sizes, first = list(sizes_of(x)), 1
    if name in ("adaptive_avg_pool1d", "adaptive_avg_pool2d"):
        name, sizes = "adaptive_avg_pool2d", _as_image(n, x)
        first = len(sizes) - 2
    if (empty := next((d for d in range(first, len(sizes)) if not sizes[d]), None)) is not None:
        raise OperatorError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {sizes} with dimension {empty} being empty"
        )


def _padding(kernel_size: Ints, padding: Ints, dilation: Ints = (1,)) -> None:
    for k, p in zip(spread(kernel_size, len(padding)), padding, strict=False):
        require(p >= 0, f"pad must be non-negative, but got pad: {p}")
        require(
            p <= ((k - 1) * min(dilation) + 1) // 2,
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


def _pool(n: int, several: str, dilates: bool = True) -> Demand:
    """Two and three dimensions: the positive sizes, and none of the inner sizes 0."""

    def check(
        self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), *rest: Any
    ) -> None:
        shape, dilation = sizes_of(self), rest[0] if dilates and rest else (1,)
        for name, given in (
            ("kernel_size", kernel_size), ("stride", stride), ("padding", padding),
            ("dilation", dilation),
        ):  # fmt: skip
            require(
                len(given) in (0, 1, n),
                f"max_pool{n}d: {name} must {'either be' if name == 'kernel_size' else 'be either'}"
                f" a single int, or a tuple of {'two' if n == 2 else 'three'} ints",
            )
        require(
            len(shape) in (n + 1, n + 2),
            f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input",
        )
        _padding(spread(kernel_size, n), spread(padding, n), dilation)
        apart = zip("THW"[-n:], spread(dilation, n), strict=True)
        named = " ".join(f"dilation{c}: {d}" for c, d in apart)
        require(min(dilation) > 0, f"dilation should be greater than zero, but got {named}")
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


def _avg_pool1d(self: Any, kernel_size: Ints, stride: Ints = (), *_: Any) -> None:
    _line("avg_pool1d")(self)
    require(0 not in stride, "stride should not be zero")
    sizes = _as_image(1, self)
    require(all(sizes[-3:]), _POOL_2D.format(sizes=sizes))


def _avg_pool2d(
    self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), *_: Any
) -> None:
    shape = sizes_of(self)
    for dim in (-3, -2, -1):
        size_of(self, dim)
    require(not stride or min(stride) > 0, "stride should not be zero")
    require(bool(stride) or min(kernel_size) > 0, "stride should not be zero")
    _padding(spread(kernel_size, 2), spread(padding, 2))
    require(len(shape) in (3, 4) and all(shape[-3:]), _POOL_2D.format(sizes=shape))


# -- windows as columns ---------------------------------------------------------------------------
def _im2col(self: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    shape = sizes_of(self)
    kernel, step, pad, apart = (spread(v, 2) for v in (kernel_size, stride, padding, dilation))
    for what, name, (high, wide), least in (
        ("kernel size should be greater than zero", "kernel", kernel, 1),
        ("dilation should be greater than zero", "dilation", apart, 1),
        ("padding should be non-negative", "pad", pad, 0),
        ("stride should be greater than zero", "stride", step, 1),
    ):
        require(
            min(high, wide) >= least,
            f"{what}, but got {name}_height: {high} {name}_width: {wide}",
        )
    for dim in (1, 2):
        size_of(self, dim)
    require(
        len(shape) in (3, 4) and all(shape[-3:]),
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
        f"dimensions for input, but got: {shape}",
    )
    blocks = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(shape[-2:], kernel, step, pad, apart, strict=True)
    )
    require(
        min(blocks) > 0,
        f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, "
        f"dilation={apart}, padding={pad}, calculated shape of the array of sliding blocks as "
        f"{blocks}, but its components must be at least one.",
    )


# -- samples and alignments -----------------------------------------------------------------------
def _sampled(input: Any, grid: Any, *_: Any) -> None:
    require(
        input.dtype is grid.dtype,
        f"expected scalar type {input.dtype.word} but found {grid.dtype.word}",
    )
    sizes = sizes_of(input)
    for at, size in enumerate(sizes[2:], 2):
        require(
            size > 0,
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {sizes} with dimension {at} being empty",
        )


def _aligned(
    log_probs: Any, targets: Any, input_lengths: Ints, target_lengths: Ints, *_: Any
) -> None:
    """Lengths of the steps and of the labels of each entry of a batch, which has both."""
    if len(sizes_of(log_probs)) != 3:
        return
    steps, batch, _classes = sizes_of(log_probs)
    for name, lengths in (("input", input_lengths), ("target", target_lengths)):
        require(len(lengths) == batch, f"{name}_lengths must be of size batch_size")
    by = "(while checking arguments for ctc_loss_allocate_outputs)"
    for length in input_lengths:
        bound = "least 0" if length < 0 else f"most {steps}"
        require(
            0 <= length <= steps,
            f"Expected input_lengths to have value at {bound}, but got value {length} {by}",
        )
    room = sizes_of(targets)
    for length in target_lengths:
        require(
            length >= 0,
            f"Expected target_lengths to have value at least 0, but got value {length} {by}",
        )
    if len(room) == 2:
        labels = max(target_lengths, default=0)
        require(
            room[1] >= labels,
            f"Expected tensor to have size at least {labels} at dimension 1, but got size "
            f"{room[1]} for argument #2 'targets' {by}",
        )
    else:
        require(
            room == [sum(target_lengths)],
            f"Expected tensor to have size {sum(target_lengths)} at dimension 0, but got size "
            f"{room[0] if room else 0} for argument #2 'targets' {by}",
        )


def _aligned_by_tensors(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, *_: Any
) -> None:
    for name, lengths in (("input", input_lengths), ("target", target_lengths)):
        require(not lengths.dtype.is_floating_point, f"{name}_lengths must be integral")
    inputs, labels = (array(t).reshape(-1).tolist() for t in (input_lengths, target_lengths))
    _aligned(log_probs, targets, inputs, labels)


WINDOWS: dict[str, Demand] = {
    **each(_avg_pool1d, "avg_pool1d"),
    **{f"aten::{name}": _adaptive(name, n) for n in (1, 2, 3)
       for name in (f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d")},
    **each(_max_pool1d, "max_pool1d", "max_pool1d_with_indices"),
    **each(_pool(2, _POOL_2D), "max_pool2d", "max_pool2d_with_indices"),
    **each(_pool(3, _POOL_3D), "max_pool3d", "max_pool3d_with_indices"),
    **each(_pool(3, "non-empty 4D or 5D (batch mode) tensor expected for input", dilates=False),
           "avg_pool3d"),
    **each(_avg_pool2d, "avg_pool2d"),
    **each(_im2col, "im2col"),
    **each(_sampled, "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"),
    **each(_aligned, "ctc_loss.IntList"),
    **each(_aligned_by_tensors, "ctc_loss.Tensor"),
}  # fmt: skip

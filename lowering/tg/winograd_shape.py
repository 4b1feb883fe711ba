"""Recognise the convolutions that Winograd's minimal filtering can compute."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import float32
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, var
from tensorscript.dialects.te.ranges import Interval
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.te.simplify import simplify
from tensorscript.dialects.tg.names import operand_number
from tensorscript.dialects.tg.ops import ContractOp

from ..te.affine import known
from .bodies import reads_of

KERNEL = 3
"""Side of the kernels."""
BORDER = KERNEL - 1
"""Places of the image that a tile has more than it gives, along a side."""


@dataclass(frozen=True)
class Convolution:
    """A convolution of float32 by kernels of 3x3 in steps of one, of known sizes.

    Attributes:
        image: what it reads for the image `i0`, the channel `r0` and the place `y` = i2 + r1,
            `x` = i3 + r2; borders and what is computed on the way included.
        weights: (out, channels, 3, 3).
    """

    op: ContractOp
    image: Expr
    weights: SSAValue
    batch: int
    out: int
    height: int
    width: int
    channels: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of the result."""
        return self.batch, self.out, self.height, self.width

    def tiles(self, tile: int) -> tuple[int, int]:
        """How many lie along the height and along the width of the result."""
        return -(-self.height // tile), -(-self.width // tile)


def convolution_of(op: ContractOp) -> Convolution | None:
    """The convolution that an op computes, None if it is another one or none.

    It is one if its first factor depends on its place in the window by the sums i2 + r1 and
    i3 + r2 alone.
    """
    sizes = [known(size) or 0 for size in (*op.type.shape, *op.extents.data)]
    if len(op.type.shape) != 4 or len(sizes) != 7 or not all(sizes):
        return None
    batch, out, height, width, channels, *kernel = sizes
    if kernel != [KERNEL, KERNEL] or op.type.dtype is not float32 or op.combiner.data != "add":
        return None
    if op.expr.op != "mul":
        return None
    image, factor = op.expr.args
    number = operand_number(str(factor.value)) if factor.op == "load" else None
    wanted = [var("i1") if out > 1 else const(0), var("r0") if channels > 1 else const(0)]
    if number is None or [*factor.args] != [*wanted, var("r1"), var("r2")]:
        return None
    if reads_of(image, number):
        return None
    placed = _placed(image, height, width)
    if placed is None:
        return None
    return Convolution(op, placed, op.inputs[number], batch, out, height, width, channels)


def _placed(image: Expr, height: int, width: int) -> Expr | None:
    """A factor by its places in the image, None if it does not depend on these alone."""
    places = {"i2": var("y") - var("r1"), "i3": var("x") - var("r2")}
    ranges = {name: Interval(0, BORDER) for name in ("r1", "r2")}
    ranges |= {"y": Interval(0, height + BORDER - 1), "x": Interval(0, width + BORDER - 1)}
    placed = simplify(substitute(image, places), ranges)
    return None if placed.free & {"i1", "i2", "i3", "r1", "r2"} else placed

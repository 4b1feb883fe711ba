"""The ops that compute one convolution by Winograd's minimal filtering (`winograd.py`)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from xdsl.ir import Block, SSAValue

from tensorscript.base.dtypes import float32
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import Expr, all_of, const, load, one_of, select, var
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    ConstantOp,
    ContractOp,
    PointwiseOp,
    ViewOp,
)
from tensorscript.dialects.tg.types import TensorType, tensor

from .bodies import compact_operands
from .fold_constants import constant_array
from .winograd_shape import BORDER, KERNEL, Convolution
from .winograd_transforms import INPUTS, OUTPUTS, filter_body, filters, in_both

LEAST_TILES = 64
"""Rows that make a product of their own (`schedules/contraction_shape.py`)."""
MORE_TILES = 2
"""Tiles for each channel of the result from which on images may be taken one by one: what is read
and written for an image is so much more than the weights, which are then read for each."""
NEAR_BYTES = 1 << 22
"""Of all transformed images that need no strips: what leaves the second cache of 2 MiB is read from
the third."""
STRIP_BYTES = 1 << 20
"""Of a strip's transformed image, or of its products: both stay in the second cache
(`split_batch.py`)."""

_T = TypeVar("_T")
Weights = dict[tuple[SSAValue, int, Block | None], SSAValue]
"""Transformed weights by those that are given, the side of the tiles, and the block they are made
in; constants stand beside the given ones."""


def _type(*sizes: int) -> TensorType:
    return tensor(float32, tuple(const(size) for size in sizes))


def _places(sizes: Sequence[int]) -> list[Expr]:
    """The indices of a result of these sizes; that of a dimension of one place is 0."""
    return [const(0) if size == 1 else var(f"i{d}") for d, size in enumerate(sizes)]


class Tiles:
    """Writes the ops of one convolution in front of it.

    Args:
        tile: side of the tiles of the result.
        made: weights that were transformed before; grows.
    """

    def __init__(self, convolution: Convolution, tile: int, block: Block, made: Weights) -> None:
        self.c, self.tile, self.block, self.made = convolution, tile, block, made
        self.side = tile + BORDER
        self.rows, self.columns = convolution.tiles(tile)
        # Images come first where `split_batch.py` may take them one by one, and in strips where
        # one does not stay cached; else each product has the tiles of all images as its rows.
        self.images_first = self.rows * self.columns >= max(LEAST_TILES, MORE_TILES * self.c.out)
        self.high = self._strip_height() if self.images_first else self.rows
        self.strips = -(-self.rows // self.high)
        self.batch = self.c.batch * self.strips

    def _strip_height(self) -> int:
        """Rows of tiles that are taken at a time, so that little is added below the last."""
        of_row = self.side**2 * self.columns * max(self.c.channels, self.c.out) * 4
        if self.c.batch * self.rows * of_row <= NEAR_BYTES:
            return self.rows
        most = max(1, STRIP_BYTES // of_row, -(-LEAST_TILES // self.columns))
        most = min(most, self.rows)
        heights = range(-(-most // 2), most + 1)
        return min(heights, key=lambda high: (-self.rows % high, -high))

    def _insert(self, op: ComputeOp | ContractOp) -> SSAValue:
        op.location = self.c.op.location
        self.block.insert_op_before(op, self.c.op)
        return op.results[0]

    def _ordered(self, position: _T, image: _T, *rest: _T) -> tuple[_T, ...]:
        """The dimensions of what there is for each position of a tile, as they lie."""
        first = (image, position) if self.images_first else (position, image)
        return (*first, *rest)

    def _squares(self, channels: int) -> tuple[list[Expr], TensorType]:
        """Position, image, tile and channel, and the type of what there is for each."""
        shape = self._ordered(self.side**2, self.batch, self.high, self.columns, channels)
        return list(self._ordered(*_places(shape))), _type(*shape)

    @property
    def seen(self) -> Hashable:
        """What the transformed image depends on."""
        inputs, body = compact_operands(list(self.c.op.inputs), self.c.image)
        sizes = (self.c.batch, self.c.height, self.c.width, self.c.channels)
        return (self.block, self.tile, self.images_first, sizes, tuple(inputs), body)

    def image(self) -> PointwiseOp:
        """The image with its border, channels last, up to the end of the last tiles."""
        c, ends = self.c, (self.c.height + BORDER, self.c.width + BORDER)
        high = self.high * self.tile
        shape = (self.batch, high + BORDER, self.columns * self.tile + BORDER, c.channels)
        n, y, x, channel = _places(shape)
        if self.strips > 1:
            n, y = n // self.strips, n % self.strips * high + y
        sizes = (self.strips * high + BORDER, shape[2])
        inside = [e < end for e, end, size in zip((y, x), ends, sizes, strict=True) if end < size]
        element = substitute(c.image, {"i0": n, "r0": channel, "y": y, "x": x})
        element = select(all_of(inside), element, const(0, float32))
        inputs, body = compact_operands(list(c.op.inputs), element)
        self._insert(op := PointwiseOp(inputs, body, _type(*shape)))
        return op

    def inputs(self, image: SSAValue) -> SSAValue:
        """B^T d B of each tile, by position."""
        (p, n, y, x, c), type_ = self._squares(self.c.channels)
        square = [
            [
                load("a0", [n, y * self.tile + k, x * self.tile + j, c], float32)
                for j in range(self.side)
            ]
            for k in range(self.side)
        ]
        parts = [e for row in in_both(INPUTS[self.tile], square) for e in row]
        return self._insert(PointwiseOp([image], one_of(parts, p), type_))

    def weights(self) -> SSAValue:
        """G g G^T by position, of (positions, channels, out)."""
        given = self.c.weights
        array, owner = constant_array(given), given.owner
        place = (given, self.tile, self.block if array is None else None)
        if (found := self.made.get(place)) is not None:
            return found
        type_ = _type(self.side**2, self.c.channels, self.c.out)
        if array is None or not isinstance(owner, ConstantOp):
            self.made[place] = self._insert(PointwiseOp([given], self._filters(), type_))
        else:
            constant = ConstantOp(DataAttr.of(filters(array, self.tile)), type_)
            constant.location = owner.location
            assert owner.parent is not None  # a function's block
            owner.parent.insert_op_before(constant, owner)
            self.made[place] = constant.result
        return self.made[place]

    def _filters(self) -> Expr:
        """G g G^T of weights that the program computes."""
        p, c, o = _places((self.side**2, self.c.channels, self.c.out))
        taps = [[load("a0", [o, c, k, j], float32) for j in range(KERNEL)] for k in range(KERNEL)]
        return one_of([e for row in filter_body(taps, self.tile) for e in row], p)

    def products(self, inputs: SSAValue, weights: SSAValue) -> SSAValue:
        """At each position, the product of tiles by channels and channels by channels."""
        (p, n, y, x, o), type_ = self._squares(self.c.out)
        depth = const(0) if self.c.channels == 1 else var("r0")
        tiles = load("a0", self._ordered(p, n, y, x, depth), float32)
        body = tiles * load("a1", [p, depth, o], float32)
        op = ContractOp([inputs, weights], body, [self.c.channels], "add", type_)
        return self._insert(op)

    def outputs(self, products: SSAValue) -> SSAValue:
        """A^T M A of each tile, where it belongs in the image, channels last."""
        shape = (self.batch, self.high * self.tile, self.columns * self.tile, self.c.out)
        n, y, x, o = _places(shape)
        places = (y // self.tile, x // self.tile, o)
        square = [
            [
                load("a0", self._ordered(const(a * self.side + b), n, *places), float32)
                for b in range(self.side)
            ]
            for a in range(self.side)
        ]
        rows = in_both(OUTPUTS[self.tile], square)
        body = one_of([one_of(row, x % self.tile) for row in rows], y % self.tile)
        return self._insert(PointwiseOp([products], body, _type(*shape)))

    def result(self, tiles: SSAValue) -> SSAValue:
        """The image that the tiles make, channels first."""
        n, o, y, x = _places(self.c.shape)
        if self.strips > 1:
            high = self.high * self.tile
            n, y = n * self.strips + y // high, y % high
        return self._insert(ViewOp([tiles], load("a0", [n, y, x, o], float32), self.c.op.type))

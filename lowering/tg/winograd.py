"""Convolutions of 3x3 by Winograd's minimal filtering, where an option asks for it: for the CPU.

```
%y = tg.contract %x, %w <"a0[i0, r0, i2 + r1, i3 + r2] * a1[i1, r0, r1, r2]"> : f32[N, O, H, W]
-->
%d = tg.pointwise %x <"select(inside, a0[i0, i3, i1, i2], 0)">      : f32[N, 4 Y + 2, 4 X + 2, C]
%v = tg.pointwise %d <"select(i0 == 0, .., select(i0 == 1, ..))">   : f32[36, N, Y, X, C]
%m = tg.contract %v, %u <"a0[i0, i1, i2, i3, r0] * a1[i0, r0, i4]"> : f32[36, N, Y, X, O]
%t = tg.pointwise %m <"select(i1 % 4 == 0, select(i2 % 4 == 0, ..)> : f32[N, 4 Y, 4 X, O]
%y = tg.view %t <"a0[i0, i2, i3, i1]">                              : f32[N, O, H, W]
```
The output is cut into Y x X tiles of 4x4 (or 2x2), each from 6x6 (or 4x4) places of the image:
y = A^T [(G g G^T) * (B^T d B)] A, where only the product of 36 numbers mixes channels. So there are
36 products of tiles by channels, of a quarter of the multiplications; %u = G g G^T is a constant if
the weights are. After Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015).

Channels lie last in between: transforms then work in whole vectors whatever the image's width is
(`schedules/cases.py`), and products have rows of channels. What only moves the result goes into
what reads it, and what computes one image for the next convolution alone into its copy %d: between
two such convolutions channels stay last. Images of many tiles are cut into strips, as if they were
more images, which `split_batch.py` takes one by one (`winograd_tiles.py`).
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.tg.ops import ComputeOp, ConstantOp, ContractOp, FuncOp

from .each import each
from .inline_producers import inline_into
from .winograd_cost import best_tile
from .winograd_shape import convolution_of
from .winograd_tiles import Tiles, Weights


class _Pass:
    """Rewrites the convolutions of a function.

    Attributes:
        largest: side of the tiles.
        images: the ops %d.
        tiles: the values %t.
        results: the values %y.
        inputs: the values %v, by the image and how it is cut: convolutions may have the same.
        weights: the values %u.
    """

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.images: set[Operation] = set()
        self.tiles: set[SSAValue] = set()
        self.results: set[SSAValue] = set()
        self.inputs: dict[Hashable, SSAValue] = {}
        self.weights: Weights = {}

    def rewrite(self, block: Block, op: Operation) -> bool:
        """Put the ops of the algorithm in the place of a convolution."""
        if not isinstance(op, ContractOp) or (found := convolution_of(op)) is None:
            return False
        if not (tile := best_tile(found, self.largest)):
            return False
        made = Tiles(found, tile, block, self.weights)
        if (inputs := self.inputs.get(made.seen)) is None:
            self.images.add(image := made.image())
            inputs = self.inputs[made.seen] = made.inputs(image.result)
        tiles = made.outputs(made.products(inputs, made.weights()))
        result = made.result(tiles)
        self.tiles.add(tiles)
        self.results.add(result)
        op.result.replace_all_uses_with(result)
        block.erase_op(op)
        if not found.weights.uses and isinstance(owner := found.weights.owner, ConstantOp):
            owner.detach()
            owner.erase()
        return True

    def join(self, block: Block, op: Operation) -> bool:
        """Put what only moves a result, or computes an image for one convolution, into its
        reader."""
        if not isinstance(op, ComputeOp):
            return False
        chosen = {value for value in op.inputs if value in self.results}
        if op in self.images:
            chosen |= {value for value in op.inputs if self._is_for_one(value, block)}
        if not chosen or (joined := inline_into(op, chosen)) is None:
            return False
        block.insert_op_before(joined, op)
        op.result.replace_all_uses_with(joined.results[0])
        if op in self.images:
            self.images.add(joined)
        block.erase_op(op)
        for value in chosen:
            if not value.uses and isinstance(value.owner, Operation):
                block.erase_op(value.owner)
        return True

    def _is_for_one(self, value: SSAValue, block: Block) -> bool:
        """It is computed in the block, for a single reader; tiles are not computed once more."""
        owner = value.owner
        alone = sum(1 for _ in value.uses) == 1 and value not in self.tiles
        return alone and isinstance(owner, ComputeOp) and owner.parent is block


def winograd(func: FuncOp, largest: int) -> bool:
    """Run on a function and the regions in it; True if anything changed.

    Args:
        largest: side of the tiles, 2 or 4; convolutions of few tiles may have smaller ones.
    """
    made = _Pass(largest)
    if not each(func.block, made.rewrite):
        return False
    each(func.block, made.join)
    return True

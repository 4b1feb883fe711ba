"""Where Winograd's minimal filtering pays: what convolutions cost, in multiply-adds.

A convolution multiplies 9 times for each output, channel and result; with tiles of 4x4 it is 2.25
times, and of 2x2 it is 4. In exchange there are more weights, 36 or 16 in the place of 9, and the
transforms of each channel. So it does not pay with few channels, nor with many and few tiles:

| channels, image, batch | of the direct form's time with 2x2 | with 4x4 | chosen |
|---|---|---|---|
| 8, 112x112, 1 | 2.3 | 1.45 | direct |
| 16, 112x112, 1 | 1.5 | 0.9 | 4 |
| 64, 56x56, 1 | 0.78 | 0.49 | 4 |
| 64, 224x224, 1 | 0.94 | 0.65 | 4 |
| 128, 28x28, 1 | 0.59 | 0.37 | 4 |
| 256, 14x14, 1 | 0.59 | 0.56 | 2 |
| 512, 7x7, 1 | 0.95 | 1.85 | 2 |
| 512, 7x7, 8 | 0.68 | 0.51 | 4 |
| 256, 4x4, 1 | 1.15 | 2.4 | direct |
| 3 to 64, 112x112, 1 | 3.4 | 2.3 | direct |

The numbers are fitted to 50 convolutions on an Intel Granite Rapids (two units of 512 bits), one
thread. None of those gets slower, and of images from 14x14 on all that gain take at most 1.45 of
the time of the best form.
"""

from __future__ import annotations

from .winograd_shape import BORDER, KERNEL, Convolution
from .winograd_transforms import TILES

WEIGHT = 12
"""Of reading a weight: those of a network come from afar in each call."""
TRANSFORM = 5
"""Of a channel at a position of a tile, before the products or after them."""
MOVE = 20
"""Of an element of the image or the result, which lie in another order."""
GAIN = 1.1
"""What the direct form must cost more, for it is also the more accurate one."""


def direct_cost(c: Convolution) -> int:
    """Of the convolution as it is."""
    mixed = c.channels * c.out * KERNEL**2
    return c.batch * c.height * c.width * mixed + WEIGHT * mixed


def tiled_cost(c: Convolution, tile: int) -> int:
    """Of the same by tiles."""
    rows, columns = c.tiles(tile)
    positions = (tile + BORDER) ** 2
    squares = c.batch * rows * columns * positions
    mixed, both = c.channels * c.out, c.channels + c.out
    moved = MOVE * c.batch * c.height * c.width * both
    return squares * (mixed + TRANSFORM * both) + WEIGHT * positions * mixed + moved


def best_tile(c: Convolution, largest: int) -> int:
    """The side of the tiles that a convolution is cut into, 0 if that does not pay."""
    sides = [side for side in TILES if side <= largest]
    best = min(sides, key=lambda side: tiled_cost(c, side))
    return best if tiled_cost(c, best) * GAIN < direct_cost(c) else 0

"""tensorize: a nest becomes a kernel that is written for its form, with the given parameters.

| kernel | nest | becomes |
|---|---|---|
| product | a product of matrices, perhaps in batches | packed panels and a register tile |
| packed product | the same | the same, the second factor packed whole, before everything |
| dots | the same, its factors along the depth | tiles of dot products |
| product with rows, packed | a product whose rows are read | the same, block by block of rows |
| product in parts | a product whose columns are read by parts | tiles, and what reads them |
| pairs, quads | the same of narrow numbers | the same, two or four steps of the depth at once |
| tiles of pairs, of quads | the same | the same, tiles of 16 by 16 on a matrix unit |
| product on a GPU | a product, perhaps in batches | tiles in shared memory and registers |
| product on tensor cores | the same of halves | the same, each warp's by a matrix unit |
| convolution | a product with an image read by windows | a tile of channels by pixels |
| turned convolution | the same | a tile of pixels by channels |
| packed, packed turned | the same | the same, the weights packed before everything |
| plane convolution | the same of one channel | a tile of the image's rows by pixels |
| channel filter | a convolution by channel, channels last | a register tile of pixels by channels |
| plane filter | a convolution by channel, on planes | the same between two transpositions |
| attention | two products around a softmax | both tiled, the softmax over blocks of keys |
| sort | the ranks of a line's elements | networks and merges, or a selection, a line |

Parameters come after the kernel's name: of products the rows, columns and lanes of the tile, the
most steps of the depth and panels of rows in a block; of dots the rows, columns and lanes of a
tile; of products in parts the rows, columns, parts and lanes of a tile and the most steps of the
depth; of attention the rows, columns and lanes of the tile, and the queries and keys of a block; of
convolutions the rows, columns and lanes of the tile, the steps of the depth, the output rows of a
task, and whether a task is of one panel of channels; of those by plane the tile's alone; of
products on a GPU the rows, columns and depth of a block's tile and the rows and columns of a
thread, or of a warp; of the others the vectors' width in bytes.
What reads rows is left as loops, for other steps. The nest is all that its function does.
`kernels.py` has a row for each kernel; `contraction.py`, `gpu_staged_product.py`,
`convolution.py`, `channel_filter.py`, `plane_filter.py`, `attention.py` and `order.py` document
what is written.
"""

from __future__ import annotations

from ..te.nest import Nest
from . import late_kernels


def check(nest: Nest, target: str, kernel: str, *parameters: int) -> str | None:
    if (row := late_kernels.KERNELS.get(kernel)) is None:
        return f"the kernel is one of {', '.join(late_kernels.KERNELS)}"
    if len(parameters) != len(row.parameters):
        return f"{kernel} takes {', '.join(row.parameters)}, got {len(parameters)} numbers"
    if (reason := row.misfit(*parameters)) is not None:
        return reason
    if nest.loops[target].parent_op() is not nest.func:
        return f"{target} is not an outermost loop"
    if (form := row.recognise(nest.func)) is None:
        return f"{nest.func.sym_name.data} is not {row.form}"
    return row.unfit(form, *parameters)


def apply(nest: Nest, target: str, kernel: str, *parameters: int) -> None:
    row = late_kernels.KERNELS[kernel]
    made = row.write(nest.func, row.recognise(nest.func), *parameters)
    block = nest.func.block
    for op in list(block.ops):
        op.detach()
        op.erase()
    block.add_ops(made)

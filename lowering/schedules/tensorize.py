"""tensorize: a nest becomes a kernel that is written for its form, with the given parameters.

| kernel | nest | becomes |
|---|---|---|
| product | a product of matrices, perhaps in batches | packed panels and a register tile |
| packed product | the same | the same, the second factor packed whole, before everything |
| pairs | the same of 16-bit numbers | the same, two steps of the depth at once |
| convolution | a product with an image read by windows | a shifted image and a register tile |
| attention | two products around a softmax | both tiled, the softmax over blocks of keys |
| sort | the ranks of a line's elements | a merge sort or a selection a line |

The argument after the kernel's name is the width of the machine's vectors in bytes. The nest is all
that its function does. `contraction.py`, `convolution.py`, `attention.py` and `order.py` document
what is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.ir import Operation

from tensorscript.dialects.te.ops import FuncOp

from ..te.nest import Nest
from .attention import tiled_attention
from .attention_shape import recognise_attention
from .contraction import blocked_product
from .contraction_pairs import paired_product, product_of_pairs
from .contraction_shape import product_of
from .convolution import convolved_product, direct_convolution
from .order import ranking_of, sorted_lines


@dataclass(frozen=True)
class Kernel:
    """`recognise` gives the form of a function, None if it has another; `write` the new nest."""

    recognise: Callable[[FuncOp], Any]
    write: Callable[[FuncOp, Any, int], list[Operation]]
    form: str


KERNELS = {
    "product": Kernel(product_of, blocked_product, "one product of matrices"),
    "packed product": Kernel(
        product_of, partial(blocked_product, whole=True), "one product of matrices"
    ),
    "pairs": Kernel(paired_product, product_of_pairs, "one product of 16-bit numbers"),
    "packed pairs": Kernel(
        paired_product, partial(product_of_pairs, whole=True), "one product of 16-bit numbers"
    ),
    "convolution": Kernel(
        convolved_product, direct_convolution, "a product with an image that is read by windows"
    ),
    "attention": Kernel(recognise_attention, tiled_attention, "two products around a softmax"),
    "sort": Kernel(ranking_of, sorted_lines, "a ranking of lines"),
}


def check(nest: Nest, target: str, kernel: str, vector_bytes: int) -> str | None:
    if (known := KERNELS.get(kernel)) is None:
        return f"the kernel is one of {', '.join(KERNELS)}"
    if vector_bytes not in (16, 32, 64):
        return "vectors are of 16, 32 or 64 bytes"
    if nest.loops[target].parent_op() is not nest.func:
        return f"{target} is not an outermost loop"
    if known.recognise(nest.func) is None:
        return f"{nest.func.sym_name.data} is not {known.form}"
    return None


def apply(nest: Nest, target: str, kernel: str, vector_bytes: int) -> None:
    known = KERNELS[kernel]
    made = known.write(nest.func, known.recognise(nest.func), vector_bytes)
    block = nest.func.block
    for op in list(block.ops):
        op.detach()
        op.erase()
    block.add_ops(made)

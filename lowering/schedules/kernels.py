"""The kernels of `tensorize.py`: the form of each, and what writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.ops import FuncOp

from .attention import tiled_attention
from .attention_shape import recognise_attention
from .attention_tile import AttentionBlocking
from .channel_filter import channel_filter, filtered_channels
from .contraction import blocked_product
from .contraction_dots import DotTile, dot_products, dots_of
from .contraction_groups import GroupedProduct, GroupsProduct, blocked_groups, grouped_product
from .contraction_shape import Product, product_of
from .contraction_tile import Blocking, Tile
from .contraction_tiles import TilesProduct, tiles_misfit
from .convolution import (
    convolved_columns,
    convolved_pixels,
    convolved_product,
    convolved_rows,
    unfit_for_columns,
    unfit_for_pixels,
    unfit_for_rows,
)
from .convolution_nest import ConvolutionBlocking
from .gpu_product import tiled_product
from .gpu_staged_product import product_on_gpu
from .gpu_tensor_product import tensor_product, tensor_product_of
from .gpu_tensor_tile import TensorTile, tensor_misfit
from .gpu_tile import BlockTile, tile_misfit, tile_unfit
from .order import sorted_lines
from .order_line import ranking_of
from .plane_filter import filtered_planes, plane_filter
from .product_parts import PartsBlocking, ProductInParts, blocked_parts, product_in_parts
from .product_rows import ProductWithRows, product_before_rows, product_with_rows

MOST_SUMS = 2048
"""Elements of a register tile; one beyond the registers is legal, and slow."""


@dataclass(frozen=True)
class Kernel:
    """A row of the table.

    Attributes:
        recognise: the form of a function, None if it has another.
        write: the new nest, from the function, its form and the parameters.
        form: in words.
        parameters: their names.
        misfit: why parameters cannot be used.
        unfit: why they cannot be for a form.
    """

    recognise: Callable[[FuncOp], Any]
    write: Callable[..., list[Operation]]
    form: str
    parameters: tuple[str, ...] = ("vector_bytes",)
    misfit: Callable[..., str | None] = lambda vector_bytes: (
        None if vector_bytes in (16, 32, 64) else "vectors are of 16, 32 or 64 bytes"
    )
    unfit: Callable[..., str | None] = lambda form, *parameters: None


def _blocking_misfit(rows: int, columns: int, lanes: int, depth: int, panels: int) -> str | None:
    if min(rows, columns, lanes, depth, panels) < 1:
        return "all parameters are positive"
    if lanes not in (2, 4, 8, 16) or columns % lanes:
        return "a tile has whole vectors of 2, 4, 8 or 16 lanes as columns"
    return None if rows * columns <= MOST_SUMS else f"a tile has {MOST_SUMS} elements at most"


def _parts_misfit(rows: int, columns: int, together: int, lanes: int, depth: int) -> str | None:
    return _blocking_misfit(rows, columns * together, lanes, depth, 1)


def _dots_misfit(rows: int, columns: int, lanes: int) -> str | None:
    if min(rows, columns) < 1 or lanes not in (2, 4, 8, 16, 32, 64):
        return "a tile has rows, columns, and vectors of 2, 4, 8, 16, 32 or 64 sums"
    return None if rows * columns * lanes <= MOST_SUMS else f"a tile has {MOST_SUMS} sums at most"


def _attention_misfit(rows: int, columns: int, lanes: int, queries: int, keys: int) -> str | None:
    if (reason := _blocking_misfit(rows, columns, lanes, queries, keys)) is not None:
        return reason
    whole = queries % rows == 0 and keys % columns == 0
    return None if whole else "blocks of queries and of keys are whole tiles"


def _in_parts(func: FuncOp, form: ProductInParts, *parameters: int) -> list[Operation]:
    return blocked_parts(func, form, PartsBlocking(*parameters))


def _blocked(func: FuncOp, product: Product, *parameters: int) -> list[Operation]:
    return blocked_product(func, product, Blocking(*parameters))


def _packed(func: FuncOp, product: Product, *parameters: int) -> list[Operation]:
    return blocked_product(func, product, Blocking(*parameters), whole=True)


def _with_rows(
    whole: bool, func: FuncOp, form: ProductWithRows, *parameters: int
) -> list[Operation]:
    return product_before_rows(func, form, Blocking(*parameters), whole)


def _groups(
    kind: type[GroupsProduct], whole: bool, func: FuncOp, form: GroupedProduct, *parameters: int
) -> list[Operation]:
    return blocked_groups(kind, func, form, Blocking(*parameters), whole)


def _convolution_misfit(
    rows: int, columns: int, lanes: int, depth: int, block: int, by_panel: int
) -> str | None:
    if by_panel not in (0, 1):
        return "by_panel is 0 or 1"
    return _blocking_misfit(rows, columns, lanes, depth, block)


def _convolution(
    write: Callable[..., list[Operation]], unfit: Callable[..., str | None], whole: bool
) -> Kernel:
    form = "a product with an image that is read by windows"
    parameters = tuple(f.name for f in fields(ConvolutionBlocking))
    write = partial(write, whole=whole)
    return Kernel(convolved_product, write, form, parameters, _convolution_misfit, unfit)


def _product(
    recognise: Callable[[FuncOp], Any],
    write: Callable[..., list[Operation]],
    form: str,
    misfit: Callable[..., str | None] = _blocking_misfit,
) -> Kernel:
    parameters = tuple(f.name for f in fields(Blocking))
    return Kernel(recognise, write, form, parameters, misfit)


KERNELS = {
    "product": _product(product_of, _blocked, "one product of matrices"),
    "packed product": _product(product_of, _packed, "one product of matrices"),
    **{
        f"{packed}product with rows": _product(
            product_with_rows,
            partial(_with_rows, bool(packed)),
            "one product of matrices whose rows are read",
        )
        for packed in ("", "packed ")
    },
    "dots": Kernel(
        dots_of,
        dot_products,
        "one product of matrices that lie along the depth",
        tuple(f.name for f in fields(DotTile)),
        _dots_misfit,
    ),
    "product in parts": Kernel(
        product_in_parts,
        _in_parts,
        "one product of matrices that is read by parts",
        tuple(f.name for f in fields(PartsBlocking)),
        _parts_misfit,
    ),
    **{
        f"{packed}{name}": _product(
            partial(grouped_product, count=count),
            partial(_groups, GroupsProduct, bool(packed)),
            form,
        )
        for name, count, form in (
            ("pairs", 2, "one product of numbers of 16 bits or less"),
            ("quads", 4, "one product of bytes"),
        )
        for packed in ("", "packed ")
    },
    **{
        f"{packed}tiles of {name}": _product(
            partial(grouped_product, count=count, any_signs=True),
            partial(_groups, TilesProduct, bool(packed)),
            form,
            tiles_misfit,
        )
        for name, count, form in (
            ("pairs", 2, "one product of bfloat16"),
            ("quads", 4, "one product of bytes"),
        )
        for packed in ("", "packed ")
    },
    **{
        f"{packed}{name}": _convolution(write, unfit, bool(packed))
        for packed in ("", "packed ")
        for name, write, unfit in (
            ("convolution", convolved_columns, unfit_for_columns),
            ("turned convolution", convolved_pixels, unfit_for_pixels),
        )
    },
    "plane convolution": Kernel(
        convolved_product,
        convolved_rows,
        "a product with an image that is read by windows",
        tuple(f.name for f in fields(Tile)),
        lambda rows, columns, lanes: _blocking_misfit(rows, columns, lanes, 1, 1),
        unfit_for_rows,
    ),
    "product on a GPU": Kernel(
        product_on_gpu,
        tiled_product,
        "one product of matrices",
        tuple(f.name for f in fields(BlockTile)),
        tile_misfit,
        tile_unfit,
    ),
    "product on tensor cores": Kernel(
        tensor_product_of,
        tensor_product,
        "one product of matrices of float16 or bfloat16",
        tuple(f.name for f in fields(TensorTile)),
        tensor_misfit,
    ),
    "channel filter": Kernel(
        channel_filter, filtered_channels, "a convolution by channel whose channels lie last"
    ),
    "plane filter": Kernel(
        plane_filter, filtered_planes, "a convolution by channel on planes of known sizes"
    ),
    "attention": Kernel(
        recognise_attention,
        tiled_attention,
        "two products around a softmax",
        tuple(f.name for f in fields(AttentionBlocking)),
        _attention_misfit,
    ),
    "sort": Kernel(ranking_of, sorted_lines, "a ranking of lines"),
}

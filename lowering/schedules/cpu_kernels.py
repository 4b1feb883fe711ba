"""Schedules for a CPU that write a kernel for its form: products, convolutions and attention.

What has another form, or is not worth a kernel, is scheduled as a reduction.
"""

from __future__ import annotations

from dataclasses import astuple

from tensorscript.dialects.te.buffers import Buffer

from ..schedule import Scheduler
from .attention_shape import recognise_attention
from .attention_tile import attention_blocking
from .channel_filter import channel_filter, fits
from .contraction_dots import as_dots, dot_parameters, worth_dots
from .contraction_groups import as_groups, worth_grouping
from .contraction_plan import blocking_for, worth_blocking
from .contraction_shape import Product, made_of, product_of
from .contraction_tile import Blocking
from .contraction_tiles import tiles_blocking, tiles_misfit, worth_tiles
from .convolution import as_convolution, convolution_step, prefers_product
from .convolution_nest import ConvolutionBlocking
from .cpu_rows import schedule_row, schedule_rows
from .cpu_vectors import CPUParameters, loops_in
from .plane_filter import as_plane_filter, worth_turning_planes
from .product_parts import has_few_rows, parts_blocking, product_in_parts
from .product_rows import ROW, ProductWithRows, product_with_rows
from .rows import hoist_numbers


def schedule_contraction(scheduler: Scheduler, parameters: CPUParameters) -> None:
    product = product_of(scheduler.func)
    step = None if product is None else _product_step(product, scheduler.nest.buffers, parameters)
    if step is not None:
        tensorize(scheduler, *step)
    elif (cut := product_in_parts(scheduler.func)) is not None and has_few_rows(cut):
        blocking = parts_blocking(cut, parameters.vector_bytes)
        tensorize(scheduler, "product in parts", *astuple(blocking))
    elif (rows := product_with_rows(scheduler.func)) is not None:
        _schedule_with_rows(scheduler, rows, parameters)
    elif (form := channel_filter(scheduler.func)) is not None and fits(
        form, parameters.vector_bytes
    ):
        tensorize(scheduler, "channel filter", parameters.vector_bytes)
    else:
        schedule_rows(scheduler, parameters)


def _schedule_with_rows(
    scheduler: Scheduler, form: ProductWithRows, parameters: CPUParameters
) -> None:
    """A product, and behind it the readers of its rows as rows."""
    product, given = form.product, parameters.blocking
    constant = made_of(product.y, parameters.fixed)
    blocking = blocking_for(
        product,
        scheduler.nest.buffers,
        parameters.vector_bytes,
        parameters.first_cache,
        constant,
    )
    if isinstance(given, Blocking):
        blocking = given
    kernel = "packed product with rows" if constant else "product with rows"
    tensorize(scheduler, kernel, *astuple(blocking))
    row = scheduler.nest.loops[ROW].block
    hoist_numbers(scheduler, row)
    schedule_row(scheduler, row, parameters)


def _product_step(
    product: Product, buffers: dict[str, Buffer], parameters: CPUParameters
) -> tuple[str, *tuple[int, ...]] | None:
    """The kernel that a product becomes, and its parameters; None if it is not worth one."""
    width = parameters.vector_bytes
    planes = as_plane_filter(product, buffers)
    if planes is not None and worth_turning_planes(planes, width, buffers):
        return "plane filter", width
    kind, steps = product_kernel(product, buffers, parameters)
    convolution = as_convolution(product) if kind not in UNIT_KERNELS else None
    given = parameters.blocking if isinstance(parameters.blocking, ConvolutionBlocking) else None
    if convolution is not None and (given or not prefers_product(convolution)):
        constant = made_of(convolution.product.x, parameters.fixed)
        name, sizes = convolution_step(
            convolution, width, buffers, constant, parameters.first_cache
        )
        if given is not None:
            sizes = astuple(given)
        return name, *sizes
    # A blocking that is given is one of tiles.
    dots = as_dots(product, buffers) if parameters.blocking is None else None
    if dots is not None and worth_dots(dots, width, parameters.fixed, steps):
        return "dots", *dot_parameters(dots, width)
    if not worth_blocking(product, parameters.fixed, buffers):
        return None
    constant = made_of(product.y, parameters.fixed)  # packed at compile time (prepack.py)
    blocking = parameters.blocking or (
        blocking_for(product, buffers, width, parameters.first_cache, constant)
        if kind not in UNIT_KERNELS
        else tiles_blocking(product)
    )
    return f"packed {kind}" if constant else kind, *astuple(blocking)


UNIT_KERNELS = {"tiles of quads": 4, "tiles of pairs": 2}
"""Kernels for a matrix unit, and the numbers of a group."""


def product_kernel(
    product: Product, buffers: dict[str, Buffer], parameters: CPUParameters
) -> tuple[str, int]:
    """The kernel whose instruction takes the most steps of the depth, and how many these are. A
    blocking that is given may be one of vectors."""
    given = parameters.blocking
    is_of_tiles = given is None or (
        isinstance(given, Blocking) and tiles_misfit(*astuple(given)) is None
    )
    for kernel, count in UNIT_KERNELS.items() if is_of_tiles else ():
        form = as_groups(product, count, buffers, any_signs=True)
        if form is not None and worth_tiles(form, parameters.tiles, parameters.fixed):
            return kernel, count
    for kernel, count in (("quads", 4), ("pairs", 2)):
        form = as_groups(product, count, buffers)
        if form is None or form.instruction not in parameters.groups:
            continue
        if worth_grouping(form, parameters.fixed):
            return kernel, count
    return "product", 1


def schedule_attention(scheduler: Scheduler, parameters: CPUParameters) -> None:
    if (form := recognise_attention(scheduler.func)) is not None:
        blocking = parameters.blocking or attention_blocking(
            form, parameters.vector_bytes, parameters.first_cache
        )
        tensorize(scheduler, "attention", *astuple(blocking))
    else:
        schedule_rows(scheduler, parameters)


def tensorize(scheduler: Scheduler, kernel: str, *parameters: int) -> None:
    first = next(iter(loops_in(scheduler.func.block)))
    scheduler.do("tensorize", first.var, kernel, *parameters)

"""The one call that every eager operator passes; tracers listen here.

`call` resolves the overload on values, `call_overload` is handed one. Both look the kernel up in
the merged table, derive in-place and `out=` forms from the functional kernel where there is no row
of their own, answer for the second spellings of `torch.special` and for `view_copy` and its kind,
and tell the listeners.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import compress
from typing import Any

import numpy as np

from tensorscript.base.composites import COMPOSITES
from tensorscript.base.dtypes import QUANTIZED, DType, bool_, scalar_dtype
from tensorscript.base.errors import (
    DimensionError,
    LinearAlgebraError,
    MissingKernelError,
    OperatorError,
    TensorScriptError,
)
from tensorscript.base.operand_dtypes import demand_of, dim_place, is_last_dim, number_place
from tensorscript.base.out_dtypes import COMPUTES_IN, check_out
from tensorscript.base.overlap import may_repeat
from tensorscript.base.schema import Argument, Schema, schema
from tensorscript.base.twins import (
    MADE_OF,
    Form,
    counterparts,
    form_of,
    in_place_name,
    is_result,
    maker_of,
    plain_name,
)

from . import late_kernels
from .autocast import autocast, cast_arguments, ends_short
from .binding import resolve
from .caution import warn
from .demands import demand_on
from .kernels.nested_rules import is_nested, kernel_of_nested
from .kernels.quantization import is_quantized, kernel_of_quantized
from .kernels.sparse import is_sparse, kernel_of_sparse
from .kernels.strided import resize_
from .memory_format import relaid
from .memory_sharing import kept_apart, repeats
from .modes import MODES
from .placement import between_devices, onto_target, target_of
from .return_types import record_of
from .signs import has_sign, kernel_of_signed
from .storage import TensorBase, array, make, shown, to_storage, value
from .tracing import active_tracer, traced_by
from .tracking import tracked

Kernel = Callable[..., Any]
Listener = Callable[[Schema, tuple[Any, ...], Any], None]
"""Is told the overload, the bound arguments in schema order, and the result."""

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within, `listener` hears every operator that completes; composite faces show their parts."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def call(
    name: str,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    public: bool = False,
    method: bool = False,
) -> Any:
    """Run operator `name` ("aten::add") on Python values; `public` leaves out the overloads that
    only scripts have; `method` is told of a call as a method of the first value.

    Raises:
        ArgumentError: no overload takes them.
        MissingKernelError: the overload exists and has no kernel.
        OperatorError: the kernel refuses the values.
    """
    found, bound = resolve(name, args, kwargs or {}, public, method)
    return _run(found, bound)


def call_overload(full_name: str, bound: tuple[Any, ...]) -> Any:
    """Run one overload ("aten::add.Tensor") on all its arguments in schema order."""
    return _run(schema(full_name), bound)


def _run(found: Schema, bound: tuple[Any, ...]) -> Any:
    if MODES.autocast_enabled:
        if (fit := cast_arguments(found, bound, _cast)) is not None:
            with autocast("cpu", enabled=False):
                return _run(found, fit)
        if ends_short(found, bound):
            with autocast("cpu", enabled=False):
                return _cast(_run(found, bound), MODES.autocast_dtype)
    if (tracer := active_tracer()) is None:
        return _computed(found, bound)
    with traced_by(None):
        result = _computed(found, bound)
    tracer.ran(found, bound, result)
    return result


def _kernel_for(found: Schema, bound: tuple[Any, ...]) -> Kernel:
    """The kernel of an overload for values among which some may be on a GPU, or not read as they
    are stored."""
    run = _kernel_of_readings(found, bound)
    return between_devices(found, run) if MODES.has_gpus else run


def _kernel_of_readings(found: Schema, bound: tuple[Any, ...]) -> Kernel:
    """The kernel for values among which some are not read as they are stored."""
    if any(map(is_quantized, bound)):
        run = kernel_of_quantized(found, _find(found.full_name))
    elif any(map(is_sparse, bound)):
        run = kernel_of_sparse(found, _find(found.full_name))
    elif any(map(is_nested, bound)):
        plain = kernel_of(found.full_name) if has_kernel(found.full_name) else None
        return tracked(found, kernel_of_nested(found, plain))
    else:
        plain = kernel_of(found.full_name)
        return kernel_of_signed(found, plain) if any(map(has_sign, bound)) else plain
    return run if (at := target_of(found)) is None else onto_target(at, run)


def _cast(tensor: Any, dtype: DType) -> Any:
    return call_overload("aten::to.dtype", (tensor, dtype, False, False, None))


def _computed(found: Schema, bound: tuple[Any, ...]) -> Any:
    run = _kernel_for(found, bound) if MODES.has_readings else kernel_of(found.full_name)
    try:
        with np.errstate(all="ignore"):
            result = run(*bound)
    except TensorScriptError:
        raise
    except MemoryError as error:
        raise OperatorError(_out_of_memory(error)) from error
    except np.linalg.LinAlgError as error:
        raise LinearAlgebraError(f"{found.base_name.replace('_', '.', 1)}: {error}") from error
    except (
        ValueError,
        OverflowError,
        IndexError,
    ) as error:  # NumPy's own refusals of shapes and ranges
        kind = DimensionError if isinstance(error, IndexError) else OperatorError
        raise kind(f"{found.full_name}: {error}") from error
    if type(result) is tuple and (record := _record(found)) is not None:
        result = record(tuple(r) if type(r) is list else r for r in result)
    for listener in _listeners:
        listener(found, bound, result)
    return result


def _out_of_memory(error: MemoryError) -> str:
    """PyTorch's words; NumPy names the array that there is no room for."""
    shape, dtype = getattr(error, "shape", ()), getattr(error, "dtype", np.dtype(np.uint8))
    count = math.prod(shape) * dtype.itemsize
    return (
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        f"you tried to allocate {count} bytes. Error code 12 (Cannot allocate memory)"
    )


_record = cache(record_of)


def has_kernel(full_name: str) -> bool:
    """Whether `call_overload(full_name, ...)` can run."""
    return _find(full_name) is not None


@cache
def kernel_of(full_name: str) -> Kernel:
    """The function that computes one overload.

    Raises:
        MissingKernelError: there is none.
    """
    if (found := _find(full_name)) is not None:
        declared = schema(full_name)
        row = declared.name if full_name in late_kernels.KERNELS else plain_name(declared.base_name)
        placed = late_kernels.laid_out_kernel(declared, row or declared.name, found)
        return tracked(declared, _checked(full_name, placed))
    raise MissingKernelError(f"no eager kernel for the operator {full_name}")


def _checked(full_name: str, run: Kernel) -> Kernel:
    """The kernel, after a look at the arguments and their dtypes where it does not take all."""
    declared = schema(full_name)
    if declared.is_mutable:
        run = kept_apart(declared, run)
    if (asks := demand_on(full_name)) is not None:
        run = _asked(asks, run)
    if (at := target_of(declared)) is not None:
        run = onto_target(at, run)
    run = _checked_dtypes(full_name, run)
    at = _first(declared.arguments, "dtype", "ScalarType")
    return run if at is None else _takes_quantized(at, declared, run)


def _first(arguments: Sequence[Argument], name: str, kind: str) -> int | None:
    """Where the argument of that name is, if it is of that kind."""
    return next(
        (k for k, a in enumerate(arguments)
         if a.name == name and a.type.without_optional().kind == kind), None
    )  # fmt: skip


def _asked(asks: Callable[..., None], run: Kernel) -> Kernel:
    def checked(*bound: Any) -> Any:
        asks(*bound)
        return run(*bound)

    return checked


def _takes_quantized(at: int, declared: Schema, run: Kernel) -> Kernel:
    """The kernel, unless the dtype that argument `at` names is a quantized one."""

    def checked(*bound: Any) -> Any:
        if bound[at] in QUANTIZED:
            return kernel_of_quantized(declared, _find(declared.full_name))(*bound)
        return run(*bound)

    return checked


def _checked_dtypes(full_name: str, run: Kernel) -> Kernel:
    if (demand := demand_of(full_name)) is None:
        return run
    declared = schema(full_name)
    arguments = declared.arguments
    names = [a.name for a in arguments]
    at = names.index("dtype") if "dtype" in names else None
    read = [not is_result(declared, at) for at in range(len(arguments))]
    place, along = number_place(declared), dim_place(declared)

    def checked(*bound: Any) -> Any:
        asked = None if at is None else bound[at]
        number = None if place is None else _number_dtype(bound[place])
        is_last = along is None or is_last_dim(bound[along], bound[0]._array.ndim)
        demand.check(_dtypes(compress(bound, read)), asked, number, is_last)
        return run(*bound)

    return checked


def _number_dtype(value: Any) -> DType | None:
    return scalar_dtype(value, MODES.default_dtype) if isinstance(value, _NUMBERS) else None


_NUMBERS = (bool, int, float, complex)


def _dtypes(values: Iterable[Any]) -> Iterator[DType]:
    """Of the tensors among the arguments, and in lists of them."""
    for v in values:
        if isinstance(v, TensorBase):
            yield v.dtype
        elif type(v) is list:
            yield from _dtypes(v)


def _find(full_name: str) -> Kernel | None:
    if (row := late_kernels.KERNELS.get(full_name)) is not None:
        return row
    if (program := COMPOSITES.get(full_name)) is not None:
        return partial(program, _step)
    try:
        wanted = schema(full_name)
    except KeyError:
        return None
    if (found := form_of(wanted)) is None:
        written = late_kernels.KERNELS.get(in_place_name(wanted))
        return None if written is None else _on_a_copy(written)
    form, name = found
    pure = next(filter(None, (_find(s.full_name) for s in counterparts(wanted, name))), None)
    if pure is None and (maker := maker_of(wanted)) is not None:
        return None if (makes := _find(maker.full_name)) is None else _made_into(maker, makes)
    if pure is None or form is Form.SPELLING:
        return pure
    if form is Form.OUT:
        return _with_out(wanted, pure)
    if form is not Form.IN_PLACE:
        return _copied(pure)
    return _in_place_repeated(pure) if may_repeat(full_name) else _in_place(pure)


def _step(name: str, *given: Any) -> Any:
    """An operator that is part of another one, on its leading arguments."""
    found = schema(name)
    rest = found.arguments[len(given) :]
    return _computed(found, (*given, *(a.default for a in rest)))


def write(target: TensorBase, source: TensorBase) -> None:
    """Copy `source` into `target` in place, checking dtype category and shape.

    Raises:
        OperatorError: the result's category is above the target's, or the shape would grow.
    """
    if source.dtype.category > target.dtype.category and source.dtype is not bool_:
        raise OperatorError(
            f"result type {source.dtype.word} can't be cast to the desired output type "
            f"{target.dtype.word}"
        )
    if source._array.shape != target._array.shape:
        raise OperatorError(
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape "
            f"{list(source._array.shape)}"
        )
    same = source.dtype is target.dtype
    target._array[...] = source._array if same else to_storage(value(source), target.dtype)


def store(target: TensorBase, source: TensorBase) -> TensorBase:
    """`out=`: copy `source` into `target`, which takes its shape; a warning if it had elements.

    Raises:
        OperatorError: as `write`.
    """
    if target._array.shape != source._array.shape:
        if target._array.size:
            warn(_RESIZED.format(list(target._array.shape), list(source._array.shape)))
        resize_(target, source._array.shape)
        target._array = relaid(target._array, source._array)
    write(target, source)
    return target


_RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match "
    "the required output shape {}. This behavior is deprecated, and in a future PyTorch release "
    "outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
    "tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
)


def _store_each(full_name: str, target: Any, source: Any, read: Sequence[Any]) -> None:
    """`store`, or of a list of results each into the tensor of the same place."""
    given = read[0].dtype if read and isinstance(read[0], TensorBase) else None
    pairs = [(target, source)]
    if isinstance(target, list):
        pairs = list(zip(target, source, strict=True))
    for one, result in pairs:
        check_out(full_name, result.dtype, one.dtype, given)
    for one, result in pairs:
        store(one, result)


def _in_place(pure: Kernel) -> Kernel:
    def run(self: TensorBase, *rest: Any) -> TensorBase:
        write(self, pure(self, *rest))
        return self

    return run


def _in_place_repeated(pure: Kernel) -> Kernel:
    """Of elements that share memory those are written that change: the others would undo it."""
    plain = _in_place(pure)

    def run(self: TensorBase, *rest: Any) -> TensorBase:
        if not repeats(self._array):
            plain(self, *rest)
            return self
        found = pure(self, *rest)
        new = make(np.array(array(self)), self.dtype)
        write(new, found)
        np.copyto(array(self), array(new), where=array(new) != array(self))
        return self

    return run


def _on_a_copy(in_place: Kernel) -> Kernel:
    """`random` and its kind: what `random_` makes of a copy."""
    return lambda self, *rest: in_place(make(shown(self).copy(), self.dtype), *rest)


def _copied(view: Kernel) -> Kernel:
    """`view_copy` and its kind: what the view shows, in memory of its own."""

    def fresh(found: Any) -> Any:
        if isinstance(found, TensorBase):
            return make(np.array(shown(found), order="C"), found.dtype)
        return [fresh(x) for x in found]

    return lambda *bound: fresh(view(*bound))


def _made_into(maker: Schema, makes: Kernel) -> Kernel:
    """`out=` of what makes a tensor, which is made of the dtype of `out`."""

    def run(*bound: Any) -> Any:
        *given, out = bound
        rest = iter(given)
        values = [
            (out.dtype if a.name == "dtype" else None) if a.name in MADE_OF else next(rest)
            for a in maker.arguments
        ]
        return store(out, makes(*values))

    return run


def _with_out(wanted: Schema, pure: Kernel) -> Kernel:
    written = [i for i in range(len(wanted.arguments)) if is_result(wanted, i)]
    names = [a.name for a in wanted.arguments]
    asked = names.index("dtype") if wanted.base_name in COMPUTES_IN else None

    def run(*bound: Any) -> Any:
        targets = [bound[i] for i in written]
        if asked is not None and bound[asked] is None:
            bound = (*bound[:asked], targets[0].dtype, *bound[asked + 1 :])
        read = [v for i, v in enumerate(bound) if i not in written]
        result = pure(*read)
        for target, source in zip(
            targets, result if isinstance(result, tuple) else (result,), strict=True
        ):
            _store_each(wanted.full_name, target, source, read)
        if not wanted.returns:
            return None
        return targets[0] if len(targets) == 1 else tuple(targets)

    return run

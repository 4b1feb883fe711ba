"""Rows on what values are: the numbers in tensors, dtypes and devices, the identity of objects,
members of enums, what contexts say."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, all_of, as_expr, binary, const
from tensorscript.dialects.te.simplify import simplify
from tensorscript.dialects.ts.constants import Device, EnumRef
from tensorscript.dialects.ts.types import ClassType

from .awaits import awaited, there
from .builder import Rows
from .evaluator import Evaluator
from .list_tensors import list_of_tensor
from .structure import enum_member
from .values import (
    ComplexTensor,
    DictRef,
    FutureValue,
    ListRef,
    NestedTensor,
    ObjectRef,
    QuantizedTensor,
    SparseTensor,
    Tensor,
    TupleValue,
    Value,
)


def _dtype_code(ev: Evaluator, x: Tensor) -> Value:
    return x.dtype.code


def _shape(ev: Evaluator, x: Tensor) -> Value:
    return ev.boxed(list(x.shape))


def _is_category(category: str) -> Callable[..., Value]:
    return lambda ev, x, *_: bool(getattr(x.dtype, category))


def _wait(ev: Evaluator, x: FutureValue) -> Value:
    return x.value


def _item(ev: Evaluator, x: Value) -> Value:
    if isinstance(x, ComplexTensor):
        ev.b.cannot("a complex number that is not known")
    if not isinstance(x, Tensor):
        return x
    ev.b.single(x, "a Tensor with several elements cannot be converted to Scalar")
    return ev.boxed(ev.b.item(x))


def _converted(name: str, dtype: object) -> Callable[..., Value]:
    """Int, Float, Bool of a tensor or a number."""

    def row(ev: Evaluator, x: Value, *_: Value) -> Value:
        value = x if isinstance(x, str) else _item(ev, x)
        return ev.boxed(ev.scalar_rows[name](ev.b, value))

    return row


def _whole(kind: str, bits: int) -> Callable[..., Value]:
    """Int of a tensor or of the number that it held: what C's integer of so many bits cannot hold
    is refused, compared as C compares it, as floats."""
    limit = 2 ** (bits - 1)
    least, most = const(-float(limit), float64), const(float(limit - 1), float64)

    def row(ev: Evaluator, x: Value, *_: Value) -> Value:
        value = _item(ev, x)
        if isinstance(value, float) or (isinstance(value, Expr) and value.dtype is float64):
            number = as_expr(value, float64)
            fits = all_of([number >= least, binary("le", number, most)])
            ev.b.check(
                simplify(fits, {}), f"value cannot be converted to type {kind} without overflow"
            )
        return ev.boxed(ev.scalar_rows["aten::Int"](ev.b, value))

    return row


def _device(ev: Evaluator, text: Value, index: Value = None) -> Value:
    """`torch.device("cpu")`, where all tensors are."""
    if text != "cpu" or index is not None:
        ev.b.cannot("a device other than the CPU")
    return Device(text)


_TWO_OBJECTS = EnumRef | str | complex | TupleValue
"""Of which each argument and each constant is another object."""


def _is(ev: Evaluator, x: Value, y: Value) -> Value:
    assert ev.op is not None
    if ev.op.operands[0] is ev.op.operands[1]:
        return True
    if isinstance(x, _TWO_OBJECTS) and isinstance(y, _TWO_OBJECTS):
        return False
    if isinstance(x, ListRef | DictRef) and isinstance(y, ListRef | DictRef):
        return x is y
    return ev.scalar_rows["aten::__is__"](ev.b, ev.plain(x), ev.plain(y))


def _implicit(row: Callable[..., Value]) -> Callable[..., Value]:
    """A tensor that stands for a number without being asked has no dimensions."""

    def checked(ev: Evaluator, x: Value, *_: Value) -> Value:
        if isinstance(x, Tensor | ComplexTensor) and x.rank:
            ev.b.error("Cannot input a tensor of dimension other than 0 as a scalar argument")
        return row(ev, x)

    return checked


def _implicit_int(ev: Evaluator, x: Value, *_: Value) -> Value:
    """A tensor where an int is asked must hold ints."""
    if isinstance(x, Tensor) and x.dtype.is_floating_point:
        ev.b.error(f"Cannot input a tensor of type {x.dtype.word} as an integral argument")
    return _converted("aten::Int", int64)(ev, x)


def _to_list(ev: Evaluator, x: Tensor, depth: int, kind: int) -> Value:
    """`x.tolist()`: the annotation said how deep the list is and what it is of."""
    if depth != x.rank:
        ev.b.error(
            "Output annotation list dimension and runtime tensor dimension must match for tolist()"
        )
    found = x.dtype
    fits = (found is int64, found.is_floating_point, found is bool_, found.is_complex)
    if not fits[kind]:
        ev.b.error(
            "Output annotation element type and runtime tensor element type must match for "
            f"tolist(): {('Long', 'Double', 'Bool', 'ComplexDouble')[kind]} vs {found.word}"
        )

    def part(t: Tensor) -> Value:
        if not t.rank:
            return _item(ev, t)
        if t.shape[0].op != "const":
            if t is x and t.rank == 1:
                return list_of_tensor(ev, t)
            ev.b.cannot("tolist of a size that is not known")
        size = int(str(t.shape[0].value))
        return ev.new_list([part(ev.b.call("aten::select", t, 0, k)) for k in range(size)])

    return part(x)


def _unwrapped(ev: Evaluator, x: Value) -> Value:
    if x is None:
        ev.b.error("Unwrapping null optional")
    return x


def _num_to_tensor(ev: Evaluator, x: Value) -> Value:
    return ev.b.call("aten::tensor", x)


_ABSENT = (
    "meta", "mtia", "ipu", "vulkan", "mps", "mkldnn", "sparse",
    "sparse_csr", "xpu", "xla",
)  # fmt: skip
"""What no tensor of a compiled program ever is."""

_NEVER = "inference", "distributed", "pinned"
"""What no tensor of a compiled program is, by the operators that ask."""


def _record(ev: Evaluator, *_: Value) -> Value:
    """What a profiler would be told by; there is none, so it holds nothing."""
    assert ev.op is not None
    found = ev.op.results[0].type
    assert isinstance(found, ClassType)
    made = ObjectRef(found.class_name.data)
    ev.b.heap[made] = {}
    return made


PROPERTIES: Rows = {
    "aten::size": lambda ev, x, *d: ev.boxed(ev.b.call("tg::size", x, *d)),
    "aten::sym_size": lambda ev, x, *d: ev.boxed(ev.b.call("tg::size", x, *d)),
    "prim::shape": _shape,
    "prim::dtype": _dtype_code,
    "prim::is_quantized": lambda ev, x: isinstance(x, QuantizedTensor),
    "prim::device": lambda ev, x: Device(ev.rows.home),
    "aten::device": _device,
    "prim::layout": lambda ev, x: 0,
    "prim::requires_grad": lambda ev, x: x.storage in ev.requiring_grad,
    "prim::type": lambda ev, x: x.text.partition(":")[0],
    "prim::is_cpu": lambda ev, x: ev.rows.home == "cpu",
    "prim::is_cuda": lambda ev, x: ev.rows.home != "cpu",
    **{f"prim::is_{kind}": lambda ev, x: False for kind in _ABSENT},
    "prim::is_sparse": lambda ev, x: isinstance(x, SparseTensor),
    "prim::is_nested": lambda ev, x: isinstance(x, NestedTensor),
    "prim::data": lambda ev, x: x,
    "prim::unchecked_unwrap_optional": _unwrapped,
    "aten::_unwrap_optional": _unwrapped,
    "aten::is_floating_point": _is_category("is_floating_point"),
    "aten::is_complex": _is_category("is_complex"),
    "aten::is_signed": lambda ev, x: x.dtype is not bool_ and x.dtype.signed,
    "aten::element_size": lambda ev, x: x.dtype.itemsize,
    "prim::itemsize": lambda ev, x: x.dtype.itemsize,
    "prim::nbytes": lambda ev, x: ev.boxed(ev.b.call("aten::numel", x) * x.dtype.itemsize),
    "prim::index": lambda ev, x: None,
    "prim::grad": lambda ev, x: None,
    **{f"aten::is_{kind}": lambda ev, x, *_: False for kind in _NEVER},
    "aten::get_device": lambda ev, x: int(ev.rows.home.partition(":")[2] or -1),
    "prim::NumToTensor": _num_to_tensor,
    "prim::tolist": _to_list,
    "prim::EnumName": lambda ev, x: x.member,
    "prim::EnumValue": lambda ev, x: enum_member(ev, x),
    "aten::wait": _wait,
    "prim::awaitable_wait": awaited,
    "prim::awaitable_nowait": there,
    "aten::is_autocast_enabled": lambda ev: ev.autocast.gpu,
    "aten::is_autocast_cpu_enabled": lambda ev: ev.autocast.cpu,
    "profiler::_record_function_enter_new": _record,
    "profiler::_record_function_enter": lambda ev, *_: ev.b.call("aten::zeros", [1]),
    "profiler::_record_function_exit": lambda ev, *_: None,
    "aten::item": _item,
    "aten::_local_scalar_dense": _item,
    "aten::Int": _converted("aten::Int", int64),
    "aten::Int.Tensor": _whole("int64_t", 64),
    "aten::Int.Scalar": _whole("int", 32),
    "aten::__is__": _is,
    "aten::__isnot__": lambda ev, x, y: ev.scalar_rows["aten::__not__"](ev.b, _is(ev, x, y)),
    "aten::IntImplicit": _implicit(_implicit_int),
    "aten::Float": _converted("aten::Float", float64),
    "aten::FloatImplicit": _implicit(_converted("aten::Float", float64)),
    "aten::Bool": _converted("aten::Bool", bool_),
    "aten::ScalarImplicit": _implicit(_item),
}

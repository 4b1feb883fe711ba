"""Tensors of a complex dtype: operators that are asked for one, or are given complex numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import BY_CODE, real_dtype
from tensorscript.base.schema import schema
from tensorscript.dialects.te.expr import Expr

from .builder import Builder, Rows
from .complex_programs import random_numbers
from .complex_tensors import AnyTensor, complex_full, converted, copied, filled
from .dims import dtype_of, sizes_of
from .values import ComplexTensor, Tensor, Value

Maker = Callable[[Builder, str, Sequence[Value], int], Value]
"""Takes an operator, its arguments, and which of them is the complex dtype that it asks for."""


def asked_place(name: str, arguments: Sequence[Value]) -> int | None:
    """The argument by which an operator asks for a complex dtype, or a sum of complex numbers for
    a real one."""
    is_sum = name.partition(".")[0] in _SUMS and isinstance(arguments[0], ComplexTensor)
    codes = BY_CODE.keys() if is_sum else _CODES
    if not any(type(a) is int and a in codes for a in arguments):
        return None
    for at, (formal, given) in enumerate(zip(schema(name).arguments, arguments, strict=False)):
        if formal.name == "dtype" and type(given) is int and given in codes:
            return at
    return None


_CODES = frozenset(code for code, dtype in BY_CODE.items() if dtype.is_complex)
_SUMS = frozenset(f"aten::{n}" for n in ("sum", "mean", "cumsum", "prod", "cumprod", "nansum"))


def _real_first(b: Builder, name: str, arguments: Sequence[Value], at: int) -> AnyTensor:
    """The same operator asked for the parts' dtype; the imaginary part is 0."""
    dtype = BY_CODE[arguments[at]]
    given = [v.real if isinstance(v, ComplexTensor) else v for v in arguments]
    given[at] = real_dtype(dtype).code
    return converted(b, b.call(name, *given), dtype)


def _operand_first(b: Builder, name: str, arguments: Sequence[Value], at: int) -> Value:
    """The operand converted, and the operator on that."""
    dtype = BY_CODE[arguments[at]]
    given = [converted(b, arguments[0], dtype), *arguments[1:]]
    if dtype.is_complex:
        given[at] = None
    return b.call(name, *given)


def _direct(b: Builder, name: str, arguments: Sequence[Value], at: int) -> Value:
    row = COMPLEX_CREATION.get(name) or COMPLEX_CREATION[name.partition(".")[0]]
    return row(b, *arguments)


def _drawn(name: str) -> Maker:
    """`rand` and `randn`, of a shape or of that of a tensor."""

    def make(b: Builder, _: str, arguments: Sequence[Value], at: int) -> Value:
        first = arguments[0]
        size = list(first.shape) if isinstance(first, Tensor | ComplexTensor) else first
        return random_numbers(b, name, size, BY_CODE[arguments[at]])

    return make


MAKERS: dict[str, Maker] = {
    **{
        f"aten::{name}": _real_first
        for name in (
            "zeros", "ones", "empty", "eye", "arange", "linspace", "logspace", "zeros_like",
            "ones_like", "empty_like", "new_zeros", "new_ones", "new_empty", "new_empty_strided",
            "empty_strided",
        )
    },
    **dict.fromkeys(("aten::to", "aten::_to_copy", *_SUMS), _operand_first),
    **{
        f"aten::{name}": _direct
        for name in ("full", "full_like", "new_full", "tensor", "as_tensor", "scalar_tensor")
    },
    **{
        f"aten::{name}": _drawn(name.removesuffix("_like"))
        for name in ("rand", "randn", "rand_like", "randn_like")
    },
    "aten::linalg_vector_norm": _operand_first,
    "aten::view": lambda b, name, arguments, at: b.apply(name, *arguments),
}  # fmt: skip


def _full(b: Builder, size: Value, value: Value, dtype: Value = None, *_: Value) -> Value:
    kind = dtype_of(dtype, b.result_type(value))
    return complex_full(b, sizes_of(b, size), value, kind)


def _full_like(b: Builder, x: AnyTensor, value: Value, dtype: Value = None, *_: Value) -> Value:
    return filled(b, x.shape, value, dtype_of(dtype, x.dtype))


def _new_full(
    b: Builder, x: AnyTensor, size: Value, value: Value, dtype: Value = None, *_: Value
) -> Value:
    return filled(b, sizes_of(b, size), value, dtype_of(dtype, x.dtype))


def _flat(value: Value) -> list[Value]:
    return [v for part in value for v in _flat(part)] if isinstance(value, list) else [value]


def _tensor(b: Builder, data: Value, dtype: Value = None, *_: Value) -> Value:
    """torch.tensor of complex numbers."""
    if isinstance(data, Tensor | ComplexTensor):
        return copied(b, converted(b, data, dtype_of(dtype, data.dtype)))
    kind = dtype_of(dtype, b.result_type(*_flat(data)))

    def side(value: Value, name: str) -> Value:
        if isinstance(value, list):
            return [side(v, name) for v in value]
        if isinstance(value, Expr):
            return value if name == "real" else 0.0
        return float(getattr(value, name))

    code = real_dtype(kind).code
    return ComplexTensor(*(b.call("aten::tensor", side(data, n), code) for n in ("real", "imag")))


def _like(name: str) -> Callable[..., Value]:
    """zeros_like and its kind, of a complex tensor."""

    def row(b: Builder, x: ComplexTensor, *rest: Value) -> Value:
        made = b.call(name, x.real, *rest)
        asked = [r for r in rest if type(r) is int]
        return made if asked else converted(b, made, x.dtype)

    return row


COMPLEX_CREATION: Rows = {
    "aten::full": _full,
    "aten::full_like": _full_like,
    "aten::new_full": _new_full,
    "aten::tensor": _tensor,
    "aten::as_tensor": _tensor,
    "aten::scalar_tensor": _tensor,
    **{
        f"aten::{name}": _like(f"aten::{name}")
        for name in (
            "zeros_like",
            "ones_like",
            "empty_like",
            "new_zeros",
            "new_ones",
            "new_empty",
            "new_empty_strided",
        )
    },
}
"""Rows of which an operand is complex."""

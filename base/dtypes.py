"""The dtype table (one row a dtype, one column a spelling) and PyTorch's type promotion.

Promotion follows PyTorch: categories bool < integer < float < complex; within the highest category
tensors with dimensions outrank 0-dim tensors, which outrank Python scalars.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import numpy as np

from .errors import OperatorError
from .records import dataclass


class Category(IntEnum):
    BOOL = 0
    INTEGRAL = 1
    FLOATING = 2
    COMPLEX = 3


@dataclass(frozen=True, eq=False)
class DType:
    """One element type. Compared by identity: there is one object per dtype. It equals PyTorch's
    dtype of that name, too.

    Attributes:
        name: PyTorch's name without the prefix (`float32`).
        short: our name in specs and IR (`f32`).
        code: TorchScript's integer (`aten::to(x, 6)`).
        word: the scalar-type word of TorchScript graphs and storages (`Float`).
        numpy: the NumPy dtype of the storage; bfloat16 is stored as its bits in uint16.
        itemsize: bytes per element.
        llvm, ptx, c: spelling in those languages ("" where it has none; of a complex dtype in C
            that of its parts).
    """

    name: str
    short: str
    code: int
    word: str
    category: Category
    numpy: np.dtype
    itemsize: int
    llvm: str
    ptx: str
    c: str
    signed: bool = True

    @property
    def is_floating_point(self) -> bool:
        return self.category is Category.FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category is Category.COMPLEX

    @property
    def is_integral(self) -> bool:
        """True for integers, not for bool."""
        return self.category is Category.INTEGRAL

    @property
    def bits(self) -> int:
        return self.itemsize * 8

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __eq__(self, other: object) -> bool:
        """Also of PyTorch's dtype of that name, which its modules compare with."""
        if self is other:
            return True
        return type(other).__module__ == "torch" and repr(self) == repr(other)

    __hash__ = object.__hash__

    @property
    def is_signed(self) -> bool:
        return self.signed

    def to_real(self) -> DType:
        """The dtype of the parts of a complex number; a real dtype is its own."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> DType:
        """The dtype of complex numbers whose parts are of this dtype.

        Raises:
            OperatorError: there is none.
        """
        if self.is_complex:
            return self
        pairs = {"float32": complex64, "float64": complex128}
        if self.name not in pairs:
            raise OperatorError(f"Unknown Complex ScalarType for {self.word}")
        return pairs[self.name]

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _named, (self.name,)


def _named(name: str) -> DType:
    return BY_NAME.get(name) or NAMED.get(name) or next(d for d in QUANTIZED if d.name == name)


def check_held(dtype: DType) -> None:
    """Refuse a dtype that no tensor has.

    Raises:
        OperatorError: it has only a name here.
    """
    if dtype.name in NAMED:
        raise OperatorError(f"tensors of {dtype} are not supported")


_B, _I, _F, _C = Category
_row = DType
# fmt: off
uint8 = _row("uint8", "u8", 0, "Byte", _I, np.dtype("u1"), 1, "i8", "u8", "uint8_t", False)
int8 = _row("int8", "i8", 1, "Char", _I, np.dtype("i1"), 1, "i8", "s8", "int8_t")
int16 = _row("int16", "i16", 2, "Short", _I, np.dtype("i2"), 2, "i16", "s16", "int16_t")
int32 = _row("int32", "i32", 3, "Int", _I, np.dtype("i4"), 4, "i32", "s32", "int32_t")
int64 = _row("int64", "i64", 4, "Long", _I, np.dtype("i8"), 8, "i64", "s64", "int64_t")
float16 = _row("float16", "f16", 5, "Half", _F, np.dtype("f2"), 2, "half", "f16", "uint16_t")
float32 = _row("float32", "f32", 6, "Float", _F, np.dtype("f4"), 4, "float", "f32", "float")
float64 = _row("float64", "f64", 7, "Double", _F, np.dtype("f8"), 8, "double", "f64", "double")
complex64 = _row("complex64", "c64", 9, "ComplexFloat", _C, np.dtype("c8"), 8, "", "", "float")
complex128 = _row(
    "complex128", "c128", 10, "ComplexDouble", _C, np.dtype("c16"), 16, "", "", "double"
)
bool_ = _row("bool", "b1", 11, "Bool", _B, np.dtype("?"), 1, "i8", "u8", "uint8_t", False)
bfloat16 = _row(
    "bfloat16", "bf16", 15, "BFloat16", _F, np.dtype("u2"), 2, "bfloat", "bf16", "uint16_t"
)
uint16 = _row("uint16", "u16", 27, "UInt16", _I, np.dtype("u2"), 2, "i16", "u16", "uint16_t", False)
uint32 = _row("uint32", "u32", 28, "UInt32", _I, np.dtype("u4"), 4, "i32", "u32", "uint32_t", False)
uint64 = _row("uint64", "u64", 29, "UInt64", _I, np.dtype("u8"), 8, "i64", "u64", "uint64_t", False)

qint8 = _row("qint8", "qi8", 12, "QInt8", _I, np.dtype("i1"), 1, "", "", "")
quint8 = _row("quint8", "qu8", 13, "QUInt8", _I, np.dtype("u1"), 1, "", "", "", False)
qint32 = _row("qint32", "qi32", 14, "QInt32", _I, np.dtype("i4"), 4, "", "", "")

DTYPES: tuple[DType, ...] = (
    uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128, bool_,
    bfloat16, uint16, uint32, uint64,
)  # fmt: skip
BY_NAME = {d.name: d for d in DTYPES} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
    "long": int64, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
_NAMED: tuple[tuple[str, int, str, Category, int], ...] = (
    ("complex32", 8, "ComplexHalf", _C, 4),
    ("float8_e5m2", 23, "Float8_e5m2", _F, 1),
    ("float8_e4m3fn", 24, "Float8_e4m3fn", _F, 1),
    ("float8_e5m2fnuz", 25, "Float8_e5m2fnuz", _F, 1),
    ("float8_e4m3fnuz", 26, "Float8_e4m3fnuz", _F, 1),
    ("float8_e8m0fnu", 44, "Float8_e8m0fnu", _F, 1),
)
NAMED: dict[str, DType] = {
    name: _row(name, name, code, word, category, np.dtype(f"V{size}"), size, "", "", "",
               name != "float8_e8m0fnu")
    for name, code, word, category, size in _NAMED
}  # fmt: skip
NAMED["chalf"] = NAMED["complex32"]
"""Dtypes that programs name, to compare with or to ask the limits of; no tensor has one."""
BY_SHORT = {d.short: d for d in DTYPES}
BY_CODE = {d.code: d for d in DTYPES}
BY_WORD = {d.word: d for d in DTYPES}
QUANTIZED: dict[DType, DType] = {qint8: int8, quint8: uint8, qint32: int32}
"""Dtypes of quantized numbers, and those of the integers that stand for them. No others but the
operators of quantization know them, so they are not in `DTYPES`."""
CAST_WORDS = ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
"""The dtypes that have an operator of their own: `aten::_cast_Byte`."""
BY_NUMPY = {d.numpy: d for d in DTYPES if d is not bfloat16}


def real_dtype(dtype: DType) -> DType:
    """The dtype of the parts and of the absolute value."""
    return {complex64: float32, complex128: float64, NAMED["complex32"]: float16}.get(dtype, dtype)


def complex_dtype(dtype: DType) -> DType:
    """The dtype of complex numbers whose parts are of `dtype`, or promote to it."""
    return {float64: complex128, complex128: complex128}.get(dtype, complex64)


_OF_PYTHON: dict[object, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def of_python(kind: object) -> DType | None:
    """The dtype that a Python type of numbers names (`dtype=float` is float64), or None."""
    return _OF_PYTHON.get(kind) if isinstance(kind, type) else None


def from_numpy(dtype: np.dtype) -> DType:
    """The DType stored as `dtype` (native byte order).

    Raises:
        TypeError: no tensor dtype corresponds (datetime, object, ...).
    """
    if found := BY_NUMPY.get(np.dtype(dtype).newbyteorder("=")):
        return found
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{np.dtype(dtype).type.__name__}. The only "
        "supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
        "int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


def numbers(stored: np.ndarray, dtype: DType) -> np.ndarray:
    """The numbers that storage elements are: the storage itself, or float32 for bfloat16 bits."""
    if dtype is not bfloat16:
        return stored
    return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)


WIDE_UNSIGNED = frozenset((uint16, uint32, uint64))
"""Dtypes that PyTorch has for storage first of all: they meet no other integers, and few operators
compute in them (`operand_dtypes`)."""
_SIGNED_ORDER = (int8, int16, int32, int64)
_FLOAT_ORDER = (float16, float32, float64)


def minus_one(dtype: DType) -> int:
    """-1 as an element of `dtype` compares: the greatest number where there is no sign."""
    unsigned = dtype is uint8 or dtype in WIDE_UNSIGNED
    return 2**dtype.bits - 1 if unsigned else -1


def promote_types(a: DType, b: DType) -> DType:
    """PyTorch's `torch.promote_types`: the smallest dtype that both convert to.

    Raises:
        OperatorError: one of the wide unsigned integers meets another dtype than a real float.
    """
    if a is b:
        return a
    check_held(a)
    check_held(b)
    if WIDE_UNSIGNED & {a, b} and Category.FLOATING not in (a.category, b.category):
        raise OperatorError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{a.word} and {b.word}"
        )
    if a.category < b.category:
        a, b = b, a
    if a.category is Category.COMPLEX:
        wide = complex128 in (a, b) or b is float64
        return complex128 if wide else complex64
    if a.category is not b.category:
        return a
    if a.category is Category.FLOATING:
        if bfloat16 in (a, b):
            other = b if a is bfloat16 else a
            return float32 if other is float16 else other
        return max(a, b, key=_FLOAT_ORDER.index)
    if uint8 in (a, b):
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return max(a, b, key=_SIGNED_ORDER.index)


def scalar_dtype(value: object, default_float: DType = float32) -> DType:
    """The dtype a Python number takes part in promotion with.

    Raises:
        TypeError: `value` is not a number.
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return default_float
    if isinstance(value, complex):
        return complex64 if default_float is not float64 else complex128
    raise TypeError(f"not a number: {value!r}")


def result_type(
    dimensioned: Iterable[DType] = (),
    zero_dim: Iterable[DType] = (),
    scalars: Iterable[DType] = (),
) -> DType:
    """PyTorch's `torch.result_type` over three priorities of operands.

    A group of lower priority changes the result only if its category is higher than that of all
    groups before it (`int8 tensor + 1.5` is float32, `float16 tensor + float64 0-dim` is float16);
    a floating-point result that becomes complex keeps its precision.
    """
    result: DType | None = None
    for group in (dimensioned, zero_dim, scalars):
        best: DType | None = None
        for d in group:
            best = d if best is None else promote_types(best, d)
        if best is None:
            continue
        if result is None:
            result = best
        elif best.category > result.category:
            if result.is_floating_point:
                result = complex_dtype(result)
            else:
                result = promote_types(result, best) if result is bool_ else best
    if result is None:
        raise TypeError("result_type needs at least one operand")
    return result

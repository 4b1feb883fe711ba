"""How C++ spells an element type: some of PyTorch's messages show it instead of the dtype."""

from __future__ import annotations

from .dtypes import DType

_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
}


def cpp_name(dtype: DType) -> str:
    """The name of the C++ type (`long int` for int64); PyTorch's own name for one of no table."""
    return _NAMES.get(dtype.name, dtype.name)


_LEGACY = frozenset(("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"))


def legacy_name(dtype: DType) -> str:
    """`torch.FloatTensor`; PyTorch shows an inner name for dtypes that are younger than those."""
    return f"torch.{dtype.word}Tensor" if dtype.word in _LEGACY else f"CPU{dtype.word}Type"

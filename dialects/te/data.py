"""Constant data (weights) as an attribute that never copies it.

Text: `hex"..."` of the little-endian bytes while the data is small, else `blob"<sha256>"`, a
reference into the dump's side file (`compiler/stages.py` writes and resolves it).
"""

from __future__ import annotations

import hashlib
from typing import ClassVar

import numpy as np
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

INLINE_LIMIT = 4096
"""Bytes up to which data is written into the text."""


class ConstantData:
    """The elements of a constant: `array` in the dtype's storage type, row-major contiguous.

    `array` is None for data read from a text whose side file is not at hand. Identity is equality:
    weights are never compared element by element.
    """

    __slots__ = ("_digest", "array")

    def __init__(self, array: np.ndarray | None, digest: str = "") -> None:
        self.array = None if array is None else np.ascontiguousarray(array)
        self._digest = digest

    @property
    def digest(self) -> str:
        """sha256 of the bytes."""
        if not self._digest and self.array is not None:
            # A memoryview of no elements cannot be cast.
            data = self.array.data.cast("B") if self.array.size else b""
            self._digest = hashlib.sha256(data).hexdigest()
        return self._digest


@irdl_attr_definition
class DataAttr(Data[ConstantData]):
    """The data of a constant buffer; its text has the elements if they are few, else their hash."""

    name = "te.data"

    INLINE: ClassVar[int] = INLINE_LIMIT

    @classmethod
    def of(cls, array: np.ndarray) -> DataAttr:
        return cls(ConstantData(array))

    def text(self) -> str:
        array = self.data.array
        if array is None or array.nbytes > self.INLINE:
            return f'blob"{self.data.digest}"'
        kind = array.dtype.newbyteorder("<").str
        shape = ",".join(map(str, array.shape))
        return f'hex"{kind}({shape}){array.astype(kind).tobytes().hex()}"'

    @classmethod
    def from_text(cls, text: str) -> DataAttr:
        """Inverse of `text`; a blob comes back without its array.

        Raises:
            ValueError: malformed text.
        """
        word, _, rest = text.rstrip('"').partition('"')
        if word == "blob":
            return cls(ConstantData(None, rest))
        if word != "hex" or "(" not in rest:
            raise ValueError(f"not constant data: {text[:40]}")
        kind, _, tail = rest.partition("(")
        sizes, _, data = tail.partition(")")
        shape = tuple(int(s) for s in sizes.split(",") if s)
        array = np.frombuffer(bytes.fromhex(data), np.dtype(kind)).reshape(shape)
        return cls(ConstantData(array.astype(array.dtype.newbyteorder("="))))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConstantData:
        with parser.in_angle_brackets():
            return cls.from_text(parser.parse_str_literal()).data

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.text())

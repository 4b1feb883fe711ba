"""String operators. TorchScript's strings are C++'s: bytes of UTF-8, so lengths, places and slices
count bytes, and only ASCII letters have case.

A script string is a Python str here. An operator on text that is not ASCII runs on its bytes; a
piece of a character comes back as surrogate escapes, which join to the character again.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import DimensionError, OperatorError

Kernel = Callable[..., Any]
_BREAK: dict[type, re.Pattern[Any]] = {
    str: re.compile(r"([\n\r\v\f\x1c\x1d\x1e])"),
    bytes: re.compile(rb"([\n\r\v\f\x1c\x1d\x1e])"),
}
"""What ends a line."""


LONGEST_FLOAT = 512
"""So many bytes, less one, the running program takes for a float at most."""


def float_text(x: float) -> str:
    """A float as TorchScript shows it: `1.`, `0.10000000000000001`, `1e+20`, `inf`, `nan`.

    A whole number that an integer of 64 bits holds is shown as one, so that the sign of a zero is
    lost.
    """
    if not math.isfinite(x):
        return str(x)
    if x.is_integer() and -(2.0**63) <= x < 2.0**63:
        return f"{int(x)}."
    return f"{x:.17g}"


def float_digits(x: float, form: int) -> str:
    """`float_text`, or for the code of `e`, `E` or `f` the text of C's `printf`."""
    return f"%{chr(form)}" % x if form else float_text(x)


def conversion_of(letter: str) -> str:
    """The conversion of C's `printf` that one of TorchScript's for floats is."""
    return "f" if letter == "F" else letter


def single_text(x: float, letter: str) -> str:
    """`%e` and the like of a float, which TorchScript rounds to float32."""
    return f"%{conversion_of(letter)}" % float(np.float32(x))


def complex_text(x: complex) -> str:
    """A complex number as TorchScript shows it: `1.+2.j`."""
    sign = "+" if x.imag >= 0 else "-"
    return f"{float_text(x.real)}{sign}{float_text(abs(x.imag))}j"


_INTEGER = re.compile(r"\s*[+-]?\d+", re.ASCII)


def integer_of(text: str) -> int:
    """The integer that a text is; white space may stand before it only.

    Raises:
        ValueError: it is none, or none of 64 bits; the former it says as TorchScript does.
    """
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"invalid literal for int() with base 10: {text!r}")
    if not -(2**63) <= (found := int(text)) < 2**63:
        raise ValueError(f"integer out of range: {text!r}")
    return found


def float_of(text: str) -> float:
    """The number that a text is; white space may stand before it only.

    Raises:
        ValueError: it is none; says so as TorchScript does.
    """
    if text != text.rstrip() or "_" in text:
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)


def float_in(codes: Sequence[int]) -> float | None:
    """The number that a text is, given by its bytes; None if it is none."""
    try:
        return float_of(bytes(codes).decode("ascii"))
    except (ValueError, UnicodeDecodeError):
        return None


def place_of(codes: Sequence[int], part: Sequence[int], start: int, step: int) -> int:
    """The first of the places `start`, `start + step`, ... at which a part stands; -1 for none."""
    last = len(codes) - len(part)
    places = range(start, last + 1 if step > 0 else -1, step)
    fits = (k for k in places if 0 <= k <= last and list(codes[k : k + len(part)]) == list(part))
    return next(fits, -1)


def write_text(codes: Sequence[int], stream: int) -> None:
    """Write bytes to the standard output (1) or error (2)."""
    target = sys.stdout if stream == 1 else sys.stderr
    target.write(decoded(bytes(codes)))


def encoded(x: Any) -> Any:
    """Every string in `x` as UTF-8."""
    if isinstance(x, str):
        return x.encode("utf-8", "surrogateescape")
    return [encoded(v) for v in x] if isinstance(x, list) else x


def decoded(x: Any) -> Any:
    if isinstance(x, bytes):
        return x.decode("utf-8", "surrogateescape")
    return type(x)(map(decoded, x)) if isinstance(x, (list, tuple)) else x


def _is_ascii(x: Any) -> bool:
    if isinstance(x, list):
        return all(map(_is_ascii, x))
    return not isinstance(x, str) or x.isascii()


def by_bytes(fn: Kernel) -> Kernel:
    """`fn`, which takes str or bytes alike, on bytes where a character is not ASCII."""

    def run(*operands: Any) -> Any:
        if all(map(_is_ascii, operands)):
            return fn(*operands)
        return decoded(fn(*map(encoded, operands)))

    return run


def item(text: Any, index: int) -> Any:
    at = index + len(text) if index < 0 else index
    if not 0 <= at < len(text):
        raise DimensionError("string index out of range")
    return text[at : at + 1]


def nonzero_slice(start: int | None, end: int | None, step: int) -> slice:
    """A slice of a list, a string or a tuple."""
    if step == 0:
        raise OperatorError("List slice should have non-zero step")
    return slice(start, end, step)


def sliced(text: Any, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return text[nonzero_slice(start, end, step)]


NO_PIECE = "basic_string::substr: __pos > this->size()"
"""What is said of a search that begins behind a text."""


def _bounds(start: int, end: int, size: int) -> tuple[int, int]:
    """What negative bounds of a search mean; as an end, -1 is that of the text."""
    return (
        max(0, size + start) if start < 0 else start,
        max(0, size + end + 1) if end < 0 else end,
    )


def _piece(text: Any, start: int, end: int) -> Any:
    """C++'s `substr`, for which a negative length is one without bounds."""
    if start > len(text):
        raise OperatorError(NO_PIECE)
    return text[start : end if end >= start else None]


def _place(is_last: bool) -> Kernel:
    """`find` or `rfind`: in bounds that hold nothing, an empty part stands at the first."""

    def run(text: Any, part: Any, start: int = 0, end: int = -1) -> int:
        start, end = _bounds(start, end, len(text))
        inner = _piece(text, start, end) if end > start else text[:0]
        found: int = inner.rfind(part) if is_last else inner.find(part)
        return found if found < 0 else found + start

    return run


def _index(is_last: bool) -> Kernel:
    place = _place(is_last)

    def run(text: Any, part: Any, start: int = 0, end: int = -1) -> int:
        found: int = place(text, part, start, end)
        if found < 0:
            raise OperatorError("ValueError: substring not found")
        return found

    return run


def count(text: Any, part: Any, start: int = 0, end: int = -1) -> int:
    """How many begin in the bounds. Of empty ones TorchScript counts for ever."""
    start, end = _bounds(start, end, len(text))
    if start >= end:
        return 0
    found: int = text.count(part, start, end - 1 + max(1, len(part)))
    return found


def _has_end(method: str) -> Kernel:
    """`startswith` or `endswith`."""

    def run(text: Any, part: Any, start: int = 0, end: int = -1) -> Any:
        return getattr(_piece(text, *_bounds(start, end, len(text))), method)(part)

    return run


def partition(text: Any, separator: Any) -> Any:
    """Where Python refuses an empty separator, it stands before everything here."""
    return text.partition(separator) if separator else (separator, separator, text)


def rpartition(text: Any, separator: Any) -> Any:
    return text.rpartition(separator) if separator else (text, separator, separator)


def split(text: Any, separator: Any = None, limit: int = -1) -> Any:
    """The limit is one for a separator that is given."""
    if separator is not None and not separator:
        raise OperatorError("ValueError: empty separator")
    return text.split(separator, -1 if separator is None else limit)


def split_lines(text: Any, keepends: bool = False) -> Any:
    """TorchScript takes every line break by itself: between `\\r` and `\\n` is an empty line, and a
    kept break is a piece of its own."""
    pieces = _BREAK[type(text)].split(text)
    taken = pieces if keepends else pieces[::2]
    return taken if taken[-1] else taken[:-1]


def zero_filled(text: Any, width: int) -> Any:
    """Zeros go in front of a sign, unlike in Python."""
    return text.rjust(width, "0" if isinstance(text, str) else b"0")


def code(text: Any) -> int:
    if len(text) != 1:
        raise OperatorError(f"String for ord() must be 1 character, found {len(text)}")
    return ord(text)


def character(number: int) -> Any:
    """A string of one byte; what does not fit in it is cut off."""
    if not 0 <= number < 0x110000:
        raise OperatorError(f"chr() arg not in range(0x110000), found {number}")
    return decoded(bytes([number & 255]))


def characters(text: Any) -> Any:
    return [text[k : k + 1] for k in range(len(text))]


def _padded(method: str) -> Kernel:
    """`center`, `ljust` or `rjust`."""

    def run(text: Any, width: int, fill: Any) -> Any:
        if len(fill) != 1:
            raise OperatorError("TypeError: The fill character must be exactly one character long")
        return getattr(text, method)(width, fill)

    return run


def expanded(text: Any, size: int = 8) -> Any:
    """Columns are counted from the beginning of the text: a new line does not begin anew."""
    tab, blank = ("\t", " ") if isinstance(text, str) else (b"\t", b" ")
    first, *rest = text.split(tab)
    for part in rest:
        first += blank * (size - len(first) % size if size > 0 else 0) + part
    return first


def is_identifier(text: str) -> bool:
    """As Python 2 would tell if it had no underscores: ASCII letters and digits."""
    return text.isascii() and text.isalnum() and not text[0].isdigit()


_BY_METHOD = (
    "upper", "lower", "swapcase", "title", "capitalize", "isupper", "islower", "isdigit",
    "isspace", "isalnum", "isalpha", "istitle",
)  # fmt: skip


def _method(name: str) -> Kernel:
    return by_bytes(lambda text: getattr(text, name)())


_TABLE: dict[str, Kernel] = {
    "len.str": len,
    "__getitem__.str": item,
    "slice.str": sliced,
    "list": characters,
    "add.str": lambda a, b: a + b,
    "join": lambda text, values: text.join(values),
    "split.str": split,
    "rsplit": lambda text, separator, limit=-1: text.rsplit(separator, limit),
    "splitlines": split_lines,
    "replace": lambda text, old, new, limit=-1: text.replace(old, new, limit),
    "strip": lambda text, chars: text.strip(chars),
    "lstrip": lambda text, chars: text.lstrip(chars),
    "rstrip": lambda text, chars: text.rstrip(chars),
    "find": _place(False),
    "rfind": _place(True),
    "index.str": _index(False),
    "rindex": _index(True),
    "count": count,
    "startswith": _has_end("startswith"),
    "endswith": _has_end("endswith"),
    "center": _padded("center"),
    "ljust": _padded("ljust"),
    "rjust": _padded("rjust"),
    "zfill": zero_filled,
    "expandtabs": expanded,
    "isdecimal": lambda text: text.isdigit(),
    "isnumeric": lambda text: text.isdigit(),
    "isprintable": lambda text: isinstance(text, str) and text.isprintable(),
    "partition": partition,
    "rpartition": rpartition,
    "ord": code,
}


KERNELS: dict[str, Kernel] = {
    **{f"aten::{name}": by_bytes(fn) for name, fn in _TABLE.items()},
    **{f"aten::{name}": _method(name) for name in _BY_METHOD},
    "prim::StringIndex": by_bytes(item),
    "aten::chr": character,
    "aten::isidentifier": is_identifier,
}

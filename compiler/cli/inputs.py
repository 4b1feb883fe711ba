"""What `--input` may say: arrays, numbers, and specs of arrays that are not at hand.

`x.npy` is that array; `1x3x224x224:f32` is a spec, whose array is made of seeded random numbers
where one is needed; `int`, `float` and `bool` are numbers given at each call; anything else is a
Python literal: `27`, `0.5`, `True`, `[1, 2]`, `(1, 2)`, `None`, `"text"`. Lists and tuples may hold
inputs of every kind: `[x.npy, 4x8:f32]`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tensorscript.base.errors import UserError
from tensorscript.dialects.te.buffers import split_commas

from ..specs import parse_spec


def parse_input(text: str) -> Any:
    """The array, number or spec that one `--input` spells.

    Raises:
        UserError: no such form, or an unreadable file.
    """
    if text in ("int", "float", "bool") or (text.endswith(".npy") and text[0] not in "[("):
        return parse_spec(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    if text[:1] + text[-1:] in ("[]", "()"):
        parts = [parse_input(part.strip()) for part in split_commas(text[1:-1])]
        return parts if text[0] == "[" else tuple(parts)
    return parse_spec(text)


def parse_sizes(texts: Sequence[str]) -> dict[str, int]:
    """`N=128` as a size by name.

    Raises:
        UserError: not of that form.
    """
    sizes = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name.isidentifier() or not number.isdigit():
            raise UserError(f"cannot read the size {text!r}: expected N=128")
        sizes[name] = int(number)
    return sizes

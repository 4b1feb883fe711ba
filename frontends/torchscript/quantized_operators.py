"""The operators and classes of PyTorch's quantized models, written in the language itself.

An archive calls `ops.quantized.linear(x, packed, scale, zero_point)`, which PyTorch has in C++, and
holds objects of `torch.classes.quantized.LinearPackedParamsBase`. Here both are TorchScript text
(`quantized_operators.txt`) over operators that ordinary programs have: products are of integers
held as float32 (exact up to 2^24), and what is quantized again is rounded to nearest even. So the
interpreter runs them and the compiler compiles them, and neither knows them by name.

Source of the arithmetic: D. Khudia et al., "FBGEMM: Enabling High-Performance Low-Precision Deep
Learning Inference", 2021; of the choice of a grid for numbers that are seen only at run time:
PyTorch's `quant_utils.h`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tensorscript.frontends.script.text import Found, TextLibrary

_FILE = "quantized_operators.txt"
_HEADING = "## "


@cache
def _definitions() -> dict[str, Found]:
    """The text's definitions by qualified name; a heading names what those below it lie in."""
    out: dict[str, Found] = {}
    text = Path(__file__).with_name(_FILE).read_text()
    for section in text.split(f"\n{_HEADING}")[1:]:
        module, _, body = section.partition("\n")
        name = f"{module.rpartition('.')[2]}.py"
        out |= TextLibrary.parse(body, f"__torch__.{module}", name).definitions
    return out


def find(qualified_name: str) -> Found | None:
    """The text of a class or an operator of quantized models."""
    return _definitions().get(qualified_name)


@cache
def overloads(qualified_name: str) -> tuple[str, ...]:
    """The definitions `f__overload` of an operator `f` that has several, in their order."""
    return tuple(name for name in _definitions() if name.startswith(f"{qualified_name}__"))

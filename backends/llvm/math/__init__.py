"""Vector math as LLVM text: own polynomials, measured in docs/math.md."""

from .library import NAMES, MathFunction, closure, closure_parts, definition, symbol

__all__ = ["NAMES", "MathFunction", "closure", "closure_parts", "definition", "symbol"]

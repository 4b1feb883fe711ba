"""The math library: one row a function, text on demand for a dtype and a number of lanes.

`definition("exp", "f32", 16)` is the LLVM text of `@ts_exp_v16f32`; `closure` gives every needed
function once. The formulas use only arithmetic, comparisons, bit casts and the intrinsics that
every target allows, so a GPU thread (one lane) computes what a CPU lane does. Where the target has
instructions for them, one scales by a power of two, which gives the same bits, and others take
numbers from tables in registers: roots of two, logarithms, polynomials about centres
(`registers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from tensorscript.backends.target import Target
from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass

from . import exponential, hyperbolic, inverse, logarithm, power, rounding, trigonometric
from .builder import Builder, Value
from .error_function import erf, erfc, gelu
from .inverse_error_function import erfinv

Unary = Callable[[Builder, Value], Value]
Binary = Callable[[Builder, Value, Value], Value]
Key = tuple[str, str, int]

UNARY: dict[str, Unary] = {
    "exp": exponential.exp,
    "decay": exponential.decay,
    "decay2": exponential.decay2,
    "exp2": exponential.exp2,
    "expm1": hyperbolic.expm1,
    "sigmoid": exponential.sigmoid,
    "tanh": hyperbolic.tanh,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "erf": erf,
    "erfc": erfc,
    "erfinv": erfinv,
    "gelu": gelu,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": inverse.asin,
    "acos": inverse.acos,
    "atan": inverse.atan,
    "sqrt": rounding.sqrt,
    "rsqrt": rounding.rsqrt,
    "floor": rounding.floor,
    "ceil": rounding.ceil,
    "trunc": rounding.trunc,
    "round": rounding.round_half_even,
}
BINARY: dict[str, Binary] = {
    "pow": power.pow,
    "atan2": inverse.atan2,
    "fmod": rounding.fmod,
    "remainder": rounding.remainder,
}
NAMES = frozenset(UNARY) | frozenset(BINARY)


@dataclass(frozen=True)
class MathFunction:
    """One function's text.

    Attributes:
        name: the symbol without "@".
        text: its definition, `internal` and `alwaysinline` unless it has loops.
        depends: library functions that it calls.
        declarations: intrinsics and shared globals, each line once in a module.
    """

    name: str
    text: str
    depends: tuple[Key, ...]
    declarations: tuple[str, ...]


def symbol(fn: str, dtype: str, lanes: int) -> str:
    """The symbol of a library function: `ts_exp_v16f32`, `ts_exp_f32` for one lane."""
    return f"ts_{fn}_{dtype}" if lanes == 1 else f"ts_{fn}_v{lanes}{dtype}"


@lru_cache(maxsize=1024)
def _definition(fn: str, dtype: str, lanes: int, scale_bits: int) -> MathFunction:
    if fn not in NAMES or dtype not in ("f32", "f64"):
        raise InternalError(f"no math function {fn!r} for {dtype}", stage="llvm")
    b = Builder(dtype, lanes, scale_bits=scale_bits)
    arity = 2 if fn in BINARY else 1
    operands = [Value(b, f"%{letter}", "f") for letter in "xy"[:arity]]
    result = BINARY[fn](b, *operands) if arity == 2 else UNARY[fn](b, *operands)
    name, ty = symbol(fn, dtype, lanes), b.type_of("f")
    parameters = ", ".join(f"{ty} {v.name}" for v in operands)
    inline = "" if b.has_loops else "alwaysinline "
    text = "\n".join(
        (
            f"define internal {ty} @{name}({parameters}) {inline}nounwind {{",
            "entry:",
            *b.lines,
            f"  ret {ty} {result.name}",
            "}",
        )
    )
    return MathFunction(name, text, tuple(b.depends), tuple(b.declarations))


def definition(fn: str, dtype: str, lanes: int, target: Target | None = None) -> MathFunction:
    """The text of one function; results do not depend on the number of lanes.

    Args:
        fn: a name in `NAMES`.
        dtype: "f32" or "f64".
        lanes: elements a call takes; 1 gives a scalar function.

    Raises:
        InternalError: no such function, or several lanes for PTX.
    """
    if target is not None and target.is_ptx and lanes != 1:
        raise InternalError(f"{lanes} lanes of {fn!r} on a GPU thread", stage="llvm")
    return _definition(fn, dtype, lanes, 0 if target is None else target.scale_bits)


def closure(needed: Iterable[Key], target: Target | None = None) -> str:
    """Every function of `needed` and all that they call, each once, with the declarations.

    Raises:
        InternalError: a function is unknown.
    """
    declarations, texts = closure_parts(needed, target)
    return "\n".join((*declarations, *texts)) + "\n"


def closure_parts(
    needed: Iterable[Key], target: Target | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`closure` as (declaration lines, definitions), for a caller that merges declarations."""
    pending, seen = list(dict.fromkeys(needed)), dict[Key, MathFunction]()
    while pending:
        key = pending.pop()
        if key not in seen:
            seen[key] = definition(*key, target)
            pending.extend(seen[key].depends)
    declarations: dict[str, None] = {}
    for function in seen.values():
        declarations.update(dict.fromkeys(function.declarations))
    return tuple(declarations), tuple(function.text for function in seen.values())

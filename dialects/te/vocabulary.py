"""The names of the operations and functions of `te` expressions."""

from __future__ import annotations

ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&",
    "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip
COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}
NAMED_BINARY = ("min", "max", "greater", "pow", "truncdiv", "truncmod")
"""`min` and `max` give NaN where one operand is. `greater(a, b)` is a where a > b, else b: one
instruction of x86, which leaves NaN out as a reduction, for whoever sees it in another way."""
UNARY_MATH = (
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "erf",
    "erfc",
    "erfinv",
    "lgamma",
    "digamma",
)
"""Elementary and special functions of one number."""
MATH_FUNCTIONS = frozenset(
    [
        *UNARY_MATH,
        "decay",
        "decay2",
        "gelu",
        "floor",
        "ceil",
        "trunc",
        "round",
        "abs",
        "atan2",
        "hypot",
        "copysign",
        "nextafter",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
        "fma",
        "muladd",
    ]
)
"""Names `call` may have; all take and give one float dtype but the `is*` tests, which give bool.
`decay(x)` is e^x and `decay2(x)` 2^x where x is no more than 0; the latter is 0 where it would be
subnormal. `fma(a, b, c)` is a * b + c rounded once; `muladd` is rounded once or twice, whichever is
faster: plain sums and products are rounded as a program that has both sees them."""

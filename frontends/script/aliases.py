"""Operators that are other names of operators: TorchScript writes the first name in graphs.

A call is matched with the signature of the name that the program uses.
"""

from __future__ import annotations

_NAMES = {
    "absolute": "abs", "adjoint": "mH", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp",
    "concat": "cat", "concatenate": "cat", "det": "linalg_det", "divide": "div", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "inverse": "linalg_inv", "less": "lt",
    "less_equal": "le", "matrix_exp": "linalg_matrix_exp", "matrix_power": "linalg_matrix_power",
    "moveaxis": "movedim", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "orgqr": "linalg_householder_product", "row_stack": "vstack", "subtract": "sub",
    "swapaxes": "transpose", "swapdims": "transpose", "true_divide": "div",
}  # fmt: skip
_SPECIAL = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac",
    "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "log_softmax": "log_softmax",
    "logit": "logit", "logsumexp": "logsumexp", "multigammaln": "mvlgamma",
    "polygamma": "polygamma", "psi": "digamma", "round": "round", "sinc": "sinc",
    "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip
"""Functions of `torch.special`."""
_IN_PLACE = (
    "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "clip",
    "divide", "fix", "greater", "greater_equal", "less", "less_equal", "multiply", "negative",
    "not_equal", "subtract", "swapaxes", "swapdims", "true_divide",
)  # fmt: skip
"""Those of them whose in-place forms are other names, too."""

ALIASES: dict[str, str] = {
    **{f"aten::{alias}": f"aten::{name}" for alias, name in _NAMES.items()},
    **{f"aten::special_{alias}": f"aten::{name}" for alias, name in _SPECIAL.items()},
    **{f"aten::{alias}_": f"aten::{_NAMES[alias]}_" for alias in _IN_PLACE},
    "aten::linalg_matmul": "aten::matmul",
}
"""Operator to the operator that it is another name of."""

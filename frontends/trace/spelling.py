"""How PyTorch records a call: with which overload and which arguments.

A trace shows an operator as PyTorch's Python binding hands it on. Numbers beside tensors in plain
arithmetic are 0-dim tensors there; creation functions name their device; convolutions are one
operator of all their parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import DType, bool_, complex128, float64, int64, promote_types
from tensorscript.base.records import dataclass
from tensorscript.base.schema import Schema, has_operator, overloads, schema
from tensorscript.eager.device import CPU, strided
from tensorscript.eager.dispatch import has_kernel
from tensorscript.eager.storage import TensorBase

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class WrappedNumber:
    """A Python number where a tensor stands: a 0-dim tensor that does not raise the dtype.

    Attributes:
        number: the number.
        shown: the dtype that graphs print, the widest of its category.
        dtype: the dtype it is kept in, so that the operator promotes as with the number.
    """

    number: bool | int | float | complex
    shown: DType
    dtype: DType


_WIDEST: dict[type, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def wrapped_number(number: Any, dtype: DType) -> WrappedNumber | None:
    """A number that is computed with in `dtype`; None if it is no plain number of Python."""
    shown = _WIDEST.get(type(number))
    return None if shown is None else WrappedNumber(number, shown, dtype)


_TENSOR_ONLY = frozenset({
    "add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_", "floor_divide", "floor_divide_",
    "subtract", "subtract_", "multiply", "multiply_", "divide", "divide_", "true_divide",
    "true_divide_",
})  # fmt: skip
"""Operators that take a number as a tensor."""
_INTEGER_BY_DEFAULT = frozenset({"randint", "randperm"})
_LIKE = ("_like", "new_")


def spelled(found: Schema, arguments: Arguments, result: Any) -> tuple[Schema, Arguments]:
    """The overload and the arguments that a trace shows for a call."""
    if (respell := _RESPELLED.get(found.base_name)) is not None:
        found, arguments = respell(found, arguments)
    if found.base_name in _TENSOR_ONLY:
        return _with_tensor(found, arguments, result)
    return found, _with_options(found, arguments)


def _with_tensor(found: Schema, arguments: Arguments, result: Any) -> tuple[Schema, Arguments]:
    """`add(x, 1)` as `add(x, tensor(1))`."""
    kinds = [str(a.type) for a in found.arguments[:2]]
    if "Scalar" not in kinds or not isinstance(result, TensorBase):
        return found, arguments
    at = kinds.index("Scalar")
    tensor = arguments[1 - at]
    if not isinstance(tensor, TensorBase) or type(arguments[at]) not in _WIDEST:
        return found, arguments
    target = _tensor_overload(found)
    if target is None:
        return found, arguments
    number = arguments[at]
    shown = _WIDEST[type(number)]
    wrapped = WrappedNumber(number, shown, _kept(tensor, shown, result.dtype))
    return target, (*arguments[:at], wrapped, *arguments[at + 1 :])


def _kept(tensor: TensorBase, shown: DType, result: DType) -> DType:
    """The dtype of a number beside `tensor` that makes the dtype of the result what it is: the
    widest, unless a tensor of that dtype would raise the result's."""
    if tensor._array.ndim and shown.category <= tensor.dtype.category:
        return shown
    together = promote_types(tensor.dtype, shown)
    is_quotient = together.is_integral and result.is_floating_point
    return shown if together is result or is_quotient else result


def _tensor_overload(found: Schema) -> Schema | None:
    """The overload that has a tensor for every number of `found`'s first two arguments."""
    wanted = [a.name for a in found.arguments]
    for other in overloads(found.name):
        kinds = [a.type.kind for a in other.arguments[:2]]
        if [a.name for a in other.arguments] == wanted and kinds == ["Tensor", "Tensor"]:
            return other
    return None


def _with_options(found: Schema, arguments: Arguments) -> Arguments:
    """The options of a creation function as the binding fills them in; a layout that is a number
    says that the call is an operator's own, not a program's."""
    at = {a.name: i for i, a in enumerate(found.arguments)}
    if not {"dtype", "layout", "device", "pin_memory"} <= at.keys():
        return arguments
    if isinstance(arguments[at["layout"]], int):
        return arguments
    out = list(arguments)
    if out[at["pin_memory"]] is None and found.base_name != "to":
        out[at["pin_memory"]] = False
    name = found.base_name
    is_like = name.endswith(_LIKE[0]) or name.startswith(_LIKE[1]) or name == "to"
    if out[at["device"]] is None and not is_like:
        out[at["device"]] = CPU
    if out[at["dtype"]] is None and name in _INTEGER_BY_DEFAULT:
        out[at["dtype"]] = int64
    return tuple(out)


def _convolution(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
    given = dict(zip((a.name for a in found.arguments), arguments, strict=True))
    given["groups"] = int(given["groups"])  # PyTorch forgets which tensor said it
    size = int(found.base_name[-2])
    if isinstance(given["padding"], str):
        names = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
        kept = tuple(_spread(given[n], size) for n in names)
        return schema("aten::_convolution_mode"), kept
    transposed = "transpose" in found.base_name
    extra = given.get("output_padding", [0] * size)
    return schema("aten::_convolution"), (
        given["input"], given["weight"], given["bias"], _spread(given["stride"], size),
        _spread(given["padding"], size), _spread(given["dilation"], size), transposed,
        _spread(extra, size), given["groups"], False, False, True, True,
    )  # fmt: skip


def _to(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
    """`x.to(other)` as `x.to(other.device, other.dtype)`; what `x.to(device)` and
    `x.to(memory_format=...)` leave open is what the tensor is."""
    if found.overload == "prim_Device" and arguments[2] is None:
        tensor, where, _, *rest = arguments
        found, arguments = schema("aten::to.dtype_layout"), (tensor, *(None,) * 4, *rest, None)
    if found.overload == "dtype_layout":
        tensor, dtype, layout, where, *rest = arguments
        return found, (tensor, dtype or tensor.dtype, layout or strided, where or CPU, *rest)
    if found.overload != "other":
        return found, arguments
    tensor, other, *rest = arguments
    return schema("aten::to.device"), (tensor, CPU, other.dtype, *rest)


def _rsub(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
    """`rsub(x, y)` of tensors as `sub(y, x)`."""
    if found.overload != "Tensor":
        return found, arguments
    x, y, alpha = arguments
    return schema("aten::sub.Tensor"), (y, x, alpha)


def _conj(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
    return schema("aten::_conj"), arguments


def _resampling(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
    """The overload that takes scales as a list."""
    if found.overload == "vec" or not has_overload(f"{found.name}.vec"):
        return found, arguments
    target = schema(f"{found.name}.vec")
    fixed = len(target.arguments) - 1
    scales = [s for s in arguments[fixed:] if s is not None]
    return target, (*arguments[:fixed], scales or None)


def has_overload(full_name: str) -> bool:
    return any(o.full_name == full_name for o in overloads(full_name.partition(".")[0]))


def _spread(value: Any, size: int) -> Any:
    return value * size if isinstance(value, list) and len(value) == 1 else value


def _alias(name: str) -> Callable[[Schema, Arguments], tuple[Schema, Arguments]]:
    """The same arguments of the operator that `name` is."""

    def respell(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
        kinds = [str(a.type) for a in found.arguments]
        for other in overloads(f"aten::{name}") if has_operator(f"aten::{name}") else ():
            if [str(a.type) for a in other.arguments] == kinds:
                return other, arguments
        return found, arguments

    return respell


def _no_grad_fill(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
    return schema("aten::fill_.Scalar"), arguments


_ALIASES = {
    "_no_grad_normal_": "normal_", "_no_grad_uniform_": "uniform_", "_no_grad_zero_": "zero_",
    "absolute": "abs", "absolute_": "abs_", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp",
    "clip_": "clamp_", "concat": "cat", "concatenate": "cat", "det": "linalg_det", "divide": "div",
    "divide_": "div_", "fix": "trunc", "fix_": "trunc_", "ger": "outer", "greater": "gt",
    "greater_": "gt_", "greater_equal": "ge", "greater_equal_": "ge_", "inverse": "linalg_inv",
    "less": "lt", "less_": "lt_", "less_equal": "le", "less_equal_": "le_",
    "linalg_matmul": "matmul", "matrix_exp": "linalg_matrix_exp",
    "matrix_power": "linalg_matrix_power", "moveaxis": "movedim",
    "multiply": "mul", "multiply_": "mul_", "negative": "neg", "negative_": "neg_",
    "not_equal": "ne", "not_equal_": "ne_", "orgqr": "linalg_householder_product",
    "row_stack": "vstack", "special_digamma": "digamma", "special_erf": "erf",
    "special_erfc": "erfc", "special_erfinv": "erfinv", "special_exp2": "exp2",
    "special_expit": "sigmoid", "special_expm1": "expm1", "special_gammainc": "igamma",
    "special_gammaincc": "igammac", "special_gammaln": "lgamma", "special_i0": "i0",
    "special_log1p": "log1p", "special_log_softmax": "log_softmax", "special_logit": "logit",
    "special_logsumexp": "logsumexp", "special_multigammaln": "mvlgamma",
    "special_polygamma": "polygamma", "special_psi": "digamma", "special_round": "round",
    "special_sinc": "sinc", "special_softmax": "softmax", "special_xlogy": "xlogy",
    "subtract": "sub", "subtract_": "sub_", "swapaxes": "transpose", "swapaxes_": "transpose_",
    "swapdims": "transpose", "swapdims_": "transpose_", "true_divide": "div",
    "true_divide_": "div_",
}  # fmt: skip
"""Second names of operators: traces show the first."""


def out_of_place(found: Schema) -> Schema:
    """The overload that makes a new tensor of what an in-place one writes; itself if none does."""
    name = found.name.removesuffix("_")
    twin = found.full_name.replace(found.name, name, 1)
    known = has_operator(name) and any(s.full_name == twin for s in overloads(name))
    return schema(twin) if known and has_kernel(twin) else found


def copied(found: Schema, arguments: Arguments) -> tuple[Schema, Arguments]:
    """What stands for `target.copy_(source)` where nothing is written; a source of another dtype
    is converted, which PyTorch forgets."""
    target, source = arguments[:2]
    if source.dtype is not target.dtype:
        return out_of_place(found), arguments
    return schema("aten::expand_as"), (source, target)


_RESPELLED: dict[str, Callable[[Schema, Arguments], tuple[Schema, Arguments]]] = {
    **{f"conv{n}d": _convolution for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _convolution for n in (1, 2, 3)},
    "to": _to,
    "rsub": _rsub,
    "conj": _conj,
    "_no_grad_fill_": _no_grad_fill,
    **{
        f"{name}{exact}": _resampling
        for name in ("upsample_nearest", "_upsample_nearest_exact")
        for exact in ("1d", "2d", "3d")
    },
    **{
        name: _resampling
        for name in (
            "upsample_linear1d",
            "upsample_bilinear2d",
            "upsample_trilinear3d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
            "_upsample_bicubic2d_aa",
            "_upsample_lanczos2d_aa",
        )
    },
    **{second: _alias(first) for second, first in _ALIASES.items()},
}

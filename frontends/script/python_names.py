"""Names of live Python that belong to the language: which operator or form an object of `torch`,
`math` or `builtins` is, and which constant.

Functions of `torch` and `tensorscript` are recognised by the names of their modules.
"""

from __future__ import annotations

import enum
import inspect
import math
import re
import types
from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import BY_NAME, DType
from tensorscript.base.errors import CompileError
from tensorscript.base.schema import has_operator
from tensorscript.dialects.ts.constants import (
    Device,
    DictLiteral,
    EnumRef,
    ListLiteral,
    TensorLiteral,
)
from tensorscript.eager.answering import behind
from tensorscript.eager.foreign import converted, is_foreign_tensor
from tensorscript.eager.packets import Packet
from tensorscript.eager.storage import TensorBase, shown

from .callables import Builtin, Form, Repeat
from .calls import BUILTINS
from .signature import constant_type
from .values import Sugared
from .written_out import Assertion, ListWithDefault

TORCH_ROOTS = frozenset({"torch", "tensorscript"})
_OWN_FUNCTIONS = ("tensorscript.eager.namespace", "tensorscript.eager.nn.functional")
"""Modules of operators' faces: their functions are never compiled from their Python."""
_LIMITS = "tensorscript.eager.limits"
"""`finfo` and `iinfo`: classes in PyTorch, which scripts take for operators that do not exist."""
_INIT = "tensorscript.eager.nn.init"
_CLASS_HOMES = {
    **dict.fromkeys(("RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"), "rnn"),
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"), "instancenorm"),
    **dict.fromkeys(("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"), "upsampling"),
    **dict.fromkeys(("PixelShuffle", "PixelUnshuffle"), "pixelshuffle"),
    **dict.fromkeys(("Fold", "Unfold"), "fold"),
    **dict.fromkeys(("ParameterList", "ParameterDict"), "container"),
    **dict.fromkeys(
        (
            "CosineEmbeddingLoss",
            "HingeEmbeddingLoss",
            "LinearCrossEntropyLoss",
            "MarginRankingLoss",
            "MultiLabelMarginLoss",
            "MultiMarginLoss",
            "TripletMarginLoss",
            "TripletMarginWithDistanceLoss",
        ),
        "loss",
    ),
    "ChannelShuffle": "channelshuffle",
    "MultiheadAttention": "activation",
}
"""The files of `torch.nn.modules` that hold what our files of other names hold."""
_PUBLIC_HOMES = (
    (_INIT, "torch.nn.init"),
    ("tensorscript.eager.nn.functions.", "torch.nn.functional"),
    ("tensorscript.eager.nn.layers.", "torch.nn.modules."),
    ("tensorscript.eager.nn.packing", "torch.nn.utils.rnn"),
    ("tensorscript.eager.nn.parametrize", "torch.nn.utils.parametrize"),
    ("tensorscript.eager.nn.", "torch.nn.modules."),
)
"""Where PyTorch keeps what we keep elsewhere: names in archives and graphs are the same."""
_WRITTEN = "tensorscript.eager.nn.functions."
"""Modules written in the language: their functions are compiled, whatever operators are called."""
_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "sparse": "_sparse_", "special": "special_"}
_FORMS = {
    "annotate": "annotate", "is_scripting": "is_scripting", "is_tracing": "is_tracing",
    "_get_tracing_state": "is_tracing",
    "fork": "fork", "_fork": "fork",
    "awaitable": "awaitable", "_awaitable": "awaitable", "_unwrap_optional": "unwrap_optional",
    "unwrap_optional": "unwrap_optional",
    "_isinstance": "isinstance",
    "isinstance": "isinstance", "isinstance_of": "isinstance",
    "has_torch_function": "has_torch_function",
    "has_torch_function_unary": "has_torch_function",
    "has_torch_function_variadic": "has_torch_function",
    "_has_torch_function": "has_torch_function",
    "_has_torch_function_unary": "has_torch_function",
    "_has_torch_function_variadic": "has_torch_function",
}  # fmt: skip
_WRITTEN_OUT: dict[str, Sugared] = {
    "_list_with_default": ListWithDefault(), "_assert": Assertion(), "Size": Builtin("aten::Size"),
}  # fmt: skip
_RENAMED = {
    "wait": "aten::wait",
    "_wait": "aten::wait",
    "awaitable_wait": "prim::awaitable_wait",
    "_awaitable_wait": "prim::awaitable_wait",
    "awaitable_nowait": "prim::awaitable_nowait",
    "_awaitable_nowait": "prim::awaitable_nowait",
    "_segment_reduce": "aten::segment_reduce",
}
_REPEATS = {"_single": 1, "_pair": 2, "_triple": 3, "_quadruple": 4}
MATH_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}
_MATH_NAMES = {"remainder": "aten::mathremainder", "phase": "aten::angle", "rect": "aten::polar"}
_NOT_MATH = frozenset(
    {
        "trunc",
        "hypot",
        "log2",
        "prod",
        "isclose",
        "sumprod",
        "cbrt",
        "exp2",
        "dist",
        "lcm",
        "nextafter",
        "polar",
    }
)
"""Functions of `math` whose names are operators of tensors only."""


_UNSPEAKABLE = re.compile(r"[^\w.]|(?<=\.)(?=\d)", re.ASCII)
"""What is in no dotted name of identifiers; between a dot and a digit there has to be a letter."""


def qualified_name(thing: Callable[..., object] | type) -> str:
    """`__torch__.pkg.name`; `__main__` is left out, and what no archive's code could name (of a
    module run from a file such as `03-model.py`) is an underscore."""
    module = thing.__module__ or "__main__"
    for ours, theirs in _PUBLIC_HOMES:
        if module.startswith(ours):
            last = _CLASS_HOMES.get(thing.__name__, module.removeprefix(ours).partition(".")[0])
            module = theirs + last * theirs.endswith(".")
            break
    prefix = "__torch__" if module == "__main__" else f"__torch__.{module}"
    return _UNSPEAKABLE.sub("_", f"{prefix}.{thing.__name__}")


def python_constant(value: object) -> object:
    """A Python default or attribute as a constant of the dialect.

    Raises:
        TypeError: it is not one.
    """
    kind = type(value)
    if isinstance(value, DType):
        return value.code
    if kind.__module__.partition(".")[0] in TORCH_ROOTS:
        if kind.__name__ == "dtype":
            return BY_NAME[str(value).rpartition(".")[2]].code
        if kind.__name__ in ("device", "Device"):
            return Device(str(value))
        if kind.__name__ in ("layout", "memory_format", "Layout", "MemoryFormat"):
            return _ENUM_WORDS[str(value).rpartition(".")[2]]
    if isinstance(value, enum.Enum):
        return EnumRef(qualified_name(kind), value.name)
    if isinstance(value, tuple):
        return tuple(map(python_constant, value))
    constant_type(value)
    return value


def default_value(value: object) -> object:
    """A Python default as a constant of the dialect; only a default may be a tensor.

    Raises:
        TypeError: it is not one.
    """
    if isinstance(value, TensorBase) or is_foreign_tensor(value):
        tensor = converted(value)
        return TensorLiteral(shown(tensor), tensor.dtype, tensor.requires_grad)
    return python_constant(value)


def field_default(value: object) -> object:
    """The default of a NamedTuple's field as a constant of the dialect.

    Raises:
        CompileError: it holds a tensor.
        TypeError: it is not one.
    """
    if isinstance(value, TensorBase) or is_foreign_tensor(value):
        raise CompileError(
            "Tensors are not supported as default NamedTuple fields. Their mutability could lead "
            "to potential memory aliasing problems"
        )
    if isinstance(value, list):
        return ListLiteral(tuple(map(field_default, value)))
    if isinstance(value, dict):
        return DictLiteral(tuple((field_default(k), field_default(v)) for k, v in value.items()))
    return python_constant(value)


def is_plain_data(value: object) -> bool:
    """Data that a script takes only from where it is a constant: a module, a class, an argument."""
    if isinstance(value, bool | DType):
        return True
    kind = type(value)
    is_torch = kind.__module__.partition(".")[0] in TORCH_ROOTS
    return is_torch and kind.__name__ in _DATA


_DATA = frozenset({"dtype", "device", "layout", "memory_format", "Layout", "MemoryFormat"})
_ENUM_WORDS = {
    "strided": 0, "sparse_coo": 1, "sparse_csr": 2, "contiguous_format": 0, "preserve_format": 1,
    "channels_last": 2, "channels_last_3d": 3,
}  # fmt: skip


def find_operator(value: object, module: str, name: str) -> Sugared | None:
    """Functions of torch, math and builtins that are part of the language."""
    home = module or getattr(value, "__module__", None) or ""
    sought, name = name, getattr(value, "__name__", name)
    if not callable(value):
        return None
    owner = getattr(value, "__self__", None)
    if not home and isinstance(value, types.BuiltinFunctionType) and owner is not None:
        home = getattr(owner, "__module__", "") or getattr(owner, "__name__", "")
    root, _, rest = home.partition(".")
    if home == "builtins" and name in BUILTINS:
        return BUILTINS[name]
    if home in ("math", "cmath"):
        operator = _MATH_NAMES.get(name, f"aten::{name}")
        known = has_operator(operator) and name not in _NOT_MATH
        return Builtin(operator) if known else None
    if home == "warnings" and name == "warn":
        return Builtin("aten::warn")
    if root not in TORCH_ROOTS:
        return None
    if home_of(value).startswith(_WRITTEN):
        return _written_form(name)
    if home_of(value) in (_INIT, "torch.nn.init") and not name.startswith("_no_grad_"):
        return None  # `init.uniform_` is not the operator of that name
    if root == "tensorscript":
        # Our public functions may have inner names: the name they were found by counts.
        names = (sought, name) if module else (name, sought)
        found = next((f for n in names if n and (f := _torch_operator(value, rest, n))), None)
        if found is None and (home.startswith(_OWN_FUNCTIONS) or home_of(value) == _LIMITS):
            return Builtin(f"aten::{sought}")
        return found
    return _torch_operator(value, rest, name)


def operator_packet(value: object) -> Builtin | None:
    """`torch.ops.aten.relu`, ours or PyTorch's."""
    if isinstance(value, Packet):
        return Builtin(value.name)
    if type(value).__name__ == "OpOverloadPacket":
        return Builtin(str(vars(value)["_qualified_op_name"]))
    return None


def _written_form(name: str) -> Sugared | None:
    """What the few helpers mean that are no functions of the language."""
    if name == "annotate":
        return Form("annotate")
    return _WRITTEN_OUT.get(name)


def _torch_operator(value: object, module: str, name: str) -> Sugared | None:
    if name in _FORMS:
        return Form(_FORMS[name])
    if name in _WRITTEN_OUT:
        return _WRITTEN_OUT[name]
    if name in _REPEATS and module.endswith(("utils", "tuples")):
        return Repeat(_REPEATS[name])
    if name in _RENAMED:
        return Builtin(_RENAMED[name])
    last = module.rpartition(".")[2]
    if name.startswith("_no_grad_") and has_operator(f"aten::{name}"):
        return Builtin(f"aten::{name}")
    # PyTorch's own functions bear their prefix: `torch.fft.rfft` is named fft_rfft.
    prefix = _PREFIXES.get(last, "")
    operator = f"aten::{name}" if name.startswith(prefix) else f"aten::{prefix}{name}"
    if not has_operator(operator):
        operator = f"aten::{prefix}{name}"
    is_python = isinstance(value, types.FunctionType) and value.__module__.startswith("torch.")
    if last in ("functional", "parallel", "rnn") and is_python and "nn" in module:
        return None
    return Builtin(operator) if has_operator(operator) else None


def modifier_of(fn: Callable[..., object]) -> str:
    """`ignore`, `unused`, `export` or nothing: how a function was decorated."""
    return str(getattr(fn, "_torchscript_modifier", "")).partition(" ")[0]


def is_variadic(fn: Callable[..., object]) -> bool:
    """Whether a function takes `*args`."""
    kinds = (p.kind for p in inspect.signature(fn).parameters.values())
    return inspect.Parameter.VAR_POSITIONAL in kinds


def prepared(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function to compile for `fn`: what its `__prepare_scriptable__` gives; of ours that ask
    their arguments, what they are of tensors."""
    hook = getattr(fn, "__prepare_scriptable__", None)
    found: Callable[..., Any] = behind(fn) if hook is None else hook()
    return found


def home_of(value: object) -> str:
    return getattr(value, "__module__", None) or ""

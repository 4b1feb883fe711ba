"""Functions of torch whose calls are written out where they stand.

`torch._assert(c, "m")` is an assert statement, `torch.LongTensor([1])` a call of `torch.tensor`,
and a callable that is no Python function (`type`, `set`, a `functools.partial`) stays Python's: it
takes and gives tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.dtypes import BY_NAME
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.types import BOOL, INT, STRING, TENSOR, ListType, TupleType

from .callables import PYTHON_TYPE, PythonCall
from .function import FunctionEmitter
from .program import Program
from .schema_match import convert
from .signature import Formal, Signature
from .values import Args, Kwargs, Nothing, Simple, Sugared

_ASSERTIONS = tuple(
    Signature("aten::_assert", (Formal("condition", type), Formal("message", STRING)), ())
    for type in (TENSOR, BOOL)
)
_LEGACY = {
    "BoolTensor": "bool", "ByteTensor": "uint8", "CharTensor": "int8", "DoubleTensor": "float64",
    "FloatTensor": "float32", "HalfTensor": "float16", "IntTensor": "int32",
    "LongTensor": "int64", "ShortTensor": "int16",
}  # fmt: skip


class ListWithDefault(Sugared):
    """`_list_with_default(sizes, defaults)`: in script the sizes are always complete."""

    kind = "builtin"

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # live code is only ever emitted by FunctionEmitter
        sizes = convert(em, args[0], ListType(INT), True, span)
        lengths = [em.length(args[1], span), em.length(sizes, span)]
        longer = em.builtin("aten::gt", lengths, span)
        em.check(longer, em.constant("", span), span)
        return Simple(sizes)


class Assertion(Sugared):
    """`torch._assert(condition, message)`."""

    kind = "builtin"

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # as above
        _, matched = em.matched(_ASSERTIONS, args, kwargs, span)
        condition, message = matched.inputs
        em.check(em.to_bool(condition, span), message, span)
        return Nothing()


_LEGACY_SCHEMAS = (
    "Legacy Tensor Constructor only supports two schemas in TorchScript: \n"
    "'new(IntArrayRef size, *, Device? device=None)',\n"
    "'new(PyObject* data, *, Device? device=None)\n'"
)


@dataclass
class LegacyTensor(Sugared):
    """`torch.LongTensor`: called with sizes, or with data.

    Attributes:
        code: of the dtype.
    """

    kind = "LegacyTypedConstructor"
    code: int

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # as above
        if kwargs:
            raise em.error(f"{_LEGACY_SCHEMAS}Got kwarg {next(iter(kwargs))}", span)
        dtype = {"dtype": em.integer(self.code)}
        if args and all(v.type == INT for v in args):
            sizes = em.make_list(INT, args, span)
            return Simple(em.builtin("aten::empty", [sizes], span, dtype))
        if len(args) > 1:
            words = "Got multiple positional arguments that were not all integers"
            raise em.error(f"{_LEGACY_SCHEMAS}{words}", span)
        data = args[0] if args else em.make_list(INT, [], span)
        if isinstance(data.type, TupleType):
            parts = em.unpack_tuple(data, span)
            data = em.make_list(parts[0].type, parts, span)
        return Simple(em.builtin("aten::tensor", [data], span, dtype))


def legacy_tensor(name: str) -> LegacyTensor | None:
    """What a class `torch.FloatTensor` means; None for other names."""
    return LegacyTensor(BY_NAME[_LEGACY[name]].code) if name in _LEGACY else None


@dataclass
class PythonValue(Sugared):
    """A callable that cannot be compiled; what is not annotated in its signature is a tensor.

    Attributes:
        type_of: the type that an annotation means; None where annotations say nothing.
    """

    kind = "python value"
    program: Program
    target: Callable[..., object]
    name: str
    type_of: Callable[[object], Attribute] | None = None

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # as above
        signature = self._signature(len(args) + len(kwargs))
        self.program.python_functions[self.name] = self.target
        return PythonCall(self.name, signature).call(em, span, args, kwargs)

    def _signature(self, count: int) -> Signature:
        """The signature for `count` arguments: `*args` are as many as there are."""
        declared = self._annotated()
        if self.type_of is None or declared is None:
            formals = tuple(Formal(name, TENSOR) for name in self._names(count))
            return Signature(self.name, formals, (TENSOR,), ("0",))
        typed: list[Formal] = []
        for param in declared.parameters.values():
            found = Formal(param.name, _annotation(param.annotation, self.type_of))
            rest = count - len(typed) if param.kind is param.VAR_POSITIONAL else 1
            typed += [found] * rest
        result = _annotation(declared.return_annotation, self.type_of)
        return Signature(self.name, tuple(typed), (result,), ("0",))

    def _annotated(self) -> inspect.Signature | None:
        """The signature in Python, where it has annotations."""
        try:
            found = inspect.signature(self.target)
        except (TypeError, ValueError):  # builtins that tell none
            return None
        annotations = [found.return_annotation, *(p.annotation for p in found.parameters.values())]
        return found if any(a is not inspect.Parameter.empty for a in annotations) else None

    def _names(self, count: int) -> list[str]:
        """Names of the arguments: those of a `__call__` written in Python, else numbers."""
        call = inspect.getattr_static(type(self.target), "__call__", None)
        if inspect.isfunction(call):
            return inspect.getfullargspec(call).args
        return [str(at) for at in range(count)]


def _annotation(written: object, type_of: Callable[[object], Attribute]) -> Attribute:
    return TENSOR if written is inspect.Parameter.empty else type_of(written)


@dataclass
class AutogradFunction(Sugared):
    """A class with a gradient of its own: `apply` stays Python's, the rest is as of any class.

    Attributes:
        scripted: gives the class as scripts know it.
    """

    kind = PYTHON_TYPE
    program: Program
    cls: type[Any]
    scripted: Callable[[], Sugared]

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # as above
        if name == "apply":
            return PythonValue(self.program, self.cls.apply, self.cls.__name__)
        return self.scripted().attr(em, span, name)

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # as above
        return self.scripted().call(em, span, args, kwargs)


def is_autograd_function(cls: type) -> bool:
    """Whether a class is a `torch.autograd.Function`, of PyTorch or of ours."""
    homes = ("torch.autograd.function", "tensorscript.eager.autograd")
    return any(base.__name__ == "Function" and base.__module__ in homes for base in cls.__mro__)

"""Samples of PyTorch's operator database as programs: functions of a sample's tensors alone.

`closed` gives a Python function, which can be traced; `source` the text of a function that can be
scripted. The other arguments are constants of both. `THROUGH` names the ways to run one.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opinfo_samples import face
from pytorch_language import is_refused

import tensorscript as torch  # by the name that the texts use
from tensorscript.base.dtypes import DType
from tensorscript.base.errors import CompileError, FrontendError
from tensorscript.eager.device import Layout, MemoryFormat
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor

Program = Callable[..., Any]


class NoProgram(Exception):
    """A sample without tensors, or one that no script can say."""


def closed(run: Program, args: Any, kwargs: Any) -> tuple[Program, list[Any]]:
    """A function of the tensors among the arguments, and the tensors."""
    tensors: list[Tensor] = []

    def taken(value: Any) -> Callable[[tuple[Tensor, ...]], Any]:
        if isinstance(value, Tensor):
            tensors.append(value)
            at = len(tensors) - 1
            return lambda given: given[at]
        if isinstance(value, list | tuple):
            parts = [taken(v) for v in value]
            return lambda given: type(value)(part(given) for part in parts)
        if isinstance(value, dict):
            entries = {k: taken(v) for k, v in value.items()}
            return lambda given: {k: part(given) for k, part in entries.items()}
        return lambda given: value

    arguments, keywords = taken(args), taken(kwargs)

    def program(*given: Tensor) -> Any:
        return run(*arguments(given), **keywords(given))

    return program, tensors


# -- as text --------------------------------------------------------------------------------------
@dataclass
class _Text:
    """The formal arguments of a script and what they are bound to, gathered as they are met."""

    formals: list[str]
    values: list[Any]

    def of(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self._argument(value, "Tensor")
        if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
            return self._argument(list(value), "List[Tensor]")
        return _literal(value)

    def _argument(self, value: Any, kind: str) -> str:
        self.values.append(value)
        name = f"x{len(self.values) - 1}"
        self.formals.append(f"{name}: {kind}")
        return name


def _literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if isinstance(value, DType | MemoryFormat | Layout):
        return str(value)
    if isinstance(value, list | tuple):
        text = ", ".join(map(_literal, value))
        return f"[{text}]" if isinstance(value, list) else f"({text},)" if value else "[]"
    if value is None or isinstance(value, bool | int | float | complex | str):
        return repr(value)
    raise NoProgram(f"no literal for {type(value).__name__}")


def source(name: str, is_method: bool, args: Any, kwargs: Any) -> tuple[str, list[Any]]:
    """The text of `def program(x0: Tensor, ..)` that calls an operator by its name, and the
    arguments to call it with.

    Raises:
        NoProgram: an argument has no literal.
    """
    text = _Text([], [])
    parts = [text.of(v) for v in args]
    callee = f"{parts.pop(0)}.{name}" if is_method else f"torch.{name}"
    parts += [f"{k}={text.of(v)}" for k, v in kwargs.items()]
    formals = ", ".join(text.formals)
    return f"def program({formals}):\n    return {callee}({', '.join(parts)})\n", text.values


# -- ways to run ----------------------------------------------------------------------------------
def own(value: Any) -> Any:
    """Copies of the tensors in memory of their own."""
    if isinstance(value, Tensor):
        return Tensor(shown(value).copy(), value.dtype)
    return type(value)(map(own, value)) if isinstance(value, list | tuple) else value


def has_tensors(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(map(has_tensors, value))
    return isinstance(value, Tensor)


def traced(run: Program, args: Any, kwargs: Any) -> tuple[Program, list[Any]]:
    program, tensors = closed(run, args, kwargs)
    if not tensors or not has_tensors(program(*own(tensors))):
        raise NoProgram("no tensors in, or none out")
    return torch.jit.trace(program, tuple(own(tensors)), check_trace=False), tensors


def scripted(op: Any, form: str, args: Any, kwargs: Any) -> tuple[str, list[Any]]:
    """The text of an entry's call in one form, and its arguments.

    Raises:
        NoProgram: the entry is a Python function, or a form that has no text.
    """
    target = {"method": op.method_variant, "inplace": op.inplace_variant}.get(form, op.op)
    if isinstance(target, types.FunctionType) and "torch.testing" in target.__module__:
        raise NoProgram("the entry is a function of the database")
    of_class = type(op.op).__name__ in ("method_descriptor", "wrapper_descriptor")
    if form != "function" or of_class or getattr(op.op, "__module__", "") == "torch._tensor":
        return source(target.__name__, True, args, kwargs)
    return source(op.name.removeprefix("torch."), False, args, kwargs)


def unit(text: str) -> Program:
    """The function of a text, compiled.

    Raises:
        NoProgram: PyTorch refuses the text, too.
    """
    try:
        return torch.jit.CompilationUnit(text).program  # type: ignore[no-any-return]
    except (FrontendError, CompileError) as error:
        if is_refused(text):
            raise NoProgram("not in the language") from error
        raise


def through_trace(op: Any, form: str, args: Any, kwargs: Any) -> Any:
    """Traced with the arguments, and replayed with copies of them."""
    program, tensors = traced(face(op, form), args, kwargs)
    return program(*own(tensors))


def through_script(op: Any, form: str, args: Any, kwargs: Any) -> Any:
    text, values = scripted(op, form, args, kwargs)
    return unit(text)(*own(values))


def through_native_trace(op: Any, form: str, args: Any, kwargs: Any) -> Any:
    program, tensors = traced(face(op, form), args, kwargs)
    return torch.compile(program, fallback="error", cache=False)(*own(tensors))


def through_native(op: Any, form: str, args: Any, kwargs: Any) -> Any:
    text, values = scripted(op, form, args, kwargs)
    return torch.compile(unit(text), fallback="error", cache=False)(*own(values))


THROUGH: dict[str, Callable[[Any, str, Any, Any], Any]] = {
    "trace": through_trace,
    "script": through_script,
    "native": through_native,
    "native-trace": through_native_trace,
}

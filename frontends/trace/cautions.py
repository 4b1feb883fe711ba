"""What a tracer warns of, and what it refuses, in PyTorch's words."""

from __future__ import annotations

import warnings

from tensorscript.base.errors import GuardError
from tensorscript.base.tracer_warning import TracerWarning

from .places import asking_line


class TracingError(GuardError):
    """A program or an input that cannot be traced."""


_INCORRECT = "might cause the trace to be incorrect"
_LENGTHS = {
    "len": f"Using len to get tensor shape {_INCORRECT}. Recommended usage would be "
    "tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give "
    "incorrect results.",
    "iteration": f"Iterating over a tensor {_INCORRECT}. Passing a tensor of different shape won't "
    "change the number of iterations executed (and might lead to errors or silently give incorrect "
    "results).",
}


def conversion(kind: str) -> str:
    return (
        f"Converting a tensor to a {kind} {_INCORRECT}. We can't record the data flow of Python "
        "values, so this value will be treated as a constant in the future. This means that the "
        "trace might not generalize to other inputs!"
    )


def length(how: str) -> str:
    return _LENGTHS[how]


def new_constant(function: str) -> str:
    return (
        f"torch.{function} results are registered as constants in the trace. You can safely ignore "
        "this warning if you use this function to create tensors out of constant variables that "
        "would be the same every time you call this function. In any other case, this "
        f"{_INCORRECT}."
    )


def container(kind: str) -> str:
    return (
        f"Encountering a {kind} at the output of the tracer {_INCORRECT}, this is only valid if "
        "the container structure does not change based on the module's inputs. Consider using a "
        "constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a "
        "`NamedTuple` instead). If you absolutely need this and know the side effects, pass "
        "strict=False to trace() to allow this behavior."
    )


def resized(operator: str) -> str:
    return (
        f"{operator} can't be represented in the JIT at the moment, so we won't connect any uses "
        "of this value with its current trace. If you happen to use it again, it will show up as a "
        "constant in the graph. Consider using `view` or `reshape` to make it traceable."
    )


def warn_of_views(operator: str, count: int) -> None:
    """Warn of an in-place operator recorded as another, where `count` tensors share the memory."""
    if count > 1:
        warn(
            f"There are {count} live references to the data region being modified when tracing "
            f"in-place operator {operator}. This {_INCORRECT}, because all other views that also "
            "reference this data will not reflect this change in the trace! On the other hand, if "
            "all other views use the same memory chunk, but are disjoint (e.g. are outputs of "
            "torch.split), this might still be safe."
        )


def warn(text: str) -> None:
    """Warn at the line of the program, or of the library's Python where that converted: the latter
    is shown to those who ask for all warnings."""
    filename, line, module = asking_line()
    warnings.warn_explicit(text, TracerWarning, filename, line, module, registry={})

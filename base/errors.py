"""The two error families: the user's mistakes, and ours.

A `UserError` names the user's line with a caret; its subclasses also derive from the Python class
that TorchScript raises in the same situation, so `except RuntimeError` keeps working. An
`InternalError` is a fault of TensorScript and says in which stage it happened.
"""

from __future__ import annotations

from .source import Span


class TensorScriptError(Exception):
    """Base of every error that TensorScript raises on purpose."""


class UserError(TensorScriptError):
    """A mistake in the user's program or data.

    Args:
        message: one sentence, in TorchScript's words where it has them.
        span: the place in the user's program, if known; it is shown underlined.
        notes: further (text, span) pairs shown below, e.g. "is being compiled since ...".

    Attributes:
        precedes_call: it was found before the function that has it was entered, so that the call
            which led there is not told.
    """

    precedes_call = False

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        notes: tuple[tuple[str, Span | None], ...] = (),
    ) -> None:
        self.message = message
        self.span = span
        self.notes = notes
        super().__init__(message)

    def with_note(self, text: str, span: Span | None) -> UserError:
        """Append a note in place (outer calls add theirs as the error travels up)."""
        self.notes = (*self.notes, (text, span))
        return self

    def with_call(self, text: str, span: Span | None) -> UserError:
        """Append a note of the call that led into a function, unless the mistake precedes it."""
        if self.precedes_call:
            self.precedes_call = False
            return self
        return self.with_note(text, span)

    def __str__(self) -> str:
        parts = [f"{self.message}:" if self.span else self.message]
        if self.span:
            parts.append(self.span.highlight())
        for text, span in self.notes:
            parts.append(text)
            if span:
                parts.append(span.highlight())
        return "\n".join(parts)


class FrontendError(UserError):
    """Text that the script frontend cannot read (as `torch.jit.frontend.FrontendError`)."""


class TextError(FrontendError, RuntimeError):
    """A text of TorchScript that does not parse; TorchScript raises RuntimeError for texts."""


class NotSupportedError(FrontendError):
    """Python that is outside the TorchScript language."""

    precedes_call = True


class UnsupportedNodeError(NotSupportedError):
    """A Python statement or expression kind that TorchScript does not have."""


class CompileError(UserError, RuntimeError):
    """A type or name-resolution error; TorchScript raises RuntimeError, whose text starts "\\n"."""

    def __str__(self) -> str:
        return "\n" + super().__str__()


class ModuleTypeError(CompileError):
    """A class of modules in place of a type: scripts take instances of them."""


class DefaultError(CompileError):
    """A default that a parameter cannot have."""

    precedes_call = True


class ConstantError(CompileError, TypeError):
    """An attribute that is declared a constant, and is none; TorchScript raises TypeError."""


class ArchiveError(UserError, RuntimeError):
    """A `.pt` archive that is truncated, malformed, hostile, or of an unknown version."""


class OperatorError(UserError, RuntimeError):
    """An operator refused its arguments (shape, dtype, value, index out of range)."""


class ArgumentError(OperatorError, TypeError):
    """No overload of an operator takes these arguments."""


class DimensionError(OperatorError, IndexError):
    """A dimension or an index out of range."""


class ValueRangeError(OperatorError, ValueError):
    """An argument of the right type whose value makes no sense."""


class NumberOverflowError(OperatorError, OverflowError):
    """A Python number that an element type has no room for."""


class DLPackError(OperatorError, BufferError):
    """A tensor that DLPack cannot carry."""


class LinearAlgebraError(OperatorError):
    """A matrix that is singular or not positive-definite (as `torch.linalg.LinAlgError`)."""


class NoDeviceError(OperatorError, AssertionError):
    """A GPU is asked for and there is none (PyTorch without CUDA raises AssertionError)."""


class OutOfMemoryError(OperatorError):
    """A GPU has not that much memory left (as `torch.OutOfMemoryError`)."""


class UnsupportedDtypeError(OperatorError, NotImplementedError):
    """An operator that exists and does not take tensors of this dtype."""


class UnsupportedShapeError(OperatorError, NotImplementedError):
    """An operator that exists and does not take tensors of so many dimensions."""


class MissingKernelError(OperatorError, NotImplementedError):
    """An operator that exists in TorchScript and that TensorScript cannot compute yet."""


class ScriptError(UserError):
    """`raise` or a failed `assert` executed in script (as `torch.jit.Error`)."""


class GuardError(UserError, RuntimeError):
    """Arguments that a compiled function cannot take (count, type, dtype, rank, shape)."""


class NotCompilable(UserError, RuntimeError):
    """A construct that native code cannot do; the message says which and why.

    The executor answers it with the graph interpreter (visible in `stats`), or lets it through
    when the user asked for `fallback="error"` and always in ahead-of-time export.
    """


class NotKnown(NotCompilable):
    """Python code asked for the value of what only the running program knows; the operator that
    asked is told by who called it."""


class InternalError(TensorScriptError, RuntimeError):
    """A fault in TensorScript itself; `stage` says where."""

    def __init__(self, message: str, stage: str = "") -> None:
        self.stage = stage
        where = f" in stage {stage!r}" if stage else ""
        super().__init__(f"internal error{where}: {message}")

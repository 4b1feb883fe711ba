"""Errors of running script, told as TorchScript tells them: the call stack, then what happened."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.errors import ScriptError, UserError
from tensorscript.base.source import Origin, Span

_HEAD = "The following operation failed in the TorchScript interpreter."


def script_failure(error: UserError, origin: Origin | None) -> None:
    """Rewrite the text of an error in place, outermost call first.

    Args:
        origin: the text came from an archive, and this tells where from there.
    """
    calls = [span for text, span in error.notes if not text]
    frames: list[Span] = [s for s in [*reversed(calls), error.span] if s is not None]
    if not frames:
        return
    parts = [_HEAD, *_traceback("serialized code" if origin else "", frames)]
    if origin is not None:
        original = [found for span in frames if (found := origin(span)) is not None]
        parts += ["", *_traceback("original code", original)] if original else []
    said = error.message if isinstance(error, ScriptError) else f"RuntimeError: {error.message}"
    parts.append(said)
    error.message = "\n".join(parts) + "\n"
    error.span, error.notes = None, ()


def _traceback(kind: str, frames: Sequence[Span]) -> list[str]:
    named = f", {kind} " if kind else " "
    head = f"Traceback of TorchScript{named}(most recent call last):"
    return [head, *(span.highlight(span.function) for span in frames)]

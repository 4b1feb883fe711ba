"""Errors of running script, told as TorchScript tells them: the call stack, then what happened."""

from __future__ import annotations

from tensorscript.base.errors import ScriptError, UserError
from tensorscript.base.source import Span

_HEAD = "The following operation failed in the TorchScript interpreter."


def script_failure(error: UserError, serialized: bool) -> None:
    """Rewrite the text of an error in place, outermost call first.

    Args:
        serialized: its text came from an archive.
    """
    calls = [span for text, span in error.notes if not text]
    frames: list[Span] = [s for s in [*reversed(calls), error.span] if s is not None]
    if not frames:
        return
    kind = "serialized code" if serialized else ""
    comma = ", " if kind else " "
    parts = [
        _HEAD,
        f"Traceback of TorchScript{comma}{kind}{' ' if kind else ''}(most recent call last):",
    ]
    parts += (span.highlight(span.function) for span in frames)
    said = error.message if isinstance(error, ScriptError) else f"RuntimeError: {error.message}"
    parts.append(said)
    error.message = "\n".join(parts) + "\n"
    error.span, error.notes = None, ()

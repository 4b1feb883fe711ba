"""What PyTorch's own frontend says to a text; a module that names nothing of ours, as the text sees
what is named here."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")


def is_refused(text: str) -> bool:
    """Whether PyTorch does not compile functions of that text."""
    try:
        torch.jit.CompilationUnit(text)
    except (RuntimeError, OSError, TypeError, torch.jit.frontend.FrontendError):
        return True  # OSError: it wants the source of a builtin
    return False

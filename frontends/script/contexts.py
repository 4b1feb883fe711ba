"""The context managers of torch that scripts may use, written in the language itself."""

from __future__ import annotations

from .text import TextLibrary

_GRAD_MODE = "__torch__.torch.autograd.grad_mode"

_SOURCE = """
class no_grad:
  prev : bool
  def __init__(self) -> None:
    self.prev = False
  def __enter__(self) -> None:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    torch.set_grad_enabled(self.prev)
class enable_grad:
  prev : bool
  def __init__(self) -> None:
    self.prev = False
  def __enter__(self) -> None:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    torch.set_grad_enabled(self.prev)
class set_grad_enabled:
  mode : bool
  prev : bool
  def __init__(self, mode: bool) -> None:
    self.mode = mode
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(mode)
  def __enter__(self) -> None:
    torch.set_grad_enabled(self.mode)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    torch.set_grad_enabled(self.prev)
"""

CONTEXTS = {name: f"{_GRAD_MODE}.{name}" for name in ("no_grad", "enable_grad", "set_grad_enabled")}
"""Class name to the qualified name of its script class."""


def context_library() -> TextLibrary:
    """The definitions of the context managers."""
    return TextLibrary.parse(_SOURCE, _GRAD_MODE, "grad_mode.py")

"""The context managers of torch that scripts may use, written in the language itself.

Names, attributes and methods are PyTorch's, so that archives hold the same code.
"""

from __future__ import annotations

import types
from collections.abc import Callable

from tensorscript.eager import autocast, modes, profiler

from .text_library import Found, TextLibrary

_GRAD_MODES = """
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
"""

_AUTOCAST = """
class autocast:
  fast_dtype : int
  _enabled : bool
  device : str
  def __call__(self, func):
    return func
  def __enter__(self):
    return self
  def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
    return None
  def __init__(self, device_type: str, dtype: Optional[int]=None, enabled: bool=True,
               cache_enabled: Optional[bool]=None) -> None:
    self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
    self._enabled = enabled
    self.device = device_type
"""

_DEVICE_AUTOCAST = """
class autocast:
  _enabled : bool
  device : str
  fast_dtype : int
  def __call__(self, func):
    return func
  def __enter__(self):
    return self
  def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
    return None
  def __init__(self, enabled: bool=True, dtype: int={code}, cache_enabled: bool=True) -> None:
    self._enabled = enabled
    self.device = "{device}"
    self.fast_dtype = dtype
"""

_RECORD_FUNCTION = """
class record_function:
  name : str
  args : Optional[str]
  run_callbacks_on_exit : bool
  record : Optional[__torch__.torch.classes.profiler._RecordFunction]
  _cupti_monitor_external_id : NoneType
  def __enter__(self):
    self.record = ops.profiler._record_function_enter_new(self.name, self.args)
    return self
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    if not self.run_callbacks_on_exit:
      return
    record = self.record
    if record is None:
      raise AssertionError("Expected record to be set")
    ops.profiler._record_function_exit(record)
  def __init__(self, name: str, args: Optional[str]=None) -> None:
    self.name = name
    self.args = args
    self.run_callbacks_on_exit = True
    self.record = None
    self._cupti_monitor_external_id = None
  def _call_end_callbacks_on_future(self, fut: Future[Any]) -> Future[Any]:
    if not self.run_callbacks_on_exit:
      raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
    self.run_callbacks_on_exit = False
    record = self.record
    if record is None:
      raise AssertionError("Expected record to be set")
    return ops.profiler._call_end_callbacks_on_jit_fut(record, fut)
"""

_RECORD = """
class _RecordFunction:
  pass
"""

CUSTOM_CLASSES = "__torch__.torch.classes."
"""How the names begin of classes that PyTorch writes in C++; an archive does not define them."""

_TEXTS = {
    "torch.autograd.grad_mode": _GRAD_MODES,
    "torch.amp.autocast_mode": _AUTOCAST,
    "torch.cuda.amp.autocast_mode": _DEVICE_AUTOCAST.format(device="cuda", code=5),
    "torch.cpu.amp.autocast_mode": _DEVICE_AUTOCAST.format(device="cpu", code=15),
    "torch.autograd.profiler": _RECORD_FUNCTION,
    "torch.classes.profiler": _RECORD,
}
"""PyTorch's modules to the text of the classes that they hold."""

CONTEXTS: dict[str, Callable[..., object]] = {
    "torch.autograd.grad_mode.no_grad": modes.no_grad,
    "torch.autograd.grad_mode.enable_grad": modes.enable_grad,
    "torch.amp.autocast_mode.autocast": autocast.autocast,
    "torch.cuda.amp.autocast_mode.autocast": autocast.cuda_autocast,
    "torch.cpu.amp.autocast_mode.autocast": autocast.cpu_autocast,
    "torch.autograd.profiler.record_function": profiler.record_function,
}
"""PyTorch's name of a context manager to ours of eager mode."""

_NAMES = {python: name for name, python in CONTEXTS.items()}


def context_class(value: object) -> str | None:
    """The qualified name of the script class that a Python object stands for, ours or PyTorch's."""
    if not isinstance(value, type | types.FunctionType):
        return None
    name = _NAMES.get(value, f"{value.__module__}.{value.__name__}")
    return f"__torch__.{name}" if name in CONTEXTS else None


def context_library() -> TextLibrary:
    """The definitions of the context managers, and of what they hold."""
    out: dict[str, Found] = {}
    for module, text in _TEXTS.items():
        file = f"{module.rpartition('.')[2]}.py"
        out |= TextLibrary.parse(text, f"__torch__.{module}", file).definitions
    return TextLibrary(out)

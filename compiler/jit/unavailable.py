"""Names of `torch.jit` that have no meaning here; each says what to use."""

from __future__ import annotations

from typing import Any, NoReturn

from tensorscript.base.errors import GuardError


def _refuse(name: str, instead: str) -> NoReturn:
    raise GuardError(f"torch.jit.{name} is not available: {instead}")


def jit_module_from_flatbuffer(f: Any) -> NoReturn:
    """Not available: the flatbuffer form belongs to PyTorch's mobile runtime.

    Raises:
        GuardError: always.
    """
    _refuse("jit_module_from_flatbuffer", "load a .pt archive with jit.load")


def save_jit_module_to_flatbuffer(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Not available: the flatbuffer form belongs to PyTorch's mobile runtime.

    Raises:
        GuardError: always.
    """
    _refuse("save_jit_module_to_flatbuffer", "save a .pt archive with jit.save")


class ONNXTracedModule:
    """Not available: ONNX is no form that a module is exported to.

    Raises:
        GuardError: always.
    """

    def __init__(
        self,
        inner: Any,
        strict: bool = True,
        force_outplace: bool = False,
        return_inputs: bool = False,
        return_inputs_states: bool = False,
    ) -> None:
        _refuse("ONNXTracedModule", "trace the module with jit.trace")

"""te functions as machine code of this machine, called on arrays: for work at compile time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tensorscript.backends import target as targets
from tensorscript.backends.llvm.emit import emit_module
from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.ops import FuncOp

from .jit import compile_object, load_object


class Functions:
    """Scheduled te functions whose parameters are buffers, compiled together.

    Args:
        functions: detached; they become part of one module.
        symbols: addresses of the run-time support.
        make_object: gives the object of LLVM text for this machine.
    """

    def __init__(
        self,
        functions: Sequence[FuncOp],
        symbols: Mapping[str, int],
        make_object: Callable[[str, targets.Target], bytes] = compile_object,
    ) -> None:
        names = [f.sym_name.data for f in functions]
        entries = {name: f"entry_{name}" for name in names}
        host = targets.host()
        text = emit_module(ModuleOp(list(functions)), host, entries)
        self._entries = entries
        self._loaded = load_object(make_object(text, host), entries.values(), symbols)

    def call(self, name: str, arrays: Sequence[np.ndarray]) -> None:
        """Run one function on contiguous arrays, in the order of its parameters.

        Raises:
            InternalError: it gives a status other than 0.
        """
        address = self._loaded.address(self._entries[name])
        entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)
        pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        if status := entry(ctypes.addressof(pointers)):
            raise InternalError(f"@{name} failed with status {status}", "te")

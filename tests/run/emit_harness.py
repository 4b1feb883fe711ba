"""Compile te text and run it on NumPy arrays, with a run-time support made of Python callbacks."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from tensorscript.backends.cpu.jit import LoadedModule, compile_object, load_object
from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.llvm.emit_context import EmitOptions
from tensorscript.backends.llvm.optimize import Optimization
from tensorscript.backends.target import host
from tensorscript.dialects.te.ops import TE

PASSES = Optimization(("always-inline", "sroa", "instcombine", "simplifycfg"))

_TASK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
_PAR_FOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_THREADS = ctypes.CFUNCTYPE(ctypes.c_int32)
_MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_char_p)


@dataclass
class Runtime:
    """ts_* as Python callbacks; counts what is allocated, freed and forked."""

    threads: int = 2
    blocks: dict[int, object] = field(default_factory=dict)
    allocated: int = 0
    tasks: list[int] = field(default_factory=list)
    errors: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._callbacks = {
            "ts_par_for": _PAR_FOR(self._par_for),
            "ts_get_num_threads": _THREADS(lambda: self.threads),
            "ts_scratch": _MALLOC(self._malloc),
            "ts_scratch_free": _FREE(self._free),
            "ts_set_error": _ERROR(lambda code, text: self.errors.append((code, text.decode()))),
        }

    def symbols(self) -> dict[str, int]:
        return {
            name: ctypes.cast(callback, ctypes.c_void_p).value or 0
            for name, callback in self._callbacks.items()
        }

    def _par_for(self, function: int, env: int, tasks: int) -> None:
        self.tasks.append(tasks)
        task = _TASK(function)
        workers = [
            threading.Thread(target=lambda k=k: [task(n, env) for n in range(k, tasks, 2)])
            for k in range(2)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _malloc(self, size: int) -> int:
        block = ctypes.create_string_buffer(size + 64)
        address = (ctypes.addressof(block) + 63) // 64 * 64
        self.blocks[address] = block
        self.allocated += 1
        return address

    def _free(self, address: int | None) -> None:
        if address:
            del self.blocks[address]


def parse_te(text: str) -> ModuleOp:
    """The module of te functions `text` (without the enclosing builtin.module)."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    module = Parser(context, "builtin.module {\n" + text + "\n}").parse_module()
    module.verify()
    return module


class Compiled:
    """The te.func `k` of a module, callable with arrays and NumPy scalars; gives the status."""

    def __init__(
        self,
        module: ModuleOp | str,
        options: EmitOptions | None = None,
        symbols: Mapping[str, int] | None = None,
        passes: Optimization = PASSES,
    ) -> None:
        module = parse_te(module) if isinstance(module, str) else module
        self.runtime = Runtime()
        self.text = emit_module(module, host(), {"k": "k_entry"}, options)
        found = {**self.runtime.symbols(), **(symbols or {})}
        self.object = compile_object(self.text, host(), passes)
        self.loaded: LoadedModule = load_object(self.object, ["k_entry"], found)
        self.entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(
            self.loaded.address("k_entry")
        )

    def __call__(self, *arguments: np.ndarray | np.generic) -> int:
        arrays = [np.asarray(a) for a in arguments]
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        return int(self.entry(ctypes.addressof(pointers)))


def run_te(text: str, *arguments: np.ndarray | np.generic) -> int:
    return Compiled(text)(*arguments)


def elementwise(
    expression: str, arrays: Sequence[np.ndarray], shorts: Sequence[str], out: np.ndarray,
    out_short: str, width: int = 16,
) -> np.ndarray:  # fmt: skip
    """`expression` of a[i], b[i], ... by a vector main loop with a masked tail."""
    names = "abc"[: len(arrays)]
    size = out.size
    inputs = ", ".join(f"{n}: {s}[{size}]" for n, s in zip(names, shorts, strict=True))
    for n, s in zip(names, shorts, strict=True):
        expression = expression.replace(f"{n}@", f"{n}.{s}[o * {width} + v]")
    full, rest = divmod(size, width)
    text = f"""te.func @k kernel scheduled ({inputs}, out y: {out_short}[{size}]) {{
      te.for o in 0 .. {full + bool(rest)} serial {{
        te.for v in 0 .. {width} vector {{
          te.if o * {width} + v < {size} {{
            te.store y[o * {width} + v] = {expression}
          }}
        }}
      }}
    }}"""
    assert run_te(text, *arrays, out) == 0
    return out

"""What each library makes of a workload, set up as its own users would.

| library | candidates |
|---|---|
| tensorscript | `ts.compile` |
| numpy | the version by hand; Python itself where the program is plain |
| torch | eager, `torch.jit` (frozen where it is a module), `torch.compile` |
| onnxruntime | a session of the exported program |
| jax, numba | the version by hand, jitted; Numba the program itself where it is plain |
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from peers import have, jax, numba, torch
from quantized import loaded
from workload import Arguments, BFloat16, Workload

import tensorscript as ts

Call = Callable[[], Any]
Found = dict[str, Callable[[], Call]]
"""By name, what builds the candidate: that may fail, and each alone."""


def _tensorscript(work: Workload, arguments: Arguments, threads: int) -> Found:
    given = tuple(a.tensor(ts) if isinstance(a, BFloat16) else a for a in arguments)

    def build() -> Call:
        program = work.build()
        made = loaded(program) if work.archive else program
        compiled = ts.compile(made, given, fallback="error")
        return lambda: compiled(*given)

    return {"tensorscript": build}


def _numpy(work: Workload, arguments: Arguments, threads: int) -> Found:
    if work.plain:
        program, moved = work.build(), _as_tensors(arguments)
        return {"python": lambda: lambda: program(*moved)}
    program = work.numpy
    return {} if program is None else {"numpy": lambda: lambda: program(*arguments)}


def _as_tensors(arguments: Arguments) -> Arguments:
    library = torch if torch is not None else ts

    def moved(a: Any) -> Any:
        if isinstance(a, BFloat16):
            return a.tensor(library)
        return library.from_numpy(a) if isinstance(a, np.ndarray) else a

    return tuple(moved(a) for a in arguments)


def _torch(work: Workload, arguments: Arguments, threads: int) -> Found:
    program, tensors = work.build(), _as_tensors(arguments)

    def scripted() -> Call:
        made = torch.jit.script(program)
        if isinstance(program, torch.nn.Module):
            made = torch.jit.freeze(made)
        return lambda: made(*tensors)

    def compiled() -> Call:
        made = torch.compile(program)
        return lambda: made(*tensors)

    if work.archive:
        return {"torch.jit": lambda: lambda: program(*tensors)}
    if work.plain:
        return {"torch.jit": scripted}
    return {"torch": lambda: lambda: program(*tensors), "torch.jit": scripted,
            "torch.compile": compiled}  # fmt: skip


def _onnxruntime(work: Workload, arguments: Arguments, threads: int) -> Found:
    if work.plain or work.archive:
        return {}
    return {"onnxruntime": lambda: _session(work.build(), arguments, threads)}


def _session(program: Any, arguments: Arguments, threads: int) -> Call:
    module = program if isinstance(program, torch.nn.Module) else _wrapped(program)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = _as_tensors(arguments)
        torch.onnx.export(module.eval(), tensors, file, dynamo=False, opset_version=17)
    runtime = have("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    feeds = {i.name: a for i, a in zip(session.get_inputs(), arguments, strict=True)}
    return lambda: session.run(None, feeds)[0]


def _wrapped(program: Callable[..., Any]) -> Any:
    class Wrapped(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch has no stubs here
        def forward(self, *arguments: Any) -> Any:
            return program(*arguments)

    return Wrapped()


def _jax(work: Workload, arguments: Arguments, threads: int) -> Found:
    program = work.jax
    if program is None:
        return {}

    def build() -> Call:
        wide = any(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in arguments)
        with jax.enable_x64(wide):
            moved = [
                jax.numpy.asarray(a.bits).view(jax.numpy.bfloat16)
                if isinstance(a, BFloat16)
                else jax.numpy.asarray(a)
                for a in arguments
            ]
        jitted = jax.jit(program)
        if not wide:
            return lambda: jitted(*moved)

        def call() -> Any:  # float64 is a setting of the moment of the call, not of the array's
            with jax.enable_x64(True):
                return jitted(*moved)

        return call

    return {"jax": build}


def _numba(work: Workload, arguments: Arguments, threads: int) -> Found:
    if work.plain and all(isinstance(a, int) for a in arguments):
        return {"numba": lambda: _called(numba.njit(work.build()), arguments)}
    made, arrays = work.numba, tuple(_as_array(a) for a in arguments)
    return {} if made is None else {"numba": lambda: _called(made(), arrays)}


def _as_array(a: Any) -> Any:
    """Numba's users hold arrays, not lists."""
    return np.asarray(a) if isinstance(a, list) else a


def _called(program: Callable[..., Any], arguments: Arguments) -> Call:
    return lambda: program(*arguments)


LIBRARIES: Mapping[str, Callable[[Workload, Arguments, int], Found]] = {
    "tensorscript": _tensorscript,
    "numpy": _numpy,
    "torch": _torch,
    "onnxruntime": _onnxruntime,
    "jax": _jax,
    "numba": _numba,
}

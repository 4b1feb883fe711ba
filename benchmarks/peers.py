"""The peers, each set up as its own users would: what is not installed is left out."""

from __future__ import annotations

import importlib
import importlib.util
import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from harness import Candidate

import tensorscript as ts

Program = Callable[..., Any]


def have(name: str) -> Any:
    """A peer's module, None if it is not installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


torch, jax, numba = have("torch"), have("jax"), have("numba")
onnxruntime = have("onnxruntime") if have("onnx") else None
lib: Any = torch or ts
"""What the programs are written with: PyTorch where it is installed, TensorScript elsewhere."""


def own(program: Program, arguments: Sequence[Any]) -> Candidate:
    compiled = ts.compile(program, arguments, fallback="error")
    return Candidate("tensorscript", lambda: compiled(*arguments))


def torch_peers(program: Program, arrays: Sequence[np.ndarray], threads: int) -> list[Candidate]:
    """PyTorch eager, `torch.jit` (frozen where it is a module), `torch.compile`, ONNX Runtime."""
    if not torch:
        return []
    tensors = [torch.from_numpy(a) for a in arrays]
    is_module = isinstance(program, torch.nn.Module)
    scripted = torch.jit.script(program)
    if is_module:
        scripted = torch.jit.freeze(scripted)
    compiled = torch.compile(program)
    found = [
        Candidate("torch", lambda: program(*tensors)),
        Candidate("torch.jit", lambda: scripted(*tensors)),
        Candidate("torch.compile", lambda: compiled(*tensors)),
    ]
    if onnxruntime:
        found.append(Candidate("onnxruntime", _Session(program, arrays, threads)))
    return found


class _Session:
    """An ONNX Runtime session, exported and built at its first call."""

    def __init__(self, program: Program, arrays: Sequence[np.ndarray], threads: int) -> None:
        self.program, self.arrays, self.threads = program, arrays, threads
        self.run: Callable[[], Any] | None = None

    def __call__(self) -> Any:
        if self.run is None:
            self.run = self._built()
        return self.run()

    def _built(self) -> Callable[[], Any]:
        module = self.program
        if not isinstance(module, torch.nn.Module):
            module = _wrapped(self.program)
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensors = tuple(torch.from_numpy(a) for a in self.arrays)
            torch.onnx.export(module.eval(), tensors, file, dynamo=False, opset_version=17)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        session = onnxruntime.InferenceSession(
            file.getvalue(), options, providers=["CPUExecutionProvider"]
        )
        feeds = {i.name: a for i, a in zip(session.get_inputs(), self.arrays, strict=True)}
        return lambda: session.run(None, feeds)[0]


def _wrapped(program: Program) -> Any:
    class Wrapped(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch has no stubs here
        def forward(self, *arguments: Any) -> Any:
            return program(*arguments)

    return Wrapped()


def jax_peer(program: Program | None, arrays: Sequence[np.ndarray]) -> list[Candidate]:
    if not jax or program is None:
        return []
    if any(a.dtype == np.float64 for a in arrays):
        jax.config.update("jax_enable_x64", True)
    moved = [jax.numpy.asarray(a) for a in arrays]
    jitted = jax.jit(program)
    return [Candidate("jax", lambda: jitted(*moved))]


def numba_peer(make: Callable[[], Program] | None, arguments: Sequence[Any]) -> list[Candidate]:
    """`make` builds the jitted function, so that nothing is compiled where it is not asked for."""
    if not numba or make is None:
        return []
    jitted = make()
    return [Candidate("numba", lambda: jitted(*arguments))]


def numpy_peer(program: Program | None, arrays: Sequence[np.ndarray]) -> list[Candidate]:
    return [] if program is None else [Candidate("numpy", lambda: program(*arrays))]

"""Programs that enter as LLVM text, which says its signature in comments:

```
; tensorscript entry: @f host scheduled (x: f32[4], out r0: f32[4])
; tensorscript results: tensor(0)
; tensorscript constant: @w: f32[10, 64] = blob"<sha256>"    data in the side file
```
"""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.host_signature import signature_of
from tensorscript.backends.cpu.jit import compile_assembly, compile_object
from tensorscript.backends.cpu.signature import Signature, with_scalar_outputs
from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te import ops as te
from tensorscript.lowering.ts_to_tg.specs import OutputTree

from .entry_loaded import LoadedEntry, flat_tree, load_entry, rebuilt
from .entry_results import parse_results, results_text
from .memory import aligned
from .native import NativeCode
from .native_module import NativeModule
from .observe import Report
from .options import CompileOptions
from .stages import load_constants, save_constants

_COMMENT = "; tensorscript "


def save_llvm(native: NativeModule, results: OutputTree, path: Path) -> None:
    """Write LLVM text that says its own signature, and its constants to the side file."""
    path.write_text(llvm_text(native, results))
    arrays = {}
    for op in te.constants(native.module):
        if op.data.text().startswith("blob") and op.data.data.array is not None:
            arrays[op.data.data.digest] = op.data.data.array
    save_constants(path, arrays)


def llvm_text(native: NativeModule, results: OutputTree) -> str:
    """The LLVM text of a CPU program under comments that say its signature."""
    lines = [f"{_COMMENT}entry: {native.entry.head()}"]
    lines.append(f"{_COMMENT}results: {results_text(results)}")
    lines += [f"{_COMMENT}constant: {op.head()}" for op in te.constants(native.module)]
    return "\n".join(lines) + "\n" + native.llvm_text


@dataclass(frozen=True)
class _Remarks:
    """What the comments of LLVM text say."""

    name: str
    signature: Signature
    results: OutputTree
    constants: tuple[te.ConstantOp, ...]


def _remarks(text: str, path: Path) -> _Remarks:
    entry: te.FuncOp | None = None
    results: OutputTree | None = None
    constants: list[te.ConstantOp] = []
    try:
        for line in text.splitlines():
            if not line.startswith(_COMMENT):
                break
            kind, _, rest = line.removeprefix(_COMMENT).partition(": ")
            if kind == "entry":
                entry = te.FuncOp.from_head(rest)
            elif kind == "results":
                results = parse_results(rest)
            elif kind == "constant":
                constants.append(te.ConstantOp.from_head(rest))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    if entry is None:
        raise UserError(
            f"{path}: the text does not say its entry ({_COMMENT.strip()} entry: ...), as text for "
            "a CPU does; kernels for a GPU enter at .scheduled.mlir"
        )
    signature = signature_of(entry)
    tree = results or flat_tree([False] * len(signature.outputs))
    signature = with_scalar_outputs(signature, tree.scalar_leaves)
    return _Remarks(entry.sym_name.data, signature, tree, tuple(constants))


class LLVMFunction:
    """A program that entered as LLVM text; call it with arrays.

    Raises:
        UserError: the text does not say its signature, or a constant is missing.
    """

    def __init__(self, path: Path, options: CompileOptions) -> None:
        self.text = path.read_text()
        self.options = options
        self.report = Report()
        self._remarks = _remarks(self.text, path)
        self.__name__ = self._remarks.name
        self._stored = load_constants(path)
        self._path = path

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self._remarks.signature.inputs)

    def object(self) -> bytes:
        """Object code."""
        start = time.perf_counter()
        target = targets.parse(self.options.target, self.options.cpu)
        data = compile_object(self.text, target)
        self.report.seconds["machine-code"] = time.perf_counter() - start
        return data

    def assembly(self) -> str:
        return compile_assembly(self.text, targets.parse(self.options.target, self.options.cpu))

    def _arrays(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for op in self._remarks.constants:
            array = op.data.data.array
            if array is None:
                array = self._stored.get(op.data.data.digest)
            if array is None:
                raise UserError(f"{self._path}: the data of @{op.buffer.name} is not at hand")
            found[op.buffer.name] = aligned(array)
        return found

    @cached_property
    def loaded(self) -> LoadedEntry:
        """The native code."""
        names = tuple(op.buffer.name for op in self._remarks.constants)
        code = NativeCode(self.object(), self._remarks.signature, (), names)
        return load_entry(self.__name__, code, self._arrays())

    def __call__(self, *values: Any) -> Any:
        """Run natively.

        Raises:
            GuardError: values that do not fit the signature of the text.
        """
        return rebuilt(self._remarks.results, self.loaded(*values))

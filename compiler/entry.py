"""Programs that enter the pipeline at a stage: a dumped text that runs, lowers on and builds.

A file of stage `ts` becomes an ordinary `Program`: the module's attribute `ts.entry` names its
entry (and `ts.receiver` the object whose method it is, see `entry_state.py`). A file of a later
stage has its arguments' dtypes and shapes fixed; `ts.results` says how its results are rebuilt (see
`entry_results.py`; without it they come as a flat tuple), and updates of arguments in place stay
inside. LLVM text says its signature in comments:

```
; tensorscript entry: @f host scheduled (x: f32[4], out r0: f32[4])
; tensorscript results: tensor(0)
; tensorscript constant: @w: f32[10, 64] = blob"<sha256>"    data in the side file
```
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.jit import compile_assembly, compile_object
from tensorscript.backends.cpu.signature import (
    ArraySpec,
    ScalarSpec,
    Signature,
    ValueSpec,
    signature_of,
    with_scalar_outputs,
)
from tensorscript.base.dtypes import bool_, float64
from tensorscript.base.errors import GuardError, UserError
from tensorscript.dialects.te import ops as te
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ScalarType
from tensorscript.dialects.ts.ops import FuncOp as TSFuncOp
from tensorscript.lowering.ts_to_tg.specialise import ArgumentSpec, OutputTree, Specialised

from .arguments import rebuild, scalar_leaves
from .entry_results import parse_results, results_text
from .entry_state import receiver_text, restore_receiver
from .function import CompiledFunction
from .gpu import GPULoaded, GPUModule
from .lowered import Lowered
from .native import Loaded, NativeCode, NativeModule, aligned, host_function
from .observe import Report, run_passes
from .options import CompileOptions
from .pipeline import passes_from
from .program import Program
from .stages import Stage, load_constants, load_module, save_constants, save_module

ENTRY, RECEIVER, RESULTS = "ts.entry", "ts.receiver", "ts.results"
GPU_KINDS = frozenset(("bx", "by", "bz", "tx", "ty", "tz"))
_COMMENT = "; tensorscript "


# --- stage ts -----------------------------------------------------------------------------------


def save_program(program: Program, path: Path) -> None:
    """Write a program as the text of stage `ts`, with its entry and its object."""
    save_module(entry_module(program), path)
    if program.receiver is not None:
        save_constants(path, receiver_text(program.receiver)[1])


def entry_module(program: Program) -> ModuleOp:
    """A copy of the program's module that names its entry and holds its object.

    Raises:
        NotCompilable: an attribute of the object has no text.
    """
    module = program.module.clone()
    module.attributes[ENTRY] = StringAttr(program.entry)
    if program.receiver is not None:
        module.attributes[RECEIVER] = StringAttr(receiver_text(program.receiver)[0])
    return module


def load_program(path: Path) -> Program:
    """The program of a dumped `ts` module.

    Raises:
        UserError: malformed text, or it does not say where the program starts.
    """
    module = load_module(path)
    names = [op.sym_name.data for op in module.body.block.ops if isinstance(op, TSFuncOp)]
    entry = module.attributes.get(ENTRY)
    if isinstance(entry, StringAttr):
        name = entry.data
    elif len(names) == 1:
        name = names[0]
    else:
        raise UserError(f"{path}: the module has no attribute {ENTRY!r} that names its entry")
    if name not in names:
        raise UserError(f"{path}: there is no function {name!r}")
    receiver = module.attributes.get(RECEIVER)
    if not isinstance(receiver, StringAttr):
        return Program(module, name)
    return Program(module, name, restore_receiver(receiver.data, load_constants(path)))


# --- stages tg to scheduled ---------------------------------------------------------------------


def _flat_tree(scalars: Sequence[bool]) -> OutputTree:
    leaves = [OutputTree("scalar" if s else "tensor", k) for k, s in enumerate(scalars)]
    return leaves[0] if len(leaves) == 1 else OutputTree("tuple", children=tuple(leaves))


def stage_modules(lowered: Lowered) -> dict[str, ModuleOp]:
    """The kept modules by stage; each says how the program's results are rebuilt."""
    results = StringAttr(results_text(lowered.specialised.output))
    modules = lowered.report.modules
    for module in modules.values():
        module.attributes[RESULTS] = results
    return modules


def _described(module: ModuleOp, path: Path) -> Specialised:
    """What a tg or te module says of its own arguments and results."""
    if found := list(tg.functions(module)):
        func = found[0]
        name = func.sym_name.data
        inputs = func.names[: len(func.names) - len(func.size_names)]
        scalars = [isinstance(v.type, ScalarType) for v in func.return_op.values]
    elif list(te.functions(module)):
        host = host_function(module)
        signature = signature_of(host)
        name = host.sym_name.data
        inputs = tuple(spec.name for spec in signature.inputs)
        # te does not tell a 0-dim tensor from a number.
        scalars = [False] * len(signature.outputs)
    else:
        raise UserError(f"{path}: the module holds no function of tg or te")
    said = module.attributes.get(RESULTS)
    tree = parse_results(said.data) if isinstance(said, StringAttr) else _flat_tree(scalars)
    if (last := max(_leaves(tree), default=-1)) >= len(scalars):
        raise UserError(f"{path}: there is no result {last}; the function has {len(scalars)}")
    return Specialised(module, name, inputs, tree)


def _leaves(tree: OutputTree) -> list[int]:
    own = [tree.leaf] if tree.kind in ("tensor", "scalar") else []
    return own + [leaf for child in tree.children for leaf in _leaves(child)]


def _check_schedule(module: ModuleOp, options: CompileOptions, path: Path) -> None:
    """Refuse loops that are scheduled for the other kind of target."""
    kinds = {op.kind.data for op in module.walk() if isinstance(op, te.ForOp)}
    on_gpu = targets.parse(options.target, options.cpu).is_ptx
    if not on_gpu and kinds & GPU_KINDS:
        raise UserError(f"{path} is scheduled for a GPU: give the target cuda or ptx-emulate")
    if on_gpu and "parallel" in kinds:
        raise UserError(f"{path} is scheduled for a CPU, and the target is {options.target!r}")


class StagedFunction:
    """A program that entered at `tg`, `kernels`, `te` or `scheduled`; call it with arrays.

    Args:
        path: the dumped text.
        stage: its stage.
        options: how to compile from there on.

    Raises:
        UserError: malformed text, missing constants.
    """

    def __init__(self, path: Path, stage: Stage, options: CompileOptions) -> None:
        self.module = load_module(path)
        self.stage = stage
        self.options = options
        self.described = _described(self.module, path)
        _check_schedule(self.module, options, path)
        self.__name__ = self.described.name
        self.latest_specs: Sequence[ArgumentSpec] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.described.inputs

    def lower(self, specs: Sequence[ArgumentSpec] = (), keep: bool = False) -> Lowered:
        """Run what is left of the pipeline; the loaded module stays as it is."""
        report = Report()
        if keep:
            report.modules[self.stage.name] = self.module.clone()
        passes = passes_from(self.stage.name)
        module = run_passes(self.module.clone(), passes, self.options, report, self.__name__, keep)
        return Lowered(self.described, module, report)

    @cached_property
    def loaded(self) -> LoadedEntry:
        """The native code."""
        made = code_of(self.lower(), self.options)
        if isinstance(made, GPUModule):
            device = GPULoaded(made, made.compile())
            return LoadedEntry(self.__name__, made.signature, lambda miss: device)
        code = made.compile()
        return _load(self.__name__, code, made.arrays())

    def __call__(self, *values: Any) -> Any:
        """Run natively.

        Raises:
            GuardError: values that do not fit the signature of the text.
        """
        return _rebuilt(self.described.output, self.loaded(*values))


def _rebuilt(tree: OutputTree, results: Any) -> Any:
    leaves = results if isinstance(results, tuple) else (results,)
    return rebuild(tree, leaves, lambda leaf: leaves[leaf])


def code_of(lowered: Lowered, options: CompileOptions) -> NativeModule | GPUModule:
    """The code of a lowered program, not yet compiled, for the CPU or for a GPU."""
    scalars = scalar_leaves(lowered.specialised.output)
    if targets.parse(options.target, options.cpu).is_ptx:
        return GPUModule(lowered.module, options, scalars)
    return NativeModule(lowered.module, options, scalars)


class LoadedEntry:
    """Code under its own signature, without a program behind it.

    Args:
        load: given what to call with values that the code's guard refuses, the loaded code; it
            lives as long as this entry.
    """

    def __init__(
        self, name: str, signature: Signature, load: Callable[[Callable[..., Any]], _Callable]
    ) -> None:
        self.name = name
        self.signature = signature
        self._loaded = load(self.refuse)

    def refuse(self, *values: Any) -> NoReturn:
        """Say what was expected.

        Raises:
            GuardError: always.
        """
        wanted = ", ".join(map(_spec_text, self.signature.inputs))
        given = ", ".join(map(_value_text, values))
        raise GuardError(f"{self.name} was compiled for ({wanted}) and cannot take ({given})")

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.signature.inputs):
            self.refuse(*values)
        pairs = zip(values, self.signature.inputs, strict=True)
        return self._loaded.call(*(_fitted(v, s) for v, s in pairs))


class _Callable(Protocol):
    """Loaded code: for the CPU a builtin, for a GPU a method."""

    @property
    def call(self) -> Callable[..., Any]: ...


def _load(name: str, code: NativeCode, arrays: dict[str, np.ndarray]) -> LoadedEntry:
    return LoadedEntry(name, code.signature, lambda miss: Loaded(name, code, arrays, miss))


def _fitted(value: Any, spec: ValueSpec) -> Any:
    """A value in the form of its parameter where that changes nothing about it."""
    if isinstance(spec, ScalarSpec):
        if isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0:
            value = value.item()
        widens = spec.dtype is float64 and type(value) is int
        return float(value) if widens else value
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and spec.strides is None:
        return np.asarray(value, order="C")
    return value


def _spec_text(spec: ValueSpec) -> str:
    if isinstance(spec, ArraySpec):
        return f"{spec.name}: {'x'.join(map(str, spec.shape))}:{spec.dtype.short}"
    kind = {float64: "float", bool_: "bool"}.get(spec.dtype, "int")
    return f"{spec.name}: {kind}"


def _value_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{'x'.join(map(str, value.shape))}:{value.dtype}"
    return type(value).__name__


# --- stage ll -----------------------------------------------------------------------------------


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
    tree = results or _flat_tree([False] * len(signature.outputs))
    signature = with_scalar_outputs(signature, scalar_leaves(tree))
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
        return _load(self.__name__, code, self._arrays())

    def __call__(self, *values: Any) -> Any:
        """Run natively.

        Raises:
            GuardError: values that do not fit the signature of the text.
        """
        return _rebuilt(self._remarks.results, self.loaded(*values))


Entered = CompiledFunction | StagedFunction | LLVMFunction


def enter(path: Path, stage: Stage, options: CompileOptions) -> Entered:
    """The program of a dumped file, entering at its stage.

    Raises:
        UserError: a stage from which nothing leads on, or a malformed file.
    """
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    name = path.name.removesuffix(stage.suffix)
    if stage.name == "ts":
        return CompiledFunction(load_program(path), options, name)
    if stage.is_module:
        return StagedFunction(path, stage, options)
    if stage.name == "ll":
        return LLVMFunction(path, options)
    raise UserError(f"{path}: a program cannot enter at stage {stage.name!r}; ll is the last")

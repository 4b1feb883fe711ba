"""Programs that enter the pipeline at a stage: a dumped text that runs, lowers on and builds.

A file of stage `ts` becomes an ordinary `Program`: the module's attribute `ts.entry` names its
entry (and `ts.receiver` the object whose method it is, see `entry_state.py`). A file of a later
stage has its arguments' dtypes and shapes fixed; `ts.results` says how its results are rebuilt (see
`entry_results.py`; without it they come as a flat tuple). Updates of arguments in place stay
inside, and so does what the program prints or warns of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.host_signature import signature_of
from tensorscript.base.errors import UserError
from tensorscript.dialects.te import ops as te
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ScalarType
from tensorscript.dialects.ts.ops import FuncOp as TSFuncOp
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specialise import Specialised
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec, OutputTree
from tensorscript.runtime.values import ScriptObject

from .entry_llvm import LLVMFunction
from .entry_loaded import LoadedEntry, flat_tree, load_entry, rebuilt
from .entry_results import parse_results, results_text
from .entry_state import receiver_text, restore_receiver
from .function import CompiledFunction
from .gpu import GPULoaded, GPUModule
from .lowered import Lowered
from .native_module import NativeModule, host_function
from .observe import Report, run_passes
from .options import CompileOptions
from .pipeline import passes_from
from .program import Program
from .stages import Stage, load_constants, load_module, save_constants, save_module

ENTRY, RECEIVER, RESULTS = "ts.entry", "ts.receiver", "ts.results"
GPU_KINDS = frozenset(("bx", "by", "bz", "tx", "ty", "tz"))


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


def stage_modules(lowered: Lowered) -> dict[str, ModuleOp]:
    """The kept modules by stage; each says how the program's results are rebuilt."""
    results = StringAttr(results_text(lowered.plan.output))
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
    tree = parse_results(said.data) if isinstance(said, StringAttr) else flat_tree(scalars)
    if (last := max(_leaves(tree), default=-1)) >= len(scalars):
        raise UserError(f"{path}: there is no result {last}; the function has {len(scalars)}")
    return Specialised(module, name, CallPlan(inputs, tree))


def _leaves(tree: OutputTree) -> list[int]:
    own = [tree.leaf] if tree.leaf >= 0 else []
    return own + [leaf for child in tree.children for leaf in _leaves(child)]


def _check_schedule(module: ModuleOp, options: CompileOptions, path: Path) -> None:
    """Refuse loops that are scheduled for the other kind of target."""
    kinds = {op.kind.data for op in walk_ops(module) if isinstance(op, te.ForOp)}
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
        self.latest_specs: tuple[ArgumentSpec, ...] | None = ()
        self.receiver: ScriptObject | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.described.plan.inputs

    def lower(
        self, specs: Sequence[ArgumentSpec] = (), keep: bool = False, alone: bool = False
    ) -> Lowered:
        """Run what is left of the pipeline; the loaded module stays as it is.

        Args:
            alone: has no meaning; a dumped program says what its text says.
        """
        report = Report()
        if keep:
            report.modules[self.stage.name] = self.module.clone()
        passes = passes_from(self.stage.name)
        module = run_passes(self.module.clone(), passes, self.options, report, self.__name__, keep)
        return Lowered(self.described.plan, module, report)

    def handed(self, paths: Sequence[str]) -> StagedFunction:
        """Itself: a dumped program is one function."""
        return self

    @cached_property
    def loaded(self) -> LoadedEntry:
        """The native code."""
        made = code_of(self.lower(), self.options)
        if isinstance(made, GPUModule):
            device = GPULoaded(made, made.compile())
            return LoadedEntry(self.__name__, made.signature, lambda miss: device)
        code = made.compile()
        return load_entry(self.__name__, code, made.arrays())

    def __call__(self, *values: Any) -> Any:
        """Run natively.

        Raises:
            GuardError: values that do not fit the signature of the text.
        """
        return rebuilt(self.described.plan.output, self.loaded(*values))


def code_of(lowered: Lowered, options: CompileOptions) -> NativeModule | GPUModule:
    """The code of a lowered program, not yet compiled, for the CPU or for a GPU."""
    scalars = lowered.plan.output.scalar_leaves
    if targets.parse(options.target, options.cpu).is_ptx:
        return GPUModule(lowered.module, options, scalars)
    return NativeModule(lowered.module, options, scalars)


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
        return CompiledFunction(load_program(path), options, name, fold=not options.strict)
    if stage.is_module:
        return StagedFunction(path, stage, options)
    if stage.name == "ll":
        return LLVMFunction(path, options)
    raise UserError(f"{path}: a program cannot enter at stage {stage.name!r}; ll is the last")

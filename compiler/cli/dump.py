"""`tensorscript dump`: a program's text at one stage, or at all, as files that enter again."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.schedule import schedules_of
from tensorscript.dialects.ts.graph_text import graph_text
from tensorscript.lowering.ts_to_tg.specs import OutputTree

from ..entry import Entered, code_of, entry_module, save_program, stage_modules
from ..entry_llvm import LLVMFunction, llvm_text, save_llvm
from ..examples import argument_specs
from ..function import CompiledFunction
from ..gpu import GPUModule
from ..native_module import NativeModule
from ..observe import Report
from ..options import CompileOptions
from ..progress import progress
from ..schedule_file import schedules_text
from ..stages import BY_NAME, print_module, save_module
from .inputs import parse_input
from .programs import open_program

Make = Callable[[], str | bytes]
Save = Callable[[Path], None]

GRAPH = "graph"
"""Not a stage but another print of `ts`: TorchScript's graph text."""


@dataclass
class Dumps:
    """The forms of a program, made when asked for, in the order of the stages.

    Attributes:
        name: of the files.
        makes: stage -> its text or bytes.
        saves: stage -> writes its file and the constants beside it.
    """

    name: str
    makes: dict[str, Make] = field(default_factory=dict)
    saves: dict[str, Save] = field(default_factory=dict)
    report: Report = field(default_factory=Report)

    def add(self, stage: str, make: Make, save: Save | None = None) -> None:
        def write(path: Path) -> None:
            made = make()
            path.write_bytes(made.encode() if isinstance(made, str) else made)

        self.makes[stage] = make
        self.saves[stage] = save or write


def dumps_of(program: Entered, inputs: Sequence[Any], stages: str) -> Dumps:
    """What can be shown of a program.

    Args:
        inputs: examples or specs, one per argument; a program that entered after `ts` needs none.
        stages: the stage wanted, or "all"; nothing is lowered for `ts` alone.

    Raises:
        GuardError: inputs are missing.
        NotCompilable: the program has no native form.
    """
    dumps = Dumps(program.__name__)
    if isinstance(program, LLVMFunction):
        dumps.report = program.report
        dumps.add("ll", lambda: program.text)
        dumps.add("s", program.assembly)
        dumps.add("o", program.object)
        return dumps
    if isinstance(program, CompiledFunction):
        own = program.program
        dumps.add("ts", lambda: print_module(entry_module(own)), lambda p: save_program(own, p))
        if stages == GRAPH:
            dumps.add(GRAPH, lambda: graph_text(own.function))
        if stages in ("ts", GRAPH):
            return dumps
        lowered = program.lower(argument_specs(program, inputs), keep=True)
    else:
        lowered = program.lower(keep=True)
    dumps.report = lowered.report
    for stage, module in stage_modules(lowered).items():
        dumps.add(stage, _printer(module), _saver(module))
    if steps := schedules_of(lowered.module):
        dumps.add("schedule", lambda: schedules_text(steps))
    _add_code(dumps, code_of(lowered, program.options), lowered.plan.output)
    return dumps


def _printer(module: Any) -> Make:
    return lambda: print_module(module)


def _saver(module: Any) -> Save:
    return lambda path: save_module(module, path)


def _add_code(dumps: Dumps, code: NativeModule | GPUModule, results: OutputTree) -> None:
    if isinstance(code, GPUModule):
        dumps.add("ll", lambda: code.llvm_text)
        dumps.add("ptx", lambda: code.ptx)
        return
    dumps.add("ll", lambda: llvm_text(code, results), lambda p: save_llvm(code, results, p))
    dumps.add("s", code.assembly)
    dumps.add("o", lambda: code.compile().data)


def run_dump(arguments: Namespace, options: CompileOptions) -> Report:
    """Run the subcommand.

    Raises:
        UserError: an unknown stage, or one that this program or target does not have.
    """
    stage: str = arguments.stage
    if stage not in (*BY_NAME, GRAPH, "all"):
        raise UserError(f"unknown stage {stage!r}; stages are {', '.join(BY_NAME)}, {GRAPH}, all")
    program = open_program(arguments.program, options)
    with progress(f"lowering {program.__name__}"):
        dumps = dumps_of(program, [parse_input(t) for t in arguments.input], stage)
    if stage == "all":
        _dump_all(dumps, arguments.output)
        return dumps.report
    if stage not in dumps.makes:
        known = ", ".join(dumps.makes)
        raise UserError(
            f"{arguments.program} has no stage {stage!r} for target {options.target!r}: "
            f"it has {known}"
        )
    if arguments.output is None:
        made = dumps.makes[stage]()
        if isinstance(made, bytes):
            raise UserError(f"stage {stage!r} is no text: give -o {dumps.name}.{stage}")
        sys.stdout.write(made)
    else:
        path = Path(arguments.output)
        path.parent.mkdir(parents=True, exist_ok=True)
        dumps.saves[stage](path)
    return dumps.report


def _dump_all(dumps: Dumps, output: str | None) -> None:
    if output is None:
        for stage, make in dumps.makes.items():
            if isinstance(made := make(), str):
                sys.stdout.write(f"// ----- {stage} -----\n{made}")
        return
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; all stages go into a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for stage, save in dumps.saves.items():
        path = folder / f"{dumps.name}{BY_NAME[stage].suffix}"
        with progress(f"writing {path.name}"):
            save(path)
        sys.stdout.write(f"{path}\n")

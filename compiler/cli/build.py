"""`tensorscript build`: a program as an object, a library, or PTX."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from tensorscript.backends import target as targets
from tensorscript.base.errors import UserError

from ..entry import code_of
from ..entry_llvm import LLVMFunction
from ..examples import argument_specs
from ..export import export_library, export_object
from ..function import CompiledFunction
from ..gpu import GPUModule
from ..observe import Report
from ..options import CompileOptions
from ..progress import progress
from .inputs import parse_input
from .programs import open_program

_SUFFIXES = (".o", ".so", ".a", ".ptx")


def run_build(arguments: Namespace, options: CompileOptions) -> Report:
    """Run the subcommand.

    Raises:
        UserError: an unknown kind of output, or a target that does not fit it.
        NotCompilable: the program has no native form.
    """
    output = Path(arguments.output)
    if output.suffix not in _SUFFIXES:
        raise UserError(f"cannot build {output}: expected {', '.join(_SUFFIXES)}")
    options = _fitting(options, output)
    program = open_program(arguments.program, replace(options, fallback="error"))
    if isinstance(program, LLVMFunction):
        raise UserError(f"{arguments.program}: build from .scheduled.mlir or an earlier stage")
    if isinstance(program, CompiledFunction):
        inputs = [parse_input(text) for text in arguments.input]
        program.latest_specs = tuple(argument_specs(program, inputs))
    output.parent.mkdir(parents=True, exist_ok=True)
    with progress(f"building {output}"):
        if output.suffix == ".ptx":
            lowered = program.lower(program.latest_specs or ())
            code = code_of(lowered, program.options)
            assert isinstance(code, GPUModule)
            output.write_text(code.ptx)
        else:
            export = export_object if output.suffix == ".o" else export_library
            export(program, output, arguments.header, arguments.name, arguments.weights)
    sys.stdout.write(f"{output}: {output.stat().st_size} bytes\n")
    return Report()


def _fitting(options: CompileOptions, output: Path) -> CompileOptions:
    """Options whose target suits the kind of output; `.ptx` alone means a GPU."""
    wants_gpu = output.suffix == ".ptx"
    if wants_gpu and options.target == "cpu":
        options = replace(options, target="cuda")
    if targets.parse(options.target, options.cpu).is_ptx != wants_gpu:
        raise UserError(f"target {options.target!r} cannot be built as {output.suffix}")
    return options

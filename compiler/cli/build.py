"""`tensorscript build`: a program as an object, a library, or PTX."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorscript.backends import target as targets
from tensorscript.base.errors import UserError
from tensorscript.base.replacing import all_or_nothing

from ..entry import StagedFunction, code_of
from ..entry_llvm import LLVMFunction
from ..examples import argument_specs
from ..export import FORWARD, export_members, method_symbol, object_name
from ..export_program import Exportable
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
    wanted = _wanted(arguments)
    if len(wanted) > 1 and output.suffix == ".ptx":
        raise UserError("PTX is written of one method at a time")
    members = _members(arguments, wanted, replace(options, fallback="error"))
    for path in (output, arguments.header, arguments.weights):
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
    with progress(f"building {output}"):
        if output.suffix == ".ptx":
            (program,) = members.values()
            lowered = program.lower(program.latest_specs or ())
            code = code_of(lowered, program.options)
            assert isinstance(code, GPUModule)
            ptx = code.ptx
            all_or_nothing([(output, lambda place: _write(place, ptx))])
        else:
            symbol = object_name(next(iter(members.values())), arguments.name)
            named: dict[str, Exportable] = {
                method_symbol(symbol, method): program for method, program in members.items()
            }
            files = (output, arguments.header, arguments.weights)
            export_members(symbol, named, *files, library=output.suffix != ".o")
    sys.stdout.write(f"{output}: {output.stat().st_size} bytes\n")
    return Report()


class TakeInput(Action):
    """`--input` of the method that was named last; before any, of the program itself."""

    def __call__(
        self, parser: ArgumentParser, found: Namespace, value: Any, option: str | None = None
    ) -> None:
        methods: dict[str, list[str]] = dict(found.methods)
        last = next(reversed(methods), "")
        methods[last] = [*methods.get(last, []), value]
        found.methods = methods


class TakeMethod(Action):
    """`--method`, which the inputs behind it belong to."""

    def __call__(
        self, parser: ArgumentParser, found: Namespace, value: Any, option: str | None = None
    ) -> None:
        if value in found.methods:
            parser.error(f"--method {value} is given twice")
        found.methods = {**found.methods, value: []}


def _wanted(arguments: Namespace) -> dict[str, list[Any]]:
    """Inputs by method; those before any `--method` are `forward`'s.

    Raises:
        UserError: an input that cannot be read, or inputs of `forward` in both places.
    """
    texts: dict[str, list[str]] = arguments.methods or {"": []}
    if "" in texts and FORWARD in texts:
        raise UserError("inputs before any --method are those of forward, which is named again")
    return {
        method or FORWARD: [parse_input(text) for text in given] for method, given in texts.items()
    }


def _members(
    arguments: Namespace, wanted: dict[str, list[Any]], options: CompileOptions
) -> dict[str, CompiledFunction | StagedFunction]:
    """The functions of the object by method, `forward` first: it is what a call of the program
    runs."""
    first = FORWARD if FORWARD in wanted else next(iter(wanted))
    program = open_program(arguments.program, options, "" if first == FORWARD else first)
    if isinstance(program, LLVMFunction):
        raise UserError(f"{arguments.program}: build from .scheduled.mlir or an earlier stage")
    if not isinstance(program, CompiledFunction):
        if len(wanted) > 1:
            raise UserError(f"{arguments.program} is a dumped program: it has no methods")
        return {first: program}
    program.latest_specs = tuple(argument_specs(program, wanted[first]))
    members: dict[str, CompiledFunction | StagedFunction] = {first: program}
    for name, inputs in wanted.items():
        if name != first:
            members[name] = _method(program, name, inputs)
    return members


def _method(function: CompiledFunction, name: str, inputs: list[Any]) -> CompiledFunction:
    """Another method of the same module, for inputs."""
    program, options = function.program.method(name), function.options
    made = CompiledFunction(program, options, name, fold=not options.strict)
    made.latest_specs = tuple(argument_specs(made, inputs))
    return made


def _write(place: Path, text: str) -> None:
    place.write_text(text)


def _fitting(options: CompileOptions, output: Path) -> CompileOptions:
    """Options whose target suits the kind of output; `.ptx` alone means a GPU."""
    wants_gpu = output.suffix == ".ptx"
    if wants_gpu and options.target == "cpu":
        options = replace(options, target="cuda")
    if targets.parse(options.target, options.cpu).is_ptx != wants_gpu:
        raise UserError(f"target {options.target!r} cannot be built as {output.suffix}")
    return options

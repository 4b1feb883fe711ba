"""`tensorscript tune`: the autotuner on a program, its findings printed and stored."""

from __future__ import annotations

import sys
from argparse import Namespace

from tensorscript.base.errors import UserError

from ..function import CompiledFunction
from ..observe import Report
from ..options import CompileOptions
from ..progress import Bar
from ..schedule_file import write_schedules
from ..spec_values import values_of
from ..tune import tune
from .inputs import parse_input, parse_sizes
from .programs import open_program


def run_tune(arguments: Namespace, options: CompileOptions) -> Report:
    """Run the subcommand.

    Raises:
        UserError: a program or target that cannot be tuned, or inputs that do not fit.
        NotCompilable: the program has no native form.
    """
    if not arguments.budget > 0:  # nor is NaN
        raise UserError("--budget is a positive number of seconds")
    program = open_program(arguments.program, options)
    if not isinstance(program, CompiledFunction):
        raise UserError(f"{arguments.program}: tune from a source, a .pt or a .ts.mlir file")
    inputs = [parse_input(text) for text in arguments.input]
    values = values_of(inputs, parse_sizes(arguments.size))
    bar = Bar()
    try:
        found = tune(program, values, arguments.budget, tell=bar)
    finally:
        bar.close()
    for tuned in found:
        sys.stdout.write(f"{tuned}\n")
    if arguments.output is not None:
        won = {t.kernel: t.schedule for t in found if t.schedule is not None}
        write_schedules(won, arguments.output)
    return Report()

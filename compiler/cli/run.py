"""`tensorscript run`: a program on given inputs, its results printed or written."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ..function import CompiledFunction
from ..observe import Report
from ..options import CompileOptions
from ..progress import progress
from ..spec_values import values_of
from .inputs import parse_input, parse_sizes
from .programs import open_program
from .results import result_text, write_results


def run_run(arguments: Namespace, options: CompileOptions) -> Report:
    """Run the subcommand.

    Raises:
        UserError: inputs that do not fit, an error of the program, or results that cannot be
            written.
    """
    program = open_program(arguments.program, options)
    inputs = [parse_input(text) for text in arguments.input]
    values = values_of(inputs, parse_sizes(arguments.size))
    with progress(f"running {program.__name__}"):
        result = program(*values)
    if isinstance(program, CompiledFunction):
        for reason in program.stats.fallbacks:
            sys.stderr.write(f"interpreted, not native: {reason}\n")
    if arguments.output is None:
        sys.stdout.write(result_text(result))
    else:
        path = Path(arguments.output)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_results(result, path)
    return report_of(program)


def report_of(program: object) -> Report:
    """Seconds of each pass of the latest compilation; empty if it came from the disk cache."""
    found = getattr(program, "report", None)
    return found if isinstance(found, Report) else Report()

"""The command line: `tensorscript dump|build|run|bench|tune|opt`; see `COMMAND --help`.

Exit codes: 0, 1 for an error of the user's program or data (printed as text), 2 for wrong usage,
130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from tensorscript.backends.cpu.runtime import set_num_threads
from tensorscript.base.errors import InternalError, UserError
from tensorscript.base.release import VERSION

from ..observe import Report
from ..options import BUDGET, WINOGRAD, CompileOptions
from ..schedule_file import chosen_schedules
from .bench import run_bench
from .build import TakeInput, TakeMethod, run_build
from .dump import run_dump
from .opt import run_opt
from .run import run_run
from .tune import run_tune

Command = Callable[[argparse.Namespace, CompileOptions], Report]

_PROGRAM = "file.py:function, file.py:Module, model.pt, or a dumped stage's text"
_INPUT = (
    "one per argument: 1x3x224x224:f32, Nx784:f32 (N is dynamic), x.npy, a number or another "
    "Python literal; int, float or bool for a number given at each call"
)


def _common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("compilation")
    group.add_argument(
        "--target", default="cpu", help="cpu, cuda[:sm_90], ptx-emulate, or a triple [cpu]"
    )
    group.add_argument("--cpu", default="", metavar="NAME", help="CPU to generate code for")
    group.add_argument("--strict", action="store_true", help="no contraction or reassociation")
    group.add_argument(
        "--winograd", type=int, default=0, choices=WINOGRAD[1:], metavar="{2,4}",
        help="Winograd's algorithm for convolutions of 3x3, by tiles of up to that side",
    )  # fmt: skip
    group.add_argument(
        "--schedule", metavar="FILE", help="steps for kernels, as dump --stage schedule writes"
    )
    group.add_argument("--verify", action="store_true", help="verify after every pass")
    group.add_argument("--no-cache", action="store_true", help="do not use the disk cache")
    group.add_argument("--timings", action="store_true", help="print the seconds of each pass")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def _program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="PROGRAM", help=_PROGRAM)
    parser.add_argument("--input", action="append", default=[], metavar="SPEC", help=_INPUT)


def _run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size", action="append", default=[], metavar="N=128", help="size of a named dimension"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads of parallel loops")


def _add_dump(parser: argparse.ArgumentParser) -> None:
    _program(parser)
    parser.add_argument(
        "--stage",
        required=True,
        help="ts, tg, kernels, te, scheduled, schedule (its steps), ll, s, o, ptx, "
        "graph (TorchScript's text), or all",
    )
    parser.add_argument("-o", "--output", metavar="FILE|DIR", help="where to; else printed")


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(methods={})
    parser.add_argument("program", metavar="PROGRAM", help=_PROGRAM)
    parser.add_argument("--input", action=TakeInput, default=[], metavar="SPEC", help=_INPUT)
    parser.add_argument(
        "--method",
        action=TakeMethod,
        default=[],
        metavar="NAME",
        help="a method of the module to export, with the --input behind it; may be given again "
        "for more, which share weights and state [forward]",
    )
    parser.add_argument("-o", "--output", required=True, metavar="m.o|m.so|m.a|m.ptx")
    parser.add_argument("--header", metavar="m.h", help="C header to write")
    parser.add_argument("--weights", metavar="m.bin", help="file for weights; else inside")
    parser.add_argument("--name", help="name of the C function [the program's]")


def _add_run(parser: argparse.ArgumentParser) -> None:
    _program(parser)
    _run_options(parser)
    parser.add_argument("-o", "--output", metavar="y.npz", help="where to; else printed")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    _program(parser)
    _run_options(parser)
    parser.add_argument("--kernels", action="store_true", help="also time each kernel")


def _add_tune(parser: argparse.ArgumentParser) -> None:
    _program(parser)
    _run_options(parser)
    parser.add_argument(
        "--budget", type=float, default=BUDGET, metavar="SECONDS", help=f"of trying [{BUDGET:g}]"
    )
    parser.add_argument("-o", "--output", metavar="FILE.json", help="where winners go")


def _add_opt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE.mlir",
        help="the text of one stage; - reads it from the input stream",
    )
    parser.add_argument(
        "-p",
        "--passes",
        action="append",
        default=[],
        metavar="pass{option=v},...",
        help="the passes, in order",
    )
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="where to; else printed")
    parser.add_argument("--list", action="store_true", help="name the passes")


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], Command]] = {
    "dump": ("print or write a program at one stage, or at all", _add_dump, run_dump),
    "build": ("make an object, a library or PTX", _add_build, run_build),
    "run": ("run a program on inputs", _add_run, run_run),
    "bench": ("time a program: native, interpreted, eager", _add_bench, run_bench),
    "tune": ("try other schedules, keep what is faster", _add_tune, run_tune),
    "opt": ("run passes on the text of a stage", _add_opt, run_opt),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tensorscript", description="A tensor compiler.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (what, add, _) in _COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
        add(command)
        _common(command)
    return parser


def _options(arguments: argparse.Namespace) -> CompileOptions:
    return CompileOptions(
        target=arguments.target,
        cpu=arguments.cpu,
        strict=arguments.strict,
        winograd=arguments.winograd,
        verify=arguments.verify,
        cache=not arguments.no_cache,
        schedules=chosen_schedules(arguments.schedule),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: arguments without the program's name; those of the process by default.

    Returns:
        The exit code.

    Raises:
        SystemExit: wrong usage (code 2), `--help` or `--version` (code 0).
        BrokenPipeError: nobody reads what is printed.
        KeyboardInterrupt: Ctrl-C; a process of the command line ends quietly then.
    """
    arguments = _parser().parse_args(argv)
    try:
        if getattr(arguments, "threads", None) is not None:
            if not 1 <= arguments.threads <= 256:
                raise UserError("--threads is a number from 1 to 256")
            set_num_threads(arguments.threads)
        report = _COMMANDS[arguments.command][2](arguments, _options(arguments))
    except BrokenPipeError:
        raise  # the reader has enough: nothing to report
    except (UserError, InternalError, OSError, MemoryError) as error:
        if arguments.debug:
            raise
        words = "not enough memory. " if isinstance(error, MemoryError) else ""
        print(f"error: {words}{str(error).lstrip()}", file=sys.stderr)
        return 1
    if arguments.timings:
        print(_timings(report), file=sys.stderr)
    return 0


def _timings(report: Report) -> str:
    return str(report) or "no pass ran (the disk cache answered)"

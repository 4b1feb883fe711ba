"""`tensorscript.compile`: anything that holds a tensor program, as a native callable."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorscript.base.errors import UserError
from tensorscript.frontends.script.modules import is_module

from .cli_progress import bar_on_terminal
from .examples import prepare
from .function import CompiledFunction
from .jit.load import load
from .jit.script import function_entry, script_module
from .options import CompileOptions, Fallback, options_from_environment
from .program import Program
from .schedule_file import chosen_schedules
from .tune import BUDGET, tune, with_schedules


def program_of(target: Any) -> tuple[Program, str]:
    """The program and name of a function, a module, either of them scripted, or an archive's path.

    Raises:
        UserError: not something that can be compiled; errors of the script frontend.
    """
    if isinstance(target, str | os.PathLike):
        target = load(target)
    if not hasattr(target, "__tensorscript_program__") and is_module(target):
        target = script_module(target)
    if (program := getattr(target, "__tensorscript_program__", None)) is not None:
        own: Program = program() if callable(program) else program
        name = getattr(target, "__name__", None) or getattr(target, "original_name", None)
        return own, name or type(target).__name__
    if callable(target) and hasattr(target, "__code__"):
        return function_entry(target).program(), target.__name__
    raise UserError(
        f"cannot compile {target!r}: expected a function, a scripted function or module, "
        "or the path of a .pt archive"
    )


def compile(  # the name users know from torch.compile
    program: Callable[..., Any] | str | Path | Any,
    example_inputs: Sequence[Any] | None = None,
    *,
    target: str = "cpu",
    cpu: str = "",
    fallback: Fallback = "interpret",
    strict: bool = False,
    cache: bool = True,
    schedule: object = None,
    autotune: bool | float = False,
    options: CompileOptions | None = None,
) -> CompiledFunction:
    """Compile a function, a scripted function or module, or a `.pt` archive.

    Attributes of a module are constants of the compilation, as after freezing; tensors that the
    program itself updates are state and stay shared with the module. Batch norms are folded into
    the convolutions and linear layers before them, unless `strict`.

    Args:
        program: what to compile.
        example_inputs: arrays, numbers or specs to compile for at once; without them the first
            call of each kind compiles.
        cpu: the CPU to make code for (LLVM's name, e.g. `x86-64-v3`); this machine's by default.
        target: `cpu`, `cuda[:sm_90]` or `ptx-emulate`.
        fallback: "interpret" runs what has no native form in the graph interpreter and counts it
            in `stats`; "error" refuses it.
        strict: no contraction or reassociation of floating-point arithmetic, nothing folded.
        cache: keep object code on disk.
        schedule: steps for kernels instead of those that the compiler would choose: what
            `ts.schedule` gives, its file, or steps by kernel.
        autotune: try other schedules for the example inputs, for ten seconds or as many as given,
            and keep what is faster, on disk too; `stats.tuned` says what was found.
        options: all options at once, instead of the ones above.

    Returns:
        A callable: NumPy arrays in, NumPy arrays out; our or PyTorch's tensors likewise.

    Raises:
        FrontendError, CompileError: the program is outside TorchScript's language.
        NotCompilable: no native form, with `fallback="error"`.
        UserError: the program cannot be tuned; the message says why.
        ScheduleError: an illegal step of `schedule`; the message names it, the loop and the reason.
    """
    chosen = options or CompileOptions(
        target=target, cpu=cpu, strict=strict, fallback=fallback, cache=cache
    )
    if schedule is not None:
        chosen = replace(chosen, schedules=chosen_schedules(schedule))
    found, name = program_of(program)
    options_here = options_from_environment(chosen)
    made = CompiledFunction(found, options_here, name, fold=not options_here.strict)
    if autotune:
        if example_inputs is None:
            raise UserError("autotune needs example_inputs to time")
        budget = BUDGET if autotune is True else float(autotune)
        with bar_on_terminal() as bar:
            made = with_schedules(made, tune(made, list(example_inputs), budget, tell=bar))
    if example_inputs is not None:
        prepare(made, list(example_inputs))
    return made

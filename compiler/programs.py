"""What `tensorscript.compile` is given, as a program, and the callable that compiles it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import Any

from tensorscript.base.dtypes import BY_SHORT
from tensorscript.base.errors import UserError
from tensorscript.frontends.script.modules import is_compiled_by_torch, is_module

from . import late_programs
from .examples import prepare
from .function import CompiledFunction
from .identity import identity_of
from .jit.script import function_entry, script_module
from .kept_starts import keep_start
from .options import CompileOptions
from .program import Program
from .progress import bar_on_terminal
from .specs import TensorSpec
from .stages import parse_module
from .starts import Kind, StartedProgram, started_program


def program_of(target: Any, method: str = "") -> tuple[Program, str]:
    """The program and name of a function, a module, either of them scripted, or an archive's path.

    Args:
        method: of the module, instead of what a call of it runs.

    What PyTorch scripted or traced comes over as the archive that PyTorch writes of it: with its
    own copy of the weights.

    Raises:
        UserError: not something that can be compiled; errors of the script frontend.
    """
    if isinstance(target, str | os.PathLike):
        target = late_programs.load(target)
    if is_compiled_by_torch(target):
        return _from_torch(target, method)
    if not hasattr(target, "__tensorscript_program__") and is_module(target):
        target = script_module(target)
    if method and not is_module(target):
        raise UserError(f"{target!r} is no module: it has no method {method!r}")
    if (program := getattr(target, "__tensorscript_program__", None)) is not None:
        own: Program = program(method) if method else program() if callable(program) else program
        name = getattr(target, "__name__", None) or getattr(target, "original_name", None)
        return own, name or type(target).__name__
    if callable(target) and hasattr(target, "__code__"):
        return function_entry(target).program(), target.__name__
    raise UserError(
        f"cannot compile {target!r}: expected a function, a scripted function or module, "
        "or the path of a .pt archive"
    )


def _from_torch(target: Any, method: str) -> tuple[Program, str]:
    name = getattr(target, "__name__", None)  # of functions, whose archives have no name
    if name is not None and any(
        argument.has_default_value() for argument in target.schema.arguments
    ):
        return program_of(target._torchdynamo_inline)  # nor have they default values
    loaded, module_name = program_of(late_programs.load(BytesIO(target.save_to_buffer())), method)
    return loaded, name or module_name


def compiled(
    target: Any,
    example_inputs: Sequence[Any] | None,
    options: CompileOptions,
    budget: float = 0.0,
) -> CompiledFunction:
    """The callable for `target`, compiled for the example inputs if there are some.

    Args:
        budget: seconds for the autotuner.

    Raises:
        FrontendError, CompileError, NotCompilable, UserError, ScheduleError: as
            `tensorscript.compile`.
    """
    found, name = program_of(target)
    made = CompiledFunction(found, options, name, fold=not options.strict)
    if (start := started_program(target, options)) is not None:
        made.keep = partial(keep_start, start, found)
    if budget:
        if example_inputs is None:
            raise UserError("autotune needs example_inputs to time")
        with bar_on_terminal() as bar:
            tuned = late_programs.tune(made, list(example_inputs), budget, tell=bar)
            made = late_programs.with_schedules(made, tuned)
    if example_inputs is not None:
        prepare(made, list(example_inputs))
    return made


def resumed(
    start: StartedProgram, told: dict[str, Any], ran: Sequence[Kind] | None
) -> CompiledFunction:
    """The whole of a function that was started from the disk cache: as it was when it was compiled,
    even if its source or its globals are others by now.

    Args:
        told: the program's text and entry.
        ran: the arguments that it has answered calls for.
    """
    target, options = start.function, start.options
    if identity_of(target) == start.identity:
        made = compiled(target, None, options)
    else:
        program = Program(parse_module(told["program"], target.__name__), told["entry"])
        made = CompiledFunction(program, options, target.__name__, fold=not options.strict)
    if ran is not None:
        prepare(made, [TensorSpec(shape, BY_SHORT[dtype]) for dtype, shape in ran])
    return made

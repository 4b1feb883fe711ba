"""`tensorscript opt`: passes and schedule primitives on one stage's text, as `xdsl-opt` does.

A pipeline is `pass,pass{option=value ...},...`. Passes of the pipeline page take no options; passes
on te take `func=NAME` (without it, every te.func); schedule primitives take `func=NAME` (without
it, the only kernel), `loop=NAME` or `buffer=NAME`, and `args=VALUE,...` in the primitive's order:

    simplify,split{loop=i0 args=16,guard},vectorize{loop=i0_i}
"""

from __future__ import annotations

import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te import ops as te
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.schedule import Argument, Step
from tensorscript.lowering.schedule import PRIMITIVES, apply
from tensorscript.lowering.te.flatten import flatten
from tensorscript.lowering.te.simplify import simplify_function
from tensorscript.lowering.te.storage import plan_storage
from tensorscript.lowering.te.verify import verify_function

from ..observe import Report, run_passes
from ..options import CompileOptions
from ..pipeline import PASSES
from ..stages import (
    load_constants,
    load_module,
    print_module,
    read_module,
    save_constants,
    save_module,
)

STREAM = "-"
"""The name of the input stream in place of a file's."""


@dataclass(frozen=True)
class Invocation:
    """One pass of a pipeline with its options; an option is a list of values."""

    name: str
    options: Mapping[str, tuple[Argument, ...]]


_INVOCATION = re.compile(r"\s*([\w-]+)(?:\{([^}]*)\})?\s*(,|$)")
_OPTION = re.compile(r"""([\w-]+)(?:=((?:"[^"]*"|[^\s",]+)(?:,(?:"[^"]*"|[^\s",]+))*))?\s*""")
_VALUE = re.compile(r'"[^"]*"|[^,]+')


def parse_pipeline(text: str) -> list[Invocation]:
    """The invocations that a pipeline's text spells.

    Raises:
        UserError: malformed text, pointing at where.
    """
    found, at = [], 0
    while at < len(text):
        match = _INVOCATION.match(text, at)
        if match is None:
            raise UserError(
                f"cannot read the pipeline at {text[at:]!r}: expected pass{{option=value}}"
            )
        found.append(Invocation(match[1], _options(match[2] or "")))
        at = match.end()
    return found


def _options(text: str) -> dict[str, tuple[Argument, ...]]:
    found: dict[str, tuple[Argument, ...]] = {}
    text, at = text.strip(), 0
    while at < len(text):
        match = _OPTION.match(text, at)
        if match is None:
            raise UserError(f"cannot read the options at {text[at:]!r}: expected option=value,...")
        found[match[1]] = tuple(_value(v) for v in _VALUE.findall(match[2] or ""))
        at = match.end()
    return found


def _value(text: str) -> Argument:
    if text.startswith('"'):
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# --- what a pass does ---------------------------------------------------------------------------

Constants = Mapping[str, Buffer]


def _verify(function: te.FuncOp, constants: Constants) -> None:
    """Check the invariants of the function's level."""
    verify_function(function, constants)


def _flatten(function: te.FuncOp, constants: Constants) -> None:
    """Turn every access into one index into the buffer's storage."""
    flatten(function, constants)


def _simplify(function: te.FuncOp, constants: Constants) -> None:
    """Decide what ranges decide; drop loops of one trip."""
    simplify_function(function)


def _plan(function: te.FuncOp, constants: Constants) -> None:
    """Give buffers of the arena their offsets."""
    plan_storage(function)


ON_LOOPS: dict[str, Callable[[te.FuncOp, Constants], None]] = {
    "simplify": _simplify,
    "flatten": _flatten,
    "plan-storage": _plan,
    "verify": _verify,
}
_PIPELINE = {step.name: step for step in PASSES if step.name not in ON_LOOPS}


def listing() -> str:
    """All names, with what they are for."""
    rows = [(step.name, step.stage, step.why) for step in _PIPELINE.values()]
    rows += [(name, "te", (run.__doc__ or "").rstrip(".")) for name, run in ON_LOOPS.items()]
    for name, primitive in PRIMITIVES.items():
        usage = f" args={primitive.usage}" if primitive.parameters else ""
        options = f"{primitive.kind}=NAME{usage}"
        rows.append((name, "te", f"schedule primitive: {{func=NAME {options}}}"))
    width = max(len(name) for name, _, _ in rows)
    return "".join(f"{name:<{width}}  {stage:<9}  {why}\n" for name, stage, why in rows)


def run_invocation(
    module: ModuleOp, call: Invocation, options: CompileOptions, report: Report
) -> ModuleOp:
    """Apply one pass to a module.

    Raises:
        UserError: unknown pass or option, or a module of another level.
        ScheduleError: an illegal schedule step.
    """
    start = time.perf_counter()
    loops = bool(list(te.functions(module)))
    step = _PIPELINE.get(call.name)
    # Some primitives have the name of a pass on tg: the module's level tells which is meant.
    if step is not None and not (loops and call.name in PRIMITIVES):
        _only(call, ())
        if loops != (step.stage == "scheduled"):
            raise UserError(f"{call.name} works on {'tg' if loops else 'te'}, and there is none")
        return run_passes(module, [step], options, report)
    if not loops:
        known = call.name in ON_LOOPS or call.name in PRIMITIVES
        what = "works on te, and there is none" if known else "is unknown, see opt --list"
        raise UserError(f"pass {call.name!r} {what}")
    if (run := ON_LOOPS.get(call.name)) is not None:
        _only(call, ("func",))
        constants = {op.buffer.name: op.buffer for op in te.constants(module)}
        for function in _chosen(module, call, every=True):
            run(function, constants)
    elif call.name in PRIMITIVES:
        _schedule(module, call)
    else:
        raise UserError(f"pass {call.name!r} is unknown, see opt --list")
    report.seconds[call.name] = time.perf_counter() - start
    return module


def _only(call: Invocation, known: tuple[str, ...]) -> None:
    for name in call.options:
        if name not in known:
            takes = ", ".join(known) or "no options"
            raise UserError(f"{call.name} has no option {name!r}; it takes {takes}")


def _word(call: Invocation, option: str) -> str | None:
    values = call.options.get(option)
    if values is None:
        return None
    if len(values) != 1:
        raise UserError(f"{call.name}: {option} takes one name")
    return str(values[0])


def _chosen(module: ModuleOp, call: Invocation, every: bool) -> list[te.FuncOp]:
    """The functions that a pass works on."""
    found = list(te.functions(module))
    if (name := _word(call, "func")) is not None:
        found = [f for f in found if f.sym_name.data == name]
    elif not every:
        found = [f for f in found if f.role.data == "kernel"] or found
    names = ", ".join(f.sym_name.data for f in te.functions(module))
    if not found:
        raise UserError(f"{call.name}: no such te.func; there are: {names or 'none'}")
    if not every and len(found) > 1:
        raise UserError(f"{call.name}: say func=NAME, one of {names}")
    return found


def _schedule(module: ModuleOp, call: Invocation) -> None:
    kind = PRIMITIVES[call.name].kind
    _only(call, ("func", kind, "args"))
    if (target := _word(call, kind)) is None:
        raise UserError(f"{call.name} needs {kind}=NAME")
    (function,) = _chosen(module, call, every=False)
    apply(function, (Step(call.name, target, call.options.get("args", ())),))
    function.properties["level"] = StringAttr("scheduled")


def run_opt(arguments: Namespace, options: CompileOptions) -> Report:
    """Run the subcommand.

    Raises:
        UserError: an unreadable file or pipeline, or a pass that refuses.
    """
    if arguments.list:
        sys.stdout.write(listing())
        return Report()
    if arguments.file is None:
        raise UserError("opt needs a FILE (- for the input stream), or --list")
    path = None if arguments.file == STREAM else Path(arguments.file)
    if path is not None and not path.is_file():
        raise UserError(f"there is no file {path}")
    module = read_module(sys.stdin.read(), "<stdin>") if path is None else load_module(path)
    report = Report()
    said = dict(module.attributes)
    try:
        for text in arguments.passes:
            for call in parse_pipeline(text):
                module = run_invocation(module, call, options, report)
    except VerifyException as error:
        raise UserError(f"{arguments.file}: {error}") from error
    # A pass that makes a new module knows nothing of what the text says of the program.
    module.attributes.update({k: v for k, v in said.items() if k not in module.attributes})
    module.verify()
    if arguments.output is None:
        sys.stdout.write(print_module(module))
    else:
        output = Path(arguments.output)
        save_module(module, output)
        save_constants(output, {} if path is None else load_constants(path))
    return report

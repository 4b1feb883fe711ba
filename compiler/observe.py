"""The loop that runs passes: it verifies, times, dumps, and says what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass

from .options import CompileOptions
from .stages import BY_NAME, save_module

Run = Callable[[ModuleOp, CompileOptions], ModuleOp]


@dataclass(frozen=True)
class Pass:
    """A step of the pipeline.

    Attributes:
        name: as the CLI and reports call it.
        stage: the stage whose form its result has.
        run: module and options in, module out (the same object if changed in place).
        why: what it is for, in one line.
        ends: the result is the finished form of its stage (what a dump of the stage shows).
    """

    name: str
    stage: str
    run: Run
    why: str
    ends: bool = False


@dataclass
class Report:
    """What happened: seconds per pass, and the module at the end of each stage if kept."""

    seconds: dict[str, float] = field(default_factory=dict)
    modules: dict[str, ModuleOp] = field(default_factory=dict)

    def __str__(self) -> str:
        width = max((len(n) for n in self.seconds), default=0)
        rows = [f"{name:<{width}}  {1e3 * s:8.3f} ms" for name, s in self.seconds.items()]
        return "\n".join(rows)


def run_passes(
    module: ModuleOp,
    passes: Sequence[Pass],
    options: CompileOptions,
    report: Report,
    name: str = "program",
    keep: bool = False,
) -> ModuleOp:
    """Run passes in order.

    Args:
        keep: keep a copy of the module at the end of each stage in `report.modules`.

    Raises:
        InternalError: a verifier refuses what a pass made (with `options.verify`).
    """
    for step in passes:
        start = time.perf_counter()
        module = step.run(module, options)
        taken = time.perf_counter() - start
        report.seconds[step.name] = report.seconds.get(step.name, 0.0) + taken
        if options.verify:
            _verify(module, step)
        if step.ends and keep:
            report.modules[step.stage] = module.clone()
        if step.ends and options.dump_dir is not None:
            dump(module, step.stage, options.dump_dir, name)
    return module


def _verify(module: ModuleOp, step: Pass) -> None:
    try:
        module.verify()
    except VerifyException as error:
        raise InternalError(f"after {step.name}: {error}", step.stage) from error


def dump(module: ModuleOp, stage: str, folder: Path, name: str) -> Path:
    """Write the module as `folder/name<suffix of stage>`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{BY_NAME[stage].suffix}"
    save_module(module, path)
    return path

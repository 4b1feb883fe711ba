"""The stages of a compilation: name, file suffix, how a module of it is printed and read back.

| stage | suffix | what it is |
|---|---|---|
| ts | .ts.mlir | TorchScript's graph |
| tg | .tg.mlir | the specialised tensor algebra |
| kernels | .kernels.mlir | tg with its ops grouped into kernels |
| te | .te.mlir | logical loops and host code |
| scheduled | .scheduled.mlir | loops with vectors, threads, tiles |
| schedule | .schedule.json | the steps that led from te to scheduled, by kernel |
| ll | .ll | LLVM IR text |
| s | .s | assembly |
| o | .o | object code |
| ptx | .ptx | NVIDIA PTX |

A dumped file enters the pipeline again at its stage. Large constants of a dump lie beside it in
`<name>.consts.npz`, keyed by the digest that the text names.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.data import ConstantData, DataAttr
from tensorscript.dialects.te.ops import TE
from tensorscript.dialects.te.ops import ConstantOp as TEConstantOp
from tensorscript.dialects.tg.ops import TG
from tensorscript.dialects.tg.ops import ConstantOp as TGConstantOp
from tensorscript.dialects.tg.types import TensorType
from tensorscript.dialects.ts.ops import TS
from tensorscript.dialects.walks import walk_ops


@dataclass(frozen=True)
class Stage:
    """One stage; `is_module` says that its form is an xDSL module."""

    name: str
    suffix: str
    is_module: bool


STAGES: tuple[Stage, ...] = (
    Stage("ts", ".ts.mlir", True),
    Stage("tg", ".tg.mlir", True),
    Stage("kernels", ".kernels.mlir", True),
    Stage("te", ".te.mlir", True),
    Stage("scheduled", ".scheduled.mlir", True),
    Stage("schedule", ".schedule.json", False),
    Stage("ll", ".ll", False),
    Stage("s", ".s", False),
    Stage("o", ".o", False),
    Stage("ptx", ".ptx", False),
)
BY_NAME = {stage.name: stage for stage in STAGES}


def stage_of(path: Path) -> Stage | None:
    """The stage whose suffix a file name has."""
    fits = [s for s in STAGES if path.name.endswith(s.suffix)]
    return max(fits, key=lambda s: len(s.suffix), default=None)


def make_context() -> Context:
    """An xDSL context with our dialects."""
    context = Context()
    for dialect in (Builtin, TS, TG, TE):
        context.load_dialect(dialect)
    return context


def print_module(module: ModuleOp, locations: bool = False) -> str:
    """A module's text."""
    out = io.StringIO()
    Printer(out, print_debuginfo=locations).print_op(module)
    return out.getvalue() + "\n"


def parse_module(text: str, name: str = "<text>") -> ModuleOp:
    """The verified module that a stage's text spells.

    Raises:
        UserError: the text does not parse or violates an invariant of its level.
    """
    try:
        module = Parser(make_context(), text, name).parse_module()
        module.verify()
    except (ParseError, VerifyException) as error:
        raise UserError(f"{name} is not a module of a stage: {error}") from error
    return module


def _constants(module: ModuleOp) -> list[TEConstantOp | TGConstantOp]:
    return [op for op in walk_ops(module) if isinstance(op, TEConstantOp | TGConstantOp)]


def save_module(module: ModuleOp, path: Path) -> None:
    """Write a module's text to `path`, and its large constants to the side file."""
    path.write_text(print_module(module))
    large = {
        op.data.data.digest: op.data.data.array
        for op in _constants(module)
        if op.data.text().startswith("blob")
    }
    save_constants(path, {d: array for d, array in large.items() if array is not None})


def save_constants(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Put arrays by digest into the side file of `path`; what other stages stored there stays."""
    stored = load_constants(path)
    if arrays.keys() - stored.keys():
        np.savez(side_file(path), **{**stored, **arrays})  # type: ignore[arg-type]  # digests are never "file"


def load_constants(path: Path) -> dict[str, np.ndarray]:
    """The arrays of the side file of `path` by digest; none where there is no such file.

    Raises:
        UserError: the file is not an archive of arrays.
    """
    if not side_file(path).exists():
        return {}
    try:
        with np.load(side_file(path), allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"cannot read {side_file(path)}: {error}") from error


def side_file(path: Path) -> Path:
    return path.with_name(path.name.split(".")[0] + ".consts.npz")


def _typed(array: np.ndarray, op: TEConstantOp | TGConstantOp) -> np.ndarray:
    """The array as its constant declares it: equal bytes of another dtype or shape are stored
    once."""
    described = op.buffer if isinstance(op, TEConstantOp) else op.result.type
    assert isinstance(described, Buffer | TensorType)
    shape = [int(str(size)) for size in described.shape]
    return array.reshape(-1).view(described.dtype.numpy).reshape(shape)


def load_module(path: Path) -> ModuleOp:
    """Read a dumped module and its constants.

    Raises:
        UserError: malformed text, or a constant that the side file does not hold.
    """
    return read_module(path.read_text(), str(path), path)


def read_module(text: str, name: str, path: Path | None = None) -> ModuleOp:
    """The module that a text spells, with the large constants of the side file of `path`.

    Raises:
        UserError: malformed text, or a constant that the side file does not hold.
    """
    module = parse_module(text, name)
    missing = [op for op in _constants(module) if op.data.data.array is None]
    if not missing:
        return module
    if path is None:
        raise UserError(
            f"{name}: large constants lie in a file beside a dumped text: give its path"
        )
    if not side_file(path).exists():
        raise UserError(f"{path}: the constants file {side_file(path).name} is missing")
    stored = load_constants(path)
    for op in missing:
        digest = op.data.data.digest
        if digest not in stored:
            raise UserError(f"{side_file(path).name} lacks the constant {digest[:12]}")
        data = ConstantData(_typed(stored[digest], op))
        if data.digest != digest:
            raise UserError(f"{side_file(path).name}: constant {digest[:12]} is damaged")
        op.properties["data"] = DataAttr(data)
    return module

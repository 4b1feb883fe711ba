"""Stand-alone objects, archives and shared libraries from LLVM text.

The run-time support is linked in before code generation, hidden, and only as far as it is called;
what is left undefined belongs to libc, libm and pthread.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tensorscript.backends.llvm.optimize import VECTOR_CODE, Optimization
from tensorscript.backends.target import Target
from tensorscript.base.errors import UserError

from .jit import compile_object
from .runtime import runtime_text

STOP = """
declare void @ts_stop_workers()
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }]
  [{ i32, ptr, ptr } { i32 65535, ptr @ts_stop_workers, ptr null }]
"""
"""Ends the worker threads with the program or library that holds the object."""


def build_object(
    text: str,
    target: Target,
    options: Optimization = VECTOR_CODE,
    others: tuple[str, ...] = (),
) -> bytes:
    """A position-independent object that needs nothing but libc, libm and pthread.

    Args:
        text: a module that may declare and call the support functions (`ts_malloc`, ...).
        target: the CPU the object is for.
        others: further modules of the same object.

    Raises:
        InternalError: LLVM refuses the text.
    """
    text += STOP if any("@ts_par_for(" in part for part in (text, *others)) else ""
    libraries = (*others, runtime_text(target, hidden=True))
    return compile_object(text, target, options, libraries=libraries)


def link_library(source: Path, path: Path, compiler: str = "cc") -> None:
    """Write a shared library made of one object, by the system's C compiler.

    Raises:
        UserError: there is no compiler, or it failed (its message is shown).
    """
    program = shutil.which(compiler)
    if program is None:
        raise UserError(f"linking a shared library needs a C compiler; {compiler!r} was not found")
    command = [program, "-shared", "-o", str(path), str(source), "-lm", "-lpthread"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise UserError(f"linking {path} failed: {result.stderr.strip()}")


def write_archive(source: Path, path: Path, archiver: str = "ar") -> None:
    """Write a static library made of one object, with its symbol table; the member has the
    library's name.

    Raises:
        UserError: there is no archiver, or it failed (its message is shown).
    """
    program = shutil.which(archiver)
    if program is None:
        raise UserError(f"writing a static library needs {archiver!r}, which was not found")
    path.unlink(missing_ok=True)
    member = source.rename(source.with_name(f"{path.stem}.o"))
    result = subprocess.run(
        [program, "rcsD", str(path), str(member)], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise UserError(f"writing {path} failed: {result.stderr.strip()}")

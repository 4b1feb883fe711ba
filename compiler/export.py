"""Ahead-of-time export: an object or library that needs neither Python nor any tensor library."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.header import header_text
from tensorscript.backends.cpu.object import build_object, link_library, write_archive
from tensorscript.backends.cpu.signature import Signature
from tensorscript.backends.cpu.weights import fill
from tensorscript.base.errors import UserError
from tensorscript.base.replacing import all_or_nothing

from .export_program import Exportable, Exported, exported

Place = str | os.PathLike[str]

FORWARD = "forward"


def c_name(name: str) -> str:
    """`name` as a C identifier."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    return cleaned if re.match(r"[A-Za-z_]", cleaned) else f"f_{cleaned}"


def object_name(function: Exportable, name: str | None) -> str:
    """The C name that an object gets: `name`, or the function's own as a C identifier.

    Raises:
        UserError: `name` is no C identifier.
    """
    if name is None:
        return c_name(function.__name__)
    if c_name(name) != name:
        raise UserError(f"{name!r} is no name of a C function: letters, digits and underscores")
    return name


def export_object(
    function: Exportable,
    path: Place,
    header: Place | None = None,
    name: str | None = None,
    weights: Place | None = None,
    methods: Sequence[Exportable] = (),
) -> Signature:
    """Write the latest specialisation as a relocatable object.

    All files are written, or none.

    Args:
        path: the `.o` file.
        header: a C header to write beside it.
        name: the C function's name; the Python function's by default.
        weights: a file for the weights, which the program then maps (`NAME_load_weights`);
            without it they are constants of the object.
        methods: further methods of the same module, compiled; `encode` becomes the C function
            `NAME_encode`. All share the weights, and what the module keeps between its calls
            (`NAME_state`).

    Returns:
        The signature of the exported function, without what the program keeps between its calls
        (the argument `self`: `NAME_state`, see the header).

    Raises:
        NotCompilable: the program has no native form, changes its arguments, draws random numbers,
            or gives an attribute a value of another kind or size.
        UserError: nothing was specialised yet, there are no weights for a file, `name` is none of
            a C function, or functions are not methods of one module, or not for one CPU.
        OSError: a file cannot be written.
    """
    symbol = object_name(function, name)
    members = {symbol: function} | _methods(symbol, function, methods)
    return export_members(symbol, members, path, header, weights)[symbol]


def export_library(
    function: Exportable,
    path: Place,
    header: Place | None = None,
    name: str | None = None,
    weights: Place | None = None,
    methods: Sequence[Exportable] = (),
) -> Signature:
    """Write a shared library (`.so`) or archive (`.a`); needs `cc` or `ar`. Arguments are those of
    `export_object`.

    Raises:
        UserError: no C compiler or archiver, or it fails; else as `export_object`.
    """
    symbol = object_name(function, name)
    members = {symbol: function} | _methods(symbol, function, methods)
    return export_members(symbol, members, path, header, weights, library=True)[symbol]


def method_symbol(name: str, method: str) -> str:
    """The C name of a method of the object `name`; of `forward` it is that of the object."""
    return name if method == FORWARD else c_name(f"{name}_{method}")


def _methods(
    name: str, function: Exportable, methods: Sequence[Exportable]
) -> dict[str, Exportable]:
    """Further methods by C name.

    Raises:
        UserError: they are of another module, or for another CPU, or two have one name.
    """
    out: dict[str, Exportable] = {}
    for method in methods:
        said = f"cannot export {method.__name__} with {function.__name__}"
        if function.receiver is None or method.receiver is not function.receiver:
            raise UserError(f"{said}: they are not methods of one module")
        if method.options != function.options:
            raise UserError(f"{said}: they are compiled with other options")
        symbol = c_name(f"{name}_{method.__name__}")
        if symbol in out:
            raise UserError(f"{said}: there are two functions {symbol}")
        out[symbol] = method
    return out


def export_members(
    name: str,
    members: Mapping[str, Exportable],
    path: Place,
    header: Place | None = None,
    weights: Place | None = None,
    library: bool = False,
) -> dict[str, Signature]:
    """Write several methods of one module as one object or library; they share weights and state.

    Args:
        name: of the object, which names what the functions share (`NAME_error`, `NAME_state`).
        members: the methods, compiled, by C name.
        library: a shared library or an archive, by the suffix of `path`.

    Returns:
        The signatures by C name.

    Raises:
        NotCompilable, UserError, OSError: as `export_object` and `export_library`.
    """
    made = exported(name, members, weights is not None)
    files: list[tuple[Place, Callable[[Path], None]]] = []
    files.append((path, lambda place: _write_program(made, members, place, library)))
    if header is not None:
        text = header_text(name, made.functions, made.beside is not None, made.state)
        files.append((header, lambda place: _write_text(place, text)))
    if weights is not None and (beside := made.beside) is not None:
        files.append((weights, lambda place: beside.write(place, made.weights)))
    all_or_nothing(files)
    return {function.name: function.signature for function in made.functions}


def _write_text(place: Path, text: str) -> None:
    place.write_text(text)


def _write_program(
    made: Exported, members: Mapping[str, Exportable], place: Path, library: bool
) -> None:
    options = next(iter(members.values())).options
    target = targets.parse(options.target, options.cpu)
    first, *others = made.texts
    data = build_object(first, target, others=tuple(others))
    inside = bool(made.weights) and made.beside is None
    whole = fill(data, made.weights) if inside else data
    if not library:
        place.write_bytes(whole)
        return
    with tempfile.TemporaryDirectory() as folder:
        single = Path(folder) / "module.o"
        single.write_bytes(whole)
        (write_archive if place.suffix == ".a" else link_library)(single, place)

"""Forward hooks and pre-hooks of modules: compiled as functions, checked against `forward`.

A pre-hook takes the module and the arguments of `forward` as one tuple, and gives None or the
arguments to use instead (one argument may come without its tuple). A hook takes the result, too,
and gives None or another result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.dialects.ts.types import NONE, TENSOR, TupleType

from .function import compile_definition
from .live import World
from .module_attributes import table
from .program import ClassInfo
from .signature import Signature

Hook = Callable[..., object]

KINDS = {"_forward_hooks": "Hook", "_forward_pre_hooks": "Pre-hook"}


def hooks_of(module: object) -> Iterator[tuple[str, Hook]]:
    """The table that each hook of a module stands in, and the hook.

    Raises:
        CompileError: two hooks of one name.
    """
    named: dict[str, Hook] = {}
    for kind, shown in KINDS.items():
        for fn in table(module, kind).values():
            assert callable(fn)
            name = str(getattr(fn, "__name__", type(fn).__name__))
            if named.setdefault(name, fn) is not fn:
                raise CompileError(
                    f"{shown} '{name}' on {type(module).__name__} has at least two different "
                    "python definitions. Please use unique names for all hooks."
                )
            yield kind, fn


def compile_hooks(world: World, info: ClassInfo, module: object) -> None:
    """Compile the hooks of a module whose methods are compiled.

    Raises:
        CompileError: a hook does not compile, or its signature does not fit `forward`.
    """
    if info.hooks or info.pre_hooks:
        return
    found = list(hooks_of(module))
    for kind, fn in found:
        name = str(getattr(fn, "__name__", ""))
        full = f"{info.name}.{name}"
        if full in world.program.functions and full not in (*info.hooks, *info.pre_hooks):
            raise CompileError(
                f"Can't define hook: {name} on class: {info.name} because a method or hook with "
                "that name already exists."
            )
        if full not in world.program.functions:
            definition = world.definition(fn, full, info.type)
            compile_definition(world.program, definition)
        (info.hooks if kind == "_forward_hooks" else info.pre_hooks).append(full)
    if not found:
        return
    forward = info.compiled["forward"]
    label = type(module).__name__
    for full in info.pre_hooks:
        _check_pre_hook(_short(world, full), forward, label, _is_annotated(found, full))
    previous = forward.returns[0]
    for full in info.hooks:
        signature = _short(world, full)
        _check_hook(signature, forward, previous, label)
        if signature.returns[0] != NONE:
            previous = signature.returns[0]


def _short(world: World, full: str) -> Signature:
    signature = world.program.functions[full].signature
    return Signature(full.rpartition(".")[2], signature.arguments, signature.returns)


def _is_annotated(found: list[tuple[str, Hook]], full: str) -> bool:
    """Whether a hook says what it returns, by an annotation or a type comment."""
    name = full.rpartition(".")[2]
    fn = next(fn for _, fn in found if getattr(fn, "__name__", "") == name)
    return "return" in getattr(fn, "__annotations__", {})


def _text(type: Attribute) -> str:
    return annotation_text(TENSOR if typing.is_subtype(type, TENSOR) else type)


def _arguments_type(forward: Signature) -> TupleType:
    return TupleType.of(f.type for f in forward.arguments[1:])


def _check_input(
    head: str, hint: str, signature: Signature, forward: Signature, count: int
) -> None:
    """The tuple of arguments that a hook takes must be that of `forward`."""
    if len(signature.arguments) != count:
        raise CompileError(
            f"{head} was expected to only have exactly {count} inputs but it had "
            f"{len(signature.arguments)} inputs. {hint}"
        )
    given, wanted = signature.arguments[1].type, _arguments_type(forward)
    if not isinstance(given, TupleType):
        raise CompileError(
            f"{head} expected the input argument to be typed as a Tuple but found type: "
            f"'{_text(given)}' instead.\n{hint}"
        )
    received = f"Received type: '{_text(given)}'.\n{hint}"
    elements, expected = list(given.elements), list(wanted.elements)
    if not expected and elements:
        raise CompileError(f"{head} was expecting Tuple[()] as the input type. {received}")
    if len(elements) != len(expected):
        raise CompileError(
            f"{head} has the wrong number of contained types for the input argument's Tuple. "
            f"{received}"
        )
    if not _same(elements, expected):
        raise CompileError(
            f"{head} has the wrong inner types for the input tuple argument. {received}"
        )


def _same(a: list[Attribute], b: list[Attribute]) -> bool:
    """Equal types; a tensor is a tensor, however it was annotated."""
    return len(a) == len(b) and all(
        typing.is_subtype(x, y) and typing.is_subtype(y, x) for x, y in zip(a, b, strict=True)
    )


def _check_pre_hook(signature: Signature, forward: Signature, label: str, annotated: bool) -> None:
    name, wanted = signature.name, _arguments_type(forward)
    only = next(iter(wanted.elements)) if len(wanted.elements) == 1 else None
    single = only if not isinstance(only, TupleType) else None
    choices = f"'None' or '{_text(wanted)}'"
    if single is not None:
        choices = f"'None', '{_text(single)}', or '{_text(wanted)}'"
    head = f"Pre-hook '{name}' on module '{label}'"
    hint = (
        f"This error occurred while scripting the forward pre-hook '{name}' on module '{label}'. "
        "If you did not want to script this pre-hook remove it from the original NN module before "
        f"scripting. Pre-hooks for module '{label}' are expected to have the following signature: "
        f"{name}(self, input: {_text(wanted)}) with a return type of either {choices}."
    )
    _check_input(head, hint, signature, forward, 2)
    if not annotated:
        raise CompileError(
            f"{head} is missing a return annotation. Return annotations are required, please add "
            f"one.\n{hint}"
        )
    returned = signature.returns[0]
    if returned == NONE or (single is not None and _same([returned], [single])):
        return
    wrong = f"{head} returned the wrong type of: '{_text(returned)}'."
    if not isinstance(returned, TupleType):
        raise CompileError(f"{wrong}{hint}")
    elements = list(returned.elements)
    if isinstance(only, TupleType) and not (len(elements) == 1 and _same(elements, [only])):
        raise CompileError(
            f"{wrong} When forward has a single tuple input argument, the return needs to be "
            "'None' or a nested tuple containing forward's input tuple argument as in: "
            f"'{_text(wanted)}'.\n{hint}"
        )
    if len(elements) != len(wanted.elements):
        raise CompileError(
            f"{wrong} The returned tuple contains the wrong number of contained types.\n{hint}"
        )
    if not _same(elements, list(wanted.elements)):
        raise CompileError(f"{wrong} The returned tuple contains the wrong inner types.\n{hint}")


def _check_hook(signature: Signature, forward: Signature, previous: Attribute, label: str) -> None:
    name, wanted = signature.name, _arguments_type(forward)
    head = f"Hook '{name}' on module '{label}'"
    hint = (
        f"This error occurred while scripting the forward hook '{name}' on module {label}. If you "
        "did not want to script this hook remove it from the original NN module before scripting. "
        f"This hook was expected to have the following signature: {name}(self, input: "
        f"{_text(wanted)}, output: {_text(previous)}). The type of the output arg is the returned "
        "type from either the forward method or the previous hook if it exists. Note that hooks "
        "can return anything, but if the hook is on a submodule the outer module is expecting the "
        "same return type as the submodule's forward."
    )
    _check_input(head, hint, signature, forward, 3)
    given = signature.arguments[2].type
    if not _same([given], [previous]):
        raise CompileError(
            f"{head} has the wrong type for the output argument. Received type: '{_text(given)}'. "
            f"Expected type: '{_text(previous)}'.\n{hint}"
        )

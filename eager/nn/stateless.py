"""Modules called with other parameters and buffers than their own (`func.functional_call`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..tensor import Tensor
from .module import Module


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What `module(*args, **kwargs)` gives with the tensors of the dictionaries instead of its own.

    Args:
        parameter_and_buffer_dicts: tensors by their names in the state dict, or several such.
        args: one argument, or a tuple of them.
        tie_weights: a tensor given for one name stands for all names that share the original.
        strict: every parameter and buffer has to be given, and nothing else.

    Raises:
        ValueError: several dictionaries give one name, or tied names get different tensors.
        RuntimeError: `strict`, and names lack or are unexpected.
    """
    given = _merged(parameter_and_buffer_dicts)
    own = {**dict(module.named_parameters(remove_duplicate=False)),
           **dict(module.named_buffers(remove_duplicate=False))}  # fmt: skip
    if strict:
        _check_names(type(module).__name__, given, own)
    if tie_weights:
        given = _tied(given, own)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, {k: v for k, v in given.items() if k in own}):
        return module(*positional, **(kwargs or {}))


def _merged(given: Any) -> dict[str, Tensor]:
    if isinstance(given, Mapping):
        return dict(given)
    names = [name for part in given for name in part]
    repeated = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional "
                         "call is ambiguous")  # fmt: skip
    return {name: tensor for part in given for name, tensor in part.items()}


def _check_names(kind: str, given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    unexpected = sorted(name for name in given if name not in own)
    missing = sorted(name for name in own if name not in given)
    parts = [
        f"{word} key(s): {', '.join(map(repr, names))}."
        for word, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if parts:
        raise RuntimeError(f"Error(s) in reparametrizing for {kind}:\n\t" + "\n\t".join(parts))


def _tied(given: dict[str, Tensor], own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The dictionary with an entry for every name whose tensor shares one with a given name."""
    made = dict(given)
    by_tensor = {id(own[name]): tensor for name, tensor in given.items() if name in own}
    for name, tensor in own.items():
        if (chosen := by_tensor.get(id(tensor))) is None:
            continue
        if given.get(name, chosen) is not chosen:
            tied = sorted(k for k, v in own.items() if v is tensor)
            raise ValueError(
                f"functional_call got multiple values for keys {tied}, which are tied. Consider "
                "using tie_weights=False"
            )
        made[name] = chosen
    return made


@contextmanager
def _replaced(module: Module, tensors: Mapping[str, Tensor]) -> Iterator[None]:
    """Within the block the module's names stand for other tensors; what `forward` writes into them
    is seen by who gave them."""
    places = [(_holder(module, name), name.rpartition(".")[2]) for name in tensors]
    before = [holder[key] for holder, key in places]
    for (holder, key), tensor in zip(places, tensors.values(), strict=True):
        holder[key] = tensor
    try:
        yield
    finally:
        for (holder, key), tensor in zip(places, before, strict=True):
            holder[key] = tensor


def _holder(module: Module, name: str) -> dict[str, Any]:
    """The dictionary of a submodule in which a parameter or buffer stands."""
    path, _, key = name.rpartition(".")
    owner = module.get_submodule(path)
    held: dict[str, Any] = owner._parameters if key in owner._parameters else owner._buffers
    return held

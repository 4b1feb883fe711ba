"""Pruning parameters of modules, one call a method (`nn.utils.prune`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from .. import namespace as ts
from ..tensor import Tensor
from .module import Module
from .parameters import parameters_to_vector
from .pruning import (
    UNSTRUCTURED,
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    hooks_on,
)

M = TypeVar("M", bound=Module)


def identity(module: M, name: str) -> M:
    """Set a parameter up as pruned without pruning anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: Any) -> M:
    """Prune elements drawn at random: a share of them, or a number."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: M, name: str, amount: Any, importance_scores: Tensor | None = None
) -> M:
    """Prune the elements of the smallest magnitude."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: Any, dim: int) -> M:
    """Prune slices along `dim` drawn at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: M,
    name: str,
    amount: Any,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> M:
    """Prune the slices along `dim` of the smallest norm of order `n`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune by a mask of the parameter's shape."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one.

    Args:
        parameters: modules and names of their parameters.
        pruning_method: an unstructured method, and `kwargs` its arguments.

    Raises:
        TypeError: a structured method, or arguments of other kinds.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != UNSTRUCTURED:
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    places = list(parameters)
    values = [getattr(m, name) for m, name in places]
    pairs = list(zip(places, values, strict=True))
    whole = parameters_to_vector(scores.get(at, value) for at, value in pairs)
    before = parameters_to_vector(
        getattr(m, f"{name}_mask", ts.ones_like(value)) for (m, name), value in pairs
    )
    method._tensor_name = "temp"
    mask: Any = PruningContainer(method).compute_mask(whole, before)
    start = 0
    for (module, name), value in pairs:
        custom_from_mask(module, name, mask[start : start + value.numel()].view_as(value))
        start += value.numel()


def remove(module: M, name: str) -> M:
    """Make the pruned elements of a parameter its own.

    Raises:
        ValueError: it is not pruned.
    """
    for number, hook in hooks_on(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[number]
        return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or of one below it is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for _, below in module.named_modules()
        for hook in below._forward_pre_hooks.values()
    )

"""Methods that choose which elements of a parameter to keep (`nn.utils.prune`).

A pruned parameter `name` is computed before every `forward` from `name_orig`, which is the
parameter now, and the buffer `name_mask`; the state dict and the hooks are PyTorch's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

from .. import namespace as ts
from ..device import contiguous_format
from ..tensor import Tensor
from .module import Module

UNSTRUCTURED, STRUCTURED, GLOBAL = "unstructured", "structured", "global"


class BasePruningMethod(ABC):
    """A pre-hook that multiplies a parameter by a mask.

    A subclass sets `PRUNING_TYPE` ("unstructured": single elements, "structured": slices along its
    attribute `dim`, "global": the whole tensor) and computes the mask.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor that `default_mask` prunes so far."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter's elements times the mask."""
        mask, kept = (getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        pruned: Tensor = mask.to(dtype=kept.dtype) * kept
        return pruned

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune `module.name`, on top of what pruned it before.

        Args:
            importance_scores: what elements are chosen by, instead of the parameter itself.

        Raises:
            AssertionError: the scores have another shape.
        """
        method = _on_top(cls(*args, **kwargs), _detached(module, name), name)
        kept = getattr(module, name)
        scores = kept if importance_scores is None else importance_scores
        assert scores.shape == kept.shape, (
            f"importance_scores should have the same shape as parameter {name} of {module}, "
            f"got {scores.shape} vs {kept.shape}"
        )
        if isinstance(method, PruningContainer):
            mask = method.compute_mask(scores, getattr(module, f"{name}_mask").detach().clone())
        else:
            mask = method.compute_mask(scores, ts.ones_like(kept))
            module.register_parameter(f"{name}_orig", kept)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        method(module, ())
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """A pruned copy of a tensor.

        Raises:
            AssertionError: the scores have another shape.
        """
        scores = t if importance_scores is None else importance_scores
        assert scores.shape == t.shape, (
            "importance_scores should have the same shape as tensor t, got "
            f"{scores.shape} vs {t.shape}"
        )
        start = ts.ones_like(t) if default_mask is None else default_mask
        pruned: Tensor = t * self.compute_mask(scores, start)
        return pruned

    def remove(self, module: Module) -> None:
        """Make the pruned elements the parameter's own; the hook itself stays."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        kept: Any = module._parameters.pop(f"{name}_orig")
        kept.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, kept)


def hooks_on(module: Module, name: str) -> list[tuple[int, BasePruningMethod]]:
    """The numbers and hooks that prune `module.name`."""
    found = module._forward_pre_hooks.items()
    return [(k, h) for k, h in found if isinstance(h, BasePruningMethod) and h._tensor_name == name]


def _detached(module: Module, name: str) -> BasePruningMethod | None:
    """The hook that pruned a parameter so far, taken off the module."""
    found = hooks_on(module, name)
    assert len(found) < 2, (
        f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
        "Use a PruningContainer."
    )
    for number, hook in found:
        del module._forward_pre_hooks[number]
        return hook
    return None


def _on_top(
    method: BasePruningMethod, before: BasePruningMethod | None, name: str
) -> BasePruningMethod:
    method._tensor_name = name
    if before is None:
        return method
    container = before if isinstance(before, PruningContainer) else PruningContainer(before)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Several methods in turn; the last one chooses among what the others have kept."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Raises:
        TypeError: no pruning method.
        ValueError: it prunes a parameter of another name.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        remaining = _remaining(method, default_mask, t.dim())
        mask = default_mask.to(dtype=t.dtype, copy=True)
        part = method.compute_mask(t[remaining], default_mask[remaining])
        mask[remaining] = part.to(dtype=mask.dtype)
        return mask


def _remaining(method: BasePruningMethod, mask: Any, rank: int) -> Any:
    """An index of the elements that a method may still choose among.

    Raises:
        AttributeError: a structured method does not say along which dimension.
        IndexError: it names a dimension that is not there.
        ValueError: an unknown kind of method.
    """
    match method.PRUNING_TYPE:
        case "unstructured":
            return mask == 1
        case "global":
            return (slice(None),) * rank
        case "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute '
                    "`dim` defined."
                )
            dim = method.dim + rank if method.dim < 0 else method.dim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {rank}")
            return _slices(rank, dim, mask.sum([d for d in range(rank) if d != dim]) != 0)
    raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


def _slices(rank: int, dim: int, chosen: Any) -> tuple[Any, ...]:
    """An index that picks `chosen` of one dimension."""
    index: list[Any] = [slice(None)] * rank
    index[dim] = chosen
    return tuple(index)


# -- methods --------------------------------------------------------------------------------------
class Identity(BasePruningMethod):
    """Prunes nothing, but sets the parameter up as a pruned one."""

    PRUNING_TYPE = UNSTRUCTURED

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Counted(BasePruningMethod):
    """A method that prunes `amount` of the elements or slices: a share, or a number of them.

    Raises:
        TypeError: the amount is no number.
        ValueError: a share outside 0 to 1, a negative number, or more than there are.
    """

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, Integral)
        if float(amount) < 0 or (not whole and float(amount) > 1):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
                "integer"
            )
        self.amount = amount

    def _count(self, size: int) -> int:
        if not isinstance(self.amount, Integral):
            return round(float(self.amount) * size)
        if (count := int(self.amount)) > size:
            raise ValueError(
                f"amount={self.amount} should be smaller than the number of parameters to "
                f"prune={size}"
            )
        return count


class _Elements(_Counted):
    """Prunes the elements of the lowest rank."""

    PRUNING_TYPE = UNSTRUCTURED

    def _lowest(self, t: Any, count: int) -> Any:
        """The places of `count` elements, by their number in row-major order."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.numel())
        mask: Any = default_mask.clone(memory_format=contiguous_format)
        if count:
            mask.view(-1)[self._lowest(t, count)] = 0
        found: Tensor = mask
        return found


class RandomUnstructured(_Elements):
    """Prunes elements drawn at random."""

    def _lowest(self, t: Any, count: int) -> Any:
        return ts.topk(ts.rand_like(t).view(-1), k=count).indices


class L1Unstructured(_Elements):
    """Prunes the elements of the smallest magnitude."""

    def _lowest(self, t: Any, count: int) -> Any:
        return ts.topk(ts.abs(t).view(-1), k=count, largest=False).indices


class _Slices(_Counted):
    """Prunes slices along a dimension.

    Raises:
        ValueError: the tensor has no second dimension.
        IndexError: it has no such dimension.
    """

    PRUNING_TYPE = STRUCTURED
    dim: int

    def _kept(self, t: Any, size: int, count: int) -> Any:
        """Which slices stay: a mask or their places."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        if not (count := self._count(size)):
            return default_mask
        mask: Any = ts.zeros_like(t)
        mask[_slices(t.dim(), self.dim, self._kept(t, size, count))] = 1
        kept: Tensor = mask * default_mask.to(dtype=mask.dtype)
        return kept


class RandomStructured(_Slices):
    """Prunes slices drawn at random."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Any, size: int, count: int) -> Any:
        chances = ts.rand(size)
        return chances > ts.kthvalue(chances, k=count).values


class LnStructured(_Slices):
    """Prunes the slices of the smallest norm of order `n`."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _kept(self, t: Any, size: int, count: int) -> Any:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return ts.topk(ts.norm(t, p=self.n, dim=others), k=size - count).indices


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that the caller gives."""

    PRUNING_TYPE = GLOBAL

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        assert default_mask.shape == self.mask.shape, (
            f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
        )
        mask: Tensor = default_mask * self.mask.to(dtype=default_mask.dtype)
        return mask

"""The gradient side of tensors: a flag that results carry, and clear refusals of the rest.

Eager mode records no gradients. `requires_grad` is carried to results as PyTorch does, hooks can be
registered and are never called, `grad` is None, and `backward()` says why it cannot run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.errors import MissingKernelError, OperatorError
from tensorscript.base.schema import schema

from .hooks import RemovableHandle
from .storage import TensorBase
from .tracing import active_tracer

NO_GRADIENTS = (
    "{name}() is not provided: TensorScript runs programs forward and records no gradients; "
    "compute them with PyTorch and load the trained weights"
)


class TensorGradients(TensorBase):
    """`requires_grad`, `grad`, `backward` and hooks."""

    __slots__ = ()

    grad: Any = None
    """Always None."""
    grad_fn: Any = None
    """Always None."""

    @property
    def is_leaf(self) -> bool:
        """Whether the program made the tensor, or it requires no gradient."""
        return not (self._requires_grad and self._computed)

    @property
    def retains_grad(self) -> bool:
        return False

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set the flag of a leaf.

        Raises:
            OperatorError: elements that are no floating-point or complex numbers, or a result.
        """
        if requires_grad and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise OperatorError("only Tensors of floating point dtype can require gradients")
        self.requires_grad = requires_grad
        return self

    def detach_(self) -> Any:
        """The tensor itself, without the flag.

        Raises:
            OperatorError: a view.
        """
        if self._base is not None:
            raise OperatorError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        self._requires_grad = self._computed = False
        if (tracer := active_tracer()) is not None:
            tracer.ran(schema("aten::detach"), (self,), self)
        return self

    def backward(
        self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        """Always refused.

        Raises:
            OperatorError: no gradient is asked for.
            MissingKernelError: gradients are not recorded.
        """
        refuse_gradients("backward", [self])

    def retain_grad(self) -> None:
        """Nothing: there is no gradient to keep.

        Raises:
            OperatorError: no gradient is asked for.
        """
        if not self._requires_grad:
            raise OperatorError("can't retain_grad on Tensor that has requires_grad=False")

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Register a function of the gradient; it is never called.

        Raises:
            OperatorError: no gradient is asked for.
        """
        if not self._requires_grad:
            raise OperatorError("cannot register a hook on a tensor that doesn't require gradient")
        return RemovableHandle(OrderedDict())

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """As `register_hook`."""
        return self.register_hook(hook)


def refuse_gradients(name: str, tensors: Sequence[Any]) -> None:
    """Raise for a call that would need recorded gradients of `tensors`.

    Raises:
        OperatorError: a tensor that no gradient is asked of.
        MissingKernelError: gradients are not recorded.
    """
    for at, tensor in enumerate(tensors):
        if not tensor.requires_grad:
            raise OperatorError(
                f"element {at} of tensors does not require grad and does not have a grad_fn"
            )
    raise MissingKernelError(NO_GRADIENTS.format(name=name))

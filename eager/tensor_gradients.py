"""The gradient side of tensors: a flag that results carry, and clear refusals of the rest.

Eager mode records no gradients. `requires_grad` is carried to results as PyTorch does, hooks can be
registered and are never called, `grad` is None, and `backward()` says why it cannot run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.errors import ArgumentError, MissingKernelError, OperatorError
from tensorscript.base.schema import schema

from .hooks import RemovableHandle
from .modes import MODES
from .storage import TensorBase
from .tracing import active_tracer

NO_GRADIENTS = (
    "{name}() is not provided: TensorScript runs programs forward and records no gradients; "
    "compute them with PyTorch and load the trained weights"
)


class TensorGradients(TensorBase):
    """`requires_grad`, `grad`, `backward` and hooks."""

    __slots__ = ()

    @property
    def grad(self) -> Any:
        """None, or what the program put there."""
        return self.__dict__.get("grad")

    @grad.setter
    def grad(self, gradient: Any) -> None:
        if not (gradient is None or isinstance(gradient, TensorBase)):
            raise ArgumentError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(gradient).__name__}"
            )
        if gradient is not None and gradient._array.shape != self._array.shape:
            raise OperatorError(
                f"attempting to assign a gradient of size '{list(gradient._array.shape)}' to a "
                f"tensor of size '{list(self._array.shape)}'. Please ensure that the gradient and "
                "the tensor are the same size"
            )
        self.__dict__["grad"] = gradient

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
            ArgumentError: the flag is no bool.
            OperatorError: elements that are no floating-point or complex numbers, or a result.
        """
        if not isinstance(requires_grad, bool):
            raise ArgumentError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if requires_grad and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise OperatorError("only Tensors of floating point dtype can require gradients")
        self.requires_grad = requires_grad
        return self

    def detach_(self) -> Any:
        """The tensor itself, without the flag; in `inference_mode` nothing changes.

        Raises:
            OperatorError: a view.
        """
        if MODES.inference:
            return self
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


def asked_for_gradient(made: Any, asked: bool) -> Any:
    """A new tensor with the flag that its maker was given.

    Raises:
        OperatorError: elements that are no floating-point or complex numbers.
    """
    if asked and not (made.dtype.is_floating_point or made.dtype.is_complex):
        raise OperatorError(
            "Only Tensors of floating point and complex dtype can require gradients"
        )
    made.requires_grad = asked
    return made


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

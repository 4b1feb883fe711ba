"""`torch.autograd` without gradients: functions run forward, and what needs gradients refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .tensor import Tensor
from .tensor_gradients import refuse_gradients


class _VariableKind(type):
    """Every tensor is a variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableKind):
    """The older name of tensors: `Variable(data)` is a tensor over the memory of `data`."""

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        made = Tensor() if data is None else data.detach()
        return made.requires_grad_(requires_grad)


def _listed(tensors: Any) -> Sequence[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def backward(tensors: Any, grad_tensors: Any = None, **_: Any) -> None:
    """Always refused.

    Raises:
        OperatorError: a tensor that no gradient is asked of.
        MissingKernelError: gradients are not recorded.
    """
    refuse_gradients("backward", _listed(tensors))


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, **_: Any) -> Any:
    """Always refused, as `backward`."""
    refuse_gradients("autograd.grad", _listed(outputs))


class Context:
    """What `forward` keeps for a `backward` that never runs."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        pass

    def mark_non_differentiable(self, *tensors: Any) -> None:
        pass

    def set_materialize_grads(self, value: bool) -> None:
        pass


class Function:
    """A user's function with a gradient of its own: `apply` runs `forward`."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """`forward(ctx, *args)`, or `forward(*args)` and `setup_context`."""
        ctx = Context()
        ctx.needs_input_grad = tuple(getattr(x, "requires_grad", False) for x in args)
        if (setup := getattr(cls, "setup_context", None)) is None:
            return cls.forward(ctx, *args, **kwargs)
        made = cls.forward(*args, **kwargs)
        setup(ctx, args, made)
        return made

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """What a subclass computes.

        Raises:
            NotImplementedError: the subclass has none.
        """
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

"""`torch.autograd.forward_ad` where nothing has a tangent: what asks for one gets None."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorscript.base.errors import MissingKernelError

from .tensor_gradients import NO_GRADIENTS


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, which is None."""

    primal: Any
    tangent: Any | None


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor itself; there are no dual tensors."""
    return UnpackedDualTensor(tensor, None)


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Always refused.

    Raises:
        MissingKernelError: gradients are not computed.
    """
    raise MissingKernelError(NO_GRADIENTS.format(name="make_dual"))

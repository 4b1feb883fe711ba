"""Parameters and buffers: tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from tensorscript.base.schema import schema

from ..answering import never_answers
from ..namespace import lookup
from ..storage import TensorBase
from ..tensor import Tensor
from ..tensor_gradients import asked_for_gradient
from ..tensor_repr import tensor_repr
from ..tracing import active_tracer


@never_answers
class Parameter(Tensor):
    """A tensor that a module counts among its parameters.

    Args:
        data: the tensor whose memory is shared; an empty one if None.
        requires_grad: the gradient flag (a flag only: eager mode records no gradients).
    """

    __slots__ = ()
    _is_parameter = True

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        source = lookup("empty")(0) if data is None else data
        if not isinstance(source, TensorBase):
            raise AttributeError(f"'{type(source).__name__}' object has no attribute 'detach'")
        super().__init__(source._array, source.dtype)
        self._sign = source._sign
        if (tracer := active_tracer()) is not None:
            tracer.ran(schema("aten::detach"), (source,), self)
        asked_for_gradient(self, requires_grad)

    def __repr__(self) -> str:
        if (kind := type(self)) is Parameter:
            return f"Parameter containing:\n{tensor_repr(self)}"
        return f"Parameter containing:\nParameter({tensor_repr(self, kind.__name__)})"


@never_answers
class Buffer(Tensor):
    """A tensor that a module counts among its buffers.

    Args:
        data: the tensor whose memory is shared; an empty one if None.
        persistent: whether it is part of the module's `state_dict`.
    """

    __slots__ = ()
    _is_parameter = True

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        source = lookup("empty")(0) if data is None else data
        super().__init__(source._array, source.dtype)
        self._sign = source._sign
        self._requires_grad = source.requires_grad
        self.persistent = persistent

    def __repr__(self) -> str:
        return tensor_repr(self)

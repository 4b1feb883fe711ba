"""Modules that learn the sizes of their parameters from the first input.

Until then their parameters have no elements (`UninitializedParameter`). The first call, or loading
a state dict, gives them memory; the module then becomes one of its ordinary class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from ..modes import MODES, no_grad
from ..tensor import Tensor
from .module import Module
from .parameter import Parameter

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)


class _Uninitialized(Tensor):
    """A tensor whose shape is not known yet."""

    __slots__ = ()
    cls_to_become: ClassVar[type[Tensor]]

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(_NO_SHAPE)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor memory, whose elements are not set, and its ordinary class."""
        kind = dtype or self.dtype
        self._array, self.dtype = np.empty(shape, kind.numpy), kind
        self.__class__ = self.cls_to_become  # type: ignore[assignment]  # the tensor stays, its class goes

    def detach(self) -> _Uninitialized:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet."""

    __slots__ = ()
    cls_to_become: ClassVar[type[Tensor]] = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        Parameter.__init__(self, _nothing(dtype), requires_grad)


class UninitializedBuffer(_Uninitialized):
    """A buffer whose shape is not known yet."""

    __slots__ = ()
    cls_to_become: ClassVar[type[Tensor]] = Tensor

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None,
        persistent: bool = True,
    ) -> None:  # fmt: skip
        empty = _nothing(dtype)
        Tensor.__init__(self, empty._array, empty.dtype)
        self.persistent = persistent
        self.requires_grad_(requires_grad)


def _nothing(dtype: Any) -> Tensor:
    kind = dtype or MODES.default_dtype
    return Tensor(np.empty(0, kind.numpy), kind)


def is_lazy(tensor: object) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(tensor, _Uninitialized)


def require_sizes(tensor: object, hook: str, purpose: str) -> None:
    """Raise ValueError for a parameter that has no shape yet."""
    if is_lazy(tensor):
        raise ValueError(
            f"The module passed to `{hook}` can't have uninitialized parameters. Make sure to run "
            f"the dummy forward before applying {purpose}"
        )


class LazyModuleMixin(Module):
    """Base of modules that start without sizes; subclasses define `initialize_parameters`.

    Attributes:
        cls_to_become: the class of the module once it has its parameters.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the sizes that these arguments of `forward` ask for.

        Raises:
            NotImplementedError: the subclass has none.
        """
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for _, tensor in self._held())

    def _held(self) -> Iterator[tuple[str, Any]]:
        yield from self._parameters.items()
        yield from self._buffers.items()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: Any) -> None:
        """Take the sizes from a state dict that has them."""
        for name, tensor in self._held():
            given = state_dict.get(prefix + name)
            if is_lazy(tensor) and given is not None and not is_lazy(given):
                with no_grad():
                    tensor.materialize(given.shape)

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Before the first `forward`: find the sizes, and become an ordinary module.

        Raises:
            RuntimeError: sizes are left open.
        """
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

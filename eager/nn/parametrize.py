"""Parameters that are computed from others each time they are read (`nn.utils.parametrize`).

A parametrized module gets a class of its own, in which the parameter is a property; its submodule
`parametrizations.<name>` holds the tensors that are trained and the modules that map them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tensorscript.base.errors import GuardError

from ..executor_flags import is_scripting
from ..modes import no_grad
from ..tensor import Tensor
from ..tracing import active_tracer
from .container import ModuleDict, ModuleList
from .module import Module
from .parameter import Parameter

M = TypeVar("M", bound=Module)


class _Kept:
    """Values of parametrizations, while a block of `cached` runs."""

    def __init__(self) -> None:
        self.blocks = 0
        self.values: dict[tuple[int, str], Tensor] = {}

    @contextmanager
    def block(self) -> Iterator[None]:
        self.blocks += 1
        try:
            yield
        finally:
            self.blocks -= 1
            if not self.blocks:
                self.values.clear()


_KEPT = _Kept()


def cached() -> Any:
    """Within `with cached():` every parametrization is computed once."""
    return _KEPT.block()


def _hold(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _same_kind(found: object, wanted: Tensor, noun: str = "tensor") -> None:
    """Raise unless a parametrization leaves dtype and shape."""
    if not isinstance(found, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
    for what, have, want in (
        ("dtype", found.dtype, wanted.dtype), ("shape", found.shape, wanted.shape)
    ):  # fmt: skip
        if have != want:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the {noun}, unless "
                f"`unsafe` flag is enabled.\nunparametrized {what}: {want}\n"
                f"parametrized {what}: {have}"
            )


class ParametrizationList(ModuleList):
    """The modules that make one tensor, in order, and what they make it from: `original`, or
    `original0`, `original1`, ... where the first of them takes several."""

    __jit_unused_properties__ = ("originals",)
    original: Tensor

    @no_grad
    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        new: Any = original
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    new = module.right_inverse(new)
                except NotImplementedError:
                    continue
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        wanted = Tensor(original._array, original.dtype)
        if isinstance(new, Tensor):
            if new.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {new.dtype}"
                )
            original.data = new.data
            _hold(self, "original", original)
        else:
            for k, part in enumerate(new):
                self._hold_part(k, part, original)
        if not unsafe:
            _same_kind(self(), wanted)

    def _hold_part(self, k: int, part: Any, original: Tensor) -> None:
        if not isinstance(part, Tensor):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got element {k} of the sequence with type {type(part).__name__}."
            )
        if isinstance(original, Parameter):
            part = Parameter(part.data, original.requires_grad)
        _hold(self, f"original{k}", part)

    @property
    def originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{k}") for k in range(self.ntensors)]

    @no_grad
    def right_inverse(self, value: Any) -> None:
        """Assign: `original` becomes what gives `value`.

        Raises:
            RuntimeError: a module has no `right_inverse`.
            ValueError: it gives tensors of another number or dtype.
        """
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
            value = module.right_inverse(value)
        new = [value] if self.is_tensor else list(value)
        if len(new) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(new)}."
            )
        for part, original in zip(new, self.originals, strict=True):
            if not isinstance(part, Tensor):
                raise ValueError(
                    f"`right_inverse` should return a tensor. Got {type(part).__name__}"
                )
            if part.dtype != original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {part.dtype} "
                    f"while `original` has dtype {original.dtype}"
                )
            original.data = part.data

    def forward(self) -> Tensor:
        if is_scripting():
            raise RuntimeError("Parametrization is not working with scripting.")
        else:
            first, *rest = list(self)
            x: Tensor = first(*self.originals)
            for module in rest:
                x = module(x)
            return x


def _own_class(module: Module) -> None:
    """Give a module a class of its own; it is copied like any other and pickled not at all."""
    kind = type(module)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return replica

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict()."
        )

    members: dict[str, Any] = {"__getstate__": __getstate__, "__module__": __name__}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _property(name: str) -> property:
    def computed(self: Any) -> Tensor:
        make: Callable[[], Tensor] = self.parametrizations[name]
        if not _KEPT.blocks:
            return make()
        if active_tracer() is not None:
            raise GuardError("Cannot trace a model while caching parametrizations.")
        key = id(self), name
        if key not in _KEPT.values:
            _KEPT.values[key] = make()
        return _KEPT.values[key]

    def read(self) -> Tensor:  # type: ignore[no-untyped-def]  # a method that scripts compile
        if is_scripting():
            raise RuntimeError("Parametrization is not working with scripting.")
        else:
            return computed(self)

    def assign(self, value: Tensor) -> None:  # type: ignore[no-untyped-def]  # the same
        if is_scripting():
            raise RuntimeError("Parametrization is not working with scripting.")
        else:
            self.parametrizations[name].right_inverse(value)

    return property(read, assign)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of that name."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return bool(found) if tensor_name is None else tensor_name in found


def type_before_parametrizations(module: Module) -> type:
    """The class that the module was made of."""
    kind = type(module)
    return kind.__bases__[0] if is_parametrized(module) else kind


def _check_inverse(parametrization: Any, mapped: Tensor, before: Tensor, place: str) -> None:
    """Raise unless a parametrization that others follow inverts to one tensor of the same kind."""
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        found = parametrization.right_inverse(mapped)
    except NotImplementedError:
        return
    if not isinstance(found, Tensor):
        kind = type(found).__name__
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {kind}")
    for what, have, want in (
        ("dtype", found.dtype, before.dtype),
        ("shape", found.shape, before.shape),
    ):
        if have != want:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as {place}, unless the `unsafe` flag is enabled.\n"
                f"{place}.{what}: {want}\nreturned {what}: {have}"
            )


def register_parametrization(
    module: M, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> M:
    """Let reading `module.<tensor_name>` run `parametrization` on what it held so far.

    Args:
        unsafe: do not check that dtype and shape stay.

    Raises:
        ValueError: no such parameter or buffer; dtype or shape would change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        made: Any = module.parametrizations
        if not unsafe:
            before = getattr(module, tensor_name)
            mapped = parametrization(before)
            _same_kind(mapped, before)
            _check_inverse(parametrization, mapped, before, f"module.{tensor_name}")
        made[tensor_name].append(parametrization)
        made[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    listed = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _own_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = listed
    return module


@no_grad
def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Make `module.<tensor_name>` an ordinary parameter again: its value now, or with
    `leave_parametrized` False the tensor that it was computed from.

    Raises:
        ValueError: it is not parametrized, or was computed from several tensors.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed: Any = module.parametrizations[tensor_name]
    first = listed.originals[0]
    if leave_parametrized:
        value = getattr(module, tensor_name).data
        if listed.is_tensor:
            first.data = value
            tensor = first
        else:
            tensor = (
                Parameter(value, first.requires_grad) if isinstance(first, Parameter) else value
            )
    elif listed.is_tensor:
        tensor = first
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _hold(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module

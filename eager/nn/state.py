"""State dictionaries: what a module saves of itself, and how it takes it back.

The keys are the dotted paths of parameters and persistent buffers. `Stateful` is the part of Module
that subclasses override.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from tensorscript.base.errors import OperatorError

from ..modes import no_grad
from ..tensor import Tensor
from .parameter import Parameter

EXTRA_STATE = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class IncompatibleKeys(_Keys):
    """What `load_state_dict` did not find, and what it had no use for."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )

    __str__ = __repr__


def _persistent(module: Stateful) -> dict[str, Any]:
    """Parameters and persistent buffers of the module itself."""
    buffers = {
        k: v for k, v in module._buffers.items() if k not in module._non_persistent_buffers_set
    }
    return {k: v for k, v in {**module._parameters, **buffers}.items() if v is not None}


def _has_own(module: Stateful, method: str) -> bool:
    return getattr(type(module), method) is not getattr(Stateful, method)


def save(module: Stateful, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Write the module and its children into `destination` (a new OrderedDict if None).

    Its attribute `_metadata` holds the version of every module that wrote into it.
    """
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.",
                             keep_vars=keep_vars)  # fmt: skip
    for hook in module._state_dict_hooks.values():
        changed = hook(module, destination, prefix, metadata)
        if changed is None:
            continue
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("state_dict post-hook must return None")
        destination = changed
    return destination


def _copy_into(
    module: Stateful, name: str, key: str, target: Tensor, source: Any, assign: bool
) -> str | None:
    """Copy one tensor (or put it in place); gives the complaint if that cannot be."""
    if not isinstance(source, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(source)}"
        )
    if hasattr(target, "materialize"):
        return None  # neither side has sizes: a source with sizes gave them to the target
    if target.dim() == 0 and source.shape == (1,):
        source = source[0]  # Written before tensors of no dimension existed.
    if source.shape != target.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, "
            f"the shape in current model is {target.shape}."
        )
    if assign:
        if isinstance(target, Parameter):
            source = Parameter(source, target.requires_grad)
        setattr(module, name, source)
        return None
    try:
        with no_grad():
            target.copy_(source)
    except OperatorError as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{target.shape} and whose dimensions in the checkpoint are {source.shape}, an "
            f"exception occurred : {error.args}."
        )
    return None


def _unexpected(
    module: Stateful, state_dict: Mapping[str, Any], prefix: str, own: Mapping[str, Any]
) -> list[str]:
    """Keys under `prefix` that neither the module nor a child of it has a place for."""
    found = []
    for key in state_dict:
        if not key.startswith(prefix) or key == prefix + EXTRA_STATE:
            continue
        name, dot, _ = key[len(prefix) :].partition(".")
        if name not in (module._modules if dot else own):
            found.append(key)
    return found


def load(
    module: Stateful, state_dict: Mapping[str, Any], strict: bool, assign: bool
) -> IncompatibleKeys:
    """Read `state_dict` into the module and its children.

    Raises:
        TypeError: `state_dict` is not a mapping.
        RuntimeError: a shape differs or, with `strict`, a key is missing or unexpected.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", {})
    keys, errors = IncompatibleKeys([], []), list[str]()
    given: Any = OrderedDict(state_dict)
    given._metadata = metadata

    def visit(part: Stateful, state: Mapping[str, Any], prefix: str) -> None:
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        missing, unexpected = keys
        part._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
        for name, child in part._modules.items():
            if child is not None:
                start = f"{prefix}{name}."
                visit(child, {k: v for k, v in state.items() if k.startswith(start)}, start)
        for hook in part._load_state_dict_post_hooks.values():
            if hook(part, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, it "
                    "should be done inplace."
                )

    visit(module, given, "")
    if strict:
        for label, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
            if names:
                listed = ", ".join(f'"{name}"' for name in names)
                errors.insert(0, f"{label} key(s) in state_dict: {listed}. ")
    if errors:
        listed = "\n\t".join(errors)
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{listed}"
        )
    return keys


class Stateful:
    """The methods of Module that save and load."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    def get_extra_state(self) -> Any:
        """What a subclass saves besides tensors."""
        raise RuntimeError(f"{type(self).__name__} defines no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__} defines no set_extra_state")

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the module's own tensors and extra state; not its children's."""
        for name, tensor in _persistent(self).items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _has_own(self, "get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Parameters and persistent buffers by dotted path, here and below."""
        given = [*args, *(destination, prefix, keep_vars)[len(args) :]]
        return save(self, *given)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Mapping[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Read the module's own tensors and extra state; complaints go into the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                error_msgs,
            )  # fmt: skip
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = _persistent(self)
        for name, tensor in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
            elif complaint := _copy_into(self, name, key, tensor, state_dict[key], assign):
                error_msgs.append(complaint)
        extra = prefix + EXTRA_STATE
        if _has_own(self, "set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys += _unexpected(self, state_dict, prefix, own)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy tensors of `state_dict` into parameters and buffers (`assign`: take them over).

        Raises:
            TypeError: `state_dict` is not a mapping.
            RuntimeError: a shape differs or, with `strict`, a key is missing or unexpected.
        """
        return load(self, state_dict, strict, assign)

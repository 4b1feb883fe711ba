"""Hooks of one module and of all, and the call of a module with its hooks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import field
from functools import partial
from typing import Any

from tensorscript.base.records import dataclass

from ..hooks import Hook, RemovableHandle, Table, add_hook


@dataclass
class RegistrationHooks:
    """Hooks that see (and may replace) everything that any module registers."""

    parameter: Table = field(default_factory=OrderedDict)
    buffer: Table = field(default_factory=OrderedDict)
    module: Table = field(default_factory=OrderedDict)

    def changed(self, kind: str, owner: Any, name: str, value: Any) -> Any:
        """`value` after the hooks of its kind."""
        for hook in getattr(self, kind).values():
            if (replaced := hook(owner, name, value)) is not None:
                value = replaced
        return value


@dataclass
class CallHooks:
    """Hooks around the `forward` of any module."""

    before: Table = field(default_factory=OrderedDict)
    after: Table = field(default_factory=OrderedDict)
    with_kwargs: Table = field(default_factory=OrderedDict)
    always: Table = field(default_factory=OrderedDict)


REGISTRATION = RegistrationHooks()
_CALLS = CallHooks()


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the `forward` of every module."""
    return add_hook(_CALLS.before, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the `forward` of every module."""
    marks = [(_CALLS.with_kwargs, with_kwargs), (_CALLS.always, always_call)]
    return add_hook(_CALLS.after, hook, marks=marks)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a buffer is registered."""
    return add_hook(REGISTRATION.buffer, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a submodule is registered."""
    return add_hook(REGISTRATION.module, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a parameter is registered."""
    return add_hook(REGISTRATION.parameter, hook)


def has_hooks(module: Any) -> bool:
    """Whether anything is to be called around `forward`."""
    return bool(module._forward_hooks or module._forward_pre_hooks or _CALLS.before or _CALLS.after)


@dataclass(frozen=True)
class Observer:
    """A hook that only looks on, as a tracer's do: a module has no hook of its user's by it."""

    hook: Hook

    def __call__(self, *args: Any) -> None:
        self.hook(*args)


def has_hooks_of_user(module: Any) -> bool:
    """Whether the user has had anything called around the `forward` of this module."""
    tables = (module._forward_hooks, module._forward_pre_hooks)
    return any(not isinstance(hook, Observer) for table in tables for hook in table.values())


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`forward` between the hooks; those marked `always_call` also see a failed call.

    Raises:
        RuntimeError: a pre-hook with keyword arguments gives something else than a pair.
    """
    after = [*_CALLS.after.items(), *module._forward_hooks.items()]
    pending = [number for number, _ in after if _in(number, _CALLS.always, module, "always_called")]
    result = None
    try:
        args, kwargs = _before(module, args, kwargs)
        result = module.forward(*args, **kwargs)
        for number, hook in after:
            if number in pending:
                pending.remove(number)
            result = _run_after(module, number, hook, args, kwargs, result)
        return result
    except BaseException:
        for number, hook in after:
            if number in pending:
                result = _run_after(module, number, hook, args, kwargs, result)
        raise


def _in(number: int, table: Table, module: Any, own: str) -> bool:
    return number in table or number in getattr(module, f"_forward_hooks_{own}")


def _before(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for number, hook in (*_CALLS.before.items(), *module._forward_pre_hooks.items()):
        if number in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {changed}."
                )
            args, kwargs = changed
        elif (changed := hook(module, args)) is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _run_after(
    module: Any, number: int, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Any:
    if _in(number, _CALLS.with_kwargs, module, "with_kwargs"):
        changed = hook(module, args, kwargs, result)
    else:
        changed = hook(module, args, result)
    return result if changed is None else changed


class Hooked:
    """The methods of Module that register hooks."""

    _forward_hooks: Table
    _forward_hooks_with_kwargs: Table
    _forward_hooks_always_called: Table
    _forward_pre_hooks: Table
    _forward_pre_hooks_with_kwargs: Table
    _backward_hooks: Table
    _backward_pre_hooks: Table
    _state_dict_hooks: Table
    _state_dict_pre_hooks: Table
    _load_state_dict_pre_hooks: Table
    _load_state_dict_post_hooks: Table

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; a result replaces the arguments."""
        marks = [(self._forward_pre_hooks_with_kwargs, with_kwargs)]
        return add_hook(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; a result replaces the output."""
        marks = [
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        ]
        return add_hook(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Keep a hook for gradients; eager mode records none, so it is never called.

        Raises:
            RuntimeError: the module has hooks of `register_backward_hook`.
        """
        return self._add_backward_hook(hook, prepend, is_full=True)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """As `register_full_backward_hook`, of the former kind: a module has hooks of one kind."""
        return self._add_backward_hook(hook, False, is_full=False)

    def _add_backward_hook(self, hook: Hook, prepend: bool, is_full: bool) -> RemovableHandle:
        if self.__dict__.setdefault("_is_full_backward_hook", None) is (not is_full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self.__dict__["_is_full_backward_hook"] = is_full
        return add_hook(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Keep a hook for gradients; eager mode records none, so it is never called."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module is saved."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` after the module was saved."""
        hook._from_public_api = True  # type: ignore[attr-defined]  # the mark that save() reads
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before the module is loaded."""
        return add_hook(self._load_state_dict_pre_hooks, partial(hook, self))

    def _register_load_state_dict_pre_hook(
        self, hook: Hook, with_module: bool = False
    ) -> RemovableHandle:
        if with_module:
            return self.register_load_state_dict_pre_hook(hook)
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after the module was loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)

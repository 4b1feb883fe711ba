"""Functions that start from the disk cache: what native code answers needs no compiler at all.

| entry of the cache | key | what it holds |
|---|---|---|
| program | the function's identity, options, target, our own files | the text of its `ts` module |
| code | that, and the kinds of the arguments | the object and its signature |

Both are written when a plain function has been compiled for arrays alone (`kept_starts.py`). A
process that finds the first has a `Started`, which looks for the second when it is called; until
something else is asked of it neither the script frontend nor xDSL is imported. Whatever the kept
code does not answer turns it into the `CompiledFunction` that it stands for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from tensorscript.base.dtypes import from_numpy
from tensorscript.base.errors import UserError
from tensorscript.base.exclusive import COMPILING

from . import late_api
from .native import Loaded, NativeCode
from .options import CompileOptions
from .starts import Kind, StartedProgram, started_program
from .stored_signature import signature_in

if TYPE_CHECKING:  # what a hit of the disk cache does not need
    from .function import CompiledFunction

_set_class = vars(object)["__class__"].__set__


def start(target: Any, options: CompileOptions) -> CompiledFunction | None:
    """The function as the cache has it; None if it was not compiled so before."""
    program = started_program(target, options)
    if program is None or (entry := program.cache.load(program.key)) is None:
        return None
    return cast("CompiledFunction", Started(program, entry.metadata))


def _kind(value: Any) -> Kind | None:
    """The kind of an argument; None for what kept code does not take."""
    if type(value) is not np.ndarray or value.dtype.kind not in "biufc":
        return None
    if not value.dtype.isnative or not value.flags.c_contiguous or not value.flags.aligned:
        return None
    try:
        return from_numpy(value.dtype).short, value.shape
    except TypeError:  # NumPy has dtypes that we have not
        return None


class Started:
    """Stands for a `CompiledFunction` until it has to be one.

    Args:
        program: what it is.
        told: the text and the entry of the program.
    """

    def __init__(self, program: StartedProgram, told: dict[str, object]) -> None:
        self.started_program = program
        self.told = told
        self.ran: tuple[Kind, ...] | None = None
        self._loaded: Loaded | None = None
        self.__name__ = program.function.__name__

    @property  # type: ignore[misc]  # read-only: it is set below
    def __class__(self) -> type[Any]:
        # What `isinstance` is to see.
        return late_api.CompiledFunction

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"a compiled function has no attribute {name!r}")
        return getattr(_whole(self), name)

    def __repr__(self) -> str:
        return repr(_whole(self))

    def __copy__(self) -> Started:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _whole(self).__deepcopy__(memo)

    def __reduce__(self) -> NoReturn:
        _whole(self).__reduce__()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kinds = tuple(_kind(value) for value in args)
        known = tuple(kind for kind in kinds if kind is not None)
        if kwargs or len(known) < len(kinds) or (loaded := self._begun(known)) is None:
            return _whole(self)(*args, **kwargs)
        return loaded.call(*args)

    @COMPILING.held()
    def _begun(self, kinds: tuple[Kind, ...]) -> Loaded | None:
        """The kept code for arguments of these kinds, which is called from now on; None if there
        is none, or if a call in another thread was first."""
        if type(self) is not Started or (loaded := self._kept(kinds)) is None:
            return None
        self.ran, self._loaded = kinds, loaded
        # The next call needs nothing of this.
        members = {"__call__": loaded.call, "__doc__": Started.__doc__}
        _set_class(self, type(f"Started_{self.__name__}", (Started,), members))
        return loaded

    def _kept(self, kinds: tuple[Kind, ...]) -> Loaded | None:
        """The code for arguments of these kinds, loaded."""
        cache = self.started_program.cache
        if (entry := cache.load(self.started_program.code_key(kinds))) is None:
            return None
        code = NativeCode(entry.data, signature_in(entry.metadata), (), ())
        return Loaded(
            self.__name__, code, {}, partial(_missed, self), cache, partial(_failed, self)
        )


def _missed(started: Started, *args: Any, **kwargs: Any) -> Any:
    """A call that the kept code refuses."""
    return _whole(started)(*args, **kwargs)


def _failed(started: Started, error: UserError, *args: Any) -> Any:
    """Explain why a call of the kept code failed."""
    return _whole(started)._failed(error, *args)


@COMPILING.held()
def _whole(started: Started) -> CompiledFunction:
    """The function with everything that belongs to it, in the same object."""
    if issubclass(type(started), Started):
        made = late_api.resumed(started.started_program, started.told, started.ran)
        kept = started.__dict__  # what was set on it, and the code that may be calling
        started.__dict__ = made.__dict__  # what one of the two learns the other one knows
        started.__dict__.update((k, v) for k, v in kept.items() if k not in made.__dict__)
        _set_class(started, type(made))
    return cast("CompiledFunction", started)

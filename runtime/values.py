"""Run-time values of TorchScript that Python has no type for."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.types import TupleType

from .tasks import pending

if TYPE_CHECKING:
    from concurrent.futures import Future as ConcurrentFuture


class ScriptObject:
    """An instance of a script class or module: its class's name and its attributes.

    Attributes:
        class_name: qualified name, e.g. `__torch__.Net`.
        attributes: by name, in declaration order.
    """

    __slots__ = ("__weakref__", "attributes", "class_name")

    def __init__(self, class_name: str, attributes: dict[str, Any] | None = None) -> None:
        self.class_name = class_name
        self.attributes: dict[str, Any] = {} if attributes is None else attributes

    def __repr__(self) -> str:
        return f"<{self.class_name} object>"


@dataclass(frozen=True)
class EnumValue:
    """A member of a script enum."""

    class_name: str
    name: str
    value: int | float | str

    def __repr__(self) -> str:
        return f"{self.class_name}.{self.name}"

    def __str__(self) -> str:
        return f"Enum<{self.class_name.rpartition('.')[2]}.{self.name}>"


def _nothing() -> None:
    """What a future without a task begins."""


class Future:
    """The result of a forked task.

    Args:
        begin: runs the tasks that it is a result of, if nobody has begun them.
    """

    __slots__ = ("_begin", "_future")

    def __init__(
        self,
        future: ConcurrentFuture[Any] | None = None,
        begin: Callable[[], None] = _nothing,
    ) -> None:
        self._future = pending() if future is None else future
        self._begin = begin

    def __class_getitem__(cls, item: object) -> GenericAlias:
        return GenericAlias(cls, item)

    def wait(self) -> Any:
        """Block until the task is done; its result, or its exception raised here."""
        self._begin()
        return self._future.result()

    def done(self) -> bool:
        return self._future.done()

    def value(self) -> Any:
        """The result of a task that is done.

        Raises:
            GuardError: it is not.
        """
        if not self.done():
            raise GuardError("the future has no value yet; `wait()` waits for it")
        return self._future.result()

    def set_result(self, result: Any) -> None:
        """Complete a future that no task completes.

        Raises:
            GuardError: it is complete.
        """
        self._refuse_twice()
        self._future.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Let a future that no task completes fail.

        Raises:
            GuardError: it is complete.
        """
        self._refuse_twice()
        self._future.set_exception(result)

    def _refuse_twice(self) -> None:
        if self.done():
            raise GuardError(
                "Attempting to mark a completed Future as complete again. Note that a Future can "
                "only be marked completed once."
            )

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        """Call `callback(self)` when this one is done."""
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of `callback(self)`, run when this one is done; it fails if that does."""
        made = pending()

        def run(_: ConcurrentFuture[Any]) -> None:
            try:
                made.set_result(callback(self))
            except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
                made.set_exception(error)

        self._future.add_done_callback(run)
        return Future(made, self._begin)


def collect_all(futures: Sequence[Future]) -> Future:
    """A future of the list of these, done when all are; it fails when the first one does."""
    made = pending()
    left, lock = list(futures), Lock()

    def begin() -> None:
        for one in futures:
            one._begin()

    def finish(one: Future) -> None:
        with lock:
            left.remove(one)
            if made.done():
                return
            if (error := one._future.exception()) is not None:
                made.set_exception(error)
            elif not left:
                made.set_result(list(futures))

    if not left:
        made.set_result([])
    for one in tuple(left):
        one.add_done_callback(finish)
    return Future(made, begin)


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The results of all; raises what the first one that fails raises."""
    return [one.wait() for one in collect_all(futures).wait()]


@cache
def named_tuple(class_name: str, fields: tuple[str, ...]) -> type:
    """The Python class for values of a script NamedTuple (one per name and fields)."""
    name = class_name.rpartition(".")[2] or "NamedTuple"
    return namedtuple(name, fields)


def tuple_of(type_: Attribute, values: list[Any]) -> tuple[Any, ...]:
    """The value of a TorchScript tuple type: a NamedTuple's if the program declares it.

    The named results of operators are plain tuples outside of a function.
    """
    if isinstance(type_, TupleType) and type_.field_names and type_.class_name.data:
        made: tuple[Any, ...] = named_tuple(type_.class_name.data, type_.field_names)(*values)
        return made
    return tuple(values)

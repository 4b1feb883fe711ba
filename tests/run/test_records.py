"""Do our dataclasses compare, hash and print as those of the standard library?"""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tensorscript.base import records

Maker = Callable[..., Any]
BOTH = [dataclasses.dataclass, records.dataclass]


@records.dataclass(frozen=True)
class Point:
    x: int
    y: list[int] = dataclasses.field(default_factory=list, compare=False)


def shapes(dataclass: Maker) -> dict[str, type]:
    """Classes that ask for the same in every way that ours do."""

    @dataclass
    class Plain:
        a: int
        b: object = None

    @dataclass(frozen=True)
    class Frozen:
        """With a text of its own."""

        a: int
        b: object = dataclasses.field(default=0, repr=False)
        c: int = dataclasses.field(default=0, compare=False)
        d: int = dataclasses.field(default=0, hash=False)

    @dataclass(frozen=True)
    class Single:
        a: object

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass(frozen=True, slots=True)
    class Slots:
        a: int
        b: object = None

    @dataclass(eq=False)
    class Identity:
        a: int

    @dataclass(frozen=True)
    class Inherits(Frozen):
        e: str = "e"

    @dataclass(frozen=True)
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    @dataclass
    class Hashed:
        a: int

        def __hash__(self) -> int:
            return 3

    @dataclass(frozen=True, repr=False)
    class Silent:
        a: int

    made = (Plain, Frozen, Single, Empty, Slots, Identity, Inherits, Own, Hashed, Silent)
    return {cls.__name__: cls for cls in made}


NAN = float("nan")
VALUES: dict[str, list[tuple[Any, ...]]] = {
    "Plain": [(1,), (1, 2), (1, 2), (1, NAN), (1, [])],
    "Frozen": [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, NAN), (2, [])],
    "Single": [(1,), (1.0,), (NAN,), (NAN,), ([],), ((),)],
    "Empty": [(), ()],
    "Slots": [(1,), (1, None), (1, 2)],
    "Identity": [(1,), (1,)],
    "Inherits": [(1, 2, 3, 4, "f"), (1, 2, 0, 4, "f"), (1,)],
    "Own": [(1,), (2,)],
    "Hashed": [(1,), (2,)],
    "Silent": [(1,), (1,)],
}


def _told(cls: type, given: list[tuple[Any, ...]]) -> list[object]:
    """What instances of these arguments say of themselves and of each other."""
    all_of_them = [cls(*arguments) for arguments in given]
    out: list[object] = [dataclasses.asdict(all_of_them[0])]
    for x in all_of_them:
        out += [x == y for y in all_of_them]
        out += [x == 1, x != all_of_them[0]]
        out.append(repr(x).replace(hex(id(x)), "here"))
        try:
            out.append(hash(x) if cls.__name__ != "Identity" else hash(x) == object.__hash__(x))
        except TypeError as error:
            out.append(str(error))
        try:
            x.a = 5
        except (AttributeError, TypeError) as error:
            out.append((type(error).__name__, str(error)))
    return out


@pytest.mark.parametrize("name", VALUES)
def test_they_say_the_same(name: str) -> None:
    theirs, ours = (_told(shapes(maker)[name], VALUES[name]) for maker in BOTH)
    here = f"{shapes.__name__}.<locals>.{name}"
    if name in ("Identity", "Silent"):  # object's own texts name places
        theirs, ours = ([v for v in told if here not in str(v)] for told in (theirs, ours))
    assert ours == theirs


def test_other_classes_are_never_equal() -> None:
    point = Point(1)
    assert point != shapes(records.dataclass)["Single"](1)
    assert point.__eq__(1) is NotImplemented


def test_a_record_within_itself() -> None:
    point = Point(1)
    point.y.append(point)  # type: ignore[arg-type]  # not of its annotation
    assert repr(point) == "Point(x=1, y=[...])"


def test_copies_and_pickles() -> None:
    point = Point(1, [2])
    for same in (copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert same == point
        assert same.y == [2]
    assert dataclasses.replace(point, x=3) == Point(3)
    assert Point.__eq__.__qualname__ == "Point.__eq__"

"""Loads whose lanes lie at fixed distances: a few contiguous vectors, and shuffles of them.

```
x[3 * (16 o + v)], v = 0 .. 16      three vectors from x[48 o] on; where the buffer may end there
                                    the last one ends with the last lane's element
x[(16 o + v) // 2]                  one vector of eight
```
A gather costs a load a lane. `pattern` finds the distances: sums of the lane's number, multiples of
it, and quotients and rests of blocks that begin at a multiple of the divisor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.te.expr import Expr, add, binary, const, mul, sub

from .emit_scope import Lane, Scope, below, multiple, nonneg
from .emit_text import Code
from .emit_types import vector_of

CHUNK = 16
"""Lanes that are put together at a time, a register of floats."""
MOST_WINDOWS = 8
"""Vectors that a chunk is picked from, at most; a gather is as fast then."""

Pattern = tuple[Expr, tuple[int, ...]]


def pattern(e: Expr, lane: Lane, scope: Scope) -> Pattern | None:
    """(base, distances): lane k of `e` is `base + distances[k]`, base free of the lane."""
    if not lane.varies(e):
        return e, (0,) * lane.width
    if e.op == "var":
        return (const(0), tuple(range(lane.width))) if e.value == lane.name else None
    if e.op not in ("add", "sub", "mul", "floordiv", "mod"):
        return None
    left, right = (pattern(a, lane, scope) for a in e.args)
    if left is None or right is None:
        return None
    match e.op:
        case "add":
            return add(left[0], right[0]), _each(lambda a, b: a + b, left, right)
        case "sub":
            return sub(left[0], right[0]), _each(lambda a, b: a - b, left, right)
        case "mul":
            return _scaled(left, right) or _scaled(right, left)
    return _divided(e.op, left, right, scope)


def _each(combine: Callable[[int, int], int], left: Pattern, right: Pattern) -> tuple[int, ...]:
    return tuple(combine(a, b) for a, b in zip(left[1], right[1], strict=True))


def _scaled(left: Pattern, right: Pattern) -> Pattern | None:
    """The product with a number."""
    if any(right[1]) or not right[0].is_const:
        return None
    factor = int(str(right[0].value))
    return mul(left[0], right[0]), tuple(k * factor for k in left[1])


def _divided(op: str, left: Pattern, right: Pattern, scope: Scope) -> Pattern | None:
    base, distances = left
    if any(right[1]) or not right[0].is_const:
        return None
    divisor = int(str(right[0].value))
    if base.is_const:
        base, distances = const(0), tuple(int(base) + k for k in distances)
    if divisor < 1 or multiple(base, scope) % divisor or min(distances) < 0:
        return None
    if op == "mod":
        return const(0), tuple(k % divisor for k in distances)
    return binary("floordiv", base, const(divisor)), tuple(k // divisor for k in distances)


def placed(found: Pattern, scope: Scope) -> Pattern:
    """The same with the constant part of the base in the distances, where the rest of it is an
    index, too: neighbouring loads then share vectors."""
    base, distances = found
    if base.op != "add":
        return base, distances
    left, right = base.args
    number, rest = (right, left) if right.is_const else (left, right)
    offset = int(str(number.value)) if number.is_const else -1
    if offset < 0 or not nonneg(rest, scope):
        return base, distances
    return rest, tuple(offset + k for k in distances)


def windows(
    distances: Sequence[int], readable: int = 0, most_lanes: int = CHUNK
) -> list[list[tuple[int, int]]] | None:
    """For each chunk of lanes the vectors that hold its elements, as (start, length); None where
    there are too many of them. All lie between 0, or the least distance if that is negative, and
    the greatest distance or `readable` elements, most of them on a grid."""
    least, count = min(0, *distances), min(most_lanes, len(distances))
    most = max(*distances, readable - 1)
    if not readable and min(distances) >= MOST_WINDOWS * count:
        least = min(distances)
    length = min(count, most - least + 1)
    if len(distances) & len(distances) - 1:
        return None
    found = []
    for first in range(0, len(distances), count):
        chunk: list[tuple[int, int]] = []
        for place in sorted(set(distances[first : first + count])):
            if not chunk or place >= sum(chunk[-1]):
                start = least + (place - least) // length * length
                chunk.append((min(start, most - length + 1), length))
        if len(chunk) > MOST_WINDOWS or 2 * len(chunk) > count:
            return None
        found.append(chunk)
    return found


def readable_from(
    start: Expr, distances: Sequence[int], lanes: int, count: Expr, scope: Scope
) -> int:
    """How many elements from `start` on, in whole vectors of `lanes`, may be read of a buffer of
    `count` to find those at `distances`, so that neighbouring accesses read the same vectors; 0
    where that is not known, or one vector is enough."""
    near, far = min(distances), max(distances)
    if far - near < lanes or near >= MOST_WINDOWS * lanes:
        return 0
    whole = -(-(far + 1) // lanes) * lanes
    return whole if below(add(start, const(whole - 1)), count, scope) else 0


def load_windows(
    code: Code, element: str, pointer_type: str, pointer: str, align: int,
    distances: Sequence[int], chunks: list[list[tuple[int, int]]],
) -> str:  # fmt: skip
    """The vector of the elements at these distances from `pointer`."""
    loaded: dict[tuple[int, int], str] = {}
    parts = []
    for number, chunk in enumerate(chunks):
        lanes = distances[number * CHUNK : (number + 1) * CHUNK]
        for window in chunk:
            if window not in loaded:
                loaded[window] = _load(code, element, pointer_type, pointer, align, *window)
        parts.append(picked(code, element, lanes, chunk, loaded))
    return joined(code, element, parts, min(CHUNK, len(distances)))


def _load(
    code: Code, element: str, pointer_type: str, pointer: str, align: int, start: int, length: int
) -> str:
    place = pointer
    if start:
        place = code.let(
            f"getelementptr inbounds {element}, {pointer_type} {pointer}, i64 {start}", "p"
        )
    # A window may be one element wide: still a vector, of which a shuffle picks.
    return code.let(f"load <{length} x {element}>, {pointer_type} {place}, align {align}")


def picked(
    code: Code, element: str, lanes: Sequence[int], chunk: list[tuple[int, int]],
    loaded: dict[tuple[int, int], str],
) -> str:  # fmt: skip
    """The lanes of a chunk, from one vector after the other."""
    (first, length), count = chunk[0], len(lanes)
    kind = f"<{length} x {element}>"
    if length == count and list(lanes) == list(range(first, first + count)):
        return loaded[chunk[0]]
    homes = [max(n for n, w in enumerate(chunk) if w[0] <= k) for k in lanes]
    if len(chunk) == 2 and length == count:
        picks = [home * count + k - chunk[home][0] for k, home in zip(lanes, homes, strict=True)]
        return _shuffle(code, kind, loaded[chunk[0]], loaded[chunk[1]], picks)
    picks = [0 if home else k - first for k, home in zip(lanes, homes, strict=True)]
    made = _shuffle(code, kind, loaded[chunk[0]], "poison", picks)
    for number, window in enumerate(chunk[1:], 1):
        value = loaded[window]
        if length < count:
            picks = [min(k, length - 1) for k in range(count)]
            value = _shuffle(code, kind, value, "poison", picks)
        picks = [
            count + k - window[0] if home == number else n
            for n, (k, home) in enumerate(zip(lanes, homes, strict=True))
        ]
        made = _shuffle(code, vector_of(element, count), made, value, picks)
    return made


def _shuffle(code: Code, kind: str, a: str, b: str, picks: Sequence[int]) -> str:
    text = ", ".join(f"i32 {k}" for k in picks)
    return code.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{text}>")


def joined(code: Code, element: str, parts: list[str], width: int) -> str:
    """Vectors of `width` lanes each, one behind the other."""
    while len(parts) > 1:
        kind = vector_of(element, width)
        pairs = zip(parts[::2], parts[1::2], strict=False)
        wider = [_shuffle(code, kind, a, b, range(2 * width)) for a, b in pairs]
        parts, width = wider + parts[2 * len(wider) :], 2 * width
    return parts[0]

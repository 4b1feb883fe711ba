"""Programs whose dicts have keys that only the running program knows; see `growing_programs.py`.

Each gives the keys in a list, too: they come in the order in which they were put in.
"""

from __future__ import annotations

from growing_programs import Case


def counted(xs: list[int]):
    counts: dict[int, int] = {}
    for x in xs:
        if x in counts:
            counts[x] += 1
        else:
            counts[x] = 1
    return counts, list(counts.keys()), len(counts)


def summed(xs: list[int]):
    sums: dict[int, int] = {0: 1}
    for x in xs:
        sums[x] = sums.get(x, 0) + x
    total = 0
    for key, value in sums.items():
        total += key * value
    return total, list(sums.values())


def under_strings(xs: list[int]):
    places: dict[str, list[int]] = {}
    for i in range(len(xs)):
        key = "k" + str(xs[i] % 3)
        if key not in places:
            empty: list[int] = []
            places[key] = empty
        places[key].append(i)
    return places, list(places.keys())


def nested(xs: list[int]):
    tables: dict[int, dict[int, int]] = {}
    for i in range(len(xs)):
        if xs[i] not in tables:
            table: dict[int, int] = {}
            tables[xs[i]] = table
        tables[xs[i]][i] = i * i
    return tables


def in_lists(xs: list[int]):
    rows: list[dict[str, int]] = []
    for x in xs:
        rows.append({"x": x, "twice": 2 * x})
    return rows, [row["twice"] for row in rows]


def every_method(xs: list[int]):
    held: dict[int, float] = {}
    for i in range(len(xs)):
        held[xs[i]] = float(i)
    first = held.pop(xs[0])
    del held[xs[1]]
    missing = held.pop(99, -5.0)
    copy = held.copy()
    held[77] = 1.5
    copy.update(held)
    held.clear()
    return copy, list(copy.keys()), first + missing, len(held), 77 in copy


def constant_table(xs: list[int]):
    names = {0: "zero", 1: "one", 7: "seven"}
    sizes = {0: 0.5, 1: 1.5, 7: 2.5}
    out: list[str] = []
    total = 0.0
    for x in xs:
        name = "?"
        if x in names:
            name = names[x]
        out.append(name)
        total += sizes.get(x, -1.0)
    return out, total


def spelled(xs: list[int]):
    pieces = {0: "", 1: "un", 2: "##aff", 3: "##able", 4: "hello", 5: "##s"}
    out = ""
    for k in range(4):
        piece = pieces[xs[k]]
        if piece.startswith("##"):
            out += piece[2:]
        elif piece != "":
            out += " " + piece
    return out


def under_conditions(x: int, flag: bool):
    held = {"a": x}
    if x > 0:
        held["positive"] = x * 2
    if flag:
        held["flag"] = x + 1
    total = 0
    for value in held.values():
        total += value
    held["total"] = total
    return held, list(held.keys())


def order_of_keys(x: int, flag: bool):
    if x > 0:
        held = {"a": 1, "b": 2}
    else:
        held = {"b": 3, "a": 4}
    if flag:
        held["c"] = 5
    if x > 2:
        held["d"] = 6
    held["c"] = 7
    return held, list(held.keys())


def replaced(n: int):
    state = {"h": 1, "c": 0}
    for i in range(n):
        state = {"h": state["h"] + state["c"], "c": state["h"] * i}
    return state


def least_recent(keys: list[int], most: int):
    held: dict[int, int] = {}
    misses = 0
    for key in keys:
        if key in held:
            held.pop(key)
        else:
            misses += 1
            if len(held) >= most:
                for oldest in held.keys():  # noqa: SIM118 - as scripts write it
                    del held[oldest]
                    break
        held[key] = key * 2
    return list(held.keys()), misses


def maybe(xs: list[int], key: int):
    held: dict[int, int] = {}
    for x in xs:
        held[x] = x + 1
    found = held.get(key)
    return (found + 1 if found is not None else -1), held.get(123456)


def defaults(xs: list[int], key: str):
    held: dict[int, int] = {}
    known = {"a": 1}
    total = 0
    for i in range(len(xs)):
        total += held.setdefault(xs[i], i) * 10
    return held, total, known.setdefault("b", 2), known.setdefault("a", 3), known


DICT_CASES: tuple[Case, ...] = (
    Case(counted, (([3, 1, 3, 2, 1, 3],), ([5],), ([],))),
    Case(summed, (([3, 1, 3, 0],), ([],))),
    Case(under_strings, (([3, 1, 3, 2, 1, 3],), ([],))),
    Case(nested, (([7, 1, 7],), ([],))),
    Case(in_lists, (([7, 1, 7],), ([],))),
    Case(every_method, (([7, 1, 5, 0],), ([2, 3],))),
    Case(constant_table, (([7, 1, 5, 0],), ([],))),
    Case(spelled, (([4, 5, 1, 2],), ([0, 1, 2, 3],))),
    Case(under_conditions, ((3, True), (-3, False), (0, True))),
    Case(order_of_keys, ((1, True), (-1, False), (3, False), (3, True), (-1, True))),
    Case(replaced, ((0,), (1,), (5,))),
    Case(least_recent, (([1, 2, 3, 1, 4, 5, 1], 3), ([1, 1], 1), ([], 2))),
    Case(defaults, (([7, 1, 7, 7], "a"), ([], "b"))),
    Case(maybe, (([7, 1], 7), ([7, 1], 3), ([], 0))),
)

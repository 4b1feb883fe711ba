"""Programs on strings that the running program makes, with the strings to try.

Each takes lists of strings and which of them to take: too many for all to be tried when it is
compiled. Strings that are known stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def places(k: int, ss: list[str], ps: list[str]):
    s, p = "banana", "an"
    t, u = ss[k], ps[k]
    return (
        (t.find(p), t.rfind(p), t.find(u), t.rfind(u, 1), t.find(p, 1, 4), t.rfind(p, -3)),
        (t.count(p), t.count(u), t.count(p, 1), p in t, u in s, u not in t),
    )


def ends(k: int, ss: list[str], ps: list[str]):
    s, p = "banana", "an"
    t, u = ss[k], ps[k]
    starts = (t.startswith(p), t.startswith(u), s.startswith(u), t.startswith(p, 1))
    return starts, (t.endswith(p), t.endswith(u), s.endswith(u), t.endswith(p, 0, 3))


def order(k: int, ss: list[str], ps: list[str]):
    s, q = "banana", "ab"
    t, u = ss[k], ps[k]
    return (t < u, t <= u, t > u, t >= u, t == u, t != u), (t < q, q < t, t == s)


def kinds(k: int, ss: list[str], ps: list[str]):
    t = ss[k]
    return (
        (t.isdigit(), t.isalpha(), t.isalnum(), t.isspace()),
        (t.isupper(), t.islower(), t.istitle(), t.isdecimal(), t.isnumeric()),
    )


def cases(k: int, ss: list[str], ps: list[str]):
    t = ss[k]
    return t.lower(), t.upper(), t.swapcase(), t.title(), t.capitalize()


def stripped(k: int, ss: list[str], ps: list[str]):
    p = "an"
    t, u = ss[k], ps[k]
    return t.strip(), t.lstrip(), t.rstrip(), t.strip(p), t.lstrip(u), t.rstrip(u)


def padded(k: int, ss: list[str], ps: list[str]):
    s = "banana"
    t, n = ss[k], 6 + k
    return (
        (t.ljust(6, "."), t.rjust(n, "."), t.center(6, "-"), t.center(n + 1, "-")),
        (t.zfill(9), s.ljust(n, "."), s.center(n, "x")),
    )


def pieces(k: int, ss: list[str], ps: list[str]):
    s = "banana"
    t = ss[k]
    return t.split(), t.split(" "), t.split("an"), t.splitlines(), s.split(" ")


def parted(k: int, ss: list[str], ps: list[str]):
    t = ss[k]
    return t.partition("an"), t.rpartition("an"), t.partition(" ")


def replaced(k: int, ss: list[str], ps: list[str]):
    s = "banana"
    t = ss[k]
    return t.replace("an", "<>"), t.replace("a", ""), t.replace("a", ps[k]), s.replace("n", ps[k])


def sliced(k: int, ss: list[str], ps: list[str]):
    t = ss[k]
    n = len(t)
    return t[::-1], t[1::2], t[:-n:-2], t[n:k:-1], t[k:-1:3], t[-2:-9:-3], ss[0][k::-1]


def characters(k: int, ss: list[str], ps: list[str]):
    out = ""
    codes: list[int] = []
    for c in ss[k]:
        codes.append(ord(c))
        if c in "aeiou" or c.isdigit():
            out = c + out
        elif c == " ":
            out += "_"
    return out, codes, len(ss[k])


def counted(k: int, ss: list[str], ps: list[str]):
    p = "an"
    counts: dict[str, int] = {}
    words: list[str] = []
    for c in ss[k]:
        counts[c] = counts.get(c, 0) + 1
        if c not in words or words.index(c) < 0:
            words.append(c)
    words.sort()
    return counts, words, sorted(words), words.count(p), ps[k] in words


def sorted_pairs(k: int, ss: list[str], ps: list[str]):
    pairs: list[tuple[str, int]] = []
    for i in range(len(ss)):
        pairs.append((ss[(i * 3 + k) % len(ss)][:2], -i))
    pairs.sort()
    return pairs


def shown(k: int, ss: list[str], ps: list[str]):
    t, x = ss[k], 0.1 * (k + 3)
    parts = [t, ps[k]]
    table: dict[str, float] = {"a": x}
    table[t] = 1e20 + k
    return (
        (f"{t} is {k} or {x}", "{} {}".format(k == 0, (k, t, None)), "%s %d%%" % (x, k)),  # noqa: UP031, UP032
        (str([k, 1]), str(parts), str(table), str((x,)), str([[x]]), hex(k), bin(k + 5)),
    )


PROGRAMS: tuple[Callable[..., Any], ...] = (
    places, ends, order, kinds, cases, stripped, padded, pieces, parted, replaced, sliced,
    characters, counted, sorted_pairs, shown,
)  # fmt: skip

STRINGS = ["banana", "", "  An apple a day\n", "42", "Title Case\r\nlines\x0b", "größe ÄÖ", "aaaa"]
PARTS = ["an", "a", " a", "4", "Case", "ö", "aa"]

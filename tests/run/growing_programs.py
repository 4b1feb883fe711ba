"""Programs whose lists grow, written as for TorchScript, with the calls to try.

Python runs them with the same meaning, so each program is its own reference.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple  # noqa: UP035 - as programs write it


def collect(n: int):
    xs: list[int] = []
    for i in range(n):
        if i % 3 != 0:
            xs.append(i * i)
    return xs, len(xs)


def total(xs: list[float]) -> float:
    s = 0.0
    for x in xs:
        s += x
    return s


def levenshtein(a: list[int], b: list[int]) -> int:
    prev: list[int] = []
    for j in range(len(b) + 1):
        prev.append(j)
    for i in range(len(a)):
        cur = [i + 1]
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            cur.append(min(min(cur[j] + 1, prev[j + 1] + 1), prev[j] + cost))
        prev = cur
    return prev[-1]


def table(n: int, m: int):
    rows: list[list[float]] = []
    for i in range(n):
        row = [0.0] * m
        rows.append(row)
        row[0] = float(i)
    for i in range(n):
        for j in range(1, m):
            rows[i][j] = rows[i][j - 1] + 1.5
    return rows, rows[0] == rows[n - 1]


def argument_is_a_copy(xs: list[int], ys: list[list[float]]):
    xs.append(3)
    ys[0][0] = 7.0
    ys.append([1.0, 2.0])
    return xs, ys


def every_method(xs: list[int], k: int):
    xs.insert(k, 100)
    xs.insert(-1, 200)
    first = xs.pop(0)
    last = xs.pop()
    ys = xs[1:] + xs[:-1]
    ys += [k]
    ys.reverse()
    zs = ys.copy()
    zs.extend(xs)
    zs.sort()
    zs.remove(100)
    del xs[0]
    ws = sorted(zs)
    xs.clear()
    return first, last, xs, ys, zs, ws, zs.index(200), zs.count(200), 5 in ys, k not in ys


def floats_and_bools(xs: list[float], flags: list[bool]):
    xs.sort(reverse=True)
    flags.append(len(xs) > 2)
    flags.sort()
    return xs, flags, sum(xs), max(xs), min(xs), 2.5 in xs, flags.count(True), any(flags)


def references(n: int):
    a = [0]
    b = [1]
    for i in range(n):
        c = a
        a = b
        b = c
        a.append(i)
    d = a if n > 2 else b
    d.append(-1)
    return a, b, a == d


def pairs(n: int):
    found: list[tuple[int, float]] = []
    for i in range(n):
        found.append((i, i * 0.5))
    best = found[0]
    for p in found:
        if p[1] > best[1]:
            best = p
    return found, best


def stacked(n: int):
    stack = [n]
    seen: list[int] = []
    while len(stack) > 0:
        top = stack.pop()
        seen.append(top)
        if top > 1:
            stack.append(top // 2)
            stack.append(top - 2)
    return seen


def jagged(n: int):
    rows = [[i] * i for i in range(n)]
    flat: list[int] = []
    for row in rows:
        flat += row
    return rows, flat, [len(row) for row in rows]


def early_exit(xs: list[int], limit: int):
    kept: list[int] = []
    for x in xs:
        if x < 0:
            continue
        if x > limit:
            break
        kept.append(x)
    return kept


def push(xs: list[int], x: int):
    xs.append(x)
    return len(xs)


def through_calls(n: int):
    xs: list[int] = []
    sizes: list[int] = []
    for i in range(n):
        sizes.append(push(xs, i))
    push(xs, 50)
    return xs, sizes


def sieve(n: int):
    prime = [True] * (n + 1)
    found: list[int] = []
    for i in range(2, n + 1):
        if prime[i]:
            found.append(i)
            j = i * i
            while j <= n:
                prime[j] = False
                j += i
    return found


class Beam(NamedTuple):
    score: float
    last: int


def beams(n: int, width: int):
    scores = [0.0]
    paths = [[0]]
    for step in range(n):
        new_scores: list[float] = []
        new_paths: list[list[int]] = []
        for k in range(len(scores)):
            for token in range(3):
                new_scores.append(scores[k] + ((token * 7 + step * 3 + k) % 5) * 0.25)
                path = paths[k].copy()
                path.append(token)
                new_paths.append(path)
        scores = []
        paths = []
        while len(scores) < width and len(new_scores) > 0:
            best = 0
            for k in range(len(new_scores)):
                if new_scores[k] > new_scores[best]:
                    best = k
            scores.append(new_scores.pop(best))
            paths.append(new_paths.pop(best))
    return scores, paths


def constant_table(i: int):
    table = [5, 3, 8]
    return table[i], table[-i - 1]


def spelled(xs: list[int], n: int):
    names = ["zero", "one", "two"]
    words: list[str] = []
    line = ""
    for x in xs:
        word = names[x] if 0 <= x < 3 else str(x)
        words.append(word.upper())
        line += word[0] if x != n else "<" + word[1:] + ">"
    found = "TWO" in words
    return line, words, f"{n}: {found}", ", ".join(words), line == "zot"


def tokens(codes: list[int]):
    out: list[str] = []
    current = ""
    for code in codes:
        letter = chr(code)
        if letter == " ":
            if len(current) > 0:
                out.append(current)
            current = ""
        else:
            current = current + letter
    if current != "":
        out.append(current)
    return out, [len(word) for word in out], [ord(word[0]) for word in out]


def looked_up(xs: list[int], n: int):
    table = {"a": 1, "bb": 5, "aa": 7}
    key = ""
    total = 0
    for x in xs:
        key = key[-n:] + ("a" if x > 0 else "b")
        if key in table:
            total += table[key]
        total += table.get(key, 100)
    return key, total


def order_of_tuples(xs: list[float], n: int):
    scored: list[tuple[float, int]] = []
    nested: list[tuple[bool, tuple[int, float]]] = []
    for i in range(len(xs)):
        scored.append((xs[i], -i))
        nested.append((i % 3 == 0, (i % n, xs[i])))
    ordered = sorted(scored)
    scored.sort(reverse=True)
    nested.sort()
    return ordered, scored, nested


def slices_backwards(xs: list[int], i: int, j: int):
    return xs[::-1], xs[i:j:-1], xs[i::-2], xs[:j:-3], xs[i:j:2]


def slices(xs: list[int], i: int, j: int):
    return xs[i:], xs[:j], xs[i:j], xs[::2], xs[i:j:3], (xs * i)[:4]


def primes(n: int):
    found: list[int] = []
    candidate = 2
    while len(found) < n:
        prime = True
        for p in found:
            if p * p > candidate:
                break
            if candidate % p == 0:
                prime = False
                break
        if prime:
            found.append(candidate)
        candidate += 1
    return found


def pair_with_sum(xs: list[int], wanted: int):
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            if xs[i] + xs[j] == wanted:
                return i, j
    return -1, -1


def beams_of_tuples(n: int, width: int):
    beams: list[tuple[list[int], float]] = [([0], 0.0)]
    for step in range(n):
        longer: list[tuple[list[int], float]] = []
        for path, score in beams:
            for token in range(3):
                more = path.copy()
                more.append(token)
                longer.append((more, score + ((token * 5 + step) % 4) * 0.5))
        kept: list[tuple[list[int], float]] = []
        for _ in range(width):
            best = -1
            for k in range(len(longer)):
                if best < 0 or longer[k][1] > longer[best][1]:
                    best = k
            if best >= 0:
                kept.append(longer.pop(best))
        beams = kept
    return beams[0][0], len(beams)


def product(a: list[list[float]], b: list[list[float]]):
    return [
        [sum([a[i][k] * b[k][j] for k in range(len(b))]) for j in range(len(b[0]))]
        for i in range(len(a))
    ]


def bubble_sort(xs: list[float]):
    n = len(xs)
    for i in range(n):
        for j in range(n - i - 1):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


class Case(NamedTuple):
    """A program and arguments for it."""

    program: Callable[..., Any]
    calls: tuple[tuple[Any, ...], ...]


CASES: tuple[Case, ...] = (
    Case(collect, ((10,), (0,), (100,))),
    Case(total, (([1.5, 2.25],), ([],))),
    Case(
        levenshtein,
        (([1, 2, 3, 4], [2, 3, 5]), ([], [1, 1]), ([3], [])),
    ),
    Case(table, ((3, 4), (1, 1))),
    Case(argument_is_a_copy, (([5], [[1.0], [2.0, 3.0]]),)),
    Case(every_method, (([4, 5, 6, 7, 8], 2), ([9, 8, 7, 6], 1))),
    Case(floats_and_bools, (([2.5, -1.0, 7.0], [True]), ([1.0], [False, True]))),
    Case(references, ((0,), (1,), (5,))),
    Case(pairs, ((1,), (4,))),
    Case(stacked, ((1,), (9,))),
    Case(jagged, ((0,), (5,))),
    Case(early_exit, (([1, -2, 3, 9, 4], 5), ([1, 2], 5))),
    Case(through_calls, ((4,),)),
    Case(sieve, ((50,), (2,))),
    Case(beams, ((4, 3), (0, 2))),
    Case(primes, ((1,), (12,))),
    Case(pair_with_sum, (([1, 5, 7, 2], 9), ([1], 9))),
    Case(beams_of_tuples, ((4, 3), (1, 5))),
    Case(product, (([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.5], [2.0, 1.0]]),)),
    Case(bubble_sort, (([3.0, 1.0, 2.0],), ([],))),
    Case(constant_table, ((0,), (1,), (2,))),
    Case(spelled, (([0, 1, 2], 9), ([2, -7, 120], -7), ([], 0))),
    Case(tokens, (([104, 105, 32, 32, 97, 98],), ([32],), ([],))),
    Case(looked_up, (([1, 1, 0, 0, 1], 1), ([0], 2), ([], 1))),
    Case(order_of_tuples, (([2.5, 1.0, 2.5, -1.0, 9.0, 1.0, 4.0], 2), ([1.0], 1), ([], 1))),
    Case(
        slices_backwards,
        (([1, 2, 3, 4, 5], 4, 0), ([1, 2, 3, 4], -1, -9), ([7], 9, 3), ([], 0, 0)),
    ),
    Case(slices, (([1, 2, 3, 4, 5], 1, 4), ([1, 2], -1, 9), ([7], 3, -3))),
)

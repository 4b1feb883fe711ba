"""Programs over lists and single elements, as users write them for `torch.jit.script`.

The annotations are those of TorchScript; plain Python and PyTorch run the same functions.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numba_peers
from numba_peers import jitted
from workload import Workload

if importlib.util.find_spec("torch"):
    import torch
    from torch import Tensor
else:
    import tensorscript as torch
    from tensorscript import Tensor


def levenshtein(a: list[int], b: list[int]) -> int:
    """Edit distance with two rows of the table."""
    previous = [j for j in range(len(b) + 1)]
    for i in range(len(a)):
        current = [i + 1]
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current.append(min(min(current[j] + 1, previous[j + 1] + 1), previous[j] + cost))
        previous = current
    return previous[-1]


def levenshtein_table(a: Tensor, b: Tensor) -> int:
    """Edit distance with the whole table in a tensor."""
    n = a.size(0)
    m = b.size(0)
    table = torch.zeros([n + 1, m + 1], dtype=torch.int64)
    for i in range(n + 1):
        table[i, 0] = i
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if int(a[i - 1]) == int(b[j - 1]) else 1
            best = min(int(table[i - 1, j]) + 1, int(table[i, j - 1]) + 1)
            table[i, j] = min(best, int(table[i - 1, j - 1]) + cost)
    return int(table[n, m])


def nearest_word(word: Tensor, words: Tensor) -> int:
    """The row of `words` that is the fewest edits away."""
    found = 0
    fewest = word.size(0) + words.size(1)
    for k in range(words.size(0)):
        edits = levenshtein_table(word, words[k])
        if edits < fewest:
            fewest = edits
            found = k
    return found


def beam_search(scores: list[list[float]], width: int) -> float:
    """The best path through a table of scores, with a penalty for repeating a token."""
    beams = [[0]]
    totals = [0.0]
    for step in range(len(scores)):
        next_beams: list[list[int]] = []
        next_totals: list[float] = []
        for k in range(len(beams)):
            last = beams[k][-1]
            for token in range(len(scores[step])):
                total = totals[k] + scores[step][token]
                if token == last:
                    total -= 0.5
                # Insertion into the sorted list of the best `width`.
                place = len(next_totals)
                while place > 0 and next_totals[place - 1] < total:
                    place -= 1
                if place < width:
                    path = beams[k].copy()
                    path.append(token)
                    next_totals.insert(place, total)
                    next_beams.insert(place, path)
                    if len(next_totals) > width:
                        next_totals.pop()
                        next_beams.pop()
        beams = next_beams
        totals = next_totals
    return totals[0] + float(sum(beams[0]))


def suppress_elements(boxes: Tensor, order: Tensor, threshold: float) -> int:
    """Non-maximum suppression, box by box; how many are kept."""
    n = boxes.size(0)
    dropped = [False] * n
    keep: list[int] = []
    for p in range(n):
        i = int(order[p])
        if dropped[i]:
            continue
        keep.append(i)
        left = float(boxes[i, 0])
        top = float(boxes[i, 1])
        right = float(boxes[i, 2])
        bottom = float(boxes[i, 3])
        area = (right - left) * (bottom - top)
        for q in range(p + 1, n):
            j = int(order[q])
            if not dropped[j]:
                w = min(right, float(boxes[j, 2])) - max(left, float(boxes[j, 0]))
                h = min(bottom, float(boxes[j, 3])) - max(top, float(boxes[j, 1]))
                if w > 0.0 and h > 0.0:
                    other = float(boxes[j, 2] - boxes[j, 0]) * float(boxes[j, 3] - boxes[j, 1])
                    if w * h / (area + other - w * h) > threshold:
                        dropped[j] = True
    return len(keep)


def suppress_tensors(boxes: Tensor, order: Tensor, threshold: float) -> int:
    """The same with masks: a loop over tensors whose sizes shrink."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    keep: list[int] = []
    while order.numel() > 0:
        i = int(order[0])
        keep.append(i)
        rest = order[1:]
        low = torch.maximum(boxes[i, :2], boxes[rest, :2])
        high = torch.minimum(boxes[i, 2:], boxes[rest, 2:])
        side = (high - low).clamp(min=0)
        shared = side[:, 0] * side[:, 1]
        order = rest[shared / (areas[i] + areas[rest] - shared) <= threshold]
    return len(keep)


def _words(random: Any) -> tuple[Any, ...]:
    return tuple(random.integers(0, 4, 128).tolist() for _ in range(2))


def _tables(random: Any) -> tuple[Any, ...]:
    return tuple(random.integers(0, 4, 64) for _ in range(2))


def _word_among_many(random: Any) -> tuple[Any, ...]:
    return random.integers(0, 4, 64), random.integers(0, 4, (100, 64))


def _scores(random: Any) -> tuple[Any, ...]:
    return random.random((20, 30)).tolist(), 8


def _boxes(random: Any) -> tuple[Any, ...]:
    corner = random.random((200, 2), dtype="float32")
    boxes = random.random((200, 4), dtype="float32") * 0.3
    boxes[:, :2] = corner
    boxes[:, 2:] += corner
    return boxes, random.permutation(200), 0.3


LIST_PROGRAMS: tuple[Workload, ...] = (
    Workload("Levenshtein 128x128, lists", lambda: levenshtein, _words, plain=True,
             numba=jitted(levenshtein, nogil=False)),
    Workload("Levenshtein 64x64, elements", lambda: levenshtein_table, _tables, plain=True,
             numba=jitted(numba_peers.levenshtein_table, nogil=False)),
    Workload("nearest of 100 words of 64, elements", lambda: nearest_word, _word_among_many,
             plain=True, numba=numba_peers.nearest_word),
    Workload("beam search, 20 steps of 30, width 8", lambda: beam_search, _scores, plain=True),
    Workload("NMS of 200 boxes, elements", lambda: suppress_elements, _boxes, plain=True,
             numba=jitted(numba_peers.suppress_elements, nogil=False)),
    Workload("NMS of 200 boxes, masks", lambda: suppress_tensors, _boxes, plain=True),
)  # fmt: skip

"""A module's LLVM text, cut into several that are compiled side by side and linked again.

| of the module | in the pieces |
|---|---|
| functions | each in one; what calls it in another declares it |
| functions that are always inlined, constants | a copy in each that uses them |
| declarations | in each that uses them |
| target, metadata | in each |

The order of functions is kept, and every piece has about as much text, which is what LLVM's time
goes by.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_ENTITY = re.compile(r"^define .*?\{$.*?^\}$|^[^\n]+$", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"@([\w.$]+)")
_EVERYWHERE = re.compile(r"target |!|;")
_COPIED = re.compile(
    r"declare |define [^\n]*\) alwaysinline|@[\w.$]+ = (?:external|(?:private|internal) "
    r"(?:unnamed_addr )?constant) "
)


def cut(text: str, count: int) -> list[str]:
    """The texts of at most `count` modules that make up this one; the whole one where something
    in it can neither be copied nor shared (a variable of its own)."""
    if count < 2:
        return [text]
    everywhere: list[str] = []
    copied: dict[str, str] = {}
    functions: dict[str, str] = {}
    for entity in _ENTITY.findall(text):
        if _EVERYWHERE.match(entity):
            everywhere.append(entity)
            continue
        name = _SYMBOL.search(entity)
        if name is None or not (_COPIED.match(entity) or entity.startswith("define ")):
            return [text]
        (copied if _COPIED.match(entity) else functions)[name[1]] = entity
    runs = _runs(functions, count)
    if len(runs) < 2:
        return [text]
    return [_piece(run, functions, copied, everywhere) for run in runs]


def _runs(functions: Mapping[str, str], count: int) -> list[list[str]]:
    """Names of functions in a row, of about equal length together."""
    share = sum(map(len, functions.values())) / count
    runs: list[list[str]] = [[]]
    done = 0
    for name, entity in functions.items():
        if runs[-1] and done + len(entity) / 2 > share * len(runs):
            runs.append([])
        runs[-1].append(name)
        done += len(entity)
    return runs


def _piece(
    own: Sequence[str],
    functions: Mapping[str, str],
    copied: Mapping[str, str],
    everywhere: Iterable[str],
) -> str:
    bodies = [functions[name].replace("define internal ", "define ", 1) for name in own]
    used, todo = set(own), [*own]
    while todo:
        name = todo.pop()
        source = functions[name] if name in own else copied.get(name, "")
        found = set(_SYMBOL.findall(source)) - used
        used |= found
        todo += found
    copies = [entity for name, entity in copied.items() if name in used]
    others = [_declaration(functions[n]) for n in functions if n in used and n not in own]
    return "\n".join((*everywhere, *copies, *others, *bodies)) + "\n"


def _declaration(function: str) -> str:
    head = function.partition("{\n")[0]
    return head.replace("define internal ", "define ", 1).replace("define ", "declare ", 1).rstrip()

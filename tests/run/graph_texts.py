"""Compares graph texts up to value names, the order of constants and places."""

from __future__ import annotations

import re

_CONSTANT = re.compile(r"^(\s*)%(\S+) : (.*) = prim::Constant(.*?)\(\)(?: # \S+)?$")
_PLACE = re.compile(r" # \S*?([^/\s]+:\d+:\d+)$")


def canonical(graph: str) -> list[str]:
    """`canonical_graph` of a graph and of the graphs of its forks."""
    return [line for part in graph.split("\nwith ") for line in canonical_graph(part)]


def canonical_graph(graph: str) -> list[str]:
    """The lines without places; constants written out where they are used, values numbered."""
    names: dict[str, str] = {}
    out: list[str] = []
    for line in graph.splitlines():
        line = _PLACE.sub("", line)
        if constant := _CONSTANT.match(line):
            names[constant[2]] = f"<{constant[3]}{constant[4]}>"
            continue
        head, arrow, tail = line.partition(" = ")
        parts = [tail, head] if arrow else [line]
        for part in parts:
            for name in re.findall(r"%([\w.]+)", part):
                names.setdefault(name, str(len(names)))
        line = re.sub(r"%([\w.]+)", lambda m: names[m[1]], line)
        out.append(line)
    numbers: dict[str, str] = {}
    return [
        re.sub(r"(?<![\w.\[\"=])\d+(?= :|[,)])", lambda m: _renumber(m[0], numbers), t) for t in out
    ]


def _renumber(name: str, numbers: dict[str, str]) -> str:
    return numbers.setdefault(name, f"v{len(numbers)}")


def places(graph: str) -> list[str]:
    """Where each node but constants comes from: its kind and `file:line:column`, or nothing."""
    out = []
    for line in graph.splitlines():
        if (kind := re.search(r"(\w+::\w+)[\[(]", line)) and not _CONSTANT.match(line):
            place = _PLACE.search(line)
            out.append(f"{kind[1]} {place[1] if place else ''}")
    return out


def renumbered(graph: str) -> list[str]:
    """The lines without places, values numbered in the order in which each graph makes them."""
    names: dict[str, str] = {}
    out = []
    for line in graph.splitlines():
        if "graph(" in line:
            names.clear()
        plain = re.sub(r" *# .*", "", line)
        out.append(re.sub(r"%[\w.]+", lambda m: names.setdefault(m[0], f"%{len(names)}"), plain))
    return out

"""What a header says of a program's arguments and results: which of its own are fixed, and how the
outputs of the C function make up the result.

```
y: {'mask': out0, 'pair': (out1, 3)}     numbers that the program always gives stand as they are
[out2[i] ...]                            a list that the program makes: one element for each i
[out2[j] ... out1[i] times ...]          a list of such lists, one after the other in out2
A if out0 == 0 else B                    what a branch decides
text(out0)                               a string's bytes, UTF-8, without an end
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorscript.backends.cpu.signature import Signature
from tensorscript.lowering.ts_to_tg.specs import (
    ArgumentSpec,
    ConstantSpec,
    DictSpec,
    NumberSpec,
    ObjectSpec,
    OutputTree,
    SequenceSpec,
)

_MOST_TEXT = 60
"""Longer texts of constants are cut."""


def result_words(tree: OutputTree, signature: Signature) -> str:
    """One line over the names of the outputs."""
    return _words(tree, tuple(spec.name for spec in signature.outputs), "")


def fixed_words(names: Sequence[str], specs: Sequence[ArgumentSpec]) -> list[str]:
    """`mode = 'fast'` of each part of an argument that the code was made for."""
    return [line for name, spec in zip(names, specs, strict=True) for line in _fixed(name, spec)]


def _fixed(path: str, spec: ArgumentSpec) -> Iterator[str]:
    match spec:
        case ConstantSpec(value) | NumberSpec(value):
            yield f"{path} = {_shown(value)}"
        case SequenceSpec(elements, _, fields):
            for number, element in enumerate(elements):
                yield from _fixed(
                    f"{path}.{fields[number]}" if fields else f"{path}[{number}]", element
                )
        case DictSpec(items):
            for key, element in items:
                yield from _fixed(f"{path}[{_shown(key)}]", element)
        case ObjectSpec(_, items):
            for key, element in items:
                yield from _fixed(f"{path}.{key}", element)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."


def _words(tree: OutputTree, names: Sequence[str], index: str) -> str:
    """`index` stands behind the outputs of a list's elements."""
    out = f"{names[tree.leaf]}{index}" if tree.leaf >= 0 else ""
    match tree.kind:
        case "tensor" | "scalar":
            return names[tree.leaf]
        case "column":
            return out
        case "constant":
            return _shown(tree.value)
        case "absent":
            return "no such key"
        case "text":
            return f"text({out})"
        case "each" | "map":
            return _list(tree, names, index)
    inside = [_words(child, names, index) for child in tree.children]
    match tree.kind:
        case "choice":
            cases = [f"{part} if {out} == {k}" for k, part in enumerate(inside[:-1])]
            return f"({' else '.join([*cases, inside[-1]])})"
        case "optional":
            return f"({inside[0]} if {out} else None)"
        case "texts":
            return f"text({out} bytes of {inside[0].removesuffix(index)})"
        case "boxes":
            sizes = " x ".join(inside[1:]) or "0-dim"
            return f"tensor({sizes}: {inside[0]} numbers of {names[tree.leaf]})"
        case "shown":
            return " + ".join(inside)
        case "future":
            return inside[0]
    return _collected(tree, inside)


def _list(tree: OutputTree, names: Sequence[str], index: str) -> str:
    """A list that the program makes: a nested one has as many elements as its leaf says."""
    inner = "[i]" if not index else "[j]" if index == "[i]" else f"{index[:-1]}']"
    element = _words(tree.children[0], names, inner)
    if tree.kind == "map":
        element = element[1:-1].replace(", ", ": ", 1)
    times = f" {names[tree.leaf]}{index} times" if tree.leaf >= 0 else ""
    first, last = "{}" if tree.kind == "map" else "[]"
    return f"{first}{element} ...{times}{last}"


def _collected(tree: OutputTree, inside: Sequence[str]) -> str:
    """Tuples, lists, dicts, and objects by their attributes."""
    if tree.kind == "list":
        return f"[{', '.join(inside)}]"
    keys = tree.fields or tree.keys
    if not tree.class_name and tree.kind in ("dict", "record"):
        items = zip(map(_shown, keys), inside, strict=True)
        return "{" + ", ".join(f"{k}: {v}" for k, v in items) + "}"
    if keys:
        short = tree.class_name.rpartition(".")[2]
        return f"{short}({', '.join(f'{k}={v}' for k, v in zip(keys, inside, strict=True))})"
    return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"

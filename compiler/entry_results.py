"""How a dumped program's results are rebuilt, as text: the attribute `ts.results` of its module.

```
tree ::= tensor(0) | number(1)                leaf of the native results
       | value(5)                             a constant (text of `dialects/ts/constants.py`)
       | choice(0, tree, ..) | absent()       what leaf 0 says; a key that a dict has not
       | object("Point", x=tree, y=tree)
       | each(elements) | each(elements, 2)   a run-time list; with how many each has in leaf 2
       | optional(0, elements)                leaf 0 says where there is one
       | record("", value(k), elements, ..)   of dicts of columns, or objects of a class
       | text(0) | texts(column(1), 2)        a string's bytes; those of the strings of a list
       | column(0) | boxes(0, tree, ..)       of numbers; of tensors: their numbers, counts, sizes
       | (tree, tree) | [tree] | {value(k): tree} | named("Point", x=tree, y=tree)
```
"""

from __future__ import annotations

import ast

from tensorscript.base.errors import UserError
from tensorscript.dialects.ts.constants import text_of, value_of
from tensorscript.lowering.ts_to_tg.specs import OutputTree


def results_text(tree: OutputTree) -> str:
    """The text of a tree.

    Raises:
        TypeError: a constant that has no text.
    """
    match tree.kind:
        case "tensor":
            return f"tensor({tree.leaf})"
        case "scalar":
            return f"number({tree.leaf})"
        case "constant":
            return f"value({text_of(tree.value)})"
    inside = [results_text(child) for child in tree.children]
    if tree.kind == "text":
        return f"text({tree.leaf})"
    if tree.kind == "texts":
        return f"texts({inside[0]}, {tree.leaf})"
    if tree.kind == "column":
        return f"column({tree.leaf})"
    if tree.kind in ("each", "map"):
        leaf = "" if tree.leaf < 0 else f", {tree.leaf}"
        return f"{tree.kind}({inside[0]}{leaf})"
    if tree.kind == "boxes":
        return f"boxes({', '.join([str(tree.leaf), *inside])})"
    if tree.kind in ("shown", "future"):
        return f"{tree.kind}({', '.join(inside)})"
    if tree.kind == "choice":
        return f"choice({', '.join([str(tree.leaf), *inside])})"
    if tree.kind == "absent":
        return "absent()"
    if tree.kind == "optional":
        return f"optional({tree.leaf}, {inside[0]})"
    if tree.kind == "record":
        inner = "".join(
            f", value({text_of(k)}), {v}" for k, v in zip(tree.keys, inside, strict=True)
        )
        return f"record({tree.class_name!r}{inner})"
    if tree.kind == "object":
        pairs = zip(tree.keys, inside, strict=True)
        return f"object({tree.class_name!r}{''.join(f', {k}={v}' for k, v in pairs)})"
    if tree.kind == "list":
        return f"[{', '.join(inside)}]"
    if tree.kind == "dict":
        pairs = zip(tree.keys, inside, strict=True)
        return "{" + ", ".join(f"value({text_of(k)}): {v}" for k, v in pairs) + "}"
    if tree.fields:
        pairs = zip(tree.fields, inside, strict=True)
        return f"named({tree.class_name!r}{''.join(f', {k}={v}' for k, v in pairs)})"
    return "(" + "".join(f"{item}, " for item in inside).rstrip() + ")"


def parse_results(text: str) -> OutputTree:
    """Inverse of `results_text`.

    Raises:
        UserError: malformed text.
    """
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise UserError(f"malformed results {text!r}: {error}") from error


def _read(node: ast.expr) -> OutputTree:
    match node:
        case ast.Call(ast.Name("tensor"), [ast.Constant(int(leaf))]):
            return OutputTree("tensor", leaf)
        case ast.Call(ast.Name("number"), [ast.Constant(int(leaf))]):
            return OutputTree("scalar", leaf)
        case ast.Call(ast.Name("value"), [_]):
            return OutputTree("constant", value=_value(node))
        case ast.Call(ast.Name("named"), [ast.Constant(str(name))], keywords):
            children = tuple(_read(k.value) for k in keywords)
            fields = tuple(str(k.arg) for k in keywords)
            return OutputTree("tuple", children=children, fields=fields, class_name=name)
        case ast.Call(ast.Name("choice"), [ast.Constant(int(leaf)), *children]):
            return OutputTree("choice", leaf, tuple(map(_read, children)))
        case ast.Call(ast.Name("shown" | "future" as kind), children):
            return OutputTree(kind, children=tuple(map(_read, children)))
        case ast.Call(ast.Name("absent"), []):
            return OutputTree("absent")
        case ast.Call(ast.Name("object"), [ast.Constant(str(name))], keywords):
            children = tuple(_read(k.value) for k in keywords)
            keys = tuple(str(k.arg) for k in keywords)
            return OutputTree("object", children=children, keys=keys, class_name=name)
        case ast.Call(ast.Name("optional"), [ast.Constant(int(leaf)), child]):
            return OutputTree("optional", leaf, (_read(child),))
        case ast.Call(ast.Name("record"), [ast.Constant(str(name)), *parts]):
            children = tuple(map(_read, parts[1::2]))
            return OutputTree(
                "record", children=children, keys=tuple(map(_value, parts[::2])), class_name=name
            )
        case ast.Call(ast.Name("text"), [ast.Constant(int(leaf))]):
            return OutputTree("text", leaf)
        case ast.Call(ast.Name("texts"), [child, ast.Constant(int(leaf))]):
            return OutputTree("texts", leaf, (_read(child),))
        case ast.Call(ast.Name("column"), [ast.Constant(int(leaf))]):
            return OutputTree("column", leaf)
        case ast.Call(ast.Name("each" | "map" as kind), [child]):
            return OutputTree(kind, children=(_read(child),))
        case ast.Call(ast.Name("each" | "map" as kind), [child, ast.Constant(int(leaf))]):
            return OutputTree(kind, leaf, (_read(child),))
        case ast.Call(ast.Name("boxes"), [ast.Constant(int(leaf)), *children]):
            return OutputTree("boxes", leaf, tuple(map(_read, children)))
        case ast.Tuple(elements):
            return OutputTree("tuple", children=tuple(map(_read, elements)))
        case ast.List(elements):
            return OutputTree("list", children=tuple(map(_read, elements)))
        case ast.Dict(keys, values):
            names = tuple(_value(k) for k in keys)
            return OutputTree("dict", children=tuple(map(_read, values)), keys=names)
    raise ValueError(f"unexpected {ast.unparse(node)}")


def _value(node: ast.expr | None) -> object:
    match node:
        case ast.Call(ast.Name("value"), [inside]):
            return value_of(ast.unparse(inside))
    raise ValueError("a key is value(...)")

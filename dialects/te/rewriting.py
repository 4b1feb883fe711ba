"""Walks over expressions, and rewriting them bottom-up.

All are linear in the number of distinct nodes, and safe for chains deeper than Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .expr import Expr, add, binary, bitcast, cast, mul, node, select, sub, unary


def rebuild(e: Expr, args: tuple[Expr, ...]) -> Expr:
    """The node of `e` with other operands, folded where the constructors fold."""
    if all(a is b for a, b in zip(e.args, args, strict=True)):
        return e
    match e.op:
        case "add":
            return add(*args)
        case "sub":
            return sub(*args)
        case "mul":
            return mul(*args)
        case "select":
            return select(*args)
        case "cast":
            return cast(args[0], e.dtype)
        case "bitcast":
            return bitcast(args[0], e.dtype)
        case "not" | "neg":
            return unary(e.op, args[0])
        case "load" | "call":
            return node(e.op, args, e.value, e.dtype)
    return binary(e.op, *args)


def transform(e: Expr, visit: Callable[[Expr], Expr | None]) -> Expr:
    """Rewrite bottom-up: `visit` sees each node with rewritten operands; None keeps it. It does not
    see again what it gave, even where a node folds into that: in `i * 16 + j`, with 0 for `i` and
    `i` for `j`, the sum becomes `i`.

    Linear in the number of distinct nodes, and safe for deep chains.
    """
    done: dict[Expr, Expr] = {}
    stack = [(e, False)]
    while stack:
        current, ready = stack.pop()
        if current in done:
            continue
        if not ready:
            stack.append((current, True))
            stack.extend((a, False) for a in current.args if a not in done)
            continue
        operands = tuple(done[a] for a in current.args)
        fresh = rebuild(current, operands)
        folded = fresh.op != current.op or any(fresh is a for a in operands)
        replaced = None if folded else visit(fresh)
        done[current] = fresh if replaced is None else replaced
    return done[e]


def substitute(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace variables by name."""
    if not (e.free & values.keys()):
        return e
    return transform(e, lambda n: values.get(str(n.value)) if n.op == "var" else None)


def replaced(e: Expr, old: Expr, new: Expr) -> Expr:
    """`new` wherever `old` stands in `e`."""
    return transform(e, lambda n: new if n is old else None)


def replace_loads(e: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """Replace load nodes (their indices already rewritten); None keeps one."""
    return transform(e, lambda n: replace(n) if n.op == "load" else None)


def walk(e: Expr) -> Iterable[Expr]:
    """Each distinct node once, after one of its users at least."""
    seen = {e}
    stack = [e]
    while stack:
        current = stack.pop()
        yield current
        for a in current.args:
            if a not in seen:
                seen.add(a)
                stack.append(a)


def loads(e: Expr) -> list[Expr]:
    """The distinct load nodes of `e`."""
    return [n for n in walk(e) if n.op == "load"]

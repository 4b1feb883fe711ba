"""Programs of very many operations, as text: what compiling costs for each."""

from __future__ import annotations

from collections.abc import Callable

OPERATIONS = (1000, 3000, 10000)


def pointwise(count: int) -> list[str]:
    """One chain over a vector."""
    steps = ("x = x * y", "x = ts.tanh(x)", "x = x + 0.5", "x = ts.relu(x - y)")
    return [steps[k % len(steps)] for k in range(count)]


def products(count: int) -> list[str]:
    """Products of 8x8, each with a scale."""
    return [("x = x @ y", "x = x * 0.125")[k % 2] for k in range(count)]


def branches(count: int) -> list[str]:
    """Blocks of eight operations, one of two by what the values are."""
    block = ("if float(x[0, 0]) > 0.0:", "    x = ts.sin(x)", "    x = x * y", "else:",
             "    x = ts.cos(x)", "    x = x + y")  # fmt: skip
    return [block[k % len(block)] for k in range(count // 8 * len(block))]


KINDS: dict[str, Callable[[int], list[str]]] = {
    "a chain": pointwise, "products": products, "branches": branches,
}  # fmt: skip


def source(kind: str, count: int) -> str:
    """A module with the program `long_program(x, y)`, of `count` operations."""
    lines = "".join(f"    {line}\n" for line in KINDS[kind](count))
    return f"import tensorscript as ts\n\ndef long_program(x, y):\n{lines}    return x\n"

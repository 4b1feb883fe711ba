"""Random programs of control flow, views and writes to them, for `test_random_control.py`.

A program takes two 4x4 matrices, a row, an int and a bool, and gives what has become of the first
four. Operands of writes are copies: what a write reads of its own target is not defined.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIZE = 4
KINDS = ("matrix", "row", "number", "int", "list")
HEADER = """import tensorscript as torch
from tensorscript import Tensor


def program(x: Tensor, y: Tensor, z: Tensor, n: int, flag: bool):
"""


def program_text(seed: int) -> str:
    """The module that defines `program`."""
    return _Writer(random.Random(seed)).text()


class _Writer:
    """Writes one program, statement by statement; knows which names of which kind there are."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.indent = 1
        self.loops = 0
        self.budget = rng.randint(8, 26)
        first = {"matrix": ["x", "y"], "row": ["z"], "int": ["n"]}
        self.scopes = [{kind: list(first.get(kind, ())) for kind in KINDS}]
        self.made = 0

    def text(self) -> str:
        if self.rng.random() < 0.6:
            self.lines += [f"    {name} = {name}.clone()" for name in "xyz"]
        while self.budget > 0:
            self.statement()
        extra = [v for v in self.names("matrix") + self.names("row") if v not in "xyz"]
        if extra:
            self.line(f"x = x + {' + '.join(extra)}")
        self.line("return x, y, z, n")
        return HEADER + "\n".join(self.lines) + "\n"

    # --- names and lines --------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def names(self, kind: str) -> list[str]:
        return [name for scope in self.scopes for name in scope[kind]]

    def any(self, kind: str) -> str:
        return self.rng.choice(self.names(kind))

    def assign(self, kind: str, value: str) -> None:
        """To a new name, or to one of this kind that is no counter."""
        known = [name for name in self.names(kind) if not name.startswith("i")]
        if known and self.rng.random() < 0.4:
            self.line(f"{self.rng.choice(known)} = {value}")
            return
        self.made += 1
        name = f"{kind[0]}{self.made}"
        self.line(f"{name} = {value}")
        self.scopes[-1][kind].append(name)

    @contextmanager
    def inside(self) -> Iterator[None]:
        self.indent += 1
        self.scopes.append({kind: [] for kind in KINDS})
        yield
        self.scopes.pop()
        self.indent -= 1

    def block(self) -> None:
        with self.inside():
            before = len(self.lines)
            for _ in range(self.rng.randint(1, 4)):
                self.statement()
            if len(self.lines) == before:
                self.line("pass")

    # --- expressions ------------------------------------------------------------------------------

    def pick(self, *makers: Callable[[], str]) -> str:
        return self.rng.choice(makers)()

    def place(self) -> str:
        return self.pick(
            lambda: str(self.rng.randint(-SIZE, SIZE - 1)), lambda: f"({self.any('int')}) % {SIZE}"
        )

    def integer(self, depth: int = 0) -> str:
        if depth > 2 or self.rng.random() < 0.3:
            return self.any("int")
        inner = lambda: self.integer(depth + 1)  # noqa: E731
        lists = self.names("list")
        return self.pick(
            lambda: str(self.rng.randint(-3, 5)),
            lambda: f"({inner()} + {inner()})",
            lambda: f"({inner()} * {self.rng.randint(1, 3)}) % 7",
            lambda: f"min({inner()}, {self.rng.randint(0, 5)})",
            lambda: f"len({self.rng.choice(lists)})" if lists else f"({inner()} // 2)",
        )

    def condition(self, depth: int = 0) -> str:
        numbers = self.names("number")
        simple = (
            lambda: f"{self.integer()} {self.rng.choice(('<', '>', '==', '!='))} {self.integer()}",
            lambda: "flag",
            # No sum of numbers that cancel is near this one.
            lambda: f"bool({self.matrix()}.sum() > 0.0517)",
            lambda: f"float({self.rng.choice(numbers)}) > 0.1" if numbers else "n > 1",
        )
        if depth > 1:
            return self.pick(*simple)
        inner = lambda: self.condition(depth + 1)  # noqa: E731
        joined = lambda: f"({inner()} {self.rng.choice(('and', 'or'))} {inner()})"  # noqa: E731
        return self.pick(*simple, joined, lambda: f"not ({inner()})")

    def matrix(self, depth: int = 0) -> str:
        if depth > 2 or self.rng.random() < 0.25:
            return self.any("matrix")
        inner = lambda: self.matrix(depth + 1)  # noqa: E731
        lists = self.names("list")
        return self.pick(
            lambda: f"torch.tanh({inner()})",
            lambda: f"({inner()} + {inner()})",
            lambda: f"({inner()} * {self.row(depth + 1)})",
            lambda: f"({inner()} - {self.number(depth + 1)})",
            lambda: f"{inner()}.t()",
            lambda: f"torch.where({inner()} > 0, {inner()}, {inner()})",
            lambda: f"torch.tanh({inner()} @ {inner()})",
            lambda: f"({inner()} * {self.integer()})",
            lambda: f"torch.cat([{inner()}[1:], {inner()}[:1]])",
            lambda: f"{inner()}.clone()",
            lambda: f"{inner()}.reshape(-1).flip(0).reshape({SIZE}, {SIZE})",
            lambda: f"{self.rng.choice(lists)}[-1]" if lists else inner(),
        )

    def row(self, depth: int = 0) -> str:
        if depth > 2 or self.rng.random() < 0.2:
            return self.any("row")
        matrix = lambda: self.matrix(depth + 1)  # noqa: E731
        return self.pick(
            lambda: f"{matrix()}[{self.place()}]",
            lambda: f"{matrix()}[:, {self.place()}]",
            lambda: f"{matrix()}.mean({self.rng.randint(0, 1)})",
            lambda: f"torch.sin({self.row(depth + 1)})",
            lambda: f"({self.row(depth + 1)} + {self.row(depth + 1)})",
            lambda: f"{matrix()}.diagonal()",
            lambda: f"{matrix()}.max({self.rng.randint(0, 1)})[0]",
        )

    def number(self, depth: int = 0) -> str:
        if (numbers := self.names("number")) and self.rng.random() < 0.3:
            return self.rng.choice(numbers)
        return self.pick(
            lambda: f"{self.matrix(depth + 1)}.mean()",
            lambda: f"{self.row(depth + 1)}[{self.place()}]",
        )

    # --- statements -------------------------------------------------------------------------------

    def statement(self) -> None:
        if self.budget <= 0:
            return
        self.budget -= 1
        kinds = {
            self.value: 20, self.view: 10, self.write: 22, self.elements: 8, self.swap: 3,
            self.branch: 10, self.loop: 10, self.leave: 4,
        }  # fmt: skip
        if self.indent > 3:
            kinds = {k: v for k, v in kinds.items() if k not in (self.branch, self.loop)}
        self.rng.choices(list(kinds), list(kinds.values()))[0]()

    def value(self) -> None:
        kind = self.rng.choice(("matrix", "matrix", "row", "number", "int"))
        makers = {"matrix": self.matrix, "row": self.row, "number": self.number}
        self.assign(kind, makers.get(kind, self.integer)())

    def view(self) -> None:
        m = self.any("matrix")
        kind, text = self.rng.choice(
            (
                ("matrix", f"{m}.t()"),
                ("row", f"{m}[{self.place()}]"),
                ("row", f"{m}[:, {self.place()}]"),
                ("row", f"{m}.diagonal()"),
                ("number", f"{m}[{self.place()}, {self.place()}]"),
            )
        )
        self.assign(kind, text)

    def write(self) -> None:
        m, r = self.any("matrix"), self.any("row")
        self.line(
            self.pick(
                lambda: f"{m}.mul_(0.5)",
                lambda: f"{m}[{self.place()}] = {self.row()} * 1",
                lambda: f"{m}[:, {self.place()}] += {self.row()} * 1",
                lambda: f"{m}[1:3, 2:] = {self.number()} * 1",
                lambda: f"{r}.add_({self.row()} * 1)",
                lambda: f"{r}[{self.place()}] = {self.number()} * 1",
                lambda: f"{m}[{m} > 0.5] = 0.25",
                lambda: f"{m} += {self.matrix()} * 1",
                lambda: f"{m}.copy_({self.matrix()} * 1)",
                lambda: f"{m}.diagonal().fill_({self.integer()})",
                lambda: f"torch.tanh_({m})",
                lambda: f"{m}[::2] *= {self.number()} * 1",
                lambda: f"{r}.clamp_(-1, 1)",
            )
        )

    def elements(self) -> None:
        """Makes or uses a list of matrices that is never empty."""
        if not (lists := self.names("list")):
            self.assign("list", f"[{self.matrix()}]")
            return
        held = self.rng.choice(lists)
        form = self.rng.randint(0, 3)
        if form == 0:
            self.line(f"{held}.append({self.matrix()})")
        elif form == 1:
            self.line(f"{held}[-1] = {self.matrix()}")
        elif form == 2:
            self.line(f"{held}[0].add_(1)")
        else:
            self.assign("matrix", f"torch.stack({held}).sum(0)")

    def swap(self) -> None:
        a, b = self.any("matrix"), self.any("matrix")
        self.line(f"{a}, {b} = {b}, {a}")

    def branch(self) -> None:
        self.line(f"if {self.condition()}:")
        self.block()
        if self.rng.random() < 0.6:
            self.line("else:")
            self.block()

    def loop(self) -> None:
        self.made += 1
        counter = f"i{self.made}"
        self.line(f"for {counter} in range({self.integer()}):")
        self.scopes.append({kind: [counter] if kind == "int" else [] for kind in KINDS})
        self.loops += 1
        self.block()
        self.loops -= 1
        self.scopes.pop()

    def leave(self) -> None:
        self.line(f"if {self.condition()}:")
        self.indent += 1
        words = ("break", "continue", "return x, y, z, n") if self.loops else ("return x, y, z, n",)
        self.line(self.rng.choice(words))
        self.indent -= 1

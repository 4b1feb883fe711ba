"""What the parser makes of PTX text: a module of variables and functions.

Names inside nested `{ }` scopes are made unique by the parser, so a function has one flat name
space for registers and one for variables.
"""

from __future__ import annotations

from dataclasses import field

from tensorscript.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Register:
    """`%r1`, `%tid.x`, `%SPL`, or the sink `_`."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, label or function by name, with a byte offset (`tab+4`)."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. `kind` is "int", "f32" or "f64"; floats keep their bits in `value`."""

    value: int
    kind: str = "int"


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`; the base is absent for an absolute address."""

    base: Register | Symbol | None
    offset: int


@dataclass(frozen=True, slots=True)
class Group:
    """`{a, b}` (vector or pack) or `(a, b)` (call arguments)."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`%r1|%p1`: a result and its predicate, or the two results of setp."""

    first: Register
    second: Register


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p1`: a predicate source read inverted."""

    register: Register


Operand = Register | Symbol | Immediate | Address | Group | Pair | Negated


@dataclass(frozen=True, slots=True)
class Instruction:
    """One statement of a body; `parts` is the opcode split at its dots."""

    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    guard_negated: bool
    line: int
    text: str

    @property
    def opcode(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable or parameter.

    `size` is in bytes (0 for `extern .shared x[]`). `values` are the initialiser's elements, each
    `element` bytes wide; a `Symbol` there stands for that variable's address.
    """

    name: str
    space: str
    type: str
    align: int
    size: int
    values: tuple[int | Symbol, ...] = ()
    extern: bool = False
    pointer: bool = False
    array: bool = False


@dataclass(slots=True)
class Function:
    """`.entry` or `.func`."""

    name: str
    entry: bool
    parameters: list[Variable]
    results: list[Variable]
    line: int
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction | Label] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    required_threads: tuple[int, ...] | None = None
    maximum_threads: tuple[int, ...] | None = None


@dataclass(slots=True)
class Module:
    """A whole PTX file."""

    version: str = ""
    target: tuple[str, ...] = ()
    variables: list[Variable] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)

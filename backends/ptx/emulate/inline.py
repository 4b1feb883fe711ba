"""Calls of device functions replaced by their bodies, under names of their own.

A callee's parameters become the caller's `.param` variables of the call, which live in local
memory: a store to one before the call is a load of it inside.
"""

from __future__ import annotations

from dataclasses import field, replace

from tensorscript.base.records import dataclass

from .errors import LaunchError, UnsupportedInstruction
from .syntax import (
    Address,
    Function,
    Group,
    Instruction,
    Label,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Symbol,
    Variable,
)


@dataclass(slots=True)
class FlatKernel:
    """An entry with no calls left; every name is unique."""

    parameters: list[Variable]
    registers: dict[str, str] = field(default_factory=dict)
    local: list[Variable] = field(default_factory=list)
    shared: list[Variable] = field(default_factory=list)
    dynamic: list[Variable] = field(default_factory=list)
    body: list[Instruction | Label] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    required_threads: tuple[int, ...] | None = None
    maximum_threads: tuple[int, ...] | None = None


def flatten_kernel(module: Module, name: str) -> FlatKernel:
    """Inline everything that entry `name` calls.

    Raises:
        LaunchError: no such entry.
        UnsupportedInstruction: an indirect, recursive or undeclared call.
    """
    entry = module.functions.get(name)
    if entry is None or not entry.entry:
        known = ", ".join(f.name for f in module.functions.values() if f.entry) or "none"
        raise LaunchError(f"no kernel {name!r} in this module (it has: {known})")
    flat = FlatKernel(list(entry.parameters))
    flat.required_threads, flat.maximum_threads = entry.required_threads, entry.maximum_threads
    for variable in module.variables:
        if variable.space == "shared":
            (flat.dynamic if variable.size == 0 else flat.shared).append(variable)
    _Inliner(module, flat).expand(entry, "", {}, (name,), None)
    used = _symbols(flat)
    flat.shared = [variable for variable in flat.shared if variable.name in used]
    flat.dynamic = [variable for variable in flat.dynamic if variable.name in used]
    return flat


def _symbols(flat: FlatKernel) -> set[str]:
    found: set[str] = set()
    for item in flat.body:
        if isinstance(item, Instruction):
            for operand in item.operands:
                base = operand.base if isinstance(operand, Address) else operand
                if isinstance(base, Symbol):
                    found.add(base.name)
    return found


class _Inliner:
    def __init__(self, module: Module, flat: FlatKernel) -> None:
        self.module = module
        self.flat = flat
        self.calls = 0
        self.shared_names: set[str] = set()

    def expand(
        self,
        function: Function,
        prefix: str,
        aliases: dict[str, str],
        stack: tuple[str, ...],
        finish: str | None,
    ) -> None:
        """Append `function` to the flat kernel; `ret` goes to label `finish` (exits if None)."""
        names = dict(aliases)
        for register, type_name in function.registers.items():
            names[register] = prefix + register
            self.flat.registers[prefix + register] = type_name
        for variable in function.variables:
            self.declare(function, variable, prefix, names)
        for item in function.body:
            if isinstance(item, Label):
                names[item.name] = prefix + item.name
        for table, labels in function.tables.items():
            self.flat.tables[prefix + table] = tuple(prefix + label for label in labels)
        for item in function.body:
            if isinstance(item, Label):
                self.flat.body.append(Label(prefix + item.name))
            elif item.parts[0] == "call":
                self.call(item, names, stack)
            elif item.parts[0] == "ret" and finish is not None:
                jump = replace(_rename(item, names), parts=("bra",), operands=(Symbol(finish),))
                self.flat.body.append(jump)
            else:
                self.flat.body.append(_rename(item, names))

    def declare(
        self, function: Function, variable: Variable, prefix: str, names: dict[str, str]
    ) -> None:
        if variable.space == "shared":
            # One copy for the function, not one a call.
            unique = f"{function.name}:{variable.name}"
            if unique not in self.shared_names:
                self.shared_names.add(unique)
                self.flat.shared.append(replace(variable, name=unique))
        else:
            unique = prefix + variable.name
            self.flat.local.append(replace(variable, name=unique))
        names[variable.name] = unique

    def call(self, instruction: Instruction, names: dict[str, str], stack: tuple[str, ...]) -> None:
        where = f"PTX line {instruction.line}, {instruction.text!r}"
        operands = list(instruction.operands)
        results: tuple[Operand, ...] = ()
        if isinstance(operands[0], Group):
            results = operands.pop(0).items  # type: ignore[union-attr]  # checked a line above
        callee = operands[0]
        if not isinstance(callee, Symbol) or instruction.guard is not None:
            raise UnsupportedInstruction(f"{where}: an indirect or guarded call")
        function = self.module.functions.get(callee.name)
        if function is None:
            raise UnsupportedInstruction(f"{where}: {callee.name!r} has no body in this module")
        if callee.name in stack:
            raise UnsupportedInstruction(f"{where}: recursion")
        arguments = operands[1].items if len(operands) > 1 else ()  # type: ignore[union-attr]  # call syntax
        aliases: dict[str, str] = {}
        for variable, given in zip(
            [*function.results, *function.parameters], [*results, *arguments], strict=True
        ):
            if not isinstance(given, Symbol):
                raise UnsupportedInstruction(f"{where}: arguments must be .param variables")
            aliases[variable.name] = names.get(given.name, given.name)
        self.calls += 1
        prefix = f"{callee.name}~{self.calls}:"
        finish = f"{prefix}end"
        self.expand(function, prefix, aliases, (*stack, callee.name), finish)
        self.flat.body.append(Label(finish))


def _rename(instruction: Instruction, names: dict[str, str]) -> Instruction:
    guard = instruction.guard
    return replace(
        instruction,
        operands=tuple(_renamed(operand, names) for operand in instruction.operands),
        guard=Register(names.get(guard.name, guard.name)) if guard else None,
    )


def _register(register: Register, names: dict[str, str]) -> Register:
    return Register(names.get(register.name, register.name))


def _renamed(operand: Operand, names: dict[str, str]) -> Operand:
    if isinstance(operand, Register):
        return _register(operand, names)
    if isinstance(operand, Symbol):
        return Symbol(names.get(operand.name, operand.name), operand.offset)
    if isinstance(operand, Address) and operand.base is not None:
        base = operand.base
        name = names.get(base.name, base.name)
        if isinstance(base, Register):
            return Address(Register(name), operand.offset)
        return Address(Symbol(name, base.offset), operand.offset)
    if isinstance(operand, Group):
        return Group(tuple(_renamed(item, names) for item in operand.items))
    if isinstance(operand, Pair):
        return Pair(_register(operand.first, names), _register(operand.second, names))
    if isinstance(operand, Negated):
        return Negated(_register(operand.register, names))
    return operand

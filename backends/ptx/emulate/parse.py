"""PTX text to `syntax.Module`, for the subset that LLVM's NVPTX back end writes.

Source of the grammar: NVIDIA's PTX ISA manual, chapters 4 (syntax), 5 (state spaces and types)
and 11 (directives).
"""

from __future__ import annotations

from .errors import PtxSyntaxError
from .syntax import (
    Address,
    Function,
    Group,
    Immediate,
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
from .tokens import Token, tokenize
from .types import DTYPES, width

_LINKAGE = frozenset({".visible", ".extern", ".weak", ".common"})
_SPACES = frozenset({".global", ".const", ".shared", ".local", ".param"})
_THREAD_LIMITS = frozenset({".maxntid", ".reqntid"})
_IGNORED_LIMITS = frozenset(
    {".minnctapersm", ".maxnreg", ".maxnctapersm", ".noreturn", ".maxclusterrank"}
)


def parse_module(text: str) -> Module:
    """Read a whole PTX file.

    Raises:
        PtxSyntaxError: text outside the subset, with its line.
    """
    return _Parser(text).module()


class _Scope:
    """Names declared so far in one function; inner `{ }` scopes rename what they redeclare."""

    def __init__(self) -> None:
        self.levels: list[dict[str, str]] = [{}]
        self.count = 0

    def declare(self, name: str) -> str:
        if len(self.levels) == 1:
            unique = name
        else:
            self.count += 1
            unique = f"{name}#{self.count}"
        self.levels[-1][name] = unique
        return unique

    def find(self, name: str) -> str:
        for level in reversed(self.levels):
            if name in level:
                return level[name]
        return name


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.scope = _Scope()

    # -- tokens ----------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token:
        if self.at + ahead < len(self.tokens):
            return self.tokens[self.at + ahead]
        last = self.tokens[-1].line if self.tokens else 1
        return Token("end", "", last, len(self.text), len(self.text))

    def next(self) -> Token:
        token = self.peek()
        if token.kind == "end":
            raise self.error("the text ends early")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.peek().text == text:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        token = self.peek()
        if token.text != text:
            raise self.error(f"expected {text!r}, found {token.text!r}")
        self.at += 1
        return token

    def error(self, message: str) -> PtxSyntaxError:
        return PtxSyntaxError(f"PTX line {self.peek().line}: {message}")

    def integer(self) -> int:
        negative = self.accept("-")
        token = self.next()
        if token.kind != "number":
            raise self.error(f"expected a number, found {token.text!r}")
        value = _literal(token.text).value
        return -value if negative else value

    # -- module level ----------------------------------------------------------------------

    def module(self) -> Module:
        module = Module()
        while self.peek().kind != "end":
            word = self.next().text
            if word == ".version":
                module.version = self.next().text
            elif word == ".target":
                module.target = self.names()
            elif word == ".address_size":
                if self.integer() != 64:
                    raise self.error("only 64-bit addresses are supported")
            elif word == ".section":
                self.skip_section()
            elif word in _LINKAGE or word in _SPACES or word in (".entry", ".func"):
                self.at -= 1
                self.declaration(module)
            elif word != ";":
                raise self.error(f"unknown directive {word!r}")
        return module

    def names(self) -> tuple[str, ...]:
        found = [self.next().text]
        while self.accept(","):
            found.append(self.next().text)
        return tuple(found)

    def skip_section(self) -> None:
        while self.next().text != "{":
            pass
        while self.next().text != "}":
            pass

    def declaration(self, module: Module) -> None:
        extern = False
        while self.peek().text in _LINKAGE:
            extern |= self.next().text == ".extern"
        if self.peek().text in (".entry", ".func"):
            function = self.function()
            if function is not None:
                module.functions[function.name] = function
            return
        self.scope = _Scope()
        variable = self.variable(extern)
        self.expect(";")
        module.variables.append(variable)

    def variable(self, extern: bool = False) -> Variable:
        """`.shared .align 4 .b8 name[128] = {...}`, without the closing mark."""
        space = self.next().text.removeprefix(".")
        align, type_name, pointer = 0, "", False
        while self.peek().text.startswith("."):
            word = self.next().text
            if word == ".align":
                # After .ptr it is the alignment of what the parameter points at.
                given = self.integer()
                align = align if pointer else given
            elif word == ".ptr":
                pointer = True
            elif word[1:] in DTYPES:
                type_name = word[1:]
            elif not (pointer and word in _SPACES):
                raise self.error(f"unknown word {word!r} in a declaration")
        name = self.scope.declare(self.next().text)
        elements, array = 1, False
        while self.accept("["):
            array = True
            elements *= 0 if self.peek().text == "]" else self.integer()
            self.expect("]")
        values = self.initializer() if self.accept("=") else ()
        size = width(type_name)
        return Variable(
            name, space, type_name, align or size, size * elements, values, extern, pointer, array
        )

    def initializer(self) -> tuple[int | Symbol, ...]:
        if not self.accept("{"):
            return (self.initial_value(),)
        values: list[int | Symbol] = []
        while not self.accept("}"):
            values += self.initializer() if self.peek().text == "{" else (self.initial_value(),)
            self.accept(",")
        return tuple(values)

    def initial_value(self) -> int | Symbol:
        if self.peek().kind == "number" or self.peek().text == "-":
            return self.integer()
        name = self.next().text
        if name == "generic":
            self.expect("(")
            name = self.next().text
            offset = self.integer() if self.accept("+") else 0
            self.expect(")")
            return Symbol(name, offset)
        return Symbol(name, self.integer() if self.accept("+") else 0)

    # -- functions -------------------------------------------------------------------------

    def function(self) -> Function | None:
        """One `.entry` or `.func`; None for a mere declaration."""
        self.scope = _Scope()
        first = self.next()
        results = self.parameters() if self.peek().text == "(" else []
        name = self.next().text
        parameters = self.parameters() if self.peek().text == "(" else []
        function = Function(name, first.text == ".entry", parameters, results, first.line)
        while self.peek().text != "{":
            if self.accept(";"):
                return None
            self.limit(function)
        self.next()
        self.body(function)
        return function

    def parameters(self) -> list[Variable]:
        self.expect("(")
        found: list[Variable] = []
        while not self.accept(")"):
            found.append(self.variable())
            self.accept(",")
        return found

    def limit(self, function: Function) -> None:
        word = self.next().text
        if word in _THREAD_LIMITS:
            sizes = [self.integer()]
            while self.accept(","):
                sizes.append(self.integer())
            if word == ".reqntid":
                function.required_threads = tuple(sizes)
            else:
                function.maximum_threads = tuple(sizes)
        elif word in _IGNORED_LIMITS:
            if self.peek().kind == "number":
                self.integer()
        elif word == ".pragma":
            self.next()
            self.expect(";")
        else:
            raise self.error(f"unknown function directive {word!r}")

    def body(self, function: Function) -> None:
        while self.scope.levels:
            token = self.peek()
            if token.text == "{":
                self.next()
                self.scope.levels.append({})
            elif token.text == "}":
                self.next()
                self.scope.levels.pop()
            elif token.text == ";":
                self.next()
            elif token.text == ".reg":
                self.next()
                self.registers(function)
            elif token.text in _SPACES:
                function.variables.append(self.variable())
                self.expect(";")
            elif token.text == ".pragma":
                self.next()
                self.next()
                self.expect(";")
            elif token.text == ".branchtargets":
                self.next()
                self.branch_targets(function)
            elif self.peek(1).text == ":":
                self.next()
                self.next()
                function.body.append(Label(token.text))
            else:
                function.body.append(self.instruction())

    def branch_targets(self, function: Function) -> None:
        """The list that the label just read stands for."""
        label = function.body.pop()
        if not isinstance(label, Label):
            raise self.error(".branchtargets without a label")
        function.tables[label.name] = self.names()
        self.expect(";")

    def registers(self, function: Function) -> None:
        type_name = self.next().text.removeprefix(".")
        if type_name not in DTYPES:
            raise self.error(f"registers of type .{type_name} are not supported")
        while True:
            name = self.next().text
            if self.accept("<"):
                count = self.integer()
                self.expect(">")
                for index in range(count):
                    function.registers[self.scope.declare(f"{name}{index}")] = type_name
            else:
                function.registers[self.scope.declare(name)] = type_name
            if self.accept(";"):
                return
            self.expect(",")

    # -- instructions ----------------------------------------------------------------------

    def instruction(self) -> Instruction:
        start = self.peek()
        guard, negated = None, False
        if self.accept("@"):
            negated = self.accept("!")
            guard = Register(self.scope.find(self.next().text))
        opcode = self.next()
        if opcode.kind != "name" or opcode.text[0] in "%.$":
            raise self.error(f"expected an instruction, found {opcode.text!r}")
        operands: list[Operand] = []
        while not self.accept(";"):
            operands.append(self.operand())
            if self.peek().text != ";":
                self.expect(",")
        end = self.tokens[self.at - 1].end
        text = " ".join(self.text[start.start : end].split())
        parts = tuple(opcode.text.split("."))
        return Instruction(parts, tuple(operands), guard, negated, start.line, text)

    def operand(self) -> Operand:
        token = self.peek()
        if token.text == "[":
            return self.address()
        if token.text in ("{", "("):
            return self.group("}" if token.text == "{" else ")")
        if token.text == "!":
            self.next()
            return Negated(Register(self.scope.find(self.next().text)))
        if token.kind == "number" or token.text == "-":
            return self.immediate()
        name = self.next().text
        if not _is_register(name):
            offset = self.integer() if self.accept("+") else 0
            return Symbol(self.scope.find(name), offset)
        register = Register(self.scope.find(name))
        if self.accept("|"):
            return Pair(register, Register(self.scope.find(self.next().text)))
        return register

    def immediate(self) -> Immediate:
        negative = self.accept("-")
        literal = _literal(self.next().text)
        return Immediate(-literal.value, literal.kind) if negative else literal

    def group(self, close: str) -> Group:
        self.next()
        items: list[Operand] = []
        while not self.accept(close):
            items.append(self.operand())
            self.accept(",")
        return Group(tuple(items))

    def address(self) -> Address:
        self.expect("[")
        if self.peek().kind == "number":
            base: Register | Symbol | None = None
            offset = self.integer()
        else:
            name = self.next().text
            found = self.scope.find(name)
            base = Register(found) if _is_register(name) else Symbol(found)
            offset = 0
        if self.accept("+") or self.peek().text == "-":
            offset += self.integer()
        self.expect("]")
        return Address(base, offset)


def _is_register(name: str) -> bool:
    return name.startswith("%") or name == "_"


def _literal(text: str) -> Immediate:
    if text[:2] in ("0f", "0F"):
        return Immediate(int(text[2:], 16), "f32")
    if text[:2] in ("0d", "0D"):
        return Immediate(int(text[2:], 16), "f64")
    digits = text.removesuffix("U")
    if digits[:2] in ("0x", "0X"):
        return Immediate(int(digits, 16))
    if digits[:2] in ("0b", "0B"):
        return Immediate(int(digits, 2))
    if "." in digits:
        raise PtxSyntaxError(f"decimal float literal {text!r} is not supported")
    if len(digits) > 1 and digits[0] == "0":
        return Immediate(int(digits, 8))
    return Immediate(int(digits))

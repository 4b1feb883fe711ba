"""Writers of LLVM text: a module (declarations, data, functions) and one function's body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tensorscript.base.dtypes import DType

_DEFINED = re.compile(r"^define [^@\n]*@([\w.]+)\(", re.MULTILINE)
_WORK = re.compile(r"\bbr i1 |\bcall [^@]*@(?!llvm\.)")
_PRINTABLE = frozenset(range(0x20, 0x7F)) - {0x22, 0x5C}

SIMPLIFY = '"ts-simplify"'
"""The attribute of functions that `optimize.simplify` is for."""

SHORT = 24
"""Most instructions and labels of functions that are inlined."""


def c_string(data: bytes) -> str:
    """`data` as an LLVM string literal; linear and fast for megabytes."""
    if len(data) > 4096:
        return f'c"\\{data.hex(chr(92))}"'
    return 'c"' + "".join(chr(b) if b in _PRINTABLE else f"\\{b:02X}" for b in data) + '"'


class ModuleText:
    """What a module consists of, in the order in which it will be printed.

    Attributes:
        scalar_math: library functions are called lane by lane.
        certain: the functions so far that never fail, whose status nobody needs to look at.
        inlined: the kernels so far that LLVM puts in the place of their calls.
    """

    def __init__(self, scalar_math: bool = False) -> None:
        self.scalar_math = scalar_math
        self.globals: list[str] = []
        self.functions: list[str] = []
        self.certain: set[str] = set()
        self.inlined: set[str] = set()
        self.math: dict[tuple[str, str, int], None] = {}
        self._declared: dict[str, str] = {}
        self._strings: dict[bytes, str] = {}
        self._metadata: list[str] = []
        self._streamed = ""
        self._unpredictable = ""

    def add_global(self, line: str) -> None:
        """A global variable, once (an unrolled te.alloc comes several times)."""
        if line not in self.globals:
            self.globals.append(line)

    def declare(self, name: str, result: str, parameters: str) -> None:
        self._declared.setdefault(name, f"declare {result} @{name}({parameters})")

    def string(self, text: str) -> str:
        """The symbol of a NUL-terminated UTF-8 string."""
        data = text.encode() + b"\0"
        if data not in self._strings:
            name = self._strings[data] = f"@str.{len(self._strings)}"
            self.globals.append(
                f"{name} = private unnamed_addr constant [{len(data)} x i8] {c_string(data)}"
            )
        return self._strings[data]

    def loop_metadata(self) -> str:
        """A fresh loop id that keeps LLVM from unrolling or vectorising the loop again."""
        number = self._next_metadata()
        self._metadata.append(f"!{number} = distinct !{{!{number}, !0, !1}}")
        return f"!{number}"

    def _next_metadata(self) -> int:
        """A free number; what loop ids are made of has the first ones."""
        if not self._metadata:
            self._metadata += [
                '!0 = !{!"llvm.loop.unroll.disable"}',
                '!1 = !{!"llvm.loop.vectorize.enable", i1 false}',
            ]
        return len(self._metadata)

    def unpredictable_metadata(self) -> str:
        """What branches are marked with that nobody foresees."""
        if not self._unpredictable:
            self._unpredictable = f"!{self._next_metadata()}"
            self._metadata.append(f"{self._unpredictable} = !{{}}")
        return self._unpredictable

    def streamed_metadata(self) -> str:
        """What stores past the caches are marked with."""
        if not self._streamed:
            self._streamed = f"!{self._next_metadata()}"
            self._metadata.append(f"{self._streamed} = !{{i32 1}}")
        return self._streamed

    def declare_lines(self, lines: Iterable[str]) -> None:
        """Declarations (or globals) as whole lines, each kept once by its symbol."""
        for line in lines:
            self._declared.setdefault(line.split("@", 1)[1].split("(")[0].split(" ")[0], line)

    def render(self, header: Sequence[str], library: Sequence[str] = ()) -> str:
        """The module's text; `library` are definitions of support functions."""
        defined = {name for text in library for name in _DEFINED.findall(text)}
        declared = [d for n, d in self._declared.items() if n not in defined]
        parts = [*header, *self.globals, *declared, *library, *self.functions, *self._metadata]
        return "\n".join(parts) + "\n"


class Code:
    """The body of one function: straight-line instructions in labelled blocks.

    Allocas are collected and printed at the start of the entry block, which is where LLVM's
    scalar-replacement pass looks for them.

    Attributes:
        differences: single floats that were subtracted, with their dtype and both sides.
        halves: floats that were loaded as half types, with the register of what lay in memory.
        widened: floats that were made wider, with their narrower type and register.
    """

    def __init__(self, module: ModuleText) -> None:
        self.module = module
        self.block = "entry"
        self.differences: dict[str, tuple[DType, str, str]] = {}
        self.halves: dict[str, str] = {}
        self.widened: dict[str, tuple[str, str]] = {}
        self._allocas: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._open = True

    def name(self, hint: str = "v") -> str:
        """A fresh name, without `%`."""
        self._count += 1
        return f"{hint}.{self._count}"

    def let(self, rhs: str, hint: str = "v") -> str:
        """Emit `%fresh = rhs`; gives the name."""
        name = f"%{self.name(hint)}"
        self._lines.append(f"  {name} = {rhs}")
        return name

    def do(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def alloca(self, what: str, hint: str) -> str:
        name = f"%{self.name(hint)}"
        self._allocas.append(f"  {name} = alloca {what}")
        return name

    def at_entry(self, line: str) -> None:
        """An instruction right after the allocas (initial values of their contents)."""
        self._allocas.append(f"  {line}")

    def start(self, label: str) -> None:
        """Begin the block `label`; an open block falls through into it."""
        if self._open:
            self._lines.append(f"  br label %{label}")
        self._lines.append(f"{label}:")
        self.block, self._open = label, True

    def branch(self, condition: str, yes: str, no: str, together: bool = False) -> None:
        """Close the block by a choice. Of a condition of several parts LLVM makes a branch for
        each, unless they are kept `together`."""
        kept = f", !unpredictable {self.module.unpredictable_metadata()}" if together else ""
        self.end(f"br i1 {condition}, label %{yes}, label %{no}{kept}")

    def end(self, terminator: str) -> None:
        """Close the current block; what follows starts with `start`."""
        self._lines.append(f"  {terminator}")
        self._open = False

    def call(self, result: str, name: str, arguments: Sequence[tuple[str, str]]) -> str:
        """Call a declared-on-demand function; arguments are (type, operand)."""
        self.module.declare(name, result, ", ".join(t for t, _ in arguments))
        inside = ", ".join(f"{t} {v}" for t, v in arguments)
        if result == "void":
            self.do(f"call void @{name}({inside})")
            return ""
        return self.let(f"call {result} @{name}({inside})")

    @property
    def is_short(self) -> bool:
        """A call of it would be as much: few instructions, no branches, no calls."""
        return len(self._lines) <= SHORT and not self.mentions(_WORK)

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(line) for line in self._lines)

    def render(self, head: str) -> str:
        """The function's text; `head` is everything before the brace."""
        return "\n".join([f"{head} {{", "entry:", *self._allocas, *self._lines, "}"])

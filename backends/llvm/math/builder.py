"""A small builder of LLVM IR text for straight-line vector math.

`Value` overloads Python's operators, so that an algorithm reads as its formula; each operator
appends one instruction. All values of a builder have the same number of lanes. There are no
fast-math flags: the formulas rely on exact rounding steps.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Literal

from tensorscript.base.records import dataclass

Kind = Literal["f", "i", "m"]

MANTISSA = {"f32": 23, "f64": 52}
BIAS = {"f32": 127, "f64": 1023}
_FLOAT = {"f32": "float", "f64": "double"}


def float_literal(value: float, dtype: str) -> str:
    """LLVM's hexadecimal spelling; an f32 constant is written as the double it equals."""
    if dtype == "f32":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def round_to_f32(value: float) -> float:
    """The float32 nearest to `value`, as a Python float."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


@dataclass(frozen=True)
class Value:
    """An SSA value or constant: float ("f"), integer of the same width ("i"), or mask ("m")."""

    builder: Builder
    name: str
    kind: Kind

    def _other(self, other: Value | float) -> Value:
        if isinstance(other, Value):
            return other
        return self.builder.constant(other, self.kind)

    def _binary(self, other: Value | float, float_op: str, int_op: str = "") -> Value:
        op = float_op if self.kind == "f" else int_op
        return self.builder.binary(op, self, self._other(other))

    def __add__(self, other: Value | float) -> Value:
        return self._binary(other, "fadd", "add")

    def __radd__(self, other: float) -> Value:
        return self._other(other) + self

    def __sub__(self, other: Value | float) -> Value:
        return self._binary(other, "fsub", "sub")

    def __rsub__(self, other: float) -> Value:
        return self._other(other) - self

    def __mul__(self, other: Value | float) -> Value:
        return self._binary(other, "fmul", "mul")

    def __rmul__(self, other: float) -> Value:
        return self._other(other) * self

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary(other, "fdiv")

    def __rtruediv__(self, other: float) -> Value:
        return self._other(other) / self

    def __neg__(self) -> Value:
        return self.builder.emit(f"fneg {self.builder.type_of('f')} {self.name}", "f")

    def __and__(self, other: Value | int) -> Value:
        return self.builder.binary("and", self, self._other(other))

    def __or__(self, other: Value | int) -> Value:
        return self.builder.binary("or", self, self._other(other))

    def __xor__(self, other: Value | int) -> Value:
        return self.builder.binary("xor", self, self._other(other))

    def __invert__(self) -> Value:
        return self.builder.binary("xor", self, self.builder.constant(1, "m"))

    def __lshift__(self, bits: int) -> Value:
        return self.builder.binary("shl", self, self._other(bits))

    def sar(self, bits: int) -> Value:
        """Arithmetic shift right."""
        return self.builder.binary("ashr", self, self._other(bits))

    def compare(self, relation: str, other: Value | float) -> Value:
        """`fcmp`/`icmp` with LLVM's relation name; gives a mask."""
        right = self._other(other)
        op = "fcmp" if self.kind == "f" else "icmp"
        ty = self.builder.type_of(self.kind)
        return self.builder.emit(f"{op} {relation} {ty} {self.name}, {right.name}", "m")

    def __lt__(self, other: Value | float) -> Value:
        return self.compare("olt", other)

    def __gt__(self, other: Value | float) -> Value:
        return self.compare("ogt", other)

    def __le__(self, other: Value | float) -> Value:
        return self.compare("ole", other)

    def __ge__(self, other: Value | float) -> Value:
        return self.compare("oge", other)

    def equals(self, other: Value | float) -> Value:
        """Ordered equality of floats, equality of integers; gives a mask."""
        return self.compare("oeq" if self.kind == "f" else "eq", other)

    def is_nan(self) -> Value:
        return self.compare("uno", self)


@dataclass
class Builder:
    """Collects the instructions of one function over `lanes` elements of `dtype`.

    Attributes:
        depends: (function, dtype, lanes) of every library function called.
        declarations: module-level lines needed: intrinsics, tables, shared functions.
        block: label of the current basic block.
        has_loops: whether there are branches, so that inlining is left to LLVM.
        scale_bits: bits of the vectors that one instruction scales by powers of two; 0 for none.
    """

    dtype: str
    lanes: int
    lines: list[str] = field(default_factory=list)
    depends: dict[tuple[str, str, int], None] = field(default_factory=dict)
    declarations: dict[str, None] = field(default_factory=dict)
    block: str = "entry"
    has_loops: bool = False
    scale_bits: int = 0

    @property
    def mantissa(self) -> int:
        return MANTISSA[self.dtype]

    @property
    def bias(self) -> int:
        return BIAS[self.dtype]

    @property
    def bits(self) -> int:
        return int(self.dtype[1:])

    @property
    def scalar(self) -> str:
        return _FLOAT[self.dtype]

    @property
    def suffix(self) -> str:
        """LLVM's overload suffix, such as "v16f32"."""
        return self.dtype if self.lanes == 1 else f"v{self.lanes}{self.dtype}"

    def type_of(self, kind: Kind) -> str:
        element = {"f": self.scalar, "i": f"i{self.bits}", "m": "i1"}[kind]
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def constant(self, value: float, kind: Kind = "f") -> Value:
        if kind == "f":
            element, text = self.scalar, float_literal(value, self.dtype)
        elif kind == "i":
            element, text = f"i{self.bits}", str(int(value))
        else:
            element, text = "i1", "true" if value else "false"
        return Value(self, text if self.lanes == 1 else f"splat ({element} {text})", kind)

    def integer(self, value: int) -> Value:
        return self.constant(value, "i")

    def emit(self, text: str, kind: Kind) -> Value:
        name = f"%t{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return Value(self, name, kind)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        return self.emit(f"{op} {self.type_of(a.kind)} {a.name}, {b.name}", a.kind)

    def select(self, mask: Value, yes: Value | float, no: Value | float) -> Value:
        kind = yes.kind if isinstance(yes, Value) else no.kind if isinstance(no, Value) else "f"
        a = yes if isinstance(yes, Value) else self.constant(yes, kind)
        b = no if isinstance(no, Value) else self.constant(no, kind)
        ty = self.type_of(kind)
        text = f"select {self.type_of('m')} {mask.name}, {ty} {a.name}, {ty} {b.name}"
        return self.emit(text, kind)

    def bits_of(self, x: Value) -> Value:
        return self.emit(f"bitcast {self.type_of('f')} {x.name} to {self.type_of('i')}", "i")

    def float_of(self, x: Value) -> Value:
        return self.emit(f"bitcast {self.type_of('i')} {x.name} to {self.type_of('f')}", "f")

    def to_float(self, x: Value) -> Value:
        return self.emit(f"sitofp {self.type_of('i')} {x.name} to {self.type_of('f')}", "f")

    def intrinsic(self, name: str, *operands: Value | float) -> Value:
        """Call `llvm.<name>`; only names that every target allows may be used here."""
        ty = self.type_of("f")
        values = [v if isinstance(v, Value) else self.constant(v) for v in operands]
        symbol = f"@llvm.{name}.{self.suffix}"
        self.declarations[f"declare {ty} {symbol}({', '.join([ty] * len(values))})"] = None
        arguments = ", ".join(f"{ty} {v.name}" for v in values)
        return self.emit(f"call {ty} {symbol}({arguments})", "f")

    def fma(self, a: Value | float, b: Value | float, c: Value | float) -> Value:
        """a*b + c rounded once (in software where the processor has none)."""
        return self.intrinsic("fma", a, b, c)

    def abs(self, x: Value) -> Value:
        return self.intrinsic("fabs", x)

    def copysign(self, x: Value | float, sign: Value) -> Value:
        return self.intrinsic("copysign", x, sign)

    def polynomial(self, x: Value, coefficients: Sequence[Value | float]) -> Value:
        """Horner's scheme, lowest coefficient first."""
        last = coefficients[-1]
        result = last if isinstance(last, Value) else self.constant(last)
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result

    def call(self, fn: str, *operands: Value) -> Value:
        """Call another function of this library at the same dtype and lanes."""
        self.depends[(fn, self.dtype, self.lanes)] = None
        ty = self.type_of("f")
        arguments = ", ".join(f"{ty} {v.name}" for v in operands)
        return self.emit(f"call {ty} @ts_{fn}_{self.suffix}({arguments})", "f")

    def round_magic(self, x: Value, factor: float = 1.0) -> tuple[Value, Value]:
        """Nearest integer of |x factor| < 2^(mantissa-2), as a float and as an integer."""
        n, sum_bits = self.round_to_step(x, factor)
        return n, self.steps_in(sum_bits)

    def round_to_step(self, x: Value, factor: Value | float, steps: int = 1) -> tuple[Value, Value]:
        """Nearest multiple of 1/steps (a power of two) of |x factor| < 2^(mantissa-2)/steps, and
        the bits of a number that has it in steps as its lowest ones.

        Adding 1.5 * 2^mantissa/steps leaves the integer in the low bits; NaN gives an unspecified
        integer and a NaN float, never undefined behaviour.
        """
        magic = 1.5 * 2.0**self.mantissa / steps
        shifted = x + magic if factor == 1.0 else self.fma(x, factor, magic)
        return shifted - magic, self.bits_of(shifted)

    def steps_in(self, sum_bits: Value, steps: int = 1) -> Value:
        """The integer in the bits that `round_to_step` gives."""
        return sum_bits - self.bits_of(self.constant(1.5 * 2.0**self.mantissa / steps))

    def power_of_two(self, n: Value) -> Value:
        """2^n for n in the normal exponent range."""
        return self.float_of((n + self.bias) << self.mantissa)

    def wide(self) -> Builder:
        """A float64 builder that appends to the same function."""
        return replace(self, dtype="f64")

    def widen(self, x: Value) -> Value:
        """A float32 number as float64."""
        wide = self.wide()
        return wide.emit(f"fpext {self.type_of('f')} {x.name} to {wide.type_of('f')}", "f")

    def narrow(self, x: Value) -> Value:
        """A float64 number rounded to float32."""
        return self.emit(f"fptrunc {x.builder.type_of('f')} {x.name} to {self.type_of('f')}", "f")

    def widened(self, fn: str, *operands: Value) -> Value:
        """Compute `fn` in float64 and round; for an f32 builder."""
        return self.narrow(self.wide().call(fn, *(self.widen(v) for v in operands)))

    def any(self, mask: Value) -> str:
        """The name of an i1: whether any lane of the mask is set."""
        if self.lanes == 1:
            return mask.name
        bits = self.emit(f"bitcast {self.type_of('m')} {mask.name} to i{self.lanes}", "i")
        return self.emit(f"icmp ne i{self.lanes} {bits.name}, 0", "m").name

    def start_block(self, text: str) -> str:
        """Start a basic block; the numbering of values counts its line too."""
        self.lines.append(f"{text}:")
        self.block = text
        return text

    def loop(self, start: Value, step: Value, body: Callable[..., Value]) -> Value:
        """`while any(r >= step): r = body(r)`, then r."""
        self.has_loops = True
        before, ty = self.block, self.type_of("f")
        serial = len(self.lines)
        head, inside, after = (f"{word}{serial}" for word in ("head", "body", "done"))
        self.lines.append(f"  br label %{head}")
        self.start_block(head)
        slot = len(self.lines)
        r = self.emit("", "f")
        more = self.any(r >= step)
        self.lines.append(f"  br i1 {more}, label %{inside}, label %{after}")
        self.start_block(inside)
        following = body(self, r, step)
        self.lines[slot] = (
            f"  {r.name} = phi {ty} [ {start.name}, %{before} ], [ {following.name}, %{inside} ]"
        )
        self.lines.append(f"  br label %{head}")
        self.start_block(after)
        return r

    def extract(self, x: Value, lane: int, kind: Kind) -> str:
        if self.lanes == 1:
            return x.name
        return self.emit(f"extractelement {self.type_of(kind)} {x.name}, i32 {lane}", kind).name

    def insert(self, x: Value, element: str, lane: int) -> Value:
        if self.lanes == 1:
            return Value(self, element, x.kind)
        ty = {"f": self.scalar, "i": f"i{self.bits}", "m": "i1"}[x.kind]
        vector = self.type_of(x.kind)
        return self.emit(f"insertelement {vector} {x.name}, {ty} {element}, i32 {lane}", x.kind)

"""A small builder of LLVM IR text for straight-line vector math.

`Value` overloads Python's operators, so that an algorithm reads as its formula; each operator
appends one instruction. All values of a builder have the same number of lanes. There are no
fast-math flags: the formulas rely on exact rounding steps.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from . import reduction

Kind = Literal["f", "i", "m"]

MANTISSA = {"f32": 23, "f64": 52}
_LIMIT = 1.0e10
BIAS = {"f32": 127, "f64": 1023}
TABLE_BITS = 512
"""Of the registers that `Builder.lookup` takes tables from."""
_FLOAT = {"f32": "float", "f64": "double"}


def float_literal(value: float, dtype: str) -> str:
    """LLVM's hexadecimal spelling; an f32 constant is written as the double it equals."""
    if dtype == "f32":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def round_to_f32(value: float) -> float:
    """The float32 nearest to `value`, as a Python float."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _picks(lanes: Iterable[int]) -> str:
    """The mask of a shufflevector."""
    numbers = [f"i32 {lane}" for lane in lanes]
    return f"<{len(numbers)} x i32> <{', '.join(numbers)}>"


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

    def polynomial(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        """Horner's scheme, lowest coefficient first."""
        result: Value = self.constant(coefficients[-1])
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

    def round_to_step(self, x: Value, factor: float, steps: int = 1) -> tuple[Value, Value]:
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

    def scale(self, x: Value, n: Value, whole: Value) -> Value:
        """x * 2^n with n rounded down, which is given as a float and `whole` as an integer. Two
        steps where no instruction does it, so that results may overflow or become subnormal
        properly; both ways round once."""
        if self.scale_bits and self.lanes * self.bits % self.scale_bits == 0:
            return self._scale_vectors(x, n)
        half = whole.sar(1)
        return x * self.power_of_two(half) * self.power_of_two(whole - half)

    def _scale_vectors(self, x: Value, n: Value) -> Value:
        """AVX-512's vscalefps and vscalefpd, a register at a time."""
        width = self.scale_bits // self.bits
        ty, mask = f"<{width} x {self.scalar}>", f"i{max(width, 8)}"
        symbol = f"@llvm.x86.avx512.mask.scalef.p{'s' if self.dtype == 'f32' else 'd'}.512"
        self.declarations[f"declare {ty} {symbol}({ty}, {ty}, {ty}, {mask}, i32)"] = None
        parts = []
        for first in range(0, self.lanes, width):
            a, b = (self._part(v, first, width) for v in (x, n))
            parts.append(
                self.emit(f"call {ty} {symbol}({ty} {a}, {ty} {b}, {ty} zeroinitializer, "
                          f"{mask} -1, i32 4)", "f").name
            )  # fmt: skip
        return self._joined(parts, width)

    @property
    def has_tables(self) -> bool:
        """Whether `lookup` is cheap."""
        return self.scale_bits == TABLE_BITS

    def lookup(self, kept: str, table: tuple[float, ...], index: Value) -> Value:
        """The entry of a table, which fills a register of `TABLE_BITS`, at the low bits of an
        integer: by AVX-512's vpermps or vpermpd, a register at a time; of one lane from memory,
        where the table is `kept` under that name."""
        width = len(table)
        numbers = ", ".join(f"{self.scalar} {float_literal(v, self.dtype)}" for v in table)
        if self.lanes == 1:
            name = f"@ts_{kept}_{self.dtype}"
            array = f"[{width} x {self.scalar}]"
            self.declarations[f"{name} = internal unnamed_addr constant {array} [{numbers}]"] = None
            low = index & (width - 1)
            at = self.emit(f"getelementptr {array}, ptr {name}, i{self.bits} 0, "
                           f"i{self.bits} {low.name}", "i")  # fmt: skip
            return self.emit(f"load {self.scalar}, ptr {at.name}", "f")
        ty, places = f"<{width} x {self.scalar}>", f"<{width} x i{self.bits}>"
        symbol = f"@llvm.x86.avx512.permvar.{'s' if self.dtype == 'f32' else 'd'}f.512"
        self.declarations[f"declare {ty} {symbol}({ty}, {places})"] = None
        parts = []
        for first in range(0, self.lanes, width):
            at_lanes = self._part(index, first, width)
            call = f"call {ty} {symbol}({ty} <{numbers}>, {places} {at_lanes})"
            parts.append(self.emit(call, "f").name)
        return self._joined(parts, width)

    def _joined(self, parts: list[str], width: int) -> Value:
        """The vector of parts of `width` lanes, or the first lanes of the only part."""
        if width > self.lanes:
            kind, picks = f"<{width} x {self.scalar}>", _picks(range(self.lanes))
            return self.emit(f"shufflevector {kind} {parts[0]}, {kind} poison, {picks}", "f")
        while len(parts) > 1:
            kind, picks = f"<{width} x {self.scalar}>", _picks(range(2 * width))
            parts = [
                self.emit(f"shufflevector {kind} {a}, {kind} {b}, {picks}", "f").name
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            width *= 2
        return Value(self, parts[0], "f")

    def _part(self, x: Value, first: int, width: int) -> str:
        """`width` lanes of a vector, those beyond a shorter one undefined."""
        if width == self.lanes:
            return x.name
        kind = self.type_of(x.kind)
        picks = _picks(min(k, self.lanes) for k in range(first, first + width))
        return self.emit(f"shufflevector {kind} {x.name}, {kind} poison, {picks}", "f").name

    def widened(self, fn: str, *operands: Value) -> Value:
        """Compute `fn` in float64 and round; for an f32 builder."""
        wide = self._wide()
        args = []
        for v in operands:
            w = wide.emit(f"fpext {self.type_of('f')} {v.name} to {wide.type_of('f')}", "f")
            args.append(w)
        return self._narrow(wide.call(fn, *args))

    def widened_power(self, x: Value, y: Value) -> Value:
        """exp(y log x) in float64, rounded to float32; x >= 0."""
        wide = self._wide()
        ty, narrow = wide.type_of("f"), self.type_of("f")
        xw = wide.emit(f"fpext {narrow} {x.name} to {ty}", "f")
        yw = wide.emit(f"fpext {narrow} {y.name} to {ty}", "f")
        return self._narrow(wide.call("exp", yw * wide.call("log", xw)))

    def _wide(self) -> Builder:
        """A float64 builder that appends to the same function."""
        return replace(self, dtype="f64")

    def _narrow(self, x: Value) -> Value:
        ty = x.builder.type_of("f")
        return self.emit(f"fptrunc {ty} {x.name} to {self.type_of('f')}", "f")

    def any(self, mask: Value) -> str:
        """The name of an i1: whether any lane of the mask is set."""
        if self.lanes == 1:
            return mask.name
        bits = self.emit(f"bitcast {self.type_of('m')} {mask.name} to i{self.lanes}", "i")
        return self.emit(f"icmp ne i{self.lanes} {bits.name}, 0", "m").name

    def _label(self, text: str) -> str:
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
        self._label(head)
        slot = len(self.lines)
        r = self.emit("", "f")
        more = self.any(r >= step)
        self.lines.append(f"  br i1 {more}, label %{inside}, label %{after}")
        self._label(inside)
        following = body(self, r, step)
        self.lines[slot] = (
            f"  {r.name} = phi {ty} [ {start.name}, %{before} ], [ {following.name}, %{inside} ]"
        )
        self.lines.append(f"  br label %{head}")
        self._label(after)
        return r

    def far_reduction(
        self, x: Value, far: Value, r: Value, low: Value, n: Value
    ) -> tuple[Value, Value, Value]:
        """Replace (r, low, n) in the lanes marked `far` by Payne and Hanek's, if there are any."""
        self.has_loops = True
        self.declarations.update(dict.fromkeys(reduction.DECLARATIONS))
        self.declarations[reduction.TABLE] = None
        self.declarations[reduction.FUNCTION] = None
        before, serial = self.block, len(self.lines)
        inside, after = f"far{serial}", f"near{serial}"
        self.lines.append(f"  br i1 {self.any(far)}, label %{inside}, label %{after}")
        self._label(inside)
        values = [r, low, n]
        pair = self.emit("alloca [2 x double]", "f").name
        # The window of bits exists for large operands only; other lanes are not used.
        x = self.select(far, x, _LIMIT)
        for lane in range(self.lanes):
            values = self._far_lane(lane, pair, x, far, values)
        self.lines.append(f"  br label %{after}")
        self._label(after)
        merged = [
            self.emit(
                f"phi {self.type_of(old.kind)} "
                f"[ {old.name}, %{before} ], [ {new.name}, %{inside} ]",
                old.kind,
            )
            for old, new in zip((r, low, n), values, strict=True)
        ]
        return merged[0], merged[1], merged[2]

    def _far_lane(
        self, lane: int, pair: str, x: Value, far: Value, values: list[Value]
    ) -> list[Value]:
        """One lane of `far_reduction`, by selection: the call is made for every lane."""
        element, integer = self.scalar, f"i{self.bits}"
        xs = self._extract(x, lane, "f")
        if self.dtype == "f32":
            xs = self.emit(f"fpext float {xs} to double", "f").name
        n = self.emit(f"call i64 @ts_reduce_far(double {xs}, ptr {pair})", "i").name
        if self.dtype == "f32":
            n = self.emit(f"trunc i64 {n} to i32", "i").name
        high = self.emit(f"load double, ptr {pair}", "f").name
        place = self.emit(f"getelementptr double, ptr {pair}, i64 1", "i").name
        low = self.emit(f"load double, ptr {place}", "f").name
        if self.dtype == "f32":
            total = self.emit(f"fadd double {high}, {low}", "f").name
            high = self.emit(f"fptrunc double {total} to float", "f").name
            back = self.emit(f"fpext float {high} to double", "f").name
            rest = self.emit(f"fsub double {total}, {back}", "f").name
            low = self.emit(f"fptrunc double {rest} to float", "f").name
        chosen = self._extract(far, lane, "m")
        out = []
        for old, new, ty in zip(values, (high, low, n), (element, element, integer), strict=True):
            current = self._extract(old, lane, old.kind)
            pick = self.emit(f"select i1 {chosen}, {ty} {new}, {ty} {current}", old.kind).name
            out.append(self._insert(old, pick, lane))
        return out

    def _extract(self, x: Value, lane: int, kind: Kind) -> str:
        if self.lanes == 1:
            return x.name
        return self.emit(f"extractelement {self.type_of(kind)} {x.name}, i32 {lane}", kind).name

    def _insert(self, x: Value, element: str, lane: int) -> Value:
        if self.lanes == 1:
            return Value(self, element, x.kind)
        ty = {"f": self.scalar, "i": f"i{self.bits}", "m": "i1"}[x.kind]
        vector = self.type_of(x.kind)
        return self.emit(f"insertelement {vector} {x.name}, {ty} {element}, i32 {lane}", x.kind)

"""Conversions: between dtypes, between memory and registers, and rounding to half precision."""

from __future__ import annotations

from tensorscript.base.dtypes import DType, bfloat16, bool_, float16, float32, int32, int64

from .emit_arith import Site
from .emit_text import Code
from .emit_types import is_half, memory_type, register_type, splat, vector_of


def from_memory(code: Code, dtype: DType, lanes: int, text: str, own: bool = False) -> str:
    """The register form of an element just loaded; `own` where only `to_memory` has written it."""
    stored = vector_of(memory_type(dtype), lanes)
    if dtype is bool_ and own:  # LLVM sees that this undoes an extension
        return code.let(f"trunc {stored} {text} to {register_type(dtype, lanes)}")
    if dtype is bool_:
        zero = "0" if lanes == 1 else "zeroinitializer"
        return code.let(f"icmp ne {stored} {text}, {zero}")
    if not is_half(dtype):
        return text
    if dtype is bfloat16:
        made = _bfloat_to_float(code, lanes, text)
    else:
        made = code.let(f"fpext {stored} {text} to {register_type(dtype, lanes)}")
    code.halves[made] = text
    return made


def to_memory(code: Code, dtype: DType, lanes: int, text: str) -> str:
    """The stored form of a register value (already rounded, for half dtypes)."""
    stored, kind = vector_of(memory_type(dtype), lanes), register_type(dtype, lanes)
    if dtype is bool_:
        return code.let(f"zext {kind} {text} to {stored}")
    if is_half(dtype) and (loaded := code.halves.get(text)) is not None:
        return loaded  # a copy
    if dtype is float16:
        return code.let(f"fptrunc {kind} {text} to {stored}")
    if dtype is bfloat16:
        return _upper_halves(code, lanes, text)
    return text


def _upper_halves(code: Code, lanes: int, text: str) -> str:
    """Of floats, as integers; of vectors by a shuffle, one of two whole vectors on some CPUs."""
    kind = register_type(bfloat16, lanes)
    if lanes == 1:
        bits = code.let(f"bitcast {kind} {text} to i32")
        return code.let(f"trunc i32 {code.let(f'lshr i32 {bits}, 16')} to i16")
    halves = f"<{2 * lanes} x i16>"
    split = code.let(f"bitcast {kind} {text} to {halves}")
    picks = ", ".join(f"i32 {2 * k + 1}" for k in range(lanes))
    return code.let(f"shufflevector {halves} {split}, {halves} poison, <{lanes} x i32> <{picks}>")


def _bfloat_to_float(code: Code, lanes: int, text: str) -> str:
    wide, narrow = vector_of("i32", lanes), vector_of("i16", lanes)
    bits = code.let(f"zext {narrow} {text} to {wide}")
    high = code.let(f"shl {wide} {bits}, {splat(int32, lanes, 16)}")
    return code.let(f"bitcast {wide} {high} to {register_type(bfloat16, lanes)}")


def round_result(code: Code, dtype: DType, lanes: int, text: str) -> str:
    """Round a float register to the half dtype it stands for; other dtypes pass."""
    if dtype is float16:
        kind, narrow = register_type(dtype, lanes), vector_of("half", lanes)
        half = code.let(f"fptrunc {kind} {text} to {narrow}")
        return code.let(f"fpext {narrow} {half} to {kind}")
    return _round_bfloat(code, lanes, text) if dtype is bfloat16 else text


def _round_bfloat(code: Code, lanes: int, text: str) -> str:
    """Nearest even on the upper 16 bits; a NaN stays one."""
    site = Site(code, int32, lanes)
    kind = register_type(bfloat16, lanes)
    bits = code.let(f"bitcast {kind} {text} to {site.type}")
    odd = site.op("and", site.op("lshr", bits, site.literal(16)), site.literal(1))
    rounded = site.op("add", bits, site.op("add", odd, site.literal(0x7FFF)))
    rounded = site.op("and", rounded, site.literal(-65536))
    not_number = code.let(f"fcmp uno {kind} {text}, {text}")
    result = site.choose(not_number, site.literal(0x7FC00000), rounded)
    return code.let(f"bitcast {site.type} {result} to {kind}")


def reinterpret(code: Code, source: DType, target: DType, lanes: int, text: str) -> str:
    """The bits of `text`, of dtype `source`, read as `target`, which is of the same size."""
    kinds = [vector_of(memory_type(dtype), lanes) for dtype in (source, target)]
    bits = to_memory(code, source, lanes, text)
    if kinds[0] != kinds[1]:
        bits = code.let(f"bitcast {kinds[0]} {bits} to {kinds[1]}")
    return from_memory(code, target, lanes, bits)


def convert(code: Code, source: DType, target: DType, lanes: int, text: str) -> str:
    """`text` of dtype `source` as `target`, as PyTorch's `.to` converts."""
    if source is target:
        return text
    if target is bool_:
        site = Site(code, source, lanes)
        return site.test("une" if source.is_floating_point else "ne", text, site.literal(0))
    if source.is_floating_point:
        if target.is_floating_point:
            return _float_to_float(code, source, target, lanes, text)
        return _float_to_int(code, source, target, lanes, text)
    kind, wanted = register_type(source, lanes), register_type(target, lanes)
    if target.is_floating_point:
        opcode = "sitofp" if source.signed else "uitofp"
        number = code.let(f"{opcode} {kind} {text} to {wanted}")
        return round_result(code, target, lanes, number)
    if source is not bool_ and source.bits == target.bits:
        return text
    if source is bool_ or source.bits < target.bits:
        return code.let(f"{'sext' if source.signed else 'zext'} {kind} {text} to {wanted}")
    return code.let(f"trunc {kind} {text} to {wanted}")


def _float_to_float(code: Code, source: DType, target: DType, lanes: int, text: str) -> str:
    kind, wanted = register_type(source, lanes), register_type(target, lanes)
    if kind != wanted:
        opcode = "fpext" if source.bits < target.bits else "fptrunc"
        narrow, text = text, code.let(f"{opcode} {kind} {text} to {wanted}")
        if opcode == "fpext":
            code.widened[text] = kind, narrow
    exact = source.bits < target.bits
    return round_result(code, target, lanes, text) if is_half(target) and not exact else text


def _float_to_int(code: Code, source: DType, target: DType, lanes: int, text: str) -> str:
    """Truncation; NaN and out of range give the least integer, as x86's cvtt does.

    Types narrower than 32 bits are cut from the 32-bit result, as C compilers do it; unsigned ones
    of 32 and 64 bits have their upper half from what is left above the lower.
    """
    step = int64 if target.bits == 64 else int32
    site, whole = Site(code, float32 if is_half(source) else source, lanes), Site(code, step, lanes)
    if target.signed or target.bits < 32:
        return convert(code, step, target, lanes, _truncated(site, whole, text))
    half = site.literal(2.0 ** (step.bits - 1))
    upper = site.test("oge", text, half)
    number = _truncated(site, whole, site.choose(upper, site.op("fsub", text, half), text))
    top = whole.op("xor", number, whole.literal(-(2 ** (step.bits - 1))))
    return whole.choose(upper, top, number)


def _truncated(site: Site, whole: Site, text: str) -> str:
    """The float `text` as a signed integer; the least one where it does not fit."""
    bits = whole.dtype.bits
    fits = site.test("olt", site.intrinsic("fabs", text), site.literal(2.0 ** (bits - 1)))
    number = site.code.let(f"fptosi {site.type} {text} to {whole.type}")
    return whole.choose(fits, number, whole.literal(-(2 ** (bits - 1))))

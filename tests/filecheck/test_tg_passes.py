"""What do the passes from tg to scheduled loops print? IR in, fragments of IR out, in order."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tensorscript.base.errors import UserError
from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.tg.ops import FuncOp, functions
from tensorscript.lowering.schedules.cpu import schedule_cpu
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.schedules.gpu import schedule_gpu
from tensorscript.lowering.tg.fuse_attention import fuse_attention
from tensorscript.lowering.tg.fuse_cpu import fuse_cpu
from tensorscript.lowering.tg.inline_producers import inline_producers
from tensorscript.lowering.tg.normalize import normalize
from tensorscript.lowering.tg_to_te.host import tg_to_te

T = '!tg.tensor<"f32[64, 1000]">'
V = '!tg.tensor<"f32[64]">'


def function(body: str, arguments: str = f"%x: {T}", names: str = '"x"') -> str:
    strides = ", ".join("unit" for _ in names.split(","))
    return (
        f'"tg.func"() <{{sym_name = "f", argument_names = [{names}], sizes = [], '
        f"input_strides = [{strides}]}}> ({{\n^bb0({arguments}):\n{body}\n}}) : () -> ()"
    )


SOFTMAX = function(f"""
  %m = tg.reduce %x "greater" <"a0.f32[i0, r0]"> over <"1000"> : ({T}) -> {V}
  %d = tg.pointwise %x, %m <"a0.f32[i0, i1] - a1.f32[i0]"> : ({T}, {V}) -> {T}
  %e = tg.pointwise %d <"exp(a0.f32[i0, i1])"> : ({T}) -> {T}
  %s = tg.reduce %e "add" <"a0.f32[i0, r0]"> over <"1000"> : ({T}) -> {V}
  %y = tg.pointwise %e, %s <"a0.f32[i0, i1] / a1.f32[i0]"> : ({T}, {V}) -> {T}
  tg.return %y : {T}""")

CHAIN = function(
    f"""
  %m = tg.pointwise %x, %y <"a0.f32[i0, i1] * a1.f32[i0, i1]"> : ({T}, {T}) -> {T}
  %p = tg.pointwise %m <"a0.f32[i0, i1] + (1.0).f32"> : ({T}) -> {T}
  %s = tg.pointwise %p <"sigmoid(a0.f32[i0, i1])"> : ({T}) -> {T}
  tg.return %s : {T}""",
    f"%x: {T}, %y: {T}",
    '"x", "y"',
)


def sums_across(count: int) -> str:
    """Of rows of what is turned before, so many neighbours."""
    terms = " + ".join(f"a0.f32[i0, i1 + {k}]" if k else "a0.f32[i0, i1]" for k in range(count))
    t, u = '!tg.tensor<"f32[64, 96]">', f'!tg.tensor<"f32[96, {64 - count}]">'
    turned = '!tg.tensor<"f32[96, 64]">'
    return function(
        f"""
  %t = tg.pointwise %x <"a0.f32[i1, i0]"> : ({t}) -> {turned}
  %s = tg.pointwise %t <"{terms}"> : ({turned}) -> {u}
  tg.return %s : {u}""",
        f"%x: {t}",
    )


CASES_OF_ROWS = function(
    f"""
  %c = tg.pointwise %x <"{
        "".join(f"select(i0 == {k}, a0.f32[0, i1] + a0.f32[{k}, i1], " for k in range(8))
    }a0.f32[0, i1]{")" * 8}"> : ({T}) -> !tg.tensor<"f32[9, 1000]">
  %t = tg.pointwise %c <"-a0.f32[i1, i0]"> : (!tg.tensor<"f32[9, 1000]">) -> \
!tg.tensor<"f32[1000, 9]">
  tg.return %t : !tg.tensor<"f32[1000, 9]">"""
)
RESHAPED = function(
    f"""
  %y = tg.view %x <"a0.f32[i0 // 40, i0 % 40 * 25 + i1]"> : ({T}) -> !tg.tensor<"f32[2560, 25]">
  %z = tg.pointwise %y <"exp(a0.f32[i0, i1 // 5 * 5 + i1 % 5])"> : \
(!tg.tensor<"f32[2560, 25]">) -> !tg.tensor<"f32[2560, 25]">
  tg.return %z : !tg.tensor<"f32[2560, 25]">"""
)

RETURNS_ITS_ARGUMENT = function(f"  tg.return %x, %x : {T}, {T}")


def of_channels(images: int, channels: int, pixels: int) -> str:
    """The mean of channels, subtracted."""
    t = f'!tg.tensor<"f32[{images}, {channels}, {pixels}]">'
    v = f'!tg.tensor<"f32[{images}, 1, {pixels}]">'
    return function(
        f"""
  %s = tg.reduce %x "add" <"a0.f32[i0, r0, i2]"> over <"{channels}"> : ({t}) -> {v}
  %e = tg.pointwise %x, %s <"exp(a0.f32[i0, i1, i2]) / a1.f32[i0, 0, i2]"> : ({t}, {v}) -> {t}
  tg.return %e : {t}""",
        f"%x: {t}",
    )


def product_and_softmax(rows: int, depth: int) -> str:
    """Of 128 columns."""
    x, w, t, v = (
        f'!tg.tensor<"f32[{shape}]">'
        for shape in (f"{rows}, {depth}", f"{depth}, 128", f"{rows}, 128", rows)
    )
    return function(
        f"""
  %h = tg.contract %x, %w "add" <"a0.f32[i0, r0] * a1.f32[r0, i1]"> over <"{depth}"> \
: ({x}, {w}) -> {t}
  %m = tg.reduce %h "max" <"a0.f32[i0, r0]"> over <"128"> : ({t}) -> {v}
  %e = tg.pointwise %h, %m <"exp(a0.f32[i0, i1] - a1.f32[i0])"> : ({t}, {v}) -> {t}
  %s = tg.reduce %e "add" <"a0.f32[i0, r0]"> over <"128"> : ({t}) -> {v}
  %y = tg.pointwise %e, %s <"a0.f32[i0, i1] / a1.f32[i0]"> : ({t}, {v}) -> {t}
  tg.return %y : {t}""",
        f"%x: {x}, %w: {w}",
        '"x", "w"',
    )


def two_sums(rows: int, columns: int, second: str = "i0, r0") -> str:
    t, v = f'!tg.tensor<"f32[{rows}, {columns}]">', f'!tg.tensor<"f32[{rows}]">'
    size = columns if second == "i0, r0" else rows
    w = f'!tg.tensor<"f32[{rows if second == "i0, r0" else columns}]">'
    return function(
        f"""
  %s = tg.reduce %x "add" <"a0.f32[i0, r0]"> over <"{columns}"> : ({t}) -> {v}
  %m = tg.reduce %x "max" <"a0.f32[{second}]"> over <"{size}"> : ({t}) -> {w}
  tg.return %s, %m : {v}, {w}""",
        f"%x: {t}",
    )


def running_sum(uses: int) -> str:
    """Of squares, which are the result as well where they have another use."""
    squares = ", %e" if uses > 1 else ""
    return function(f"""
  %e = tg.pointwise %x <"a0.f32[i0, i1] * a0.f32[i0, i1]"> : ({T}) -> {T}
  %s = "tg.scan"(%e) <{{axis = #builtin.int<1>, combiner = "add"}}> : ({T}) -> {T}
  tg.return %s{squares} : {T}{f", {T}" if squares else ""}""")


COLUMN_SUM = function(
    """
  %s = tg.reduce %x "add" <"a0.f32[r0, i0]"> over <"24"> : (!tg.tensor<"f32[24, 1000]">) -> \
!tg.tensor<"f32[1000]">
  tg.return %s : !tg.tensor<"f32[1000]">""",
    '%x: !tg.tensor<"f32[24, 1000]">',
)

TWO_USES_OF_EXP = function(f"""
  %e = tg.pointwise %x <"exp(a0.f32[i0, i1])"> : ({T}) -> {T}
  %a = tg.pointwise %e <"a0.f32[i0, i1] + (1.0).f32"> : ({T}) -> {T}
  %b = tg.pointwise %e <"a0.f32[i0, i1] * (2.0).f32"> : ({T}) -> {T}
  tg.return %a, %b : {T}, {T}""")

MATMUL = function(
    """
  %c = tg.contract %x, %w "add" <"a0.f32[i0, r0] * a1.f32[r0, i1]"> over <"128"> : \
(!tg.tensor<"f32[64, 128]">, !tg.tensor<"f32[128, 96]">) -> !tg.tensor<"f32[64, 96]">
  %y = tg.pointwise %c <"max(a0.f32[i0, i1], (0.0).f32)"> : (!tg.tensor<"f32[64, 96]">) -> \
!tg.tensor<"f32[64, 96]">
  tg.return %y : !tg.tensor<"f32[64, 96]">""",
    '%x: !tg.tensor<"f32[64, 128]">, %w: !tg.tensor<"f32[128, 96]">',
    '"x", "w"',
)
LONG_MATMUL = function(
    """
  %c = tg.contract %x, %w "add" <"a0.f32[i0, r0] * a1.f32[r0, i1]"> over <"1024"> : \
(!tg.tensor<"f32[280, 1024]">, !tg.tensor<"f32[1024, 96]">) -> !tg.tensor<"f32[280, 96]">
  tg.return %c : !tg.tensor<"f32[280, 96]">""",
    '%x: !tg.tensor<"f32[280, 1024]">, %w: !tg.tensor<"f32[1024, 96]">',
    '"x", "w"',
)
ATTENTION = function(
    """
  %s = tg.contract %q, %k "add" <"a0.f32[i0, r0] * a1.f32[i1, r0]"> over <"32"> : \
(!tg.tensor<"f32[40, 32]">, !tg.tensor<"f32[64, 32]">) -> !tg.tensor<"f32[40, 64]">
  %m = tg.reduce %s "max" <"select(r0 <= i0, a0.f32[i0, r0], (-inf).f32)"> over <"64"> : \
(!tg.tensor<"f32[40, 64]">) -> !tg.tensor<"f32[40]">
  %e = tg.pointwise %s, %m \
<"exp(select(i1 <= i0, a0.f32[i0, i1], (-inf).f32) - a1.f32[i0])"> : \
(!tg.tensor<"f32[40, 64]">, !tg.tensor<"f32[40]">) -> !tg.tensor<"f32[40, 64]">
  %l = tg.reduce %e "add" <"a0.f32[i0, r0]"> over <"64"> : \
(!tg.tensor<"f32[40, 64]">) -> !tg.tensor<"f32[40]">
  %r = tg.pointwise %l <"(1.0).f32 / a0.f32[i0]"> : \
(!tg.tensor<"f32[40]">) -> !tg.tensor<"f32[40]">
  %p = tg.pointwise %e, %r <"a0.f32[i0, i1] * a1.f32[i0]"> : \
(!tg.tensor<"f32[40, 64]">, !tg.tensor<"f32[40]">) -> !tg.tensor<"f32[40, 64]">
  %o = tg.contract %p, %v "add" <"a0.f32[i0, r0] * a1.f32[r0, i1]"> over <"64"> : \
(!tg.tensor<"f32[40, 64]">, !tg.tensor<"f32[64, 48]">) -> !tg.tensor<"f32[40, 48]">
  tg.return %o : !tg.tensor<"f32[40, 48]">""",
    '%q: !tg.tensor<"f32[40, 32]">, %k: !tg.tensor<"f32[64, 32]">, %v: !tg.tensor<"f32[64, 48]">',
    '"q", "k", "v"',
)

STEPS: dict[str, Callable[[FuncOp], object]] = {
    "normalize": normalize,
    "inline": inline_producers,
    "attention": fuse_attention,
    "fuse": fuse_cpu,
}


def run(text: str, upto: str) -> str:
    """The module after the passes up to `upto`, verified after each."""
    module = parse_module(text)
    for name in ("normalize", "inline", "attention", "fuse", "loops", upto):
        if name == "loops":
            module = tg_to_te(module)
        elif name == "cpu":
            schedule_cpu(module, CPUParameters(vector_bytes=64))
        elif name == "gpu":
            schedule_gpu(module)
        elif name != "attention" or upto != "gpu":
            step = STEPS[name]
            for func in functions(module):
                step(func)
        module.verify()
        if name == upto:
            break
    return printed(module)


def printed(module: ModuleOp) -> str:
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


def in_order(text: str, fragments: list[str]) -> None:
    """Every fragment stands in the text, each behind the one before."""
    position = 0
    for fragment in fragments:
        found = text.find(fragment, position)
        assert found >= 0, f"{fragment!r} not found after {text[:position][-200:]!r}\n{text}"
        position = found + len(fragment)


CASES: dict[str, tuple[str, str, list[str]]] = {
    "normalize copies what is returned unchanged or twice": (
        RETURNS_ITS_ARGUMENT,
        "normalize",
        ["tg.view %x", "tg.view %x", "tg.return"],
    ),
    "inline: a chain becomes one op": (
        CHAIN,
        "inline",
        ['<"sigmoid(a0.f32[i0, i1] * a1.f32[i0, i1] + (1.0).f32)">', "tg.return"],
    ),
    "inline: what is turned is gathered where it is read at few places": (
        sums_across(4),
        "inline",
        ["tg.pointwise %x", "a0.f32[i1, i0] + a0.f32[i1 + 1, i0]", "tg.return"],
    ),
    "inline: and turned once where it is read at many": (
        sums_across(16),
        "inline",
        ['<"a0.f32[i1, i0]">', "a0.f32[i0, i1] + a0.f32[i0, i1 + 1]", "tg.return"],
    ),
    "inline: cases that share what they read stay side by side": (
        CASES_OF_ROWS,
        "inline",
        ["select(i0 == 0", '<"-a0.f32[i1, i0]">', "tg.return"],
    ),
    "loops: a reshaped operand is read as it lies": (
        RESHAPED,
        "loops",
        ["(p0: f32[64000]", "exp(p0.f32[i0 * 25 + i1])"],
    ),
    "inline: an expensive producer of two stages stays": (
        TWO_USES_OF_EXP,
        "inline",
        ['<"exp(a0.f32[i0, i1])">', '+ (1.0).f32">', '* (2.0).f32">'],
    ),
    "fuse: softmax is one kernel of rows": (
        SOFTMAX,
        "fuse",
        [
            'category = "rows", shared = #builtin.int<1>',
            "tg.reduce",
            "exp(a0.f32[i0, i1] - a1.f32[i0])",
            "tg.reduce",
            "/ a1.f32[i0]",
            "tg.yield",
        ],
    ),
    "fuse: an epilogue joins its contraction": (
        MATMUL,
        "fuse",
        ['category = "contraction", shared = #builtin.int<2>', "tg.contract", "max(", "tg.yield"],
    ),
    "fuse: what reads the rows of a short product joins it": (
        product_and_softmax(512, 64),
        "fuse",
        [
            'category = "contraction", shared = #builtin.int<1>',
            "tg.contract",
            "tg.reduce",
            "exp(",
            "tg.reduce",
            "tg.yield",
            "tg.return",
        ],
    ),
    "fuse: a deep product of few rows is cut along its columns, too": (
        product_and_softmax(512, 1024),
        "fuse",
        ['category = "contraction", shared = #builtin.int<2>', 'category = "rows"', "tg.return"],
    ),
    "fuse: reductions of the same long rows are one kernel": (
        two_sums(64, 1000),
        "fuse",
        ['category = "rows", shared = #builtin.int<1>', '"add"', '"max"', "tg.yield", "tg.return"],
    ),
    "fuse: short rows are read again": (
        two_sums(64, 100),
        "fuse",
        ['category = "reduction"', '"add"', "tg.yield", 'category = "reduction"', '"max"'],
    ),
    "fuse: few rows are cut for threads, each reduction by itself": (
        two_sums(4, 1000),
        "fuse",
        ['category = "reduction"', '"add"', "tg.yield", 'category = "reduction"', '"max"'],
    ),
    "fuse: a map that a scan alone reads is computed there": (
        running_sum(1),
        "fuse",
        ['category = "scan"', "tg.pointwise", "tg.scan", "tg.yield", "tg.return"],
    ),
    "fuse: a map that is read elsewhere stays": (
        running_sum(2),
        "fuse",
        ['category = "pointwise"', "tg.pointwise", "tg.yield", 'category = "scan"', "tg.scan"],
    ),
    "loops: a scan of a map": (
        running_sum(1),
        "loops",
        [
            "te.for i0 in 0 .. 64",
            "te.for i1 in 0 .. 1000",
            "te.update running[] add= f64(p0.f32[i0, i1] * p0.f32[i0, i1])",
            "te.store o0[i0, i1] = f32(running.f64[()])",
        ],
    ),
    "fuse: channels of large images share the pixels": (
        of_channels(8, 21, 65536),
        "fuse",
        ['category = "rows", shared = #builtin.int<1>, shared_last = #builtin.int<1>', "tg.return"],
    ),
    "fuse: those of small ones are rows": (
        of_channels(8, 21, 64),
        "fuse",
        ['category = "rows", shared = #builtin.int<1>}', "tg.return"],
    ),
    "fuse: too many channels are two kernels": (
        of_channels(8, 1000, 65536),
        "fuse",
        ['category = "reduction"', 'category = "pointwise"', "tg.return"],
    ),
    "fuse: rows and columns have no rows in common": (
        two_sums(1000, 1000, "r0, i0"),
        "fuse",
        ['category = "reduction"', '"add"', "tg.yield", 'category = "reduction"', '"max"'],
    ),
    "attention: the softmax ends behind the second product": (
        ATTENTION,
        "attention",
        [
            'category = "attention", shared = #builtin.int<1>',
            "tg.contract",
            '<"select(i1 <= i0, a0.f32[i0, i1], (-inf).f32)">',
            "tg.reduce",
            '<"decay(a0.f32[i0, i1] - max(a1.f32[i0], (-3.4028234663852886e+38).f32))">',
            "tg.reduce",
            '<"(1.0).f32 / a0.f32[i0]">',
            "tg.contract",
            '<"a0.f32[i0, i1] * a1.f32[i0]">',
            "tg.yield",
        ],
    ),
    "cpu: attention goes no further than the last key that a panel of queries sees": (
        ATTENTION,
        "cpu",
        [
            "te.for task in 0 .. 1 parallel",
            "te.alloc stack kp: f32[2, 32, 32]",
            "te.let first: i64 = ip * 10",
            "te.let seen: i64 = min(64, first + 9 + 1)",
            "te.for jq in 0 .. (seen + 31) // 32 serial {",
            "te.for kst in 0 .. 32 serial reduce {",
            "te.update st[istk, jstk] add= p0.f32[first + istk, kst] * kp.f32[jq, kst, jstk]",
            "te.for im in 0 .. 10 serial {",
            "te.update acc0_jm[jm_v] greater= score.f32",
            "te.for ie in 0 .. 10 serial {",
            "te.update acc0_je[je_v] add= power.f32",
            "te.for kvt in 0 .. seen serial reduce {",
            "te.update vt[ivtk, jvtk] add= sc.f32[ivtk, kvt] * vp.f32[dq, kvt, jvtk]",
            "vt.f32[iv3, jv3] * scale.f32[iv3]",
        ],
    ),
    "loops: stages of a row kernel share the row loop": (
        SOFTMAX,
        "loops",
        [
            "te.func @k0 kernel logical rows (p0: f32[64, 1000], out o0: f32[64, 1000])",
            "te.for i0 in 0 .. 64 serial {",
            "te.alloc stack t0: f32[]",
            "te.store t0[] = (-inf).f32",
            "te.for s0_r0 in 0 .. 1000 serial reduce {",
            "te.update t0[] greater= p0.f32[i0, s0_r0]",
            "te.alloc stack t1: f32[1000]",
            "te.store t1[s1_i1] = exp(p0.f32[i0, s1_i1] - t0.f32[()])",
            "te.update t2[] add= t1.f32[s2_r0]",
            "te.store o0[i0, s3_i1] = t1.f32[s3_i1] / t2.f32[()]",
            "te.func @f host logical",
            "te.call @k0(x, out0)",
        ],
    ),
    "cpu: a chain is collapsed and cut into vectors": (
        CHAIN,
        "cpu",
        [
            "te.for i1_o in 0 .. 1000 parallel grain",
            "te.for i1_i in 0 .. 64 vector {",
            "te.store o0[0, i1_o * 64 + i1_i]",
        ],
    ),
    "cpu: rows have vector accumulators, a masked rest and the next one's maximum": (
        SOFTMAX,
        "cpu",
        [
            "te.for i0_i in 0 .. 4 serial",
            "te.alloc reg acc0_s0_r0: f32[64]",
            "te.for s0_r0_o in 0 .. 15 serial",
            "greater= p0.f32[i0_o * 4 + min(i0_i + 1, 3), s0_r0_o * 64 + s0_r0_v]",
            "te.let t1_value: f32 = exp(",
            "te.store t1[",
            "te.update acc1_s0_r0[s0_r0_v] add= t1_value.f32",
            "te.if 960 + s0_r0_w < 1000 {",
            "vector reduce {",
        ],
    ),
    "cpu: a column reduction keeps one lane per column": (
        COLUMN_SUM,
        "cpu",
        [
            "te.alloc reg s0_sum: f32[64]",
            "te.for s0_r0 in 0 .. 24 serial reduce {",
            "te.update s0_sum[i0_v_2] add= p0.f32[s0_r0, i0_o * 64 + i0_v_2]",
        ],
    ),
    "cpu: a small product is tiled as it lies": (
        MATMUL,
        "cpu",
        [
            "te.alloc reg tile: f32[13, 32]",
            "te.for kt in 0 .. 128 serial reduce {",
            "te.for i2t in 0 .. 13 unroll {",
            "te.for j2t in 0 .. 32 vector {",
            "add= p0.f32[min((tb % 5 + iq) * 13, 51) + i2t, kb * 128 + kt] * p1.f32[",
            "te.if min((tb % 5 + iq) * 13, 51) + i4t >= (tb % 5 + iq) * 13 {",
            "max(tile.f32[i4t, j4t], (0.0).f32)",
        ],
    ),
    "cpu: rows and columns that crowd in the caches are packed": (
        LONG_MATMUL,
        "cpu",
        [
            "te.alloc stack yp: f32[3, 1024, 32]",
            "te.store yp[jp, strip * 8 + kp, jpv] = p1.f32[strip * 8 + kp, jp * 32 + jpv]",
            "te.alloc stack xp: f32[3, 176, 16]",
            "te.alloc stack sums: f32[3, 3, 14, 32]",
            "te.store xp[ip, kq * 16 + kv, kw * 16 + iu] = p0.f32[",
            "te.update tile[i2t, j2t] add= xp.f32[iq, kt, i2t] * yp.f32[jq, kb * 176 + kt, j2t]",
            "te.store sums[jq, iq, ",
        ],
    ),
    "gpu: a long row is a block whose warps meet in shared memory": (
        SOFTMAX.replace("1000", "999"),
        "gpu",
        [
            "te.for bx in 0 .. 64 bx {",
            "te.for tx in 0 .. 256 tx {",
            "te.alloc shared t0_own_part: f32[8]",
            "te.alloc shared t1: f32[999]",
            "te.update t0_own[] greater= p0.f32[i0, s0_r0_o * 256 + tx]",
            "te.across t0_own greater= 32",
            "te.if tx % 32 == 0 {",
            "te.store t0_own_part[tx // 32] = t0_own.f32[()]",
            "te.sync shared",
            "te.store t0_own[] = t0_own_part.f32[tx % 8]",
            "te.across t0_own greater= 8",
            "te.store t1[s1_i1_o * 256 + tx] = ",
        ],
    ),
    "gpu: a short row is a warp, which takes it by vectors": (
        SOFTMAX.replace("1000", "100"),
        "gpu",
        [
            "te.for bx in 0 .. 8 bx {",
            "te.for tx in 0 .. 256 tx {",
            "te.let i0: i64 = bx * 8 + tx // 32",
            "te.alloc shared t1: f32[8, 100]",
            "te.if (s0_r0_o * 32 + tx % 32) * 4 < 100 {",
            "te.for s0_r0_v in 0 .. 4 vector {",
            "te.update t0_own_v[s0_r0_v] greater= "
            "p0.f32[i0, (s0_r0_o * 32 + tx % 32) * 4 + s0_r0_v]",
            "te.update t0_own[] greater= t0_own_v.f32[t0_own_v_1]",
            "te.across t0_own greater= 32",
            "te.sync warp",
            "te.store t1[tx // 32, (s1_i1_o * 32 + tx % 32) * 4 + s1_i1_v] = ",
            "te.sync warp",
        ],
    ),
    "gpu: a row of ten elements is half a warp": (
        SOFTMAX.replace("1000", "10").replace("64", "50"),
        "gpu",
        [
            "te.for bx in 0 .. 4 bx {",
            "te.let i0: i64 = bx * 16 + tx // 16",
            "te.if (bx * 16 + tx // 16 < 50) & (s0_r0_o * 16 + tx % 16 < 10) {",
            "te.across t0_own greater= 16",
        ],
    ),
    "gpu: a chain is one thread per four elements": (
        CHAIN,
        "gpu",
        ["te.for bx in 0 .. 63 bx {", "te.for tx in 0 .. 256 tx {", "te.for lane in 0 .. 4 vector"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pass(name: str) -> None:
    text, upto, fragments = CASES[name]
    in_order(run(text, upto), fragments)


def test_the_greater_one_is_of_floats() -> None:
    text = SOFTMAX.replace("f32", "i64").replace("exp(a0.i64[i0, i1])", "a0.i64[i0, i1]")
    with pytest.raises(UserError, match="greater joins floats, not i64"):
        parse_module(text)


@pytest.mark.parametrize("upto", ["normalize", "inline", "fuse", "loops", "cpu", "gpu"])
@pytest.mark.parametrize("text", [SOFTMAX, CHAIN, COLUMN_SUM, MATMUL, TWO_USES_OF_EXP, ATTENTION])
def test_text_parses_back(text: str, upto: str) -> None:
    once = run(text, upto)
    assert printed(parse_module(once)) == once

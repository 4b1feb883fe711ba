"""Which LLVM intrinsics the NVPTX back end can select, and from which SM on.

The back end ends the whole process on an intrinsic that it cannot select, so text is checked
against this table before LLVM's code generator sees it. Each row was tried in a process of its own
with llvmlite 0.50 (LLVM 22) for sm_70 and sm_90; what is not listed is refused.
"""

from __future__ import annotations

import re

from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass

STAGE = "ptx-assemble"

_ANY_FLOAT = r"(?:v\d+)?(?:f16|bf16|f32|f64)"
_SINGLE_OR_HALF = r"(?:v\d+)?(?:f16|bf16|f32)"
_SINGLE = r"(?:v\d+)?(?:f16|f32|bf16)"
_ANY_INTEGER = r"(?:v\d+)?i(?:8|16|32|64)"


@dataclass(frozen=True, slots=True)
class _Row:
    """Intrinsics matching `name`, selectable from `sm`; `approximate` ones need `afn` or `fast`."""

    name: re.Pattern[str]
    sm: int = 70
    approximate: bool = False


def _row(name: str, sm: int = 70, approximate: bool = False) -> _Row:
    return _Row(re.compile(name), sm, approximate)


_NVVM = r"nvvm\."
_ROWS: tuple[_Row, ...] = (
    _row(rf"(?:fma|fmuladd)\.{_ANY_FLOAT}"),
    _row(rf"(?:fabs|sqrt|floor|ceil|trunc|rint|nearbyint|round|roundeven)\.{_ANY_FLOAT}"),
    _row(rf"(?:copysign|minnum|maxnum|minimum|maximum|minimumnum|maximumnum)\.{_ANY_FLOAT}"),
    _row(rf"ldexp\.{_ANY_FLOAT}\.i32"),
    _row(rf"exp2\.{_SINGLE_OR_HALF}"),
    _row(rf"(?:sin|cos)\.{_SINGLE}", approximate=True),
    _row(r"tanh\.(?:v\d+)?f32", 75, approximate=True),
    _row(r"tanh\.(?:v\d+)?f16", 75, approximate=True),
    _row(r"tanh\.(?:v\d+)?bf16", 90, approximate=True),
    _row(rf"(?:ctpop|ctlz|cttz|bitreverse|bswap|abs)\.{_ANY_INTEGER}"),
    _row(r"ctlz\.i128"),
    _row(rf"(?:smax|smin|umax|umin|fshl|fshr)\.{_ANY_INTEGER}"),
    _row(rf"(?:sadd|uadd|ssub|usub|sshl|ushl)\.sat\.{_ANY_INTEGER}"),
    _row(rf"(?:sadd|uadd|ssub|usub|smul|umul)\.with\.overflow\.{_ANY_INTEGER}"),
    _row(rf"(?:fptosi|fptoui)\.sat\.{_ANY_INTEGER}\.{_ANY_FLOAT}"),
    _row(rf"vector\.reduce\.(?:fadd|fmul|fmin|fmax|fminimum|fmaximum)\.{_ANY_FLOAT}"),
    _row(rf"vector\.reduce\.(?:add|mul|and|or|xor|smin|smax|umin|umax)\.{_ANY_INTEGER}"),
    _row(r"(?:memcpy|memmove|memset)\.[\w.]+"),
    _row(r"(?:lifetime\.(?:start|end)(?:\.[\w.]+)?|assume|trap|expect\.i1)"),
    _row(rf"{_NVVM}read\.ptx\.sreg\.(?:tid|ntid|ctaid|nctaid)\.[xyz]"),
    _row(rf"{_NVVM}read\.ptx\.sreg\.(?:laneid|warpid|nwarpid|lanemask\.\w+|clock|clock64)"),
    _row(rf"{_NVVM}(?:barrier0|barrier0\.(?:popc|and|or)|bar\.warp\.sync)"),
    _row(rf"{_NVVM}barrier\.(?:sync|sync\.cnt|cta\.(?:sync|red)\.[\w.]+)"),
    _row(rf"{_NVVM}membar\.(?:cta|gl|sys)"),
    _row(rf"{_NVVM}shfl\.sync\.(?:up|down|bfly|idx)\.(?:i32|f32|i32p|f32p)"),
    _row(rf"{_NVVM}vote\.(?:all|any|uni|ballot)\.sync"),
    _row(rf"{_NVVM}match\.any\.sync\.i(?:32|64)"),
    _row(rf"{_NVVM}activemask"),
    _row(rf"{_NVVM}redux\.sync\.(?:add|umin|umax|min|max|and|or|xor)", 80),
    _row(rf"{_NVVM}(?:ex2|lg2|sin|cos|rsqrt|rcp)\.approx(?:\.ftz)?(?:\.f|\.f32)"),
    _row(rf"{_NVVM}(?:rsqrt|rcp)\.approx\.ftz\.d"),
    _row(rf"{_NVVM}(?:rcp|sqrt)\.rn(?:\.ftz)?\.f"),
    _row(rf"{_NVVM}(?:sqrt\.approx|div\.approx|div\.full|div\.rn)(?:\.ftz)?(?:\.f)?"),
    _row(rf"{_NVVM}(?:fma|add|mul)\.r[nzmp](?:\.ftz)?\.[fd]"),
    _row(rf"{_NVVM}(?:fmin|fmax)(?:\.ftz)?(?:\.nan)?\.f"),
    _row(rf"{_NVVM}(?:mulhi|sad|prmt)(?:\.\w+)?"),
    _row(rf"{_NVVM}f2bf16\.r[nz]", 80),
    _row(rf"{_NVVM}ff2(?:bf16|f16)x2\.r[nz](?:\.relu)?", 80),
    _row(rf"{_NVVM}cp\.async\.[\w.]+", 80),
    _row(rf"{_NVVM}(?:ldmatrix\.sync|mma)\.[\w.]+", 80),
)

_NAME = re.compile(r"@(?:\"llvm\.([^\"]+)\"|llvm\.([\w.]+))")
_CALL = re.compile(r"\bcall\b([^@\n]*)@llvm\.([\w.]+)\s*\(")


def check_intrinsics(text: str, sm: int) -> None:
    """Refuse LLVM text that uses an intrinsic which NVPTX cannot select for this SM.

    Raises:
        InternalError: the intrinsic's name, its line, and why.
    """
    for number, line in enumerate(_code_lines(text), 1):
        for match in _NAME.finditer(line):
            _check(match.group(1) or match.group(2), line, number, sm)


def _code_lines(text: str) -> list[str]:
    return [line.split(";", 1)[0] for line in text.splitlines()]


def _check(name: str, line: str, number: int, sm: int) -> None:
    row = next((row for row in _ROWS if row.name.fullmatch(name)), None)
    if row is None:
        raise InternalError(
            f"intrinsic llvm.{name} (line {number}) is not one that NVPTX is known to select", STAGE
        )
    if sm < row.sm:
        raise InternalError(
            f"intrinsic llvm.{name} (line {number}) needs sm_{row.sm}, the target is sm_{sm}", STAGE
        )
    call = _CALL.search(line)
    if row.approximate and call is not None and not {"afn", "fast"} & set(call.group(1).split()):
        raise InternalError(
            f"intrinsic llvm.{name} (line {number}) is selectable only with the afn flag", STAGE
        )

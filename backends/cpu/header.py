"""The C header of an exported object."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tensorscript.base.dtypes import DType, bool_, float64
from tensorscript.base.records import dataclass

from .c_entry import Status
from .kept_state import KeptState
from .signature import ArraySpec, ScalarSpec, Signature, ValueSpec

_DLPACK = """\
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif
#ifndef DLPACK_VERSION
#ifndef DLPACK_MAJOR_VERSION
#ifndef TENSORSCRIPT_DLTENSOR
#define TENSORSCRIPT_DLTENSOR
/* The parts of DLPack that a tensor argument needs; the layout is DLPack's. */
typedef struct { int32_t device_type; int32_t device_id; } DLDevice; /* CPU: {1, 0} */
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType; /* float: {2, 32, 1} */
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major contiguous */
  uint64_t byte_offset;
} DLTensor;
#endif
#endif
#endif
"""


@dataclass(frozen=True)
class Declared:
    """An exported function.

    Attributes:
        name: its C name.
        signature: without what the state holds.
        fixed: values of arguments that the code was made for.
        result: how the outputs make up the program's result.
        keeps: it takes the state.
    """

    name: str
    signature: Signature
    fixed: Sequence[str] = ()
    result: str = ""
    keeps: bool = False


def _scalar_type(dtype: DType) -> str:
    if dtype is bool_:
        return "bool"
    return "double" if dtype is float64 else "int64_t"


def _safe(text: str) -> str:
    """`text` for a comment, which it cannot end: names in it are the program's, keys of dicts are
    any text."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown.replace("*/", "* /").replace("/*", "/ *")


def _describe(spec: ArraySpec) -> str:
    if spec.listed:
        return f"{spec.dtype.name} of any length"
    if spec.grown:
        return f"{spec.dtype.name} of {len(spec.shape)} dimension(s), of memory made by the call"
    shape = "x".join(str(s) for s in spec.shape) or "0-dim"
    return f"{shape} {spec.dtype.name}"


def _parameter(spec: ValueSpec, is_output: bool, raw: bool) -> str:
    if isinstance(spec, ScalarSpec):
        star = "*" if is_output else ""
        kind = "uint8_t" if is_output and spec.dtype is bool_ else _scalar_type(spec.dtype)
        return f"{kind} {star}{spec.name}"
    const = "" if is_output or spec.updated else "const "
    return f"{const}{spec.dtype.c if raw else 'DLTensor'} *{spec.name}"


def _prototype(name: str, signature: Signature, raw: bool, state: str) -> str:
    parameters = [f"{state} *self"] if state else []
    parameters += [_parameter(s, False, raw) for s in signature.inputs]
    parameters += [_parameter(s, True, raw) for s in signature.outputs]
    return f"int {name}({', '.join(parameters) or 'void'});"


def _comment(signature: Signature, fixed: Sequence[str], result: str) -> str:
    lines = ["/* Arguments:"]
    for spec in (*signature.inputs, *signature.outputs):
        lines.append(f" *   {spec.name}: {_what(spec)}")
    if fixed:
        lines += [" * Made for:", *(f" *   {_safe(line)}" for line in fixed)]
    if result:
        lines.append(f" * The result is {_safe(result)}")
    return "\n".join([*lines, " * Results are written to memory of the caller. */"])


def _what(spec: ValueSpec) -> str:
    return _describe(spec) if isinstance(spec, ArraySpec) else _scalar_type(spec.dtype)


def _giving_back(name: str, functions: Sequence[Declared]) -> list[str]:
    """The function that frees grown results, if there are any."""
    if not any(f.signature.has_grown for f in functions):
        return []
    return [
        "/* Gives back the data of a result that the call made. The caller sets ndim, dtype\n"
        " * and room for the shape; the call sets data (NULL if it fails) and the shape. */",
        f"void {name}_free(void *data);\n",
    ]


def _loading(name: str) -> list[str]:
    return [
        "/* Maps the file with the weights; to be called once, before anything else. */",
        f"int {name}_load_weights(const char *path);\n",
    ]


def _keeping(state: KeptState) -> list[str]:
    places = [f" *   {s.offset}: {_safe(s.name)}: {_what(s.spec)}" for s in state.slots]
    return [
        "/* What the module keeps between its calls; by byte:",
        *places,
        " * A call that fails leaves it as it was. */",
        f"typedef struct {{ int64_t words[{state.room // 8}]; }} {state.name}_state;\n",
        "/* Gives it the values that the module had when it was exported. */",
        f"void {state.name}_init_state({state.name}_state *self);\n",
    ]


def _declaring(function: Declared, state: str) -> list[str]:
    """One exported function: its arguments and its prototypes."""
    name, signature = function.name, function.signature
    kept = state if function.keeps else ""
    parts = [
        _comment(signature, function.fixed, function.result),
        _prototype(name, signature, False, kept) + "\n",
    ]
    if signature.is_static:
        parts.append("/* The same for plain row-major arrays; nothing is checked. */")
        parts.append(_prototype(f"{name}_raw", signature, True, kept) + "\n")
    return parts


def header_text(
    name: str,
    functions: Sequence[Declared],
    loads_weights: bool = False,
    state: KeptState | None = None,
) -> str:
    """The header of an object: its functions, `NAME_raw` of those with static shapes, `NAME_error`,
    and `NAME_load_weights`, if weights lie in a file of their own.

    Args:
        name: of the object, which is that of its function if there is one.
        state: what the functions keep between their calls.
    """
    guard = re.sub(r"\W", "_", name).upper() + "_H"
    statuses = "\n".join(f"  {name.upper()}_{s.name} = {int(s)}," for s in Status)
    parts = [
        "/* Generated by tensorscript. Needs libc, libm and pthread only. */",
        f"#ifndef {guard}\n#define {guard}\n",
        "#include <stdbool.h>\n#include <stdint.h>\n",
        _DLPACK,
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        f"/* What the functions return. */\nenum {{\n{statuses}\n}};\n",
        *(_loading(name) if loads_weights else []),
        *(_keeping(state) if state is not None else []),
        *(line for function in functions for line in _declaring(function, f"{name}_state")),
        "/* What went wrong in the last failing call of this thread. */",
        f"const char *{name}_error(void);\n",
        "/* Threads that a call may use; 0 is all. */",
        f"void {name}_set_num_threads(int64_t count);\n",
        *_giving_back(name, functions),
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return "\n".join(parts)

"""Access to run-time lists, as LLVM text that stands in the module that uses it.

What a loop does to a list at each step is a few instructions, inlined; everything that allocates,
moves or compares is a function of the run-time support (`backends/cpu/runtime/lists.py`;
`list_storage.py` beside it says how a list is laid out). Loads and stores carry TBAA tags: writing
an element changes neither the length of a list nor where its data is.
"""

from __future__ import annotations

LENGTH, CAPACITY, DATA, REFERENCES = 24, 32, 40, 16
"""Byte offsets in a list."""

TAGS = """
!9100000 = !{!"tensorscript lists"}
!9100001 = !{!"list header", !9100000}
!9100002 = !{!"list element", !9100000}
!9100003 = !{!9100001, !9100001, i64 0}
!9100004 = !{!9100002, !9100002, i64 0}
"""
HEADER, ELEMENT = "!tbaa !9100003", "!tbaa !9100004"
LINKAGE = "internal"

_MEMORY = {"i64": ("i64", "i64"), "f64": ("double", "double"), "b1": ("i1", "i8")}
"""Register and memory type of an element."""


def _field(name: str, offset: int, type_: str) -> str:
    return (
        f"  %at.{name} = getelementptr inbounds i8, ptr %l, i64 {offset}\n"
        f"  %{name} = load {type_}, ptr %at.{name}, align 8, {HEADER}\n"
    )


def _head(result: str, name: str, parameters: str) -> str:
    return f"define {LINKAGE} {result} @ts.{name}({parameters}) alwaysinline nounwind {{\nentry:\n"


def _length() -> str:
    return _head("i64", "list_length", "ptr %l") + _field("n", LENGTH, "i64") + "  ret i64 %n\n}\n"


def _get(kind: str) -> str:
    register, memory = _MEMORY[kind]
    narrow = "  %v = trunc i8 %raw to i1\n" if register != memory else ""
    result = "%v" if narrow else "%raw"
    return (
        _head(register, f"list_get_{kind}", "ptr %l, i64 %i")
        + _field("data", DATA, "ptr")
        + f"  %p = getelementptr inbounds {memory}, ptr %data, i64 %i\n"
        + f"  %raw = load {memory}, ptr %p, {ELEMENT}\n{narrow}  ret {register} {result}\n}}\n"
    )


def _stored(kind: str) -> tuple[str, str]:
    """(instruction that widens %v, the operand to store)."""
    return (
        ("  %w = zext i1 %v to i8\n", "i8 %w") if kind == "b1" else ("", f"{_MEMORY[kind][0]} %v")
    )


def _set(kind: str) -> str:
    register, memory = _MEMORY[kind]
    widen, operand = _stored(kind)
    return (
        _head("void", f"list_set_{kind}", f"ptr %l, i64 %i, {register} %v")
        + _field("data", DATA, "ptr")
        + f"  %p = getelementptr inbounds {memory}, ptr %data, i64 %i\n{widen}"
        + f"  store {operand}, ptr %p, {ELEMENT}\n  ret void\n}}\n"
    )


def _push(kind: str) -> str:
    register, memory = _MEMORY[kind]
    widen, operand = _stored(kind)
    return (
        _head("i1", f"list_push_{kind}", f"ptr %l, {register} %v")
        + _field("n", LENGTH, "i64")
        + _field("room", CAPACITY, "i64")
        + "  %more = add i64 %n, 1\n"
        + "  %full = icmp eq i64 %n, %room\n"
        + "  br i1 %full, label %grow, label %store\n"
        + "grow:\n"
        + "  %grown = call i1 @ts_list_reserve(ptr %l, i64 %more)\n"
        + "  br i1 %grown, label %store, label %failed\n"
        + "store:\n"
        + _field("data", DATA, "ptr")
        + f"  %p = getelementptr inbounds {memory}, ptr %data, i64 %n\n{widen}"
        + f"  store {operand}, ptr %p, {ELEMENT}\n"
        + f"  store i64 %more, ptr %at.n, align 8, {HEADER}\n"
        + "  ret i1 true\nfailed:\n  ret i1 false\n}\n"
    )


def _grow() -> str:
    return (
        _head("i1", "list_grow", "ptr %l, i64 %more")
        + _field("n", LENGTH, "i64")
        + "  %all = add i64 %n, %more\n"
        + "  %grown = call i1 @ts_list_reserve(ptr %l, i64 %all)\n"
        + "  br i1 %grown, label %done, label %failed\n"
        + f"done:\n  store i64 %all, ptr %at.n, align 8, {HEADER}\n"
        + "  ret i1 true\nfailed:\n  ret i1 false\n}\n"
    )


def _retain() -> str:
    return (
        _head("void", "list_retain", "ptr %l")
        + "  %none = icmp eq ptr %l, null\n"
        + "  br i1 %none, label %done, label %some\nsome:\n"
        + _field("n", REFERENCES, "i64")
        + "  %m = add i64 %n, 1\n"
        + f"  store i64 %m, ptr %at.n, align 8, {HEADER}\n"
        + "  br label %done\ndone:\n  ret void\n}\n"
    )


def _release() -> str:
    return (
        _head("void", "list_release", "ptr %l")
        + "  %none = icmp eq ptr %l, null\n"
        + "  br i1 %none, label %done, label %some\nsome:\n"
        + _field("n", REFERENCES, "i64")
        + "  %m = sub i64 %n, 1\n"
        + f"  store i64 %m, ptr %at.n, align 8, {HEADER}\n"
        + "  %last = icmp eq i64 %m, 0\n"
        + "  br i1 %last, label %free, label %done\nfree:\n"
        + "  call void @ts_list_free(ptr %l)\n"
        + "  br label %done\ndone:\n  ret void\n}\n"
    )


def _definitions() -> dict[str, str]:
    per_kind = {"list_get": _get, "list_set": _set, "list_push": _push}
    found = {f"{name}_{kind}": row(kind) for name, row in per_kind.items() for kind in _MEMORY}
    of_any = {"length": _length, "grow": _grow, "retain": _retain, "release": _release}
    return found | {f"list_{name}": row() for name, row in of_any.items()}


INLINED: dict[str, str] = _definitions()
"""Definitions `@ts.NAME` by function of the run-time support; all others are `@ts_NAME` there."""

DECLARATIONS = ("declare i1 @ts_list_reserve(ptr, i64)", "declare void @ts_list_free(ptr)")
"""What the definitions call."""

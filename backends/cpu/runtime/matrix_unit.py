"""Asking the system for a matrix unit's registers, as LLVM text.

Linux gives a process the registers of AMX when it asks for them, and a tile instruction before that
is a signal (Documentation/arch/x86/xstate.rst). An exported object asks by itself.
"""

from __future__ import annotations

from tensorscript.backends.target import ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XTILEDATA, Target

_MESSAGE = "the system does not give this process the registers of AMX, which the code is made for"
_ASK = f"""
@ts_tiles_granted = LINKAGE global i32 0

; 0, or 1 and a message where this process may not use tiles.
define LINKAGE i32 @ts_tiles() nounwind {{
entry:
  %known = load atomic i32, ptr @ts_tiles_granted monotonic, align 4
  %granted = icmp ne i32 %known, 0
  br i1 %granted, label %done, label %ask
ask:
  %r = call i64 (i64, ...) @syscall(
      i64 {ARCH_PRCTL}, i64 {ARCH_REQ_XCOMP_PERM}, i64 {XTILEDATA})
  %bad = icmp ne i64 %r, 0
  br i1 %bad, label %refused, label %note
note:
  store atomic i32 1, ptr @ts_tiles_granted monotonic, align 4
  br label %done
done:
  ret i32 0
refused:
  call void @ts_set_error(i32 1, ptr @ts_no_tiles)
  ret i32 1
}}
"""
_NEVER = """
define LINKAGE i32 @ts_tiles() nounwind {
entry:
  call void @ts_set_error(i32 1, ptr @ts_no_tiles)
  ret i32 1
}
"""


def matrix_unit_text(target: Target) -> str:
    """`ts_tiles` for a target; elsewhere than on Linux on x86-64 it always fails."""
    known = target.is_linux and target.triple.startswith("x86_64")
    text = f'[{len(_MESSAGE) + 1} x i8] c"{_MESSAGE}\\00"'
    return f"\n@ts_no_tiles = LINKAGE constant {text}\n{_ASK if known else _NEVER}"

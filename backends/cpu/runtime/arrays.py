"""Memory of the arrays that a call returns, as LLVM text: a handler in the sense of NEP 49.

NumPy asks the handler that is set when an array is made, and gives the memory back through it.
Ours hands out what `ts_scratch` keeps: at whole cache lines, where NumPy's begins 16 bytes behind
one, and without a page fault every 4 KiB where a result of an earlier call is no longer used.
"""

from __future__ import annotations

from .scratch import LEAST_KEPT

LEAST_BYTES = LEAST_KEPT
"""Smaller arrays come from NumPy, which keeps small blocks itself."""

ARRAYS = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

; PyDataMem_Handler (numpy/ndarraytypes.h): name, version, then context and four functions.
@ts_array_handler = global { [127 x i8], i8, ptr, ptr, ptr, ptr, ptr } {
  [127 x i8] c"tensorscript$ZEROS$", i8 1, ptr null,
  ptr @ts_array_malloc, ptr @ts_array_calloc, ptr @ts_array_realloc, ptr @ts_array_free }

define internal ptr @ts_array_malloc(ptr %context, i64 %size) nounwind {
entry:
  %p = call ptr @ts_scratch(i64 %size)
  ret ptr %p
}

define internal ptr @ts_array_calloc(ptr %context, i64 %count, i64 %each) nounwind {
entry:
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %over = extractvalue { i64, i1 } %product, 1
  br i1 %over, label %refused, label %get
get:
  %size = extractvalue { i64, i1 } %product, 0
  %p = call ptr @ts_scratch(i64 %size)
  %failed = icmp eq ptr %p, null
  br i1 %failed, label %refused, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %size, i1 false)
  ret ptr %p
refused:
  ret ptr null
}

define internal ptr @ts_array_realloc(ptr %context, ptr %old, i64 %size) nounwind {
entry:
  %p = call ptr @ts_scratch(i64 %size)
  %failed = icmp eq ptr %p, null
  %first = icmp eq ptr %old, null
  %plain = or i1 %failed, %first
  br i1 %plain, label %done, label %move
move:
  %before = call i64 @ts_scratch_size(ptr %old)
  %less = icmp ult i64 %before, %size
  %kept = select i1 %less, i64 %before, i64 %size
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %old, i64 %kept, i1 false)
  call void @ts_scratch_free(ptr %old)
  br label %done
done:
  ret ptr %p
}

define internal void @ts_array_free(ptr %context, ptr %p, i64 %size) nounwind {
entry:
  call void @ts_scratch_free(ptr %p)
  ret void
}
""".replace("$ZEROS$", r"\00" * (127 - len("tensorscript")))

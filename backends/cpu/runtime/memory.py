"""Aligned memory and the error slot, as LLVM text.

The slot keeps the first error until it is taken: a status and a message of at most 1023 bytes.
Native code may fail on any thread of a job, so there is one slot for all of them.
"""

from __future__ import annotations

MEMORY = """
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)

@ts_malloc_hook = LINKAGE global ptr null
@ts_free_hook = LINKAGE global ptr null
@ts_error_hook = LINKAGE global ptr null
@ts_error_status = LINKAGE global i32 0
@ts_error_text = LINKAGE global [1024 x i8] zeroinitializer

; The system's memory, or null.
define LINKAGE ptr @ts_aligned(i64 %size, i64 %alignment) nounwind {
entry:
  %slot = alloca ptr
  store ptr null, ptr %slot
  %failed = call i32 @posix_memalign(ptr %slot, i64 %alignment, i64 %size)
  %bad = icmp ne i32 %failed, 0
  %p = load ptr, ptr %slot
  %r = select i1 %bad, ptr null, ptr %p
  ret ptr %r
}

; Memory for %size bytes at a multiple of 64, or null.
define LINKAGE ptr @ts_malloc(i64 %size) nounwind {
entry:
  %hook = load atomic ptr, ptr @ts_malloc_hook acquire, align 8
  %own = icmp eq ptr %hook, null
  br i1 %own, label %plain, label %override
override:
  %given = call ptr %hook(i64 %size)
  ret ptr %given
plain:
  %none = icmp slt i64 %size, 1
  %least = select i1 %none, i64 1, i64 %size
  %p = call ptr @ts_aligned(i64 %least, i64 64)
  ret ptr %p
}

; The same in large pages of 2 MiB, which lie together in the caches and are looked up as one; the
; last of them is one if half of it is asked for.
define LINKAGE ptr @ts_malloc_large(i64 %size) nounwind {
entry:
  %hook = load atomic ptr, ptr @ts_malloc_hook acquire, align 8
  %own = icmp eq ptr %hook, null
  br i1 %own, label %plain, label %override
override:
  %given = call ptr %hook(i64 %size)
  ret ptr %given
plain:
  %up = add i64 %size, 1048576
  %pages = and i64 %up, -2097152
  %beyond = icmp sgt i64 %pages, %size
  %whole = select i1 %beyond, i64 %pages, i64 %size
  %p = call ptr @ts_aligned(i64 %whole, i64 2097152)
  %refused = icmp eq ptr %p, null
  br i1 %refused, label %done, label %made
made:
  call void @ts_huge_pages(ptr %p, i64 %pages)
  br label %done
done:
  ret ptr %p
}

define LINKAGE void @ts_free(ptr %p) nounwind {
entry:
  %hook = load atomic ptr, ptr @ts_free_hook acquire, align 8
  %own = icmp eq ptr %hook, null
  br i1 %own, label %plain, label %override
override:
  call void %hook(ptr %p)
  ret void
plain:
  call void @free(ptr %p)
  ret void
}

define KEEP void @ts_set_allocator(ptr %malloc, ptr %free) nounwind {
entry:
  store atomic ptr %malloc, ptr @ts_malloc_hook release, align 8
  store atomic ptr %free, ptr @ts_free_hook release, align 8
  ret void
}

define KEEP void @ts_set_error_handler(ptr %hook) nounwind {
entry:
  store atomic ptr %hook, ptr @ts_error_hook release, align 8
  ret void
}

define LINKAGE void @ts_set_error(i32 %status, ptr %text) nounwind {
entry:
  %hook = load atomic ptr, ptr @ts_error_hook acquire, align 8
  %own = icmp eq ptr %hook, null
  br i1 %own, label %plain, label %override
override:
  call void %hook(i32 %status, ptr %text)
  br label %plain
plain:
  %swap = cmpxchg ptr @ts_error_status, i32 0, i32 %status acq_rel monotonic
  %first = extractvalue { i32, i1 } %swap, 1
  br i1 %first, label %copy, label %done
copy:
  %i = phi i64 [ 0, %plain ], [ %i1, %store ]
  %room = icmp ult i64 %i, 1023
  br i1 %room, label %store, label %end
store:
  %from = getelementptr i8, ptr %text, i64 %i
  %c = load i8, ptr %from
  %to = getelementptr i8, ptr @ts_error_text, i64 %i
  store i8 %c, ptr %to
  %i1 = add i64 %i, 1
  %more = icmp ne i8 %c, 0
  br i1 %more, label %copy, label %done
end:
  store i8 0, ptr getelementptr (i8, ptr @ts_error_text, i64 1023)
  br label %done
done:
  ret void
}

define KEEP ptr @ts_error_message() nounwind {
entry:
  ret ptr @ts_error_text
}

define KEEP void @ts_clear_error() nounwind {
entry:
  store i8 0, ptr @ts_error_text
  store atomic i32 0, ptr @ts_error_status release, align 4
  ret void
}
"""

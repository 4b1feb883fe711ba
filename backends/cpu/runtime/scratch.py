"""Memory of kernels' temporaries, kept from call to call, as LLVM text.

Fresh memory costs a page fault every 4 KiB, which is more than many kernels do with it; the C
library returns large blocks to the system as soon as they are free. Blocks of 32 KiB and more are
kept instead: of those that fit without wasting half, `ts_scratch` takes the one that came back
last, which is the likeliest to be cached. A block has its size in the 64 bytes before it. Whoever
does not get the lock at once goes to the allocator, and so does everything while the program has
set an allocator of its own.
"""

from __future__ import annotations

SLOTS = 32
LEAST_KEPT = 1 << 15
MOST_HELD = 1 << 28
"""Bytes kept in all; older blocks make room."""
LEAST_LARGE = 1 << 20
"""Bytes of a block that is made of large pages, half of one."""

_TEXT = """
@ts_scratch_lock = LINKAGE global i32 0, align 64
@ts_scratch_slots = LINKAGE global [SLOTS x ptr] zeroinitializer
@ts_scratch_held = LINKAGE global i64 0
@ts_scratch_hand = LINKAGE global i64 0

; Memory for %size bytes at a multiple of 64, or null.
define LINKAGE ptr @ts_scratch(i64 %size) nounwind {
entry:
  %large = icmp sge i64 %size, LEAST
  br i1 %large, label %try, label %fresh
try:
  %swap = cmpxchg ptr @ts_scratch_lock, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %swap, 1
  br i1 %got, label %search, label %fresh
search:
  %most = mul i64 %size, 2
  %hand = load i64, ptr @ts_scratch_hand
  %newest = add i64 %hand, ROUND
  br label %look
look:
  %i = phi i64 [ 0, %search ], [ %i1, %next ]
  %back = sub i64 %newest, %i
  %k = urem i64 %back, SLOTS
  %slot = getelementptr ptr, ptr @ts_scratch_slots, i64 %k
  %kept = load ptr, ptr %slot
  %empty = icmp eq ptr %kept, null
  br i1 %empty, label %next, label %measure
measure:
  %capacity = call i64 @ts_scratch_size(ptr %kept)
  %fits = icmp sge i64 %capacity, %size
  %close = icmp sle i64 %capacity, %most
  %good = and i1 %fits, %close
  br i1 %good, label %take, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, SLOTS
  br i1 %more, label %look, label %none
take:
  call void @ts_scratch_drop(ptr %slot)
  store atomic i32 0, ptr @ts_scratch_lock release, align 4
  ret ptr %kept
none:
  store atomic i32 0, ptr @ts_scratch_lock release, align 4
  br label %fresh
fresh:
  %whole = add i64 %size, 64
  %pages = icmp sge i64 %size, LARGE
  br i1 %pages, label %paged, label %plain
paged:
  %inpages = call ptr @ts_malloc_large(i64 %whole)
  br label %check
plain:
  %anywhere = call ptr @ts_malloc(i64 %whole)
  br label %check
check:
  %base = phi ptr [ %inpages, %paged ], [ %anywhere, %plain ]
  %failed = icmp eq ptr %base, null
  br i1 %failed, label %refused, label %ready
refused:
  ret ptr null
ready:
  store i64 %size, ptr %base
  %p = getelementptr i8, ptr %base, i64 64
  ret ptr %p
}

define LINKAGE i64 @ts_scratch_size(ptr %p) nounwind {
entry:
  %base = getelementptr i8, ptr %p, i64 -64
  %size = load i64, ptr %base
  ret i64 %size
}

; Take the block of %slot out.
define LINKAGE void @ts_scratch_drop(ptr %slot) nounwind {
entry:
  %p = load ptr, ptr %slot
  %size = call i64 @ts_scratch_size(ptr %p)
  %held = load i64, ptr @ts_scratch_held
  %less = sub i64 %held, %size
  store i64 %less, ptr @ts_scratch_held
  store ptr null, ptr %slot
  ret void
}

define LINKAGE void @ts_scratch_free(ptr %p) nounwind {
entry:
  %nothing = icmp eq ptr %p, null
  br i1 %nothing, label %done, label %measure
measure:
  %base = getelementptr i8, ptr %p, i64 -64
  %size = load i64, ptr %base
  %hook = load atomic ptr, ptr @ts_free_hook acquire, align 8
  %own = icmp eq ptr %hook, null
  %large = icmp sge i64 %size, LEAST
  %small = icmp sle i64 %size, MOST
  %right = and i1 %large, %small
  %keep = and i1 %own, %right
  br i1 %keep, label %try, label %release
try:
  %swap = cmpxchg ptr @ts_scratch_lock, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %swap, 1
  br i1 %got, label %enter, label %release
release:
  call void @ts_free(ptr %base)
  br label %done
enter:
  %before = load i64, ptr @ts_scratch_held
  %after = add i64 %before, %size
  store i64 %after, ptr @ts_scratch_held
  %first = load i64, ptr @ts_scratch_hand
  br label %turn
turn:
  ; the hand goes round until the block has a slot and all fits: what has not been taken since the
  ; last round makes room
  %k = phi i64 [ %first, %enter ], [ %k1, %put ]
  %mine = phi ptr [ %p, %enter ], [ null, %put ]
  %held = load i64, ptr @ts_scratch_held
  %over = icmp sgt i64 %held, MOST
  %homeless = icmp ne ptr %mine, null
  %again = or i1 %over, %homeless
  br i1 %again, label %act, label %leave
act:
  %slot = getelementptr ptr, ptr @ts_scratch_slots, i64 %k
  %next = add i64 %k, 1
  %k1 = urem i64 %next, SLOTS
  %old = load ptr, ptr %slot
  %vacant = icmp eq ptr %old, null
  br i1 %vacant, label %put, label %evict
evict:
  call void @ts_scratch_drop(ptr %slot)
  %waste = getelementptr i8, ptr %old, i64 -64
  call void @ts_free(ptr %waste)
  br label %put
put:
  store ptr %mine, ptr %slot
  br label %turn
leave:
  store i64 %k, ptr @ts_scratch_hand
  store atomic i32 0, ptr @ts_scratch_lock release, align 4
  br label %done
done:
  ret void
}
"""


def scratch_text() -> str:
    """The functions; LINKAGE is left to be filled in."""
    numbers = {
        "SLOTS": SLOTS, "ROUND": SLOTS - 1, "LEAST": LEAST_KEPT, "MOST": MOST_HELD,
        "LARGE": LEAST_LARGE,
    }  # fmt: skip
    text = _TEXT
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text

"""What the thread pool asks of the system, as LLVM text.

Sleeping on a word and waking its sleepers, the number of CPUs, and a CPU for each worker. Linux has
all of it; elsewhere sleeping is a short nap and workers go where the system puts them.
"""

from __future__ import annotations

from tensorscript.backends.target import Target

_FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "powerpc64le": 221}
_LINUX = """
declare i64 @syscall(i64, ...)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_getcpu()
declare i32 @pthread_setaffinity_np(ptr, i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

@ts_home = LINKAGE global i32 0
; The CPU of each worker plus one; 0 where it has none.
@ts_places = LINKAGE global [MOST x i32] zeroinitializer

define LINKAGE void @ts_wait(ptr %word, i32 %value) nounwind {
entry:
  ; FUTEX_WAIT | FUTEX_PRIVATE_FLAG
  %r = call i64 (i64, ...) @syscall(
      i64 FUTEX, ptr %word, i64 128, i32 %value, ptr null, ptr null, i64 0)
  ret void
}

define LINKAGE void @ts_wake(ptr %word) nounwind {
entry:
  ; FUTEX_WAKE | FUTEX_PRIVATE_FLAG, everybody
  %r = call i64 (i64, ...) @syscall(
      i64 FUTEX, ptr %word, i64 129, i64 2147483647, ptr null, ptr null, i64 0)
  ret void
}

@ts_kept_pid = LINKAGE global ptr null

; The id of this process, kept in a page that a child finds wiped (MADV_WIPEONFORK): asking the
; system takes as long as handing out a job.
define LINKAGE i32 @ts_process() nounwind {
entry:
  %page = load atomic ptr, ptr @ts_kept_pid acquire, align 8
  %known = icmp ne ptr %page, null
  br i1 %known, label %look, label %first
look:
  %kept = load atomic i32, ptr %page monotonic, align 4
  %wiped = icmp eq i32 %kept, 0
  br i1 %wiped, label %renew, label %same
same:
  ret i32 %kept
renew:
  %new = call i32 @getpid()
  store atomic i32 %new, ptr %page monotonic, align 4
  ret i32 %new
first:
  %pid = call i32 @getpid()
  ; PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS
  %made = call ptr @mmap(ptr null, i64 4096, i32 3, i32 34, i32 -1, i64 0)
  %address = ptrtoint ptr %made to i64
  %failed = icmp eq i64 %address, -1
  br i1 %failed, label %asked, label %advise
advise:
  %refused = call i32 @madvise(ptr %made, i64 4096, i32 18)
  %unknown = icmp ne i32 %refused, 0
  br i1 %unknown, label %return, label %publish
publish:
  store atomic i32 %pid, ptr %made monotonic, align 4
  %swap = cmpxchg ptr @ts_kept_pid, ptr null, ptr %made acq_rel monotonic
  %won = extractvalue { ptr, i1 } %swap, 1
  br i1 %won, label %asked, label %return
return:
  %gone = call i32 @munmap(ptr %made, i64 4096)
  br label %asked
asked:
  ret i32 %pid
}
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)

define LINKAGE i32 @ts_cpu_count() nounwind {
entry:
  %mask = alloca [16 x i64]
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %n = phi i64 [ 0, %entry ], [ %n1, %loop ]
  %p = getelementptr i64, ptr %mask, i64 %i
  %w = load i64, ptr %p
  %c = call i64 @llvm.ctpop.i64(i64 %w)
  %n1 = add i64 %n, %c
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 16
  br i1 %more, label %loop, label %done
done:
  %none = icmp eq i64 %n1, 0
  %n2 = select i1 %none, i64 1, i64 %n1
  %big = icmp sgt i64 %n2, MOST
  %n3 = select i1 %big, i64 MOST, i64 %n2
  %r = trunc i64 %n3 to i32
  ret i32 %r
}

; The bits of the one CPU %cpu.
define LINKAGE void @ts_only(ptr %mask, i32 %cpu) nounwind {
entry:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %index = lshr i32 %cpu, 6
  %index64 = zext i32 %index to i64
  %bit = and i32 %cpu, 63
  %bit64 = zext i32 %bit to i64
  %single = shl i64 1, %bit64
  %p = getelementptr i64, ptr %mask, i64 %index64
  store i64 %single, ptr %p
  ret void
}

; Which of the first %workers workers has %cpu; %workers if none.
define LINKAGE i32 @ts_owner(i32 %cpu, i32 %workers) nounwind {
entry:
  %wanted = add i32 %cpu, 1
  br label %head
head:
  %w = phi i32 [ 0, %entry ], [ %w1, %next ]
  %more = icmp slt i32 %w, %workers
  br i1 %more, label %look, label %done
look:
  %w64 = zext i32 %w to i64
  %p = getelementptr i32, ptr @ts_places, i64 %w64
  %place = load i32, ptr %p
  %hit = icmp eq i32 %place, %wanted
  br i1 %hit, label %done, label %next
next:
  %w1 = add i32 %w, 1
  br label %head
done:
  ret i32 %w
}

define LINKAGE void @ts_move(i32 %worker, i32 %cpu) nounwind {
entry:
  %one = alloca [16 x i64]
  call void @ts_only(ptr %one, i32 %cpu)
  %w64 = zext i32 %worker to i64
  %p = getelementptr ptr, ptr @ts_handles, i64 %w64
  %handle = load ptr, ptr %p
  %failed = call i32 @pthread_setaffinity_np(ptr %handle, i64 128, ptr %one)
  %refused = icmp ne i32 %failed, 0
  br i1 %refused, label %done, label %note
note:
  %q = getelementptr i32, ptr @ts_places, i64 %w64
  %after = add i32 %cpu, 1
  store i32 %after, ptr %q
  br label %done
done:
  ret void
}

; Pin the new worker %id to the next allowed CPU that is neither the caller's nor another worker's;
; left alone when there is none.
define LINKAGE void @ts_pin(i32 %id) nounwind {
entry:
  %mask = alloca [16 x i64]
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %id64 = zext i32 %id to i64
  %q = getelementptr i32, ptr @ts_places, i64 %id64
  store i32 0, ptr %q
  %got = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %home = load i32, ptr @ts_home
  br label %loop
loop:
  %step = phi i32 [ 1, %entry ], [ %step1, %next ]
  %place = add i32 %home, %step
  %cpu = and i32 %place, 1023
  %index = lshr i32 %cpu, 6
  %index64 = zext i32 %index to i64
  %p = getelementptr i64, ptr %mask, i64 %index64
  %w = load i64, ptr %p
  %bit = and i32 %cpu, 63
  %bit64 = zext i32 %bit to i64
  %moved = lshr i64 %w, %bit64
  %on = trunc i64 %moved to i1
  br i1 %on, label %allowed, label %next
allowed:
  %owner = call i32 @ts_owner(i32 %cpu, i32 %id)
  %free = icmp eq i32 %owner, %id
  br i1 %free, label %move, label %next
next:
  %step1 = add i32 %step, 1
  %more = icmp slt i32 %step1, 1024
  br i1 %more, label %loop, label %done
move:
  call void @ts_move(i32 %id, i32 %cpu)
  br label %done
done:
  ret void
}

; If the caller runs on the CPU of one of %workers, that worker moves to where the caller was.
define LINKAGE void @ts_settle(i32 %workers) nounwind {
entry:
  %cpu = call i32 @sched_getcpu()
  %home = load i32, ptr @ts_home
  %same = icmp eq i32 %cpu, %home
  br i1 %same, label %done, label %moved
moved:
  store i32 %cpu, ptr @ts_home
  %owner = call i32 @ts_owner(i32 %cpu, i32 %workers)
  %found = icmp slt i32 %owner, %workers
  %fits = icmp ult i32 %home, 1024
  %swap = and i1 %found, %fits
  br i1 %swap, label %move, label %done
move:
  call void @ts_move(i32 %owner, i32 %home)
  br label %done
done:
  ret void
}

; The host program's signal handlers belong on its own threads.
define LINKAGE void @ts_block_signals(ptr %mask, ptr %old) nounwind {
entry:
  call void @llvm.memset.p0.i64(ptr %mask, i8 -1, i64 128, i1 false)
  %r = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr %old)
  ret void
}

define LINKAGE void @ts_restore_signals(ptr %old) nounwind {
entry:
  %r = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}

; Ask for large pages (MADV_HUGEPAGE) for the whole pages of a block.
define LINKAGE void @ts_huge_pages(ptr %base, i64 %size) nounwind {
entry:
  %low = ptrtoint ptr %base to i64
  %up = add i64 %low, 4095
  %first = and i64 %up, -4096
  %end = add i64 %low, %size
  %length = sub i64 %end, %first
  %start = inttoptr i64 %first to ptr
  %ignored = call i32 @madvise(ptr %start, i64 %length, i32 14)
  ret void
}
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)
"""

_ELSEWHERE = """
declare i32 @usleep(i32)
declare i64 @sysconf(i32)
define LINKAGE void @ts_wait(ptr %word, i32 %value) nounwind {
entry:
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %nap, label %done
nap:
  %r = call i32 @usleep(i32 50)
  br label %done
done:
  ret void
}
define LINKAGE void @ts_wake(ptr %word) nounwind {
entry:
  ret void
}
define LINKAGE i32 @ts_process() nounwind {
entry:
  %pid = call i32 @getpid()
  ret i32 %pid
}
define LINKAGE i32 @ts_cpu_count() nounwind {
entry:
  ; _SC_NPROCESSORS_ONLN of macOS
  %n = call i64 @sysconf(i32 58)
  %bad = icmp slt i64 %n, 1
  %n1 = select i1 %bad, i64 1, i64 %n
  %big = icmp sgt i64 %n1, MOST
  %n2 = select i1 %big, i64 MOST, i64 %n1
  %r = trunc i64 %n2 to i32
  ret i32 %r
}
define LINKAGE void @ts_pin(i32 %id) nounwind {
entry:
  ret void
}
define LINKAGE void @ts_settle(i32 %workers) nounwind {
entry:
  ret void
}
define LINKAGE void @ts_huge_pages(ptr %base, i64 %size) nounwind {
entry:
  ret void
}
define LINKAGE void @ts_block_signals(ptr %mask, ptr %old) nounwind {
entry:
  ret void
}
define LINKAGE void @ts_restore_signals(ptr %old) nounwind {
entry:
  ret void
}
"""


def system_text(target: Target) -> str:
    """The functions for `target`; LINKAGE and MOST are left to be filled in."""
    futex = _FUTEX_NUMBERS.get(target.triple.split("-")[0]) if target.is_linux else None
    return _ELSEWHERE if futex is None else _LINUX.replace("FUTEX,", f"{futex},")

"""The fork-join thread pool, as LLVM text.

`ts_par_for(fn, env, n)` calls `fn(i, env)` for i in 0..n-1 on the calling thread and on workers,
which claim indices from one counter. One job runs at a time: a nested call, or a call while another
thread's job runs, is done serially by its caller.

A job is announced by one word, `sequence << 8 | participants`, so that a worker learns in one load
whether a job is new and whether it takes part; the caller waits for each participant to check out.
Idle workers spin, then sleep on the word (futex on Linux, short naps elsewhere). After fork() the
child has no workers; it notices by its process id and starts its own.
"""

from __future__ import annotations

from tensorscript.backends.target import Target

MAX_THREADS = 256
SPINS = 4000

_FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "powerpc64le": 221}
# Intrinsics: inline assembly needs an assembly parser, which llvmlite has for its host alone.
_HINT = "call void @llvm.aarch64.hint(i32 1)"
_PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": _HINT,
    "arm64": _HINT,
}
_PAUSE_DECLARATIONS = {
    "x86_64": "declare void @llvm.x86.sse2.pause()\n",
    "aarch64": "declare void @llvm.aarch64.hint(i32)\n",
    "arm64": "declare void @llvm.aarch64.hint(i32)\n",
}

GLOBALS = """
@ts_lock = LINKAGE global i32 0, align 64
@ts_job = LINKAGE global i32 0, align 64
@ts_next = LINKAGE global i64 0, align 64
@ts_remaining = LINKAGE global i32 0, align 64
@ts_waiting = LINKAGE global i32 0, align 64
@ts_sleepers = LINKAGE global i32 0, align 64
@ts_fn = LINKAGE global ptr null
@ts_env = LINKAGE global ptr null
@ts_total = LINKAGE global i64 0
@ts_workers = LINKAGE global i32 0
@ts_threads = LINKAGE global i32 0
@ts_pid = LINKAGE global i32 0
@ts_par_for_hook = LINKAGE global ptr null
"""

DECLARATIONS = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @getpid()
"""

_POOL = """
define LINKAGE void @ts_claim(ptr %fn, ptr %env, i64 %total) nounwind {
entry:
  br label %head
head:
  %i = atomicrmw add ptr @ts_next, i64 1 monotonic
  %more = icmp slt i64 %i, %total
  br i1 %more, label %body, label %done
body:
  call void %fn(i64 %i, ptr %env)
  br label %head
done:
  ret void
}

define LINKAGE ptr @ts_worker(ptr %argument) nounwind {
entry:
  %packed = ptrtoint ptr %argument to i64
  %id64 = lshr i64 %packed, 32
  %id = trunc i64 %id64 to i32
  %first = trunc i64 %packed to i32
  call void @ts_pin(i32 %id)
  br label %wait
wait:
  %seen = phi i32 [ %first, %entry ], [ %now, %arrived ], [ %now, %checked ]
  br label %spin
spin:
  %count = phi i32 [ 0, %wait ], [ %count1, %pause ], [ 0, %sleep ]
  %now = load atomic i32, ptr @ts_job acquire, align 4
  %new = icmp ne i32 %now, %seen
  br i1 %new, label %arrived, label %idle
idle:
  %tired = icmp sge i32 %count, SPINS
  br i1 %tired, label %sleep, label %pause
pause:
  PAUSE
  %count1 = add i32 %count, 1
  br label %spin
sleep:
  %s0 = atomicrmw add ptr @ts_sleepers, i32 1 seq_cst
  call void @ts_wait(ptr @ts_job, i32 %seen)
  %s1 = atomicrmw sub ptr @ts_sleepers, i32 1 seq_cst
  br label %spin
arrived:
  %members = and i32 %now, 255
  %mine = icmp ult i32 %id, %members
  br i1 %mine, label %work, label %wait
work:
  %fn = load ptr, ptr @ts_fn
  %env = load ptr, ptr @ts_env
  %total = load i64, ptr @ts_total
  call void @ts_claim(ptr %fn, ptr %env, i64 %total)
  %left = atomicrmw sub ptr @ts_remaining, i32 1 seq_cst
  %last = icmp eq i32 %left, 1
  br i1 %last, label %leave, label %checked
leave:
  %awaited = load atomic i32, ptr @ts_waiting seq_cst, align 4
  %wake = icmp ne i32 %awaited, 0
  br i1 %wake, label %signal, label %checked
signal:
  call void @ts_wake(ptr @ts_remaining)
  br label %checked
checked:
  br label %wait
}

define LINKAGE void @ts_serial(ptr %fn, ptr %env, i64 %n) nounwind {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %body, label %done
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  call void %fn(i64 %i, ptr %env)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}

; Start workers until there are %wanted (or the system refuses); returns how many there are.
define LINKAGE i32 @ts_start_workers(i32 %wanted) nounwind {
entry:
  %thread = alloca ptr
  %mask = alloca [128 x i8]
  %old = alloca [128 x i8]
  %have = load i32, ptr @ts_workers
  %enough = icmp sge i32 %have, %wanted
  br i1 %enough, label %done, label %begin
begin:
  call void @ts_block_signals(ptr %mask, ptr %old)
  %word = load i32, ptr @ts_job
  %low = zext i32 %word to i64
  br label %start
start:
  %id = phi i32 [ %have, %begin ], [ %id1, %started ]
  %wide = zext i32 %id to i64
  %high = shl i64 %wide, 32
  %packed = or i64 %high, %low
  %argument = inttoptr i64 %packed to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @ts_worker, ptr %argument)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %end, label %started
started:
  %handle = load ptr, ptr %thread
  %ignored = call i32 @pthread_detach(ptr %handle)
  %id1 = add i32 %id, 1
  store i32 %id1, ptr @ts_workers
  %more = icmp slt i32 %id1, %wanted
  br i1 %more, label %start, label %end
end:
  call void @ts_restore_signals(ptr %old)
  br label %done
done:
  %now = load i32, ptr @ts_workers
  ret i32 %now
}

define LINKAGE i32 @ts_get_num_threads() nounwind {
entry:
  %set = load atomic i32, ptr @ts_threads monotonic, align 4
  %known = icmp sgt i32 %set, 0
  br i1 %known, label %done, label %ask
ask:
  %cpus = call i32 @ts_cpu_count()
  store atomic i32 %cpus, ptr @ts_threads monotonic, align 4
  br label %done
done:
  %n = phi i32 [ %set, %entry ], [ %cpus, %ask ]
  ret i32 %n
}

define KEEP void @ts_set_num_threads(i32 %n) nounwind {
entry:
  %small = icmp slt i32 %n, 1
  %n1 = select i1 %small, i32 1, i32 %n
  %large = icmp sgt i32 %n1, 256
  %n2 = select i1 %large, i32 256, i32 %n1
  store atomic i32 %n2, ptr @ts_threads monotonic, align 4
  ret void
}

define KEEP void @ts_set_par_for(ptr %hook) nounwind {
entry:
  store atomic ptr %hook, ptr @ts_par_for_hook release, align 8
  ret void
}

define LINKAGE void @ts_par_for(ptr %fn, ptr %env, i64 %n) nounwind {
entry:
  %hook = load atomic ptr, ptr @ts_par_for_hook acquire, align 8
  %own = icmp eq ptr %hook, null
  br i1 %own, label %count, label %override
override:
  call void %hook(ptr %fn, ptr %env, i64 %n)
  ret void
count:
  %threads = call i32 @ts_get_num_threads()
  %single = icmp eq i32 %threads, 1
  %few = icmp sle i64 %n, 1
  %alone = or i1 %single, %few
  br i1 %alone, label %serial, label %process
process:
  %pid = call i32 @getpid()
  %before = load atomic i32, ptr @ts_pid monotonic, align 4
  %forked = icmp ne i32 %pid, %before
  br i1 %forked, label %reset, label %take
reset:
  ; only one thread of a process gets past the exchange
  %swap = cmpxchg ptr @ts_pid, i32 %before, i32 %pid acq_rel monotonic
  %won = extractvalue { i32, i1 } %swap, 1
  br i1 %won, label %clear, label %serial
clear:
  store i32 0, ptr @ts_workers
  store i32 0, ptr @ts_sleepers
  store atomic i32 0, ptr @ts_lock release, align 4
  br label %take
take:
  %try = cmpxchg ptr @ts_lock, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %try, 1
  br i1 %free, label %crew, label %serial
crew:
  %others = sub i32 %threads, 1
  %nless = sub i64 %n, 1
  %other64 = zext i32 %others to i64
  %short = icmp slt i64 %nless, %other64
  %want64 = select i1 %short, i64 %nless, i64 %other64
  %want = trunc i64 %want64 to i32
  %have = call i32 @ts_start_workers(i32 %want)
  %less = icmp slt i32 %have, %want
  %members = select i1 %less, i32 %have, i32 %want
  %none = icmp eq i32 %members, 0
  br i1 %none, label %unlock.serial, label %post
unlock.serial:
  store atomic i32 0, ptr @ts_lock release, align 4
  br label %serial
serial:
  call void @ts_serial(ptr %fn, ptr %env, i64 %n)
  ret void
post:
  store ptr %fn, ptr @ts_fn
  store ptr %env, ptr @ts_env
  store i64 %n, ptr @ts_total
  store atomic i64 0, ptr @ts_next monotonic, align 8
  store atomic i32 %members, ptr @ts_remaining monotonic, align 4
  store atomic i32 0, ptr @ts_waiting monotonic, align 4
  %old = load i32, ptr @ts_job
  %sequence = and i32 %old, -256
  %bumped = add i32 %sequence, 256
  %word = or i32 %bumped, %members
  store atomic i32 %word, ptr @ts_job seq_cst, align 4
  %asleep = load atomic i32, ptr @ts_sleepers seq_cst, align 4
  %rouse = icmp sgt i32 %asleep, 0
  br i1 %rouse, label %wake, label %work
wake:
  call void @ts_wake(ptr @ts_job)
  br label %work
work:
  call void @ts_claim(ptr %fn, ptr %env, i64 %n)
  br label %join
join:
  %spins = phi i32 [ 0, %work ], [ %spins1, %again ], [ 0, %doze ]
  %left = load atomic i32, ptr @ts_remaining acquire, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %finish, label %linger
linger:
  %long = icmp sge i32 %spins, SPINS
  br i1 %long, label %nap, label %again
again:
  PAUSE
  %spins1 = add i32 %spins, 1
  br label %join
nap:
  store atomic i32 1, ptr @ts_waiting seq_cst, align 4
  %still = load atomic i32, ptr @ts_remaining seq_cst, align 4
  %zero = icmp eq i32 %still, 0
  br i1 %zero, label %finish, label %doze
doze:
  call void @ts_wait(ptr @ts_remaining, i32 %still)
  br label %join
finish:
  store atomic i32 0, ptr @ts_lock release, align 4
  ret void
}
"""

_LINUX = """
declare i64 @syscall(i64, ...)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @sched_getcpu()
declare i32 @pthread_sigmask(i32, ptr, ptr)

@ts_home = LINKAGE global i32 0

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
  %big = icmp sgt i64 %n2, 256
  %n3 = select i1 %big, i64 256, i64 %n2
  %r = trunc i64 %n3 to i32
  ret i32 %r
}

; Pin worker %id to the (%id+1)-th allowed CPU after the one that started the pool; left alone
; when there are more workers than CPUs to give.
define LINKAGE void @ts_pin(i32 %id) nounwind {
entry:
  %mask = alloca [16 x i64]
  %one = alloca [16 x i64]
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr %one, i8 0, i64 128, i1 false)
  %got = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %cpus = call i32 @ts_cpu_count()
  %number = add i32 %id, 1
  %fits = icmp slt i32 %number, %cpus
  br i1 %fits, label %search, label %done
search:
  %home = load i32, ptr @ts_home
  br label %loop
loop:
  %step = phi i32 [ 1, %search ], [ %step1, %next ]
  %found = phi i32 [ 0, %search ], [ %found1, %next ]
  %place = add i32 %home, %step
  %cpu = and i32 %place, 1023
  %index = lshr i32 %cpu, 6
  %index64 = zext i32 %index to i64
  %p = getelementptr i64, ptr %mask, i64 %index64
  %w = load i64, ptr %p
  %bit = and i32 %cpu, 63
  %bit64 = zext i32 %bit to i64
  %moved = lshr i64 %w, %bit64
  %on = and i64 %moved, 1
  %on32 = trunc i64 %on to i32
  %found1 = add i32 %found, %on32
  %hit = icmp eq i32 %found1, %number
  br i1 %hit, label %set, label %next
next:
  %step1 = add i32 %step, 1
  %more = icmp slt i32 %step1, 1024
  br i1 %more, label %loop, label %done
set:
  %single = shl i64 1, %bit64
  %q = getelementptr i64, ptr %one, i64 %index64
  store i64 %single, ptr %q
  %ignored = call i32 @sched_setaffinity(i32 0, i64 128, ptr %one)
  br label %done
done:
  ret void
}

; The host program's signal handlers belong on its own threads.
define LINKAGE void @ts_block_signals(ptr %mask, ptr %old) nounwind {
entry:
  %cpu = call i32 @sched_getcpu()
  store i32 %cpu, ptr @ts_home
  call void @llvm.memset.p0.i64(ptr %mask, i8 -1, i64 128, i1 false)
  %r = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr %old)
  ret void
}

define LINKAGE void @ts_restore_signals(ptr %old) nounwind {
entry:
  %r = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}
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
define LINKAGE i32 @ts_cpu_count() nounwind {
entry:
  ; _SC_NPROCESSORS_ONLN of macOS
  %n = call i64 @sysconf(i32 58)
  %bad = icmp slt i64 %n, 1
  %n1 = select i1 %bad, i64 1, i64 %n
  %big = icmp sgt i64 %n1, 256
  %n2 = select i1 %big, i64 256, i64 %n1
  %r = trunc i64 %n2 to i32
  ret i32 %r
}
define LINKAGE void @ts_pin(i32 %id) nounwind {
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


def threads_text(target: Target) -> str:
    """The pool for `target`; LINKAGE and KEEP are left to be filled in."""
    machine = target.triple.split("-")[0]
    futex = _FUTEX_NUMBERS.get(machine) if target.is_linux else None
    system = _ELSEWHERE if futex is None else _LINUX.replace("FUTEX,", f"{futex},")
    pool = _POOL.replace("PAUSE", _PAUSE.get(machine, "fence seq_cst"))
    declarations = DECLARATIONS + _PAUSE_DECLARATIONS.get(machine, "")
    return GLOBALS + declarations + system + pool.replace("SPINS", str(SPINS))

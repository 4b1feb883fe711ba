"""The fork-join thread pool, as LLVM text.

`ts_par_for(fn, env, n)` calls `fn(i, env)` for i in 0..n-1 on the calling thread and on workers.
Each has a share of the indices, the same one in every job of that size, so that what one job leaves
in a core's caches the next one finds there; who is done with its own takes from the others'. One
job runs at a time: a nested call, or a call while another thread's job runs, is done serially by
its caller.

A job is announced by one word, `sequence << 8 | participants`, so that a worker learns in one load
whether a job is new and whether it takes part. What describes the job lies in the same cache line:
each line that crosses from one core to another costs 25 to 50 ns, and a worker has the others
fetched while it waits for the gate. It comes in through that gate: one word again, a bit that says
open and the number of workers inside. The caller, out of indices, shuts the gate and
waits for those inside only: a worker that the system has not run yet finds it shut and keeps out,
so that a busy machine costs the help of a worker but never the wait for one. What describes the job
is written while the gate is shut and nobody is inside.

Idle workers spin, then sleep on the word (futex on Linux, short naps elsewhere). Each is pinned to
a CPU of its own, because some kernels stack a woken thread on the CPU of its waker for
milliseconds; where the caller has moved to a worker's CPU the two change places. After fork() the
child has no workers; it notices by its process id and starts its own. What an exported object is
linked into ends its workers when it is unloaded (`ts_stop_workers`).
"""

from __future__ import annotations

from tensorscript.backends.target import Target

from .thread_system import system_text

_OPEN = 1 << 30
"""The bit of the gate."""
_NUMBERS = {"MOST": 256, "SPINS": 20000, "OPEN": _OPEN, "SHUT": _OPEN - 1}
"""What the words in capitals stand for. MOST: threads. SPINS: pauses before a thread sleeps, about
half a millisecond, because waking costs 30 us."""
_FIELDS = {
    name: f"getelementptr (i64, ptr @ts_job, i64 {1 + place})"
    for place, name in enumerate(("JOB_FN", "JOB_ENV", "JOB_TOTAL", "JOB_SHARES"))
}
"""The description of a job, behind the word that announces it."""

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
@ts_job = LINKAGE global [8 x i64] zeroinitializer, align 64
@ts_next = LINKAGE global [MOST x [8 x i64]] zeroinitializer, align 64
@ts_gate = LINKAGE global i32 0, align 64
@ts_waiting = LINKAGE global i32 0, align 64
@ts_sleepers = LINKAGE global i32 0, align 64
@ts_workers = LINKAGE global i32 0
@ts_stopping = LINKAGE global i32 0
@ts_threads = LINKAGE global i32 0
@ts_pid = LINKAGE global i32 0
@ts_par_for_hook = LINKAGE global ptr null
@ts_handles = LINKAGE global [MOST x ptr] zeroinitializer
"""

DECLARATIONS = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(ptr, ptr)
declare i32 @getpid()
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""

_POOL = """
; Do the indices of share %own, then what is left of the others'.
define LINKAGE void @ts_claim(ptr %fn, ptr %env, i64 %total, i64 %own, i64 %shares) nounwind {
entry:
  br label %share
share:
  %k = phi i64 [ 0, %entry ], [ %k1, %taken ]
  %turned = add i64 %own, %k
  %v = urem i64 %turned, %shares
  %v1 = add i64 %v, 1
  %low = mul i64 %v, %total
  %first = udiv i64 %low, %shares
  %high = mul i64 %v1, %total
  %end = udiv i64 %high, %shares
  %count = sub i64 %end, %first
  %next = getelementptr [8 x i64], ptr @ts_next, i64 %v
  %first.own = icmp eq i64 %k, 0
  br i1 %first.own, label %claim, label %head
head:
  %done = load atomic i64, ptr %next monotonic, align 8
  %left = icmp slt i64 %done, %count
  br i1 %left, label %claim, label %taken
claim:
  %n = atomicrmw add ptr %next, i64 1 monotonic
  %more = icmp slt i64 %n, %count
  br i1 %more, label %body, label %taken
body:
  %i = add i64 %first, %n
  call void %fn(i64 %i, ptr %env)
  br label %head
taken:
  %k1 = add i64 %k, 1
  %others = icmp slt i64 %k1, %shares
  br i1 %others, label %share, label %leave
leave:
  ret void
}

define LINKAGE ptr @ts_worker(ptr %argument) nounwind {
entry:
  %packed = ptrtoint ptr %argument to i64
  %id64 = lshr i64 %packed, 32
  %id = trunc i64 %id64 to i32
  %first = trunc i64 %packed to i32
  br label %wait
wait:
  %seen = phi i32 [ %first, %entry ], [ %now, %called ], [ %now, %enter ], [ %now, %checked ]
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
  %stopping = load atomic i32, ptr @ts_stopping acquire, align 4
  %stop = icmp ne i32 %stopping, 0
  br i1 %stop, label %end, label %called
end:
  ret ptr null
called:
  %members = and i32 %now, 255
  %mine = icmp ult i32 %id, %members
  br i1 %mine, label %look, label %wait
look:
  %share = add i64 %id64, 1
  %counter = getelementptr [8 x i64], ptr @ts_next, i64 %share
  call void @llvm.prefetch.p0(ptr %counter, i32 1, i32 3, i32 1)
  ; of a job that is over by now, if it comes to that: a hint may name any address
  %hint = load ptr, ptr JOB_ENV
  %hint1 = getelementptr i8, ptr %hint, i64 64
  call void @llvm.prefetch.p0(ptr %hint, i32 0, i32 3, i32 1)
  call void @llvm.prefetch.p0(ptr %hint1, i32 0, i32 3, i32 1)
  %seen.gate = load atomic i32, ptr @ts_gate monotonic, align 4
  br label %enter
enter:
  %gate = phi i32 [ %seen.gate, %look ], [ %other, %come ]
  %open = and i32 %gate, OPEN
  %shut = icmp eq i32 %open, 0
  br i1 %shut, label %wait, label %come
come:
  %inside = add i32 %gate, 1
  %swap = cmpxchg ptr @ts_gate, i32 %gate, i32 %inside acquire monotonic
  %other = extractvalue { i32, i1 } %swap, 0
  %in = extractvalue { i32, i1 } %swap, 1
  br i1 %in, label %work, label %enter
work:
  %fn = load ptr, ptr JOB_FN
  %env = load ptr, ptr JOB_ENV
  %total = load i64, ptr JOB_TOTAL
  %shares = load i64, ptr JOB_SHARES
  call void @ts_claim(ptr %fn, ptr %env, i64 %total, i64 %share, i64 %shares)
  %left = atomicrmw sub ptr @ts_gate, i32 1 seq_cst
  %last = icmp eq i32 %left, 1 ; inside a gate that is shut
  br i1 %last, label %leave, label %checked
leave:
  %awaited = load atomic i32, ptr @ts_waiting seq_cst, align 4
  %wake = icmp ne i32 %awaited, 0
  br i1 %wake, label %signal, label %checked
signal:
  call void @ts_wake(ptr @ts_gate)
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
  %entry.handle = getelementptr ptr, ptr @ts_handles, i64 %wide
  store ptr %handle, ptr %entry.handle
  call void @ts_pin(i32 %id)
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

; End the workers and wait for them: before an unloaded library takes their code away, and so that
; nothing of theirs is left when a process ends. Not while a job runs, and not in a forked child.
define KEEP void @ts_stop_workers() nounwind {
entry:
  %have = load i32, ptr @ts_workers
  %any = icmp sgt i32 %have, 0
  br i1 %any, label %process, label %done
process:
  %pid = call i32 @ts_process()
  %own = load atomic i32, ptr @ts_pid monotonic, align 4
  %same = icmp eq i32 %pid, %own
  br i1 %same, label %take, label %done
take:
  %try = cmpxchg ptr @ts_lock, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %try, 1
  br i1 %free, label %tell, label %done
tell:
  store atomic i32 1, ptr @ts_stopping release, align 4
  %old = load i32, ptr @ts_job
  %sequence = and i32 %old, -256
  %bumped = add i32 %sequence, 256
  store atomic i32 %bumped, ptr @ts_job seq_cst, align 4
  call void @ts_wake(ptr @ts_job)
  br label %join
join:
  %id = phi i32 [ 0, %tell ], [ %id1, %join ]
  %wide = zext i32 %id to i64
  %slot = getelementptr ptr, ptr @ts_handles, i64 %wide
  %handle = load ptr, ptr %slot
  %ignored = call i32 @pthread_join(ptr %handle, ptr null)
  %id1 = add i32 %id, 1
  %more = icmp slt i32 %id1, %have
  br i1 %more, label %join, label %reset
reset:
  store i32 0, ptr @ts_workers
  store atomic i32 0, ptr @ts_stopping release, align 4
  store atomic i32 0, ptr @ts_lock release, align 4
  br label %done
done:
  ret void
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
  %large = icmp sgt i32 %n1, MOST
  %n2 = select i1 %large, i32 MOST, i32 %n1
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
  %pid = call i32 @ts_process()
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
  store i32 0, ptr @ts_gate
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
  %before.have = load i32, ptr @ts_workers
  call void @ts_settle(i32 %before.have)
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
  store ptr %fn, ptr JOB_FN
  store ptr %env, ptr JOB_ENV
  store i64 %n, ptr JOB_TOTAL
  %members64 = zext i32 %members to i64
  %all = add i64 %members64, 1
  store i64 %all, ptr JOB_SHARES
  br label %reset.share
reset.share:
  %r = phi i64 [ 0, %post ], [ %r1, %reset.share ]
  %counter = getelementptr [8 x i64], ptr @ts_next, i64 %r
  store atomic i64 0, ptr %counter monotonic, align 8
  %r1 = add i64 %r, 1
  %rest = icmp slt i64 %r1, %all
  br i1 %rest, label %reset.share, label %announce
announce:
  store atomic i32 0, ptr @ts_waiting monotonic, align 4
  store atomic i32 OPEN, ptr @ts_gate release, align 4
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
  call void @ts_claim(ptr %fn, ptr %env, i64 %n, i64 0, i64 %all)
  %gate = atomicrmw and ptr @ts_gate, i32 SHUT acquire
  br label %join
join:
  %spins = phi i32 [ 0, %work ], [ %spins1, %again ], [ 0, %doze ]
  %left = load atomic i32, ptr @ts_gate acquire, align 4
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
  %still = load atomic i32, ptr @ts_gate seq_cst, align 4
  %zero = icmp eq i32 %still, 0
  br i1 %zero, label %finish, label %doze
doze:
  call void @ts_wait(ptr @ts_gate, i32 %still)
  br label %join
finish:
  store atomic i32 0, ptr @ts_lock release, align 4
  ret void
}
"""


def threads_text(target: Target) -> str:
    """The pool for `target`; LINKAGE and KEEP are left to be filled in."""
    machine = target.triple.split("-")[0]
    pool = _POOL.replace("PAUSE", _PAUSE.get(machine, "fence seq_cst"))
    declarations = DECLARATIONS + _PAUSE_DECLARATIONS.get(machine, "")
    text = GLOBALS + declarations + system_text(target) + pool
    for name, meaning in (*_NUMBERS.items(), *_FIELDS.items()):
        text = text.replace(name, str(meaning))
    return text

"""Lists that grow, as LLVM text: everything but the accesses that are inlined where they stand.

A list is a block of 56 bytes, reference-counted:

| offset | field |
|---|---|
| 0, 8 | the list before and after it in the ring of its call |
| 16 | references |
| 24, 32 | length, capacity (elements) |
| 40 | data |
| 48 | layout: an element's bytes; from bit 8 nesting; bit 16 floats; from bit 24 a number's bytes |

Host code counts references. An error ends a call without giving back what it holds; therefore the
lists of a call form a ring with the call's frame in it, and `ts_list_sweep` frees what is left when
the call ends. An element of a nested list is the handle of a list, and counts as a reference to it.
Creating functions give null, others false, when there is no memory.
"""

from __future__ import annotations

_HEAD = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @memcmp(ptr, ptr, i64)
declare void @qsort(ptr, i64, i64, ptr)
%ts_list = type { ptr, ptr, i64, i64, i64, ptr, i64 }

define LINKAGE i64 @ts_list_size(ptr %l) nounwind {
  %at = getelementptr %ts_list, ptr %l, i64 0, i32 6
  %layout = load i64, ptr %at
  %size = and i64 %layout, 255
  ret i64 %size
}

define LINKAGE i1 @ts_list_nested(ptr %l) nounwind {
  %at = getelementptr %ts_list, ptr %l, i64 0, i32 6
  %layout = load i64, ptr %at
  %depth = and i64 %layout, 65280
  %nested = icmp ne i64 %depth, 0
  ret i1 %nested
}

; The layout of the lists inside a list of layout %outer.
define LINKAGE i64 @ts_list_inner(i64 %outer) nounwind {
  %less = sub i64 %outer, 256
  %depth = and i64 %less, 65280
  %flat = icmp eq i64 %depth, 0
  %leaf = lshr i64 %outer, 24
  %size = select i1 %flat, i64 %leaf, i64 8
  %rest = and i64 %less, -256
  %layout = or i64 %rest, %size
  ret i64 %layout
}

; Memory of %bytes bytes. Small blocks need no alignment that suits vectors, and come faster.
define LINKAGE ptr @ts_list_block(i64 %bytes) nounwind {
entry:
  %hook = load atomic ptr, ptr @ts_malloc_hook acquire, align 8
  %own = icmp eq ptr %hook, null
  %small = icmp ult i64 %bytes, 2048
  %plain = and i1 %own, %small
  br i1 %plain, label %quick, label %aligned
quick:
  %p = call ptr @malloc(i64 %bytes)
  ret ptr %p
aligned:
  %q = call ptr @ts_malloc(i64 %bytes)
  ret ptr %q
}
declare ptr @malloc(i64)

; A list of %count elements: handles are 0, numbers undefined.
define LINKAGE ptr @ts_list_new(ptr %frame, i64 %layout, i64 %count) nounwind {
  %l = call ptr @ts_list_make(ptr %frame, i64 %layout, i64 %count, i64 %count)
  ret ptr %l
}

; The same with room for %room elements.
define LINKAGE ptr @ts_list_make(ptr %frame, i64 %layout, i64 %count, i64 %room) nounwind {
entry:
  %size = and i64 %layout, 255
  %n = call i64 @llvm.smax.i64(i64 %count, i64 0)
  %m = call i64 @llvm.smax.i64(i64 %room, i64 0)
  %some = icmp sgt i64 %m, 0
  %large = icmp ugt i64 %m, 281474976710656
  br i1 %large, label %none, label %head
head:
  %l = call ptr @ts_list_block(i64 56)
  %no = icmp eq ptr %l, null
  br i1 %no, label %none, label %block
block:
  %bytes = mul i64 %m, %size
  br i1 %some, label %fill, label %link
fill:
  %made = call ptr @ts_list_block(i64 %bytes)
  %bad = icmp eq ptr %made, null
  br i1 %bad, label %undo, label %clear
undo:
  call void @ts_free(ptr %l)
  br label %none
clear:
  %depth = and i64 %layout, 65280
  %nested = icmp ne i64 %depth, 0
  br i1 %nested, label %zero, label %link
zero:
  call void @llvm.memset.p0.i64(ptr %made, i8 0, i64 %bytes, i1 false)
  br label %link
link:
  %data = phi ptr [ null, %block ], [ %made, %clear ], [ %made, %zero ]
  %at.next = getelementptr %ts_list, ptr %frame, i64 0, i32 1
  %next = load ptr, ptr %at.next
  store ptr %frame, ptr %l
  %l.next = getelementptr %ts_list, ptr %l, i64 0, i32 1
  store ptr %next, ptr %l.next
  store ptr %l, ptr %next
  store ptr %l, ptr %at.next
  %l.refs = getelementptr %ts_list, ptr %l, i64 0, i32 2
  store i64 1, ptr %l.refs
  %l.length = getelementptr %ts_list, ptr %l, i64 0, i32 3
  store i64 %n, ptr %l.length
  %l.room = getelementptr %ts_list, ptr %l, i64 0, i32 4
  store i64 %m, ptr %l.room
  %l.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  store ptr %data, ptr %l.data
  %l.layout = getelementptr %ts_list, ptr %l, i64 0, i32 6
  store i64 %layout, ptr %l.layout
  ret ptr %l
none:
  ret ptr null
}

; Room for %least elements; doubles, so that pushing takes constant time on average.
define LINKAGE i1 @ts_list_reserve(ptr %l, i64 %least) nounwind {
entry:
  %at.room = getelementptr %ts_list, ptr %l, i64 0, i32 4
  %room = load i64, ptr %at.room
  %fits = icmp sle i64 %least, %room
  br i1 %fits, label %done, label %grow
grow:
  %double = shl i64 %room, 1
  %m0 = call i64 @llvm.smax.i64(i64 %double, i64 %least)
  %m1 = call i64 @llvm.smax.i64(i64 %m0, i64 8)
  %large = icmp ugt i64 %m1, 281474976710656
  br i1 %large, label %failed, label %take
take:
  %size = call i64 @ts_list_size(ptr %l)
  %bytes = mul i64 %m1, %size
  %made = call ptr @ts_list_block(i64 %bytes)
  %bad = icmp eq ptr %made, null
  br i1 %bad, label %failed, label %move
move:
  %at.length = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.length
  %used = mul i64 %n, %size
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %old = load ptr, ptr %at.data
  %had = icmp ne ptr %old, null
  br i1 %had, label %copy, label %put
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %made, ptr %old, i64 %used, i1 false)
  call void @ts_free(ptr %old)
  br label %put
put:
  store ptr %made, ptr %at.data
  store i64 %m1, ptr %at.room
  br label %done
done:
  ret i1 true
failed:
  ret i1 false
}
declare i64 @llvm.smax.i64(i64, i64)

define LINKAGE void @ts_list_unref(ptr %l) nounwind {
entry:
  %none = icmp eq ptr %l, null
  br i1 %none, label %done, label %some
some:
  %at = getelementptr %ts_list, ptr %l, i64 0, i32 2
  %n = load i64, ptr %at
  %m = sub i64 %n, 1
  store i64 %m, ptr %at
  %last = icmp eq i64 %m, 0
  br i1 %last, label %free, label %done
free:
  call void @ts_list_free(ptr %l)
  br label %done
done:
  ret void
}

; One more reference (%by 1) or one less (%by -1) to each of %count handles from %p.
define LINKAGE void @ts_list_each(ptr %p, i64 %count, i64 %by) nounwind {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %at = getelementptr ptr, ptr %p, i64 %i
  %child = load ptr, ptr %at
  %none = icmp eq ptr %child, null
  br i1 %none, label %next, label %some
some:
  %up = icmp sgt i64 %by, 0
  br i1 %up, label %ref, label %unref
ref:
  %refs = getelementptr %ts_list, ptr %child, i64 0, i32 2
  %n = load i64, ptr %refs
  %m = add i64 %n, 1
  store i64 %m, ptr %refs
  br label %next
unref:
  call void @ts_list_unref(ptr %child)
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %head
done:
  ret void
}

; Count the elements' references if they are handles.
define LINKAGE void @ts_list_children(ptr %l, i64 %from, i64 %count, i64 %by) nounwind {
entry:
  %nested = call i1 @ts_list_nested(ptr %l)
  br i1 %nested, label %each, label %done
each:
  %at = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at
  %p = getelementptr ptr, ptr %data, i64 %from
  call void @ts_list_each(ptr %p, i64 %count, i64 %by)
  br label %done
done:
  ret void
}

define LINKAGE void @ts_list_drop(ptr %l) nounwind {
entry:
  %prev = load ptr, ptr %l
  %at.next = getelementptr %ts_list, ptr %l, i64 0, i32 1
  %next = load ptr, ptr %at.next
  %prev.next = getelementptr %ts_list, ptr %prev, i64 0, i32 1
  store ptr %next, ptr %prev.next
  store ptr %prev, ptr %next
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %none = icmp eq ptr %data, null
  br i1 %none, label %head, label %block
block:
  call void @ts_free(ptr %data)
  br label %head
head:
  call void @ts_free(ptr %l)
  ret void
}

define LINKAGE void @ts_list_free(ptr %l) nounwind {
  %at = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at
  call void @ts_list_children(ptr %l, i64 0, i64 %n, i64 -1)
  call void @ts_list_drop(ptr %l)
  ret void
}

; Free what a call has left in the ring of its frame.
define LINKAGE void @ts_list_sweep(ptr %frame) nounwind {
entry:
  br label %head
head:
  %at = getelementptr %ts_list, ptr %frame, i64 0, i32 1
  %next = load ptr, ptr %at
  %done = icmp eq ptr %next, %frame
  br i1 %done, label %end, label %one
one:
  call void @ts_list_drop(ptr %next)
  br label %head
end:
  ret void
}
"""

_MOVES = """
define LINKAGE i1 @ts_list_open(ptr %l, i64 %i) nounwind {
entry:
  %at.length = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.length
  %more = add i64 %n, 1
  %ok = call i1 @ts_list_reserve(ptr %l, i64 %more)
  br i1 %ok, label %move, label %end
move:
  %size = call i64 @ts_list_size(ptr %l)
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %offset = mul i64 %i, %size
  %from = getelementptr i8, ptr %data, i64 %offset
  %to = getelementptr i8, ptr %from, i64 %size
  %count = sub i64 %n, %i
  %bytes = mul i64 %count, %size
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  store i64 %more, ptr %at.length
  br label %end
end:
  ret i1 %ok
}

define LINKAGE void @ts_list_remove(ptr %l, i64 %i) nounwind {
  call void @ts_list_children(ptr %l, i64 %i, i64 1, i64 -1)
  %at.length = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.length
  %less = sub i64 %n, 1
  %size = call i64 @ts_list_size(ptr %l)
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %offset = mul i64 %i, %size
  %to = getelementptr i8, ptr %data, i64 %offset
  %from = getelementptr i8, ptr %to, i64 %size
  %count = sub i64 %less, %i
  %bytes = mul i64 %count, %size
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  store i64 %less, ptr %at.length
  ret void
}

define LINKAGE void @ts_list_clear(ptr %l) nounwind {
  %at.length = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.length
  call void @ts_list_children(ptr %l, i64 0, i64 %n, i64 -1)
  store i64 0, ptr %at.length
  ret void
}

define LINKAGE ptr @ts_list_slice(ptr %frame, ptr %l, i64 %start, i64 %step, i64 %count) nounwind {
entry:
  %at.layout = getelementptr %ts_list, ptr %l, i64 0, i32 6
  %layout = load i64, ptr %at.layout
  %room = add i64 %count, 4 ; a copy often gets a few more elements
  %made = call ptr @ts_list_make(ptr %frame, i64 %layout, i64 %count, i64 %room)
  %none = icmp eq ptr %made, null
  br i1 %none, label %end, label %copy
copy:
  %size = call i64 @ts_list_size(ptr %l)
  %at.from = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %from = load ptr, ptr %at.from
  %at.to = getelementptr %ts_list, ptr %made, i64 0, i32 5
  %to = load ptr, ptr %at.to
  %stride = mul i64 %step, %size
  %skip = mul i64 %start, %size
  %first = getelementptr i8, ptr %from, i64 %skip
  %straight = icmp eq i64 %step, 1
  br i1 %straight, label %whole, label %head
whole:
  %bytes = mul i64 %count, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %first, i64 %bytes, i1 false)
  br label %own
head:
  %i = phi i64 [ 0, %copy ], [ %i1, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %own
body:
  %a = mul i64 %i, %stride
  %b = mul i64 %i, %size
  %p = getelementptr i8, ptr %first, i64 %a
  %q = getelementptr i8, ptr %to, i64 %b
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 %size, i1 false)
  %i1 = add i64 %i, 1
  br label %head
own:
  call void @ts_list_children(ptr %made, i64 0, i64 %count, i64 1)
  br label %end
end:
  ret ptr %made
}

define LINKAGE i1 @ts_list_extend(ptr %l, ptr %other) nounwind {
entry:
  %at.n = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.n
  %at.m = getelementptr %ts_list, ptr %other, i64 0, i32 3
  %m = load i64, ptr %at.m
  %total = add i64 %n, %m
  %ok = call i1 @ts_list_reserve(ptr %l, i64 %total)
  %some = icmp sgt i64 %m, 0
  %do = and i1 %ok, %some
  br i1 %do, label %copy, label %end
copy:
  %size = call i64 @ts_list_size(ptr %l)
  %at.to = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %to = load ptr, ptr %at.to
  %at.from = getelementptr %ts_list, ptr %other, i64 0, i32 5
  %from = load ptr, ptr %at.from
  %skip = mul i64 %n, %size
  %p = getelementptr i8, ptr %to, i64 %skip
  %bytes = mul i64 %m, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %from, i64 %bytes, i1 false)
  store i64 %total, ptr %at.n
  call void @ts_list_children(ptr %l, i64 %n, i64 %m, i64 1)
  br label %end
end:
  ret i1 %ok
}

define LINKAGE void @ts_list_reverse(ptr %l) nounwind {
entry:
  %size = call i64 @ts_list_size(ptr %l)
  %at.n = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.n
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %last = sub i64 %n, 1
  %wide = icmp eq i64 %size, 8
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %j = phi i64 [ %last, %entry ], [ %j1, %next ]
  %more = icmp slt i64 %i, %j
  br i1 %more, label %body, label %done
body:
  br i1 %wide, label %words, label %bytes
words:
  %p8 = getelementptr i64, ptr %data, i64 %i
  %q8 = getelementptr i64, ptr %data, i64 %j
  %a8 = load i64, ptr %p8
  %b8 = load i64, ptr %q8
  store i64 %b8, ptr %p8
  store i64 %a8, ptr %q8
  br label %next
bytes:
  %p1 = getelementptr i8, ptr %data, i64 %i
  %q1 = getelementptr i8, ptr %data, i64 %j
  %a1 = load i8, ptr %p1
  %b1 = load i8, ptr %q1
  store i8 %b1, ptr %p1
  store i8 %a1, ptr %q1
  br label %next
next:
  %i1 = add i64 %i, 1
  %j1 = sub i64 %j, 1
  br label %head
done:
  ret void
}

define LINKAGE void @ts_list_sort(ptr %l, i1 %descending) nounwind {
entry:
  %at.layout = getelementptr %ts_list, ptr %l, i64 0, i32 6
  %layout = load i64, ptr %at.layout
  %size = and i64 %layout, 255
  %at.n = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.n
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %kind = and i64 %layout, 65536
  %floats = icmp ne i64 %kind, 0
  %wide = icmp eq i64 %size, 8
  %f = select i1 %descending, ptr @ts_list_after_f64, ptr @ts_list_before_f64
  %i = select i1 %descending, ptr @ts_list_after_i64, ptr @ts_list_before_i64
  %b = select i1 %descending, ptr @ts_list_after_b1, ptr @ts_list_before_b1
  %whole = select i1 %wide, ptr %i, ptr %b
  %order = select i1 %floats, ptr %f, ptr %whole
  %some = icmp sgt i64 %n, 1
  br i1 %some, label %sort, label %done
sort:
  call void @qsort(ptr %data, i64 %n, i64 %size, ptr %order)
  br label %done
done:
  ret void
}

define LINKAGE i1 @ts_list_equal(ptr %a, ptr %b) nounwind {
entry:
  %at.n = getelementptr %ts_list, ptr %a, i64 0, i32 3
  %n = load i64, ptr %at.n
  %at.m = getelementptr %ts_list, ptr %b, i64 0, i32 3
  %m = load i64, ptr %at.m
  %at.x = getelementptr %ts_list, ptr %a, i64 0, i32 5
  %x = load ptr, ptr %at.x
  %at.y = getelementptr %ts_list, ptr %b, i64 0, i32 5
  %y = load ptr, ptr %at.y
  %at.layout = getelementptr %ts_list, ptr %a, i64 0, i32 6
  %layout = load i64, ptr %at.layout
  %nested = call i1 @ts_list_nested(ptr %a)
  %kind = and i64 %layout, 65536
  %floats = icmp ne i64 %kind, 0
  %one = or i1 %nested, %floats
  %same = icmp eq i64 %n, %m
  br i1 %same, label %pick, label %no
pick:
  br i1 %one, label %head, label %block
block:
  %size = and i64 %layout, 255
  %bytes = mul i64 %n, %size
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %compare, label %yes
compare:
  %order = call i32 @memcmp(ptr %x, ptr %y, i64 %bytes)
  %equal = icmp eq i32 %order, 0
  ret i1 %equal
head:
  %i = phi i64 [ 0, %pick ], [ %i1, %next ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %yes
body:
  %p = getelementptr i64, ptr %x, i64 %i
  %q = getelementptr i64, ptr %y, i64 %i
  br i1 %nested, label %inner, label %number
inner:
  %left = load ptr, ptr %p
  %right = load ptr, ptr %q
  %both = call i1 @ts_list_equal(ptr %left, ptr %right)
  br i1 %both, label %next, label %no
number:
  %u = load double, ptr %p
  %v = load double, ptr %q
  %close = fcmp oeq double %u, %v
  br i1 %close, label %next, label %no
next:
  %i1 = add i64 %i, 1
  br label %head
yes:
  ret i1 true
no:
  ret i1 false
}

define LINKAGE ptr @ts_list_join(ptr %frame, ptr %l) nounwind {
entry:
  %at.layout = getelementptr %ts_list, ptr %l, i64 0, i32 6
  %layout = load i64, ptr %at.layout
  %inner = call i64 @ts_list_inner(i64 %layout)
  %made = call ptr @ts_list_new(ptr %frame, i64 %inner, i64 0)
  %none = icmp eq ptr %made, null
  br i1 %none, label %fail, label %start
start:
  %at.n = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.n
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %i1, %next ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr ptr, ptr %data, i64 %i
  %child = load ptr, ptr %p
  %ok = call i1 @ts_list_extend(ptr %made, ptr %child)
  br i1 %ok, label %next, label %fail
next:
  %i1 = add i64 %i, 1
  br label %head
end:
  ret ptr %made
fail:
  ret ptr null
}

define LINKAGE ptr @ts_list_lengths(ptr %frame, ptr %l) nounwind {
entry:
  %at.n = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.n
  %made = call ptr @ts_list_new(ptr %frame, i64 134217736, i64 %n)
  %none = icmp eq ptr %made, null
  br i1 %none, label %end, label %start
start:
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %at.out = getelementptr %ts_list, ptr %made, i64 0, i32 5
  %out = load ptr, ptr %at.out
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %i1, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr ptr, ptr %data, i64 %i
  %child = load ptr, ptr %p
  %at.length = getelementptr %ts_list, ptr %child, i64 0, i32 3
  %length = load i64, ptr %at.length
  %q = getelementptr i64, ptr %out, i64 %i
  store i64 %length, ptr %q
  %i1 = add i64 %i, 1
  br label %head
end:
  ret ptr %made
}

define LINKAGE ptr @ts_list_split(ptr %frame, ptr %values, ptr %lengths) nounwind {
entry:
  %at.layout = getelementptr %ts_list, ptr %values, i64 0, i32 6
  %layout = load i64, ptr %at.layout
  %deeper = add i64 %layout, 256
  %rest = and i64 %deeper, -256
  %outer = or i64 %rest, 8
  %at.n = getelementptr %ts_list, ptr %lengths, i64 0, i32 3
  %n = load i64, ptr %at.n
  %made = call ptr @ts_list_new(ptr %frame, i64 %outer, i64 %n)
  %none = icmp eq ptr %made, null
  br i1 %none, label %fail, label %start
start:
  %at.sizes = getelementptr %ts_list, ptr %lengths, i64 0, i32 5
  %sizes = load ptr, ptr %at.sizes
  %at.out = getelementptr %ts_list, ptr %made, i64 0, i32 5
  %out = load ptr, ptr %at.out
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %i1, %next ]
  %done = phi i64 [ 0, %start ], [ %then, %next ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %p
  %child = call ptr @ts_list_slice(ptr %frame, ptr %values, i64 %done, i64 1, i64 %size)
  %bad = icmp eq ptr %child, null
  br i1 %bad, label %fail, label %next
next:
  %q = getelementptr ptr, ptr %out, i64 %i
  store ptr %child, ptr %q
  %then = add i64 %done, %size
  %i1 = add i64 %i, 1
  br label %head
end:
  ret ptr %made
fail:
  ret ptr null
}

; A copy of %bytes bytes for the caller to keep, in the first of its %cells.
define LINKAGE i1 @ts_list_give(ptr %cells, ptr %data, i64 %bytes) nounwind {
entry:
  %made = call ptr @ts_malloc(i64 %bytes)
  store ptr %made, ptr %cells
  %good = icmp ne ptr %made, null
  %some = icmp sgt i64 %bytes, 0
  %do = and i1 %good, %some
  br i1 %do, label %copy, label %end
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %made, ptr %data, i64 %bytes, i1 false)
  br label %end
end:
  ret i1 %good
}
"""

_BY_KIND = """
define LINKAGE i32 @ts_list_before_KIND(ptr %p, ptr %q) nounwind {
  %a = load TYPE, ptr %p
  %b = load TYPE, ptr %q
  %less = LESS TYPE %a, %b
  %more = LESS TYPE %b, %a
  %l = zext i1 %less to i32
  %m = zext i1 %more to i32
  %order = sub i32 %m, %l
  ret i32 %order
}

define LINKAGE i32 @ts_list_after_KIND(ptr %p, ptr %q) nounwind {
  %order = call i32 @ts_list_before_KIND(ptr %q, ptr %p)
  ret i32 %order
}

define LINKAGE i64 @ts_list_find_KIND(ptr %l, REGISTER %v) nounwind {
entry:
  %at.n = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.n
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %w = WIDEN
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %none
body:
  %p = getelementptr TYPE, ptr %data, i64 %i
  %x = load TYPE, ptr %p
  %same = EQUAL TYPE %x, %w
  br i1 %same, label %found, label %next
next:
  %i1 = add i64 %i, 1
  br label %head
found:
  ret i64 %i
none:
  ret i64 -1
}

define LINKAGE i64 @ts_list_count_KIND(ptr %l, REGISTER %v) nounwind {
entry:
  %at.n = getelementptr %ts_list, ptr %l, i64 0, i32 3
  %n = load i64, ptr %at.n
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %w = WIDEN
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %body ]
  %sum = phi i64 [ 0, %entry ], [ %sum1, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr TYPE, ptr %data, i64 %i
  %x = load TYPE, ptr %p
  %same = EQUAL TYPE %x, %w
  %one = zext i1 %same to i64
  %sum1 = add i64 %sum, %one
  %i1 = add i64 %i, 1
  br label %head
end:
  ret i64 %sum
}
"""

_KINDS = {
    "i64": {"TYPE": "i64", "REGISTER": "i64", "LESS": "icmp slt", "EQUAL": "icmp eq",
            "WIDEN": "add i64 %v, 0"},
    "f64": {"TYPE": "double", "REGISTER": "double", "LESS": "fcmp olt", "EQUAL": "fcmp oeq",
            "WIDEN": "fsub double %v, 0.0"},
    "b1": {"TYPE": "i8", "REGISTER": "i1", "LESS": "icmp ult", "EQUAL": "icmp eq",
           "WIDEN": "zext i1 %v to i8"},
}  # fmt: skip


def _by_kind() -> str:
    parts = []
    for kind, words in _KINDS.items():
        text = _BY_KIND.replace("KIND", kind)
        for word, replacement in words.items():
            text = text.replace(word, replacement)
        parts.append(text)
    return "".join(parts)


LISTS = _HEAD + _MOVES + _by_kind()

LIST_SYMBOLS = (
    "ts_list_new", "ts_list_reserve", "ts_list_free", "ts_list_sweep", "ts_list_open",
    "ts_list_remove", "ts_list_clear", "ts_list_slice", "ts_list_extend", "ts_list_reverse",
    "ts_list_sort", "ts_list_equal", "ts_list_join", "ts_list_lengths", "ts_list_split",
    "ts_list_give", *(f"ts_list_{name}_{kind}" for name in ("find", "count") for kind in _KINDS),
)  # fmt: skip
"""What host code calls; see `dialects/te/lists.py`."""

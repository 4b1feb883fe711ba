"""Memory of a list that grows, and who holds it: LLVM text of creating, reserving and counting.

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

from .scratch import LEAST_KEPT

STORAGE = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
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

; Memory of a list's elements, which is kept from call to call as that of kernels is.
define LINKAGE ptr @ts_list_data(i64 %bytes) nounwind {
entry:
  %large = icmp uge i64 %bytes, LEAST
  br i1 %large, label %kept, label %block
kept:
  %p = call ptr @ts_scratch(i64 %bytes)
  ret ptr %p
block:
  %q = call ptr @ts_list_block(i64 %bytes)
  ret ptr %q
}

; Give back the memory of the elements.
define LINKAGE void @ts_list_data_free(ptr %l) nounwind {
entry:
  %at.data = getelementptr %ts_list, ptr %l, i64 0, i32 5
  %data = load ptr, ptr %at.data
  %none = icmp eq ptr %data, null
  br i1 %none, label %done, label %some
some:
  %at.room = getelementptr %ts_list, ptr %l, i64 0, i32 4
  %room = load i64, ptr %at.room
  %size = call i64 @ts_list_size(ptr %l)
  %bytes = mul i64 %room, %size
  %large = icmp uge i64 %bytes, LEAST
  br i1 %large, label %kept, label %block
kept:
  call void @ts_scratch_free(ptr %data)
  ret void
block:
  call void @ts_free(ptr %data)
  ret void
done:
  ret void
}

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
  %made = call ptr @ts_list_data(i64 %bytes)
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
  %made = call ptr @ts_list_data(i64 %bytes)
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
  call void @ts_list_data_free(ptr %l)
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
  call void @ts_list_data_free(ptr %l)
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
""".replace("LEAST", str(LEAST_KEPT))

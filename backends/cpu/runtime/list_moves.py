"""Moving the elements of lists that grow, as LLVM text: into, out of, between and within lists."""

from __future__ import annotations

MOVES = """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

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
  %made = call ptr @ts_scratch(i64 %bytes)
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

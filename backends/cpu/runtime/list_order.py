"""Comparing the elements of lists that grow, as LLVM text: order, equality, and looking up."""

from __future__ import annotations

_WHOLE = """
declare i32 @memcmp(ptr, ptr, i64)
declare void @qsort(ptr, i64, i64, ptr)

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

KINDS = {
    "i64": {"TYPE": "i64", "REGISTER": "i64", "LESS": "icmp slt", "EQUAL": "icmp eq",
            "WIDEN": "add i64 %v, 0"},
    "f64": {"TYPE": "double", "REGISTER": "double", "LESS": "fcmp olt", "EQUAL": "fcmp oeq",
            "WIDEN": "fsub double %v, 0.0"},
    "b1": {"TYPE": "i8", "REGISTER": "i1", "LESS": "icmp ult", "EQUAL": "icmp eq",
           "WIDEN": "zext i1 %v to i8"},
}  # fmt: skip
"""Numbers that a list holds, and the words that stand for each in the text."""


def _by_kind() -> str:
    parts = []
    for kind, words in KINDS.items():
        text = _BY_KIND.replace("KIND", kind)
        for word, replacement in words.items():
            text = text.replace(word, replacement)
        parts.append(text)
    return "".join(parts)


ORDER = _WHOLE + _by_kind()

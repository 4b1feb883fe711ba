"""Texts, lists of the bytes of a string in 64 bits each, as LLVM text: looking for one in another
one, their order, and floats as texts and back."""

from __future__ import annotations

from tensorscript.base.text import LONGEST_FLOAT

_FIELDS = """
  %at.NAME.n = getelementptr %ts_list, ptr %NAME, i64 0, i32 3
  %NAME.n = load i64, ptr %at.NAME.n
  %at.NAME.data = getelementptr %ts_list, ptr %NAME, i64 0, i32 5
  %NAME.data = load ptr, ptr %at.NAME.data"""
"""Length and data of a list."""

_TEXTS = """
declare i32 @snprintf(ptr, i64, ptr, ...)
declare double @strtod(ptr, ptr)
@ts_list_digits_format = LINKAGE constant [6 x i8] c"%.17g\\00"
@ts_list_whole_format = LINKAGE constant [6 x i8] c"%lld.\\00"

; The first of the places %start, %start + %step, ... at which %part stands in %l, or -1.
define LINKAGE i64 @ts_list_search(ptr %l, ptr %part, i64 %start, i64 %step) nounwind {
entry:FIELDS(l)FIELDS(part)
  %last = sub i64 %l.n, %part.n
  %bytes = mul i64 %part.n, 8
  %empty = icmp eq i64 %part.n, 0
  br label %head
head:
  %i = phi i64 [ %start, %entry ], [ %next, %other ]
  %low = icmp sge i64 %i, 0
  %high = icmp sle i64 %i, %last
  %inside = and i1 %low, %high
  br i1 %inside, label %look, label %none
look:
  br i1 %empty, label %found, label %compare
compare:
  %p = getelementptr i64, ptr %l.data, i64 %i
  %c = call i32 @memcmp(ptr %p, ptr %part.data, i64 %bytes)
  %same = icmp eq i32 %c, 0
  br i1 %same, label %found, label %other
other:
  %next = add i64 %i, %step
  br label %head
found:
  ret i64 %i
none:
  ret i64 -1
}

define LINKAGE i1 @ts_list_less(ptr %l, ptr %r) nounwind {
entry:FIELDS(l)FIELDS(r)
  %n = call i64 @llvm.smin.i64(i64 %l.n, i64 %r.n)
  %shorter = icmp slt i64 %l.n, %r.n
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %tied ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr i64, ptr %l.data, i64 %i
  %q = getelementptr i64, ptr %r.data, i64 %i
  %x = load i64, ptr %p
  %y = load i64, ptr %q
  %same = icmp eq i64 %x, %y
  br i1 %same, label %tied, label %differ
tied:
  %i1 = add i64 %i, 1
  br label %head
differ:
  %less = icmp slt i64 %x, %y
  ret i1 %less
end:
  ret i1 %shorter
}
declare i64 @llvm.smin.i64(i64, i64)

; Appends a float as scripts show it: what a 64 bit integer holds as one with a dot behind it, so
; that the sign of a zero is lost; all else with 17 digits. A form is the letter of a conversion of
; C's, or 0.
define LINKAGE i1 @ts_list_digits(ptr %l, double %v, i64 %form) nounwind {
entry:
  %text = alloca [LONGEST x i8]
  %format = alloca [3 x i8]
  %nan = fcmp uno double %v, %v
  %shown = select i1 %nan, double 0x7FF8000000000000, double %v
  %scripted = icmp eq i64 %form, 0
  br i1 %scripted, label %script, label %convert
convert:
  %letter = trunc i64 %form to i8
  %letter.at = getelementptr i8, ptr %format, i64 1
  %end.at = getelementptr i8, ptr %format, i64 2
  store i8 37, ptr %format
  store i8 %letter, ptr %letter.at
  store i8 0, ptr %end.at
  br label %digits
script:
  %above = fcmp oge double %v, 0xC3E0000000000000
  %below = fcmp olt double %v, 0x43E0000000000000
  %inside = and i1 %above, %below
  br i1 %inside, label %narrow, label %digits
narrow:
  %int = fptosi double %v to i64
  %back = sitofp i64 %int to double
  %whole = fcmp oeq double %back, %v
  br i1 %whole, label %integer, label %digits
integer:
  %n.integer = call i32 (ptr, i64, ptr, ...) @snprintf(
      ptr %text, i64 LONGEST, ptr @ts_list_whole_format, i64 %int)
  br label %printed
digits:
  %as = phi ptr [ %format, %convert ], [ @ts_list_digits_format, %script ],
      [ @ts_list_digits_format, %narrow ]
  %n.digits = call i32 (ptr, i64, ptr, ...) @snprintf(
      ptr %text, i64 LONGEST, ptr %as, double %shown)
  br label %printed
printed:
  %n32 = phi i32 [ %n.integer, %integer ], [ %n.digits, %digits ]
  %n = sext i32 %n32 to i64
  br label %head
head:
  %i = phi i64 [ 0, %printed ], [ %i1, %next ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr i8, ptr %text, i64 %i
  %c = load i8, ptr %p
  %w = zext i8 %c to i64
  %ok = call i1 @ts_list_append(ptr %l, i64 %w)
  br i1 %ok, label %next, label %end
next:
  %i1 = add i64 %i, 1
  br label %head
end:
  %all = phi i1 [ true, %head ], [ false, %body ]
  ret i1 %all
}

define LINKAGE i1 @ts_list_append(ptr %l, i64 %v) nounwind {
entry:FIELDS(l)
  %more = add i64 %l.n, 1
  %ok = call i1 @ts_list_reserve(ptr %l, i64 %more)
  br i1 %ok, label %store, label %end
store:
  %data = load ptr, ptr %at.l.data
  %p = getelementptr i64, ptr %data, i64 %l.n
  store i64 %v, ptr %p
  store i64 %more, ptr %at.l.n
  br label %end
end:
  ret i1 %ok
}

; Copies a text to %to, where LONGEST bytes fit, and ends it; false if it does not fit, or holds
; what C reads as a number and Python does not (hexadecimal digits, a NaN's payload).
define LINKAGE i1 @ts_list_plain_text(ptr %l, ptr %to) nounwind {
entry:FIELDS(l)
  %fits = icmp slt i64 %l.n, LONGEST
  br i1 %fits, label %head, label %no
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %store ]
  %more = icmp slt i64 %i, %l.n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr i64, ptr %l.data, i64 %i
  %w = load i64, ptr %p
  %small = or i64 %w, 32
  %hex = icmp eq i64 %small, 120
  %payload = icmp eq i64 %w, 40
  %zero = icmp eq i64 %w, 0
  %odd = or i1 %hex, %payload
  %bad = or i1 %odd, %zero
  br i1 %bad, label %no, label %store
store:
  %c = trunc i64 %w to i8
  %q = getelementptr i8, ptr %to, i64 %i
  store i8 %c, ptr %q
  %i1 = add i64 %i, 1
  br label %head
end:
  %stop = getelementptr i8, ptr %to, i64 %l.n
  store i8 0, ptr %stop
  %some = icmp sgt i64 %l.n, 0
  ret i1 %some
no:
  ret i1 false
}

; Writes a text: to the standard output in order with what the C library writes there, else at once.
define LINKAGE void @ts_list_write(ptr %l, i64 %stream) nounwind {
entry:FIELDS(l)
  %piece = alloca [256 x i8]
  %is.out = icmp eq i64 %stream, 1
  %descriptor = trunc i64 %stream to i32
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %used = phi i64 [ 0, %entry ], [ %left, %next ]
  %more = icmp slt i64 %i, %l.n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr i64, ptr %l.data, i64 %i
  %w = load i64, ptr %p
  %i1 = add i64 %i, 1
  br i1 %is.out, label %put, label %store
put:
  %c32 = trunc i64 %w to i32
  %shown = call i32 @putchar(i32 %c32)
  br label %next
store:
  %c = trunc i64 %w to i8
  %q = getelementptr i8, ptr %piece, i64 %used
  store i8 %c, ptr %q
  %used1 = add i64 %used, 1
  %full = icmp eq i64 %used1, 256
  br i1 %full, label %flush, label %next
flush:
  %sent = call i64 @write(i32 %descriptor, ptr %piece, i64 %used1)
  br label %next
next:
  %left = phi i64 [ %used, %put ], [ %used1, %store ], [ 0, %flush ]
  br label %head
end:
  %some = icmp sgt i64 %used, 0
  br i1 %some, label %last, label %done
last:
  %rest = call i64 @write(i32 %descriptor, ptr %piece, i64 %used)
  br label %done
done:
  ret void
}
declare i32 @putchar(i32)
declare i64 @write(i32, ptr, i64)

; Whether a text is a float, with white space before it only.
define LINKAGE i1 @ts_list_parses(ptr %l) nounwind {
entry:FIELDS(l)
  %text = alloca [LONGEST x i8]
  %end = alloca ptr
  %plain = call i1 @ts_list_plain_text(ptr %l, ptr %text)
  br i1 %plain, label %read, label %no
read:
  %v = call double @strtod(ptr %text, ptr %end)
  %stop = getelementptr i8, ptr %text, i64 %l.n
  %reached = load ptr, ptr %end
  %whole = icmp eq ptr %reached, %stop
  ret i1 %whole
no:
  ret i1 false
}

define LINKAGE double @ts_list_parse(ptr %l) nounwind {
entry:
  %text = alloca [LONGEST x i8]
  %plain = call i1 @ts_list_plain_text(ptr %l, ptr %text)
  br i1 %plain, label %read, label %no
read:
  %v = call double @strtod(ptr %text, ptr null)
  ret double %v
no:
  ret double 0.0
}
"""


def _written(text: str) -> str:
    for name in ("part", "l", "r"):
        text = text.replace(f"FIELDS({name})", _FIELDS.replace("NAME", name))
    return text.replace("LONGEST", str(LONGEST_FLOAT))


TEXTS = _written(_TEXTS)

"""What LLVM calls to convert between half and float on x86 processors without F16C.

A compiler's run-time library has these functions; nothing in this process does, and a stand-alone
object asks for none.
"""

from __future__ import annotations

NAMES = (b"__extendhfsf2", b"__truncsfhf2")

# The exponent is moved by a product with 2^112, which subnormal numbers survive; on the way back a
# sum with 0.5, whose last place is that of a subnormal half, rounds those, and integers the others.
TEXT = """
define weak hidden float @__extendhfsf2(half %x) {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %body = and i32 %bits, 32767
  %placed = shl i32 %body, 13
  %number = bitcast i32 %placed to float
  %moved = fmul float %number, 0x46F0000000000000
  %finite = bitcast float %moved to i32
  %special = or i32 %placed, 2139095040
  %is_nan = icmp ugt i32 %body, 31744
  %quiet = or i32 %special, 4194304
  %odd = select i1 %is_nan, i32 %quiet, i32 %special
  %is_special = icmp uge i32 %body, 31744
  %found = select i1 %is_special, i32 %odd, i32 %finite
  %high = and i32 %bits, 32768
  %sign = shl i32 %high, 16
  %signed = or i32 %found, %sign
  %made = bitcast i32 %signed to float
  ret float %made
}

define weak hidden half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %body = and i32 %bits, 2147483647
  %last = lshr i32 %body, 13
  %odd = and i32 %last, 1
  %moved = add i32 %body, -939520001
  %even = add i32 %moved, %odd
  %normal = lshr i32 %even, 13
  %number = bitcast i32 %body to float
  %added = fadd float %number, 5.0e-01
  %sum = bitcast float %added to i32
  %subnormal = sub i32 %sum, 1056964608
  %is_small = icmp ult i32 %body, 947912704
  %finite = select i1 %is_small, i32 %subnormal, i32 %normal
  %payload = and i32 %last, 1023
  %quiet = or i32 %payload, 32256
  %is_nan = icmp ugt i32 %body, 2139095040
  %special = select i1 %is_nan, i32 %quiet, i32 31744
  %is_large = icmp uge i32 %body, 1199570944
  %found = select i1 %is_large, i32 %special, i32 %finite
  %top = lshr i32 %bits, 16
  %sign = and i32 %top, 32768
  %signed = or i32 %found, %sign
  %short = trunc i32 %signed to i16
  %made = bitcast i16 %short to half
  ret half %made
}
"""

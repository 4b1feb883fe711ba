"""Arithmetic wider than a register: the emulator's carry bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorscript.backends.ptx.emulate import Emulator

WORDS = st.integers(0, 2**128 - 1)
PTX = """
.version 7.1
.target sm_80
.address_size 64
.visible .entry wide(.param .u64 pa, .param .u64 pb, .param .u64 pr)
{
  .reg .b64 %a<4>;
  .reg .b64 %l<9>;
  ld.param.u64 %a1, [pa];
  ld.param.u64 %a2, [pb];
  ld.param.u64 %a3, [pr];
  ld.global.b64 %l1, [%a1];
  ld.global.b64 %l2, [%a1+8];
  ld.global.b64 %l3, [%a2];
  ld.global.b64 %l4, [%a2+8];
  add.cc.u64 %l5, %l1, %l3;
  addc.u64 %l6, %l2, %l4;
  st.global.b64 [%a3], %l5;
  st.global.b64 [%a3+8], %l6;
  sub.cc.s64 %l5, %l1, %l3;
  subc.s64 %l6, %l2, %l4;
  st.global.b64 [%a3+16], %l5;
  st.global.b64 [%a3+24], %l6;
  mul.lo.u64 %l5, %l1, %l3;
  mul.hi.u64 %l6, %l1, %l3;
  mad.lo.cc.u64 %l7, %l1, %l3, %l2;
  madc.hi.u64 %l8, %l1, %l3, %l4;
  st.global.b64 [%a3+32], %l7;
  st.global.b64 [%a3+40], %l8;
  ret;
}
"""


def words(value: int) -> np.ndarray:
    return np.array([value % 2**64, value >> 64], np.uint64)


def number(pair: np.ndarray) -> int:
    return int(pair[0]) + (int(pair[1]) << 64)


@given(WORDS, WORDS)
def test_wide_arithmetic(a: int, b: int) -> None:
    result = np.zeros(6, np.uint64)
    Emulator(PTX).launch("wide", 1, 1, [words(a), words(b), result])
    assert number(result[0:2]) == (a + b) % 2**128
    assert number(result[2:4]) == (a - b) % 2**128
    product = (a % 2**64) * (b % 2**64) + (a >> 64) + ((b >> 64) << 64)
    assert number(result[4:6]) == product % 2**128

"""Masks that are known when code is emitted: of no lane, of one, of some, of all."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from emit_harness import PASSES, Compiled

from tensorscript.backends.llvm.optimize import VECTOR_CODE, Optimization

LEVELS = pytest.mark.parametrize("passes", [VECTOR_CODE, PASSES], ids=["kernel", "host"])
NARROW = [
    ("i32", "i8"), ("i32", "i16"), ("i64", "i8"), ("i64", "i32"), ("i16", "i8"), ("i64", "b1"),
    ("f32", "f32"),
]  # fmt: skip
NUMPY = {
    "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "b1": "?", "f32": "f4",
}  # fmt: skip
ROOM = 16
"""Elements behind each vector that must stay as they are."""


def doubled(wide: str, narrow: str) -> str:
    value = f"(x.{wide}[v] + x.{wide}[v])"
    if narrow == "b1":
        return f"{value} != (8).{wide}"
    return value if narrow == wide else f"{narrow}({value})"


def compiled(
    wide: str, narrow: str, lanes: int, bodies: Sequence[str], passes: Optimization
) -> Compiled:
    """A vector loop for each body, which stores into a row of its own: `@` is what lane v stores,
    a brace ends its line."""
    loops = []
    for number, body in enumerate(bodies):
        store = f"te.store y[{number}, v] = {doubled(wide, narrow)}\n"
        text = body.replace("{", "{\n").replace("@", store).replace("v", f"v{number}")
        loops.append(f"te.for v{number} in 0 .. {lanes} vector {{\n{text}\n}}\n")
    shape = f"{len(bodies)}, {lanes + ROOM}"
    arguments = f"x: {wide}[{lanes}], out y: {narrow}[{shape}]"
    text = f"te.func @k kernel scheduled ({arguments}) {{\n{''.join(loops)}}}"
    return Compiled(text, passes=passes)


def check(
    wide: str, narrow: str, masks: Sequence[np.ndarray], bodies: Sequence[str], passes: Optimization
) -> str:
    """Run the bodies and compare with their masks; the text of the LLVM module."""
    lanes = masks[0].size
    x = np.arange(3, 3 + lanes).astype(NUMPY[wide])
    before = 0 if narrow == "b1" else 77
    y = np.full((len(bodies), lanes + ROOM), before, NUMPY[narrow])
    stored = x + x != 8 if narrow == "b1" else (x + x).astype(y.dtype)
    expected = y.copy()
    for row, on in zip(expected, masks, strict=True):
        row[:lanes][on] = stored[on]
    made = compiled(wide, narrow, lanes, bodies, passes)
    assert made(x, y) == 0
    np.testing.assert_array_equal(y, expected)
    return made.text


def masked_stores(text: str) -> int:
    return len(re.findall(r"call void @llvm\.masked\.store", text))


@LEVELS
@pytest.mark.parametrize(("wide", "narrow"), NARROW)
def test_every_rest(wide: str, narrow: str, passes: Optimization) -> None:
    lanes = 16
    masks = [np.arange(lanes) < rest for rest in range(lanes + 1)]
    bodies = [f"te.if 32 + v < {32 + rest} {{ @ }}" for rest in range(lanes + 1)]
    text = check(wide, narrow, masks, bodies, passes)
    assert masked_stores(text) == lanes - 2  # not those of none, one and all


@pytest.mark.parametrize("lanes", [4, 8, 32, 64])
@pytest.mark.parametrize(("wide", "narrow"), [("i32", "i8"), ("i16", "i8"), ("i64", "b1")])
def test_one_lane_of_vectors_of_any_width(wide: str, narrow: str, lanes: int) -> None:
    masks = [np.arange(lanes) == lane for lane in (0, lanes - 1)]
    bodies = ["te.if v < 1 { @ }", f"te.if v >= {lanes - 1} {{ @ }}"]
    assert masked_stores(check(wide, narrow, masks, bodies, VECTOR_CODE)) == 0


@LEVELS
def test_one_lane_is_stored_as_a_scalar(passes: Optimization) -> None:
    bodies = {
        "te.if v >= 15 { @ }": 15,
        "te.if v == 5 { @ }": 5,
        "te.if v < 15 { } else { @ }": 15,
        "te.if v < 4 { te.if v >= 3 { @ } }": 3,
        "te.if (v < 4) & (v >= 3) { @ }": 3,
    }
    masks = [np.arange(16) == lane for lane in bodies.values()]
    text = check("i32", "i8", masks, list(bodies), passes)
    assert masked_stores(text) == 0
    assert len(re.findall(r"store i8 ", text)) == len(bodies)


def test_one_lane_of_a_reversed_row() -> None:
    text = """te.func @k kernel scheduled (x: i32[16], out y: i8[32]) {
      te.for v in 0 .. 16 vector {
        te.if v == 2 {
          te.store y[15 - v] = i8(x.i32[v])
        }
      }
    }"""
    made = Compiled(text, passes=VECTOR_CODE)
    y = np.full(32, 77, "i1")
    assert made(np.arange(3, 19, dtype="i4"), y) == 0
    np.testing.assert_array_equal(np.flatnonzero(y != 77), [13])
    assert y[13] == 5
    assert masked_stores(made.text) == 0


def test_some_lanes_that_are_known_are_a_constant_mask_without_a_branch() -> None:
    on = (np.arange(16) >= 3) & (np.arange(16) < 9)
    text = check("i32", "i16", [on], ["te.if v >= 3 { te.if v < 9 { @ } }"], VECTOR_CODE)
    assert "vector.reduce.or" not in text
    assert masked_stores(text) == 1


def test_lanes_that_others_decide_keep_their_mask() -> None:
    text = """te.func @k kernel scheduled (x: i32[16], out y: i8[16]) {
      te.for v in 0 .. 16 vector {
        te.if x.i32[v] > (5).i32 {
          te.if v < 4 {
            te.store y[v] = i8(x.i32[v])
          }
        }
      }
    }"""
    made = Compiled(text, passes=VECTOR_CODE)
    y = np.full(16, 77, "i1")
    assert made(np.arange(3, 19, dtype="i4"), y) == 0
    np.testing.assert_array_equal(y, [77, 77, 77, 6, *[77] * 12])
    assert masked_stores(made.text) == 1

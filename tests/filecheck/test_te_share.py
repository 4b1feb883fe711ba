"""What do `share` and the schedule of cases make of a loop's statements?"""

from __future__ import annotations

import pytest
from schedule_steps import parse_function, run_steps

from tensorscript.dialects.te.schedule import ScheduleError, step
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters

STORES = """
te.func @f kernel logical (x: f32[40], out y: f32[3, 20]) {
  te.for i in 0 .. 20 serial {
    te.store y[0, i] = x.f32[i] + x.f32[i + 20] * (2.0).f32
    te.store y[1, i] = x.f32[i] - x.f32[i + 20] * (2.0).f32
    te.store y[2, i] = sqrt(x.f32[i] + x.f32[i + 20] * (2.0).f32)
  }
}"""
SHARED = """
  te.for i in 0 .. 20 serial {
    te.let i_v: f32 = x.f32[i]
    te.let i_v_2: f32 = x.f32[i + 20] * (2.0).f32
    te.let i_v_3: f32 = i_v.f32 + i_v_2.f32
    te.store y[0, i] = i_v_3.f32
    te.store y[1, i] = i_v.f32 - i_v_2.f32
    te.store y[2, i] = sqrt(i_v_3.f32)
  }
}"""


def test_what_statements_have_in_common_is_named() -> None:
    found = run_steps(STORES, (step("share", "i"),))
    assert found.split("\n", 1)[1] == SHARED.lstrip("\n")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("y[1, i] = x.f32[i]", "y[1, i] = y.f32[0, i]", "y is stored and read"),
        ("te.store y[1, i] =", "te.update y[1, i] add=", "i holds more than stores"),
    ],
)
def test_other_bodies_are_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(STORES.replace(old, new), (step("share", "i"),))


CHOSEN = (
    "select(k == 0, x.f32[i], select(k == 1, x.f32[i] + x.f32[i + 20], select(k == 2,"
    " x.f32[i] - x.f32[i + 20], x.f32[i + 20])))"
)
CASES = f"""
te.func @f kernel logical pointwise (x: f32[40], out y: f32[4, 20]) {{
  te.for k in 0 .. 4 serial {{
    te.for i in 0 .. 20 serial {{
      te.store y[k, i] = {CHOSEN}
    }}
  }}
}}"""


def steps_of(source: str) -> list[str]:
    func = parse_function(source)
    return [str(s) for s in schedule_kernel(func, CPUParameters(vector_bytes=64, checked=True))]


def test_a_few_cases_become_one_body() -> None:
    assert steps_of(CASES)[:4] == [
        'reorder("i", "k")', 'full_unroll("k")', 'simplify("f")', 'share("i")'
    ]  # fmt: skip


def test_periods_are_cut_off() -> None:
    source = CASES.replace("k ==", "k % 4 ==").replace("f32[4, 20]", "f32[12, 20]")
    assert steps_of(source.replace("0 .. 4", "0 .. 12"))[:3] == [
        'split("k", 4, "exact")', 'reorder("k_o", "i", "k_i")', 'full_unroll("k_i")'
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f32[4, 20]", "f32[99, 20]"),
        ("k ==", "k % 3 =="),
        ("k ==", "i =="),
        ("x.f32[i] + x.f32[i + 20]", "x.f32[i + 9]"),
    ],
)
def test_others_go_the_usual_way(old: str, new: str) -> None:
    source = CASES.replace(old, new)
    if "99" in new:
        source = source.replace("0 .. 4", "0 .. 99")
    found = steps_of(source)
    assert not any(s.startswith("share") for s in found)

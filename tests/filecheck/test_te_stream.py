"""Which results are written past the caches, and which does `stream` refuse?"""

from __future__ import annotations

import io

import pytest
from schedule_steps import run_steps
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.dialects.te.ops import TE, functions
from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError
from tensorscript.lowering.schedules.cpu import schedule_cpu
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters

MAP = """
te.func @f kernel logical (x: f32[(N + 1)], N: i64, out y: f32[(N + 1)], out z: f32[(N + 1)]) {
  te.for i in 0 .. N + 1 serial {
    te.store y[i] = x.f32[i]
    te.store z[i] = x.f32[i]
  }
}"""


def test_the_function_says_what_it_streams() -> None:
    found = run_steps(MAP, (step("stream", "z"), step("stream", "y")))
    assert found.split(" {\n")[0].endswith(" streams z, y")
    assert run_steps(found, ()) == found


@pytest.mark.parametrize(
    ("change", "target", "reason"),
    [
        (("", ""), "x", "x is no result"),
        (("x.f32[i]", "z.f32[i]"), "z", "z is read"),
        (("te.store z[i] =", "te.update z[i] add="), "z", "z is read"),
        (("logical (", "logical ("), "t", "there is no buffer t"),
    ],
)
def test_refusals(change: tuple[str, str], target: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(MAP.replace(*change), (step("stream", target),))


def test_a_result_is_streamed_once() -> None:
    with pytest.raises(ScheduleError, match="streamed already"):
        run_steps(MAP, (step("stream", "y"), step("stream", "y")))


def _kernel(name: str, count: int, result: int) -> str:
    return f"""
te.func @{name} kernel logical pointwise (x: f32[{count}], out y: f32[{result}]) {{
  te.for i in 0 .. {result} serial {{
    te.store y[i] = x.f32[i]
  }}
}}"""


def _streaming(kernel: str, host: str, cache: int) -> bool:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    module = Parser(context, f"builtin.module {{{kernel}\n{host}\n}}").parse_module()
    schedule_cpu(module, CPUParameters(last_cache=cache, checked=True))
    (found,) = (f for f in functions(module) if f.role.data == "kernel")
    text = io.StringIO()
    Printer(text).print_op(found)
    assert (" streams y {" in text.getvalue()) == bool(found.streamed)
    return bool(found.streamed)


HANDED_OUT = "te.func @h host logical (a: f32[{0}], out b: f32[{1}]) {{\n te.call @k(a, b)\n}}"
INSIDE = """te.func @h host logical (a: f32[{0}]) {{
  te.alloc arena b: f32[{1}]
  te.call @k(a, b)
}}"""


@pytest.mark.parametrize(
    ("host", "count", "result", "streamed"),
    [
        (HANDED_OUT, 4096, 4096, True),  # 16 KiB read, twice as much written by two calls
        (HANDED_OUT, 3072, 3072, False),  # 36 KiB
        (HANDED_OUT, 16384, 2048, True),
        (HANDED_OUT, 16384, 1024, False),  # a small part of it: it stays, and is read from there
        (INSIDE, 8192, 8192, False),  # 32 KiB that are read soon
        (INSIDE, 12288, 12288, True),
    ],
)
def test_results_that_leave_a_cache_of_32_kib(
    host: str, count: int, result: int, streamed: bool
) -> None:
    kernel = _kernel("k", count, result)
    assert _streaming(kernel, host.format(count, result), 32 << 10) == streamed


def test_what_one_of_two_calls_keeps_inside_is_not_handed_out() -> None:
    both = HANDED_OUT.format(4096, 4096) + "\n" + INSIDE.format(4096, 4096).replace("@h", "@g")
    assert not _streaming(_kernel("k", 4096, 4096), both, 32 << 10)


ROWS = """
te.func @k kernel logical pointwise (x: f32[64], out y: f32[128, {columns}]) {{
  te.for i in 0 .. 128 serial {{
    te.for j in 0 .. 64 serial {{
      te.store y[i, j] = x.f32[j]
    }}
    te.for k in 0 .. 32 serial {{
      te.store y[i, k + {start}] = x.f32[k]
    }}
  }}
}}"""


@pytest.mark.parametrize(
    ("columns", "start", "streamed"), [(96, 64, True), (100, 64, False), (112, 72, False)]
)
def test_every_vector_begins_at_a_line(columns: int, start: int, streamed: bool) -> None:
    kernel = ROWS.format(columns=columns, start=start)
    host = HANDED_OUT.format(64, f"128, {columns}")
    assert _streaming(kernel, host, 32 << 10) == streamed

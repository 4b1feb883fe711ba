"""The graph interpreter on small TorchScript programs: values, control flow, objects, failures."""

from __future__ import annotations

from typing import Any

import pytest

from tensorscript.base.errors import ScriptError, UserError
from tensorscript.eager.data import tensor
from tensorscript.frontends.script.text import compile_source
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.typed import TypedList


def run(text: str, *arguments: Any, name: str = "f") -> Any:
    """Compile a text and call one of its functions."""
    world = compile_source(text)
    return Interpreter(world.program.module).call(f"__torch__.{name}", list(arguments))


PROGRAMS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("def f(x: int, y: int) -> int:\n  return x // y", (-7, 2), -4),
    ("def f(x: int, y: int) -> int:\n  return x % y", (-7, 2), 1),
    ("def f(x: int, y: int) -> float:\n  return x / y", (7, 2), 3.5),
    ("def f(x: float) -> int:\n  return int(x)", (-2.7,), -2),
    ("def f(x: bool, y: int):\n  return x and y > 1", (True, 2), True),
    ("def f(x: Optional[int]):\n  if x is None:\n    return 0\n  return x + 1", (None,), 0),
    ("def f(x: Optional[int]):\n  if x is None:\n    return 0\n  return x + 1", (4,), 5),
    ("def f(n: int):\n  s = 0\n  for i in range(n):\n    s += i\n  return s", (5,), 10),
    ("def f(n: int):\n  s = 0\n  for i in range(n):\n    s += i\n  return s", (0,), 0),
    (
        "def f(n: int):\n  c = 0\n  while n != 1:\n    if n % 2 == 0:\n      n = n // 2\n"
        "    else:\n      n = 3 * n + 1\n    c += 1\n  return c",
        (27,),
        111,
    ),
    (
        "def f(n: int):\n  s = 0\n  for i in range(n):\n    if i == 2:\n      continue\n"
        "    if i == 5:\n      break\n    s += i\n  return s",
        (10,),
        8,
    ),
    ("def f(xs: List[int]):\n  xs.append(4)\n  return xs[-1] + len(xs)", ([1, 2],), 7),
    ("def f(d: Dict[str, int]):\n  d['b'] = 2\n  return d.keys()", ({"a": 1},), ["a", "b"]),
    ("def f(s: str):\n  return '{} {}'.format(s.upper(), 1.0)", ("ab",), "AB 1."),
    ("def f(x: int):\n  a, b = x, x + 1\n  return (b, a)", (1,), (2, 1)),
    ("def f(x: Tuple[int, str, float]):\n  return x[1:]", ((1, "a", 2.0),), ("a", 2.0)),
    ("def f(x: Any):\n  return isinstance(x, int)", (3,), True),
    ("def f(x: Any):\n  return isinstance(x, int)", (True,), False),
    ("def f(x: List[int]):\n  return [v * 2 for v in x]", ([1, 2],), [2, 4]),
    ("def g(x: int) -> int:\n  return x + 1\ndef f(x: int) -> int:\n  return g(g(x))", (1,), 3),
    ("def f(x: int):\n  y: Optional[int] = None\n  if x > 0:\n    y = x\n  return y", (0,), None),
]


@pytest.mark.parametrize(("text", "arguments", "wanted"), PROGRAMS)
def test_programs(text: str, arguments: tuple[Any, ...], wanted: Any) -> None:
    found = run(text, *arguments)
    kind = list if isinstance(found, TypedList) else type(found)
    assert found == wanted and kind is type(wanted)


def test_tensors_alias_and_change_in_place() -> None:
    x = tensor([1.0, 2.0])
    found = run("def f(x: Tensor):\n  y = x[0:1]\n  y.add_(1)\n  return y", x)
    assert x.tolist() == [2.0, 2.0] and found.tolist() == [2.0]


@pytest.mark.parametrize(
    ("annotation", "wanted"), [("int", "int64"), ("bool", "bool"), ("float", "float32")]
)
def test_a_tensor_of_an_empty_list_has_its_element_type(annotation: str, wanted: str) -> None:
    found = run(f"def f(x: List[{annotation}]):\n  return torch.tensor(x)", [])
    assert found.dtype.name == wanted and found.shape == (0,)


def test_dtypes_are_numbers_in_script() -> None:
    text = "def f(x: Tensor):\n  return x.dtype, x.to(7), torch.zeros([1], dtype=x.dtype)"
    code, double, zeros = run(text, tensor([1]))
    assert code == 4
    assert double.dtype.name == "float64" and zeros.dtype.name == "int64"


def test_constants_of_list_type_are_fresh() -> None:
    world = compile_source("def f():\n  x = [1, 2]\n  x.append(3)\n  return x")
    interpreter = Interpreter(world.program.module)
    assert [interpreter.call("__torch__.f", []) for _ in range(2)] == [[1, 2, 3]] * 2


def test_tolist() -> None:
    text = "def f(x: Tensor):\n  y: List[List[float]] = x.tolist()\n  return y"
    assert run(text, tensor([[1.0], [2.0]])) == [[1.0], [2.0]]
    with pytest.raises(UserError, match="list dimension and runtime tensor dimension must match"):
        run(text, tensor([1.0]))
    with pytest.raises(UserError, match="element type and runtime tensor element type must match"):
        run(text, tensor([[1]]))


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    run("def f(x: int):\n  print(x, 1.0, [1.5], 'a', ('b', None), {'k': True})", 3)
    assert capsys.readouterr().out == "3 1. [1.5] a (b, None) {k: True}\n"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("def f(x: List[int]):\n  return x[3]", ([1],), "list index out of range"),
        ("def f(x: Dict[str, int]):\n  return x['b']", ({"a": 1},), "b"),
        ("def f(x: Tensor):\n  return torch.mm(x, x)", (tensor([1.0]),), "2"),
        ("def f(x: List[int]):\n  a, b = x\n  return a", ([1],), "Expected 2 elements"),
    ],
)
def test_failures_name_their_line(text: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        run(text, *arguments)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.span is not None and caught.value.span.line == 2


def test_raise_and_assert() -> None:
    text = (
        "def f(x: int):\n  assert x > 0, 'low'\n"
        "  if x > 9:\n    raise ValueError('high')\n  return x"
    )
    assert run(text, 5) == 5
    with pytest.raises(ScriptError, match="AssertionError: low"):
        run(text, 0)
    with pytest.raises(ScriptError, match="ValueError: high"):
        run(text, 10)


def test_calls_leave_a_trace() -> None:
    text = "def g(x: Tensor):\n  return torch.mm(x, x)\ndef f(x: Tensor):\n  return g(x)"
    with pytest.raises(UserError) as caught:
        run(text, tensor([1.0]))
    assert [span.line for _, span in caught.value.notes if span] == [4]


def test_fork_and_wait() -> None:
    text = (
        "def g(x: int) -> int:\n  return x * 2\n"
        "def f(x: int):\n  a = fork(g, x)\n  b = fork(g, x + 1)\n"
        "  return torch.wait(a) + torch.wait(b)"
    )
    assert run(text, 3) == 14


def test_tasks_that_wait_for_tasks_do_not_run_out_of_threads() -> None:
    text = (
        "def inner(x: int) -> int:\n  return x * 2\n"
        "def outer(x: int) -> int:\n  return torch.wait(fork(inner, x))\n"
        "def f(n: int):\n  tasks = annotate(List[Future[int]], [])\n"
        "  for i in range(n):\n    tasks.append(fork(outer, i))\n"
        "  s = 0\n  for task in tasks:\n    s += torch.wait(task)\n  return s"
    )
    assert run(text, 150) == 149 * 150


def test_a_chain_of_tasks() -> None:
    text = (
        "def start(x: int) -> int:\n  return x\n"
        "def step(last: Future[int]) -> int:\n  return torch.wait(last) + 1\n"
        "def f(n: int):\n  task = fork(start, 0)\n"
        "  for i in range(n):\n    task = fork(step, task)\n"
        "  return torch.wait(task)"
    )
    assert run(text, 500) == 500


def test_layout_of_a_view() -> None:
    text = "def f(x: Tensor):\n  y = x[1:]\n  return (y.element_size(), y.storage_offset())"
    assert run(text, tensor([1.0, 2.0, 3.0])) == (4, 1)


def test_dtypes_that_there_are_not_have_names() -> None:
    with pytest.raises(UserError, match="tensors of quint4x2 are not supported"):
        run("def f(x: Tensor):\n  return x.to(16)", tensor([1.0]))

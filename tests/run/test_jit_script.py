"""`jit.script`: the same results as eager Python, arguments and results at the border, errors."""

from __future__ import annotations

import copy
import enum
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035 - as programs write

import numpy as np
import pytest

import tensorscript as torch
from tensorscript import jit
from tensorscript.base.errors import CompileError, GuardError


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x * y + 1) * x


def branches(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        if i % 2 == 0:
            x = x + i
        else:
            x = torch.relu(x) - 0.5
    return x


def containers(x: torch.Tensor, names: List[str]) -> Tuple[Dict[str, torch.Tensor], int]:  # noqa: UP006
    out: Dict[str, torch.Tensor] = {}  # noqa: UP006
    for i, name in enumerate(names):
        out[name] = x * i
    return out, len(out)


def reductions(x: torch.Tensor, keep: bool = True) -> List[torch.Tensor]:  # noqa: UP006
    return [x.sum(), x.mean(dim=0, keepdim=keep), x.softmax(1), x.max(dim=1)[0]]


X = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])


def plain(value: Any) -> Any:
    """Tensors as nested lists."""
    if isinstance(value, torch.Tensor):
        return np.round(value.numpy().astype(float), 5).tolist()
    if isinstance(value, list | tuple):
        return type(value)(plain(v) for v in value)
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("fn", "args"),
    [(chain, (X, X)), (branches, (X, 5)), (containers, (X, ["a", "b"])), (reductions, (X,))],
)
def test_script_equals_eager(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert plain(jit.script(fn)(*args)) == plain(fn(*args))


def test_script_is_cached_and_idempotent() -> None:
    scripted = jit.script(chain)
    assert jit.script(chain) is scripted
    assert jit.script(scripted) is scripted
    assert (scripted.name, scripted.__doc__) == ("chain", None)


def helper(x: torch.Tensor, k: int = 2) -> torch.Tensor:
    return x * k


scripted_helper = jit.script(helper)


def calls_scripted(x: torch.Tensor) -> torch.Tensor:
    return scripted_helper(x) + scripted_helper(x, 3)


def test_script_calls_scripted_functions() -> None:
    assert plain(jit.script(calls_scripted)(X)) == plain(X * 5)


def extremes(x: torch.Tensor):  # type: ignore[no-untyped-def]  # the result's type is inferred
    return torch.max(x, 0)


def test_texts() -> None:
    scripted = jit.script(helper)
    assert str(scripted.schema) == "helper(Tensor x, int k=2) -> Tensor"
    assert "aten::mul(%x.1, %k.1)" in str(scripted.graph)
    assert (
        scripted.code
        == "def helper(x: Tensor,\n    k: int=2) -> Tensor:\n  return torch.mul(x, k)\n"
    )
    assert scripted.qualified_name.endswith(".helper")
    assert str(jit.script(extremes).schema) == "extremes(Tensor x) -> ((Tensor, Tensor))"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    value: torch.Tensor
    amount: int


@jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, k: int) -> int:
        self.count += k
        return self.count


def objects(color: Color, pair: Pair, counter: Counter) -> Tuple[Color, Pair, int, Counter]:  # noqa: UP006
    if color == Color.RED:
        return Color.BLUE, Pair(pair.value + 1, pair.amount + 1), counter.add(3), counter
    return color, pair, 0, Counter(4)


def test_enums_named_tuples_and_objects_cross_the_border() -> None:
    mine = Counter(5)
    color, pair, count, counter = jit.script(objects)(Color.RED, Pair(X, 2), mine)
    assert color is Color.BLUE
    assert (pair.amount, pair._fields, plain(pair.value)) == (3, ("value", "amount"), plain(X + 1))
    assert (count, counter.count, counter.add(2)) == (8, 8, 10)
    assert mine.count == 5, "objects of Python classes are copied in"
    assert jit.script(objects)(Color.BLUE, (X, 1), mine)[3].count == 4


class Log:
    def __init__(self, first: str):
        self.lines = [first]

    def add(self, line: str) -> Log:
        self.lines.append(line)
        return self


def logs(first: str) -> Tuple[Log, List[Log], Dict[str, Log], Optional[Log]]:  # noqa: UP006,UP045
    made = Log(first)
    return made, [made], {first: made}, made


class Logging(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.log = Log("start")

    def forward(self, line: str) -> Log:
        return self.log.add(line)


def test_objects_come_out_as_copies_that_python_owns() -> None:
    one, (two,), table, three = jit.script(logs)("a")
    found = [one, two, table["a"], three]
    assert all(type(v) is Log for v in found)
    one.lines.append("b")
    assert [v.lines for v in found] == [["a", "b"], ["a"], ["a"], ["a"]]
    assert copy.deepcopy(one).add("c").lines == ["a", "b", "c"]
    module = jit.script(Logging())
    first, second = module("x"), module("y")
    assert (first.lines, second.lines) == (["start", "x"], ["start", "x", "y"])
    module.log.lines.append("lost")
    assert type(module.log) is Log
    assert module.log.lines == second.lines


def appends(xs: List[int], d: Dict[str, int]) -> List[int]:  # noqa: UP006
    xs.append(1)
    d["new"] = 1
    return xs


def test_containers_are_copied_and_tensors_are_not() -> None:
    mine, table = [0], {"a": 1}
    assert jit.script(appends)(mine, table) == [0, 1]
    assert (mine, table) == ([0], {"a": 1})
    x = torch.zeros(2)
    assert jit.CompilationUnit("def f(x: Tensor):\n  return x.add_(1)").f(x) is x
    assert x.tolist() == [1.0, 1.0]


def echo(a: float, b: int, c: Optional[float] = None, d: Union[int, str] = 1) -> Any:  # noqa: UP007,UP045
    return a, b, c, d


def test_conversions() -> None:
    f = jit.script(echo)
    assert f(1, True) == (1.0, 1, None, 1)
    assert [type(v) for v in f(1, True, 2, "s")] == [float, int, float, str]
    assert f(torch.tensor(2.5), torch.tensor(3)) == (2.5, 3, None, 1)
    assert f(np.float64(0.5), np.int64(2)) == (0.5, 2, None, 1)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"echo\(\) is missing value for argument 'a'\. Declaration: echo\(float a, int b"),
        ((1, 2, 3, 4, 5), {}, r"echo\(\) expected at most 4 argument\(s\) but received 5"),
        ((1, 2), {"z": 1}, "Unknown keyword argument 'z' for operator 'echo'"),
        ((1, 2), {"a": 1}, "Argument 'a' specified both as positional and keyword argument"),
        (
            ("s", 2),
            {},
            "Expected a value of type 'float' for argument 'a' but instead found type 'str'",
        ),
        ((1, 2.5), {}, "Expected a value of type 'int' for argument 'b'"),
        ((1, 1 << 63), {}, "Expected a value of type 'int' for argument 'b'"),
    ],
)
def test_bad_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(GuardError, match=message) as caught:
        jit.script(echo)(*args, **kwargs)
    assert isinstance(caught.value, RuntimeError)


def test_inferred_tensors_are_named_in_errors() -> None:
    def f(x):  # type: ignore[no-untyped-def]  # an unannotated argument is the point
        return x

    with pytest.raises(GuardError) as caught:
        jit.script(f)(3)
    assert str(caught.value).splitlines() == [
        "f() Expected a value of type 'Tensor (inferred)' for argument 'x' but instead found type "
        "'int'.",
        "Inferred 'x' to be of type 'Tensor' because it was not annotated with an explicit type.",
        "Position: 0",
        "Value: 3",
        "Declaration: f(Tensor x) -> Tensor",
        "Cast error details: Unable to cast 3 to Tensor",
    ]


def fails(x: torch.Tensor) -> torch.Tensor:
    if x.dim() > 2:
        raise ValueError("too many dimensions")
    return torch.mm(x, x)


def outer(x: torch.Tensor) -> torch.Tensor:
    return fails(x)


def test_failures_show_the_script_stack() -> None:
    with pytest.raises(RuntimeError) as caught:
        jit.script(outer)(X)
    text = str(caught.value)
    assert text.startswith(
        "The following operation failed in the TorchScript interpreter.\n"
        "Traceback of TorchScript (most recent call last):\n"
    )
    assert text.count("<--- HERE") == 2
    assert (
        text.index("return fails(x)") < text.index("torch.mm(x, x)") < text.index("RuntimeError:")
    )
    with pytest.raises(jit.Error, match="ValueError: too many dimensions"):
        jit.script(outer)(torch.zeros(1, 1, 1))


def test_compilation_unit() -> None:
    unit = jit.CompilationUnit(
        "def f(x: int) -> int:\n  return g(x) + 1\ndef g(x: int):\n  return x"
    )
    assert unit.f(1) == 2
    unit.define("def h(x: int):\n  return f(x) * 2")
    assert unit.h(1) == 4
    assert sorted(f.name for f in unit.get_functions()) == ["f", "g", "h"]
    assert unit.find_function("nothing") is None
    with pytest.raises(AttributeError):
        _ = unit.nothing
    with pytest.raises(GuardError, match="already defined"):
        unit.define("def f(x: int):\n  return x")
    with pytest.raises(CompileError, match="undefined value"):
        jit.CompilationUnit("def f():\n  return y")


def test_text_may_be_indented() -> None:
    unit = jit.CompilationUnit("""
        def f(a, b):
            # type: (int, List[int]) -> int
      # left of the code
            text = \'\'\'
left\'\'\'
            return a + len(b) + len(text)
    """)
    assert unit.f(1, [2, 3]) == 8
    with pytest.raises(CompileError, match="is actually of type str") as error:
        jit.CompilationUnit("""
            def f(a: int) -> int:
                return str(a)
        """)
    assert "                return str(a)\n                ~~~~~~" in str(error.value)


def test_what_cannot_be_scripted() -> None:
    for thing in (3, "text", (1, 2)):
        with pytest.raises(TypeError, match="is a built-in class"):
            jit.script(thing)
    with pytest.raises(pickle.PickleError, match="cannot be pickled"):
        pickle.dumps(jit.script(chain))


def test_python_forms() -> None:
    assert jit.annotate(Optional[int], 3) == 3  # noqa: UP045
    assert not jit.is_scripting() and not jit.is_tracing()
    assert jit.isinstance([1], List[int]) and not jit.isinstance([1], List[str])  # noqa: UP006
    assert jit.isinstance({"a": (1, None)}, Dict[str, Tuple[int, str | None]])  # noqa: UP006
    with pytest.raises(GuardError, match="Attempted to use list without a contained type"):
        jit.isinstance([1], list)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert jit.isinstance([], List[str])  # noqa: UP006
    assert len(seen) == 1
    assert jit.wait(jit.fork(helper, X, k=3)).tolist() == (X * 3).tolist()
    assert jit.script_if_tracing(helper)(X).tolist() == (X * 2).tolist()
    with pytest.raises(GuardError, match="unrecognized fuser option"), jit.fuser("zzz"):
        pass
    before = jit.set_fusion_strategy([("STATIC", 1)])
    assert jit.set_fusion_strategy(before) == [("STATIC", 1)]


def test_interfaces() -> None:
    class Base:
        pass

    class Derived(Base):
        pass

    assert jit.interface(Base) is Base
    with pytest.raises(GuardError, match="does not support inheritance"):
        jit.interface(Derived)


def in_a_new_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip()


def test_importing_is_lazy() -> None:
    code = (
        "import sys, tensorscript as ts; ts.sigmoid(ts.ones(2)); ts.nn.functional.relu(ts.ones(2));"
        "print([m for m in ('xdsl', 'llvmlite', 'torch') if m in sys.modules], ts.float32)"
    )
    assert in_a_new_python(code) == "[] torch.float32"


def test_the_switch_in_the_environment() -> None:
    code = "import tensorscript as ts; print(type(ts.jit.script(lambda x: x)).__name__)"
    assert in_a_new_python(code, PYTORCH_JIT="0") == "function"
    assert in_a_new_python(code, PYTORCH_JIT="1", TENSORSCRIPT_JIT="0") == "function"


def test_unknown_names() -> None:
    for name in ("no_such_name", "__path_of_nothing__"):
        with pytest.raises(AttributeError, match=name):
            getattr(torch, name)
    assert {"jit", "nn", "compile", "Tensor"} <= set(dir(torch))


def public_names(x: torch.Tensor, dtype: torch.dtype) -> Tuple[torch.Tensor, ...]:  # noqa: UP006
    return torch.arange(3).to(dtype), torch.nn.functional.max_pool2d(x.view(1, 1, 2, 3), 2)


def test_public_faces_are_operators_in_script() -> None:
    with pytest.raises(CompileError):
        jit.script(public_names)  # a tuple of any length is no script type

    def fixed(x: torch.Tensor, dtype: torch.dtype) -> Tuple[torch.Tensor, torch.Tensor]:  # noqa: UP006
        return torch.arange(3).to(dtype), torch.nn.functional.max_pool2d(x.view(1, 1, 2, 3), 2)

    counted, pooled = jit.script(fixed)(X, torch.float16)
    assert counted.dtype is torch.float16 and pooled.tolist() == [[[[3.0]]]]


F = torch.nn.functional


def softmax_default(x: torch.Tensor) -> torch.Tensor:
    return F.softmax(x)


def losses(x: torch.Tensor, t: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:  # noqa: UP006
    return F.cross_entropy(x, t), F.nll_loss(F.log_softmax(x, dim=1), t)


def layers(x: torch.Tensor, w: torch.Tensor) -> List[torch.Tensor]:  # noqa: UP006
    return [
        F.dropout(F.leaky_relu(x, 0.2), 0.3, training=False),
        F.mse_loss(x, x * 2, reduction="sum"),
        F.normalize(x),
        F.batch_norm(x, w, w),
        F.elu(x, alpha=0.5),
        F.embedding(torch.tensor([1, 0]), x),
        F.linear(x, x),
    ]


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (softmax_default, (X,)),
        (losses, (X, torch.tensor([0, 2]))),
        (layers, (X, torch.tensor([1.0, 2.0, 3.0]))),
    ],
)
def test_functional_in_script_equals_eager(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert plain(jit.script(fn)(*args)) == plain(fn(*args))


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.mul(torch.sigmoid(x))


class Activation(torch.nn.Module):
    def forward(self, x):
        return Swish.apply(x) + 1


def test_a_function_with_its_own_gradient_stays_pythons(tmp_path: Path) -> None:
    net = Activation()
    scripted = jit.script(net)
    assert scripted.code.endswith("return torch.add(^Swish()(x), 1)\n")
    assert scripted(X).tolist() == net(X).tolist()
    with pytest.raises(RuntimeError, match="Could not export Python function call 'Swish'"):
        scripted.save(tmp_path / "net.pt")
    traced = jit.trace(net, X)
    assert "PythonOp" not in str(traced.graph) and traced(X).tolist() == net(X).tolist()


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    @staticmethod
    def in_script(x: torch.Tensor, factor: float) -> torch.Tensor:
        return Scale.forward(x, x, factor) + 1


def test_static_methods_of_a_function_with_its_own_gradient_are_compiled() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return Scale.in_script(x, 2.0)

    def made(x: torch.Tensor) -> torch.Tensor:
        return Scale(x)

    assert jit.script(scaled)(X).tolist() == (X * 2 + 1).tolist()
    with pytest.raises(RuntimeError, match="Class Scale does not have an __init__ function"):
        jit.script(made)


def test_lu_is_one_of_two_functions_by_its_flag() -> None:
    def two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.lu(x)

    def three(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return torch.lu(x, get_infos=True)

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for fn, name in ((two, "_lu_no_infos"), (three, "_lu_with_infos")):
        scripted = torch.jit.script(fn)
        assert f'Function = prim::Constant[name="{name}"]' in str(scripted.graph)
        for got, want in zip(scripted(x), fn(x), strict=True):
            assert got.tolist() == want.tolist()


def test_operators_that_only_scripts_have_by_one_list() -> None:
    unit = jit.CompilationUnit(
        "def shapes(a: List[int], b: List[int]):\n    return torch.broadcast_shapes(a, b)\n"
        "def rows(x: List[Tensor]):\n    return torch.atleast_2d(x)\n"
        "def sums(x, n):\n    return torch._segment_reduce(x, 'sum', lengths=n)\n"
    )
    assert unit.shapes([3, 1], [2]) == [3, 2]
    assert [r.shape for r in unit.rows([torch.ones(2), torch.ones(())])] == [(1, 2), (1, 1)]
    assert unit.sums(torch.ones(4), torch.tensor([1, 3])).tolist() == [1.0, 3.0]


def test_comments_name_classes_of_the_function_around() -> None:
    class First:
        def __init__(self, n: int) -> None:
            self.n = n

    @jit.script
    class Second:
        def __init__(self, n: int) -> None:
            self.n = n

        def same(self, other):  # type: ignore[no-untyped-def]
            # type: (First) -> bool
            return self.n == other.n

    def run(n: int) -> bool:
        return Second(n).same(First(3))

    scripted = jit.script(run)
    assert scripted(3) is True and scripted(4) is False


@pytest.mark.parametrize(
    ("head", "underlined"),
    [
        ('(x: int = 2, y: str = "a:b"):', '(x: int = 2, y: str = "a:b"):'),
        ("(x, y) -> Tensor:", "(x, y) -> Tensor"),
        ("():", "():"),
    ],
)
def test_comments_of_another_number_in_a_text(head: str, underlined: str) -> None:
    """The parameters are underlined, of a text from their parenthesis on."""
    text = f"def fn{head}\n    # type: (int, int, int) -> int\n    return 1\n"
    with pytest.raises(RuntimeError, match=r"annotations \(3\) did not match") as caught:
        jit.CompilationUnit(text)
    shown = str(caught.value).split("\n")
    at = next(k for k, line in enumerate(shown) if line.endswith(f"def fn{head}"))
    start = shown[at].index("(")
    assert shown[at + 1] == " " * start + "~" * len(underlined) + " <--- HERE"

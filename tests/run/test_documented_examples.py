"""The examples of PyTorch's page on TorchScript, with nothing changed but the import line.

Their texts follow the page; where its output is of an old release (defaults written out), what is
expected is the form of PyTorch 2.13.
"""

import warnings
from typing import Final

import pytest

import tensorscript as torch
import tensorscript.nn as nn
import tensorscript.nn.functional as F


@pytest.fixture(autouse=True)
def _no_deprecations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_script_calls_a_traced_function() -> None:
    def foo(x, y):
        return 2 * x + y

    traced_foo = torch.jit.trace(foo, (torch.rand(3), torch.rand(3)))

    @torch.jit.script
    def bar(x):
        return traced_foo(x, x)

    assert bar(torch.tensor([1.0, 2.0])).tolist() == [3.0, 6.0]


def test_trace_calls_a_scripted_function() -> None:
    @torch.jit.script
    def foo(x, y):
        if x.max() > y.max():
            r = x
        else:
            r = y
        return r

    def bar(x, y, z):
        return foo(x, y) + z

    traced_bar = torch.jit.trace(bar, (torch.rand(3), torch.rand(3), torch.rand(3)))
    low, high = torch.zeros(3), torch.ones(3)
    assert traced_bar(low, high, high).tolist() == [2.0] * 3
    assert traced_bar(high * 3, high, low).tolist() == [3.0] * 3


class MyScriptModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.means = torch.nn.Parameter(
            torch.tensor([103.939, 116.779, 123.68]).resize_(1, 3, 1, 1)
        )
        self.resnet = torch.jit.trace(nn.Conv2d(3, 2, 1), torch.rand(1, 3, 8, 8))

    def forward(self, input):
        return self.resnet(input - self.means)


def test_module_with_a_traced_module() -> None:
    my_script_module = torch.jit.script(MyScriptModule())
    assert tuple(my_script_module(torch.rand(1, 3, 5, 5)).shape) == (1, 2, 5, 5)


@torch.jit.script
def foo(len):
    # type: (int) -> torch.Tensor
    rv = torch.zeros(3, 4)
    for i in range(len):
        if i < 10:
            rv = rv - 1.0
        else:
            rv = rv + 1.0
    return rv


def test_code() -> None:
    assert foo.code == (
        "def foo(len: int) -> Tensor:\n"
        "  rv = torch.zeros([3, 4])\n"
        "  rv0 = rv\n"
        "  for i in range(len):\n"
        "    if torch.lt(i, 10):\n"
        "      rv1 = torch.sub(rv0, 1.)\n"
        "    else:\n"
        "      rv1 = torch.add(rv0, 1.)\n"
        "    rv0 = rv1\n"
        "  return rv0\n"
    )


def test_graph() -> None:
    operations = [line.split(" = ")[-1].split("(")[0] for line in str(foo.graph).splitlines()]
    kept = [o.strip() for o in operations if "::" in o and "Constant" not in o]
    assert kept == [
        "prim::ListConstruct", "aten::zeros", "prim::Loop", "aten::lt", "prim::If", "aten::sub",
        "aten::add",
    ]  # fmt: skip
    assert foo(12)[0, 0].item() == -8.0


def loop_in_traced_fn(x):
    result = x[0]
    for i in range(x.size(0)):
        result = result * x[i]
    return result


def test_check_inputs_find_a_loop_over_the_shape() -> None:
    inputs = (torch.rand(3, 4, 5),)
    check_inputs = [(torch.rand(4, 5, 6),), (torch.rand(2, 3, 4),)]
    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed across invocations!"):
        torch.jit.trace(loop_in_traced_fn, inputs, check_inputs=check_inputs)


def test_a_scripted_loop_follows_the_shape() -> None:
    scripted_fn = torch.jit.script(loop_in_traced_fn)
    for shape in ((3, 4, 5), (4, 5, 6), (2, 3, 4)):
        x = torch.rand(*shape)
        assert torch.allclose(scripted_fn(x), loop_in_traced_fn(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.x = 2

    def forward(self):
        return self.x


def test_attributes() -> None:
    assert torch.jit.script(Model())() == 2


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 20, 5)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        return F.relu(self.conv2(x))


def test_recursive_scripting() -> None:
    my_model = Convolutions()
    my_scripted_model = torch.jit.script(my_model)
    x = torch.rand(1, 1, 12, 12)
    assert torch.allclose(my_scripted_model(x), my_model(x), atol=1e-5)


@torch.jit.script
def some_fn():
    return 2


@torch.jit.ignore
def some_fn2():
    return 2


@torch.jit.unused
def some_fn3():
    raise AssertionError("never run")


@torch.jit.export
def some_fn4():
    return 2


def test_decorators() -> None:
    assert (some_fn(), some_fn2(), some_fn4()) == (2, 2, 2)


class MyModule(torch.nn.Module):
    my_dict: dict[str, int]
    my_constant: Final[int]

    def __init__(self):
        super().__init__()
        self.my_dict = {}
        self.my_int = 20
        self.my_constant = 2

    def forward(self):
        pass


def test_attribute_types() -> None:
    m = torch.jit.script(MyModule())
    assert (m.my_dict, m.my_int, m.my_constant) == ({}, 20, 2)


@torch.jit.script
def make_dict(flag: bool):
    x: dict[str, int] = {}
    x["hi"] = 2
    b: int | None = None
    if flag:
        b = 2
    return x, b


def test_variables() -> None:
    assert make_dict(True) == ({"hi": 2}, 2)
    assert make_dict(False) == ({"hi": 2}, None)

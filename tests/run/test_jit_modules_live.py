"""Scripted modules as Python sees them: members, copies, parts that were compiled apart."""

from __future__ import annotations

import copy
import io
import pickle
import threading
import warnings
from typing import Any, Dict, List, NamedTuple, Tuple  # noqa: UP035 - as programs write

import numpy as np
import pytest

import tensorscript as torch
from tensorscript import jit, nn
from tensorscript.base.errors import CompileError, GuardError


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.w = nn.Parameter(torch.ones(2))

    @jit.ignore
    def shown(self, prefix: str) -> str:
        return f"{prefix}{self.n}{type(self).__name__}"

    @jit.export
    def reset(self) -> None:
        self.n = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n += 1
        return x * self.w * self.n


class Outer(nn.Module):
    __constants__ = ("k",)

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.k = 3
        self.listed = [1]
        self.register_buffer("seen", torch.zeros(2))
        self.register_parameter("nothing", None)

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.k

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return self.helper(self.inner(x))


X = torch.tensor([1.0, 2.0])


def test_a_script_module_is_a_module() -> None:
    scripted = jit.script(Outer(Counter()))
    for kind in (nn.Module, jit.ScriptModule, jit.RecursiveScriptModule):
        assert isinstance(scripted, kind)
    assert not isinstance(nn.Module(), jit.ScriptModule)
    assert issubclass(jit.RecursiveScriptModule, jit.ScriptModule)
    assert scripted(X).tolist() == [4.0, 5.0]
    assert repr(scripted) == (
        "RecursiveScriptModule(\n  original_name=Outer\n"
        "  (inner): RecursiveScriptModule(original_name=Counter)\n)"
    )
    assert list(scripted.state_dict()) == ["seen", "inner.w"]
    assert scripted.nothing is None and scripted.k == 3
    assert scripted.inner is scripted.inner and scripted.inner.n == 1
    scripted.inner.reset()
    assert scripted.inner.n == 0


def test_tensors_are_shared_with_the_python_module() -> None:
    module = Outer(Counter())
    scripted = jit.script(module)
    assert scripted.inner.w is module.inner.w and scripted.seen is module.seen
    scripted(X)
    assert module.seen.tolist() == [1.0, 1.0] and module.inner.n == 0


def test_methods_left_in_python_run_on_the_script_module() -> None:
    scripted = jit.script(Counter())
    scripted(X)
    assert scripted.shown("n=") == "n=1RecursiveScriptModule"


def test_attributes_are_typed_and_constants_fixed() -> None:
    scripted = jit.script(Outer(Counter()))
    scripted.listed = [2, 3]
    assert scripted.listed == [2, 3]
    with pytest.raises(
        RuntimeError, match=r"Could not cast attribute 'listed' to type List\[int\]"
    ):
        scripted.listed = ["a"]
    with pytest.raises(RuntimeError, match="Could not cast attribute 'seen' to type Tensor"):
        scripted.seen = 3
    for kind in (AttributeError, RuntimeError):
        with pytest.raises(kind, match="Cannot mutate TorchScript constant value: 'k'"):
            scripted.k = 4
    scripted.note = "only in Python"
    assert scripted.note == "only in Python"
    with pytest.raises(AttributeError, match="has no attribute 'zzz'"):
        _ = scripted.zzz


def test_members() -> None:
    scripted = jit.script(Outer(Counter()))
    assert str(scripted.forward.schema).endswith("Outer self, Tensor x) -> Tensor")
    assert scripted.forward.owner is scripted and scripted.forward.name == "forward"
    code, constants = scripted.code_with_constants
    assert code == scripted.code and "self.helper" in code.replace("(self)", "self")
    assert isinstance(constants, type(constants))
    assert "prim::CallMethod" in str(scripted.graph)
    assert "prim::CallMethod" not in str(scripted.inlined_graph)
    kinds = [node.kind() for node in scripted.inlined_graph.nodes()]
    assert {"prim::GetAttr", "prim::SetAttr", "aten::mul"} <= set(kinds)
    (mul, *_) = scripted.inlined_graph.findAllNodes("aten::mul")
    assert mul.schema().startswith("aten::mul.Tensor(") and mul.outputsSize() == 1
    assert mul.output().type().annotation_str == "Tensor" and "<--- HERE" in mul.sourceRange()
    with jit._hide_source_ranges():
        assert "# " not in str(scripted.graph)
    assert "aten::mul" in str(scripted.graph_for(X))
    assert "aten::mul" in str(jit.last_executed_optimized_graph())
    assert jit.export_opnames(scripted) == [
        "aten::add.Scalar", "aten::add.int", "aten::add_.Scalar", "aten::mul.Scalar",
        "aten::mul.Tensor",
    ]  # fmt: skip
    only_exported = jit.script(OnlyExported())
    assert only_exported.go() == 1 and not hasattr(only_exported, "forward")
    with pytest.raises(RuntimeError, match="Method 'forward' is not defined"):
        _ = only_exported.graph


class OnlyExported(nn.Module):
    @jit.export
    def go(self) -> int:
        return 1


def test_copies_and_pickles() -> None:
    scripted = jit.script(Outer(Counter()))
    deep, shallow = copy.deepcopy(scripted), copy.copy(scripted)
    scripted(X)
    assert (scripted.inner.n, shallow.inner.n, deep.inner.n) == (1, 1, 0)
    assert shallow.inner.w is scripted.inner.w and deep.inner.w is not scripted.inner.w
    assert isinstance(deep.inner.w, nn.Parameter) and deep(X).tolist() == [4.0, 5.0]
    with pytest.raises(RuntimeError, match="does not have a __getstate__ method defined"):
        pickle.dumps(scripted)


def test_modes_and_conversions() -> None:
    scripted = jit.script(Outer(Counter()))
    assert scripted.eval().inner.training is False and scripted.train().training is True
    assert scripted.double().inner.w.dtype is torch.float64 and scripted.seen.dtype is torch.float64
    assert scripted.to(torch.float16).seen.dtype is torch.float16
    other = jit.script(Outer(Counter()))
    scripted.float().load_state_dict({"seen": X, "inner.w": X + 1})
    assert other.seen.tolist() == [0.0, 0.0] and scripted.seen.tolist() == [1.0, 2.0]
    keys = scripted.load_state_dict({"zzz": X}, strict=False)
    assert keys.unexpected_keys == ["zzz"]


def helper_for_text(x: torch.Tensor) -> torch.Tensor:
    return x * 100


def test_define() -> None:
    scripted = jit.script(Outer(Counter()))
    scripted.define(
        "def first(self, n: int) -> int:\n  return self.k + n\n"
        "def second(self, x):\n  return helper_for_text(self.helper(x)) + self.first(1)\n"
    )
    assert scripted.first(4) == 7
    assert scripted.second(X).tolist() == [404.0, 504.0]
    with pytest.raises(CompileError, match="Can't redefine method: first"):
        scripted.define("def first(self):\n  return 1\n")


# -- compiled apart -------------------------------------------------------------------------------


def test_a_scripted_module_inside_a_python_module() -> None:
    inner = jit.script(Counter())
    inner(X)
    outer = jit.script(Outer(inner))
    assert outer.inner is inner
    assert outer(X).tolist() == [5.0, 7.0]
    assert (inner.n, outer.inner.n) == (2, 2), "one object"
    assert "prim::CallMethod" not in str(outer.inlined_graph)


def test_classes_of_one_name_are_told_apart() -> None:
    def counter(step: int) -> Any:
        class Part(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.n = step

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.n += 1
                return x + self.n

        return Part()

    def other() -> Any:
        class Part(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x * 10

        return Part()

    first, second = jit.script(counter(1)), jit.script(other())
    together = jit.script(nn.Sequential(first, second, counter(5), other()))
    assert together(X).tolist() == [10 * (10 * 3 + 6), 10 * (10 * 4 + 6)]
    assert (first.n, together[0].n) == (2, 2)
    assert first(X).tolist() == [4.0, 5.0] and together[0].n == 3


def _named_part(label: str) -> Any:
    """A module that was saved and loaded; the classes of all of them have one name."""

    class Out(NamedTuple):
        a: int

    class Other(NamedTuple):
        b: str

    Other.__name__, Other.__qualname__ = Out.__name__, Out.__qualname__

    class Number(nn.Module):
        def forward(self, x: torch.Tensor) -> Out:
            return Out(3)

    class Text(nn.Module):
        def forward(self, x: torch.Tensor) -> Other:
            return Other("k")

    return jit.load(jit.script({"number": Number, "text": Text}[label]()).save_to_buffer())


def test_named_tuples_of_one_name_are_told_apart() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.number, self.text = _named_part("number"), _named_part("text")

        def forward(self, x: torch.Tensor) -> Any:
            return self.number(x).a + len(self.text(x).b), self.number(x), self.text(x)

    both = jit.script(Both())
    for module in (both, jit.load(both.save_to_buffer())):
        total, number, text = module(X)
        assert (total, number.a, text.b) == (4, 3, "k")


def test_a_traced_module_inside_a_scripted_one() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.tensor([0.5, 0.25]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.w

    outer = jit.script(Outer(jit.trace(Half(), (X,))))
    assert outer(X).tolist() == [3.5, 3.5]


def test_a_traced_function_called_by_a_scripted_one() -> None:
    traced = jit.trace(lambda x: torch.relu(x) + 1, (X,))
    unit = jit.CompilationUnit("def g(x):\n  return x * 2\n")
    from_text = unit.g

    def f(x: torch.Tensor) -> torch.Tensor:
        return traced(x) + from_text(x)

    assert jit.script(f)(X).tolist() == [4.0, 7.0]


@jit.interface
class Stage(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Plus(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Times(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 10


class Staged(nn.Module):
    stage: Stage

    def __init__(self) -> None:
        super().__init__()
        self.stage = Plus()  # type: ignore[assignment]  # it fulfils the interface
        self.fixed = Plus()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.stage.forward(x) + self.fixed(x)


def test_a_module_behind_an_interface_can_be_swapped() -> None:
    scripted = jit.script(Staged())
    assert scripted(X).tolist() == [4.0, 6.0]
    scripted.stage = jit.script(Times())
    assert scripted(X).tolist() == [12.0, 23.0]
    with pytest.raises(RuntimeError, match="is not compatible with interface"):
        scripted.stage = jit.script(OnlyExported())
    with pytest.raises(RuntimeError, match=r"Expected a value of type '.*Plus' for field 'fixed'"):
        scripted.fixed = jit.script(Times())
    scripted.fixed = jit.script(Plus())
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule"):
        scripted.fixed = Plus()


def test_modules_compiled_apart_are_arguments_behind_an_interface() -> None:
    def first_of(stages: List[Stage], x: torch.Tensor) -> torch.Tensor:  # noqa: UP006
        return stages[0].forward(x) - stages[1].forward(x)

    def one(stage: Stage, x: torch.Tensor) -> torch.Tensor:
        return stage.forward(x)

    plus, times, counter = jit.script(Plus()), jit.script(Times()), jit.script(Counter())
    scripted = jit.script(one)
    assert [scripted(stage, X).tolist() for stage in (plus, times, plus)] == [
        [2.0, 3.0], [10.0, 20.0], [2.0, 3.0],
    ]  # fmt: skip
    assert scripted(counter, X).tolist() == [1.0, 2.0]
    assert scripted(counter, X).tolist() == counter(X).div(1.5).tolist() == [2.0, 4.0]
    assert jit.script(first_of)([times, plus], X).tolist() == [8.0, 17.0]
    with pytest.raises(RuntimeError, match="is not compatible with interface"):
        scripted(jit.script(OnlyExported()), X)


# -- the older form -------------------------------------------------------------------------------


def _old_module() -> type:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)

        class Old(jit.ScriptModule):
            __constants__ = ("k",)

            def __init__(self, n: int) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.ones(2) * n)
                self.k = 2
                self.table = jit.Attribute({}, Dict[str, int])  # noqa: UP006
                self.rate = jit.Attribute(1, float)
                self.inner = Plus()
                assert self.rate == 1
                self.define("def added(self, n: int) -> int:\n  return n + self.k\n")

            @jit.script_method
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.table["calls"] = 1
                return self.helper(self.inner(x)) * self.rate

            @jit.script_method
            def helper(self, x: torch.Tensor) -> torch.Tensor:
                return x * self.weight * self.k

        class Younger(Old):
            def __init__(self) -> None:
                super().__init__(3)

        return Younger


def test_script_module_as_a_base_class() -> None:
    made = _old_module()()
    assert made(X).tolist() == [12.0, 18.0] and made.forward(X).tolist() == [12.0, 18.0]
    assert made.helper(X).tolist() == [6.0, 12.0] and made.added(3) == 5
    assert made.table == {"calls": 1} and made.rate == 1.0
    assert isinstance(made, jit.ScriptModule) and jit.script(made) is made
    assert [n for n, _ in made.named_parameters()] == ["weight"]
    assert "aten::mul" in str(made.inlined_graph) and "def forward" in made.code
    made.rate = 2.0
    assert made(X).tolist() == [24.0, 36.0]
    assert copy.deepcopy(made)(X).tolist() == [24.0, 36.0]
    outer = jit.script(Outer(made))
    assert outer(X).tolist() == [27.0, 39.0]


def test_script_method_warns() -> None:
    with pytest.warns(DeprecationWarning, match="`torch.jit.script_method` is deprecated"):
        jit.script_method(lambda self: None)


# -- tasks ----------------------------------------------------------------------------------------

_meeting = threading.Barrier(2, timeout=20)


@jit.ignore
def meet(n: int) -> int:
    _meeting.wait()
    return n


class Parallel(nn.Module):
    def task(self, n: int) -> int:
        return meet(n) * 2

    def forward(self) -> Tuple[int, int]:  # noqa: UP006
        first = jit.fork(self.task, 1)
        second = jit.fork(self.task, 2)
        return jit.wait(first), jit.wait(second)


def test_forked_tasks_run_side_by_side() -> None:
    assert jit.script(Parallel())() == (2, 4), "each waits until the other has started"


def test_futures() -> None:
    future: jit.Future = jit.Future()
    seen: List[int] = []  # noqa: UP006
    future.add_done_callback(lambda f: seen.append(f.value()))
    later = future.then(lambda f: f.wait() + 1)
    assert not future.done()
    future.set_result(3)
    assert (future.wait(), later.wait(), seen) == (3, 4, [3])
    failed: jit.Future = jit.Future()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.wait()


# -- switches -------------------------------------------------------------------------------------


def test_switches_keep_their_state() -> None:
    assert jit.onednn_fusion_enabled() is False
    jit.enable_onednn_fusion(True)
    assert jit.onednn_fusion_enabled() is True
    jit.enable_onednn_fusion(False)
    with jit.fuser("fuser3"):
        assert jit.onednn_fusion_enabled() is True
    assert jit.onednn_fusion_enabled() is False
    with pytest.raises(ValueError, match="got: FOO"):
        jit.set_fusion_strategy([("FOO", 1)])
    with pytest.warns(UserWarning, match="Only works in script mode"), jit.strict_fusion():
        pass
    with jit.executor("native"), jit.optimized_execution(False):
        assert jit.script(Plus())(X).tolist() == [2.0, 3.0]


def test_what_has_no_meaning_says_so() -> None:
    for name in ("jit_module_from_flatbuffer", "ONNXTracedModule"):
        with pytest.raises(GuardError, match=f"torch.jit.{name} is not available"):
            getattr(jit, name)(None)


def test_native_calls_of_a_module_with_parts_compiled_apart() -> None:
    outer = jit.script(Outer(jit.script(Plus())))
    with jit.executor("native"):
        np.testing.assert_allclose(outer(X).numpy(), [5.0, 6.0])


class ForPickle(nn.Module):
    """What Python's pickle asks for is no method of the scripted module."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def test_states_for_pickle_are_not_compiled() -> None:
    scripted = jit.script(ForPickle().eval())
    for module in (jit.load(io.BytesIO(scripted.save_to_buffer())), jit.freeze(scripted)):
        assert module(X).tolist() == [2.0, 3.0]


class Ignoring(nn.Module):
    __jit_ignored_attributes__ = ("loud", "plain", "three")
    three = 3

    def __init__(self) -> None:
        super().__init__()
        self.plain = {1, 2}

    @property
    def loud(self) -> int:
        raise ValueError("not to be read")

    @jit.ignore
    def read(self) -> Any:
        return self.loud

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_ignored_properties_are_not_read() -> None:
    scripted = jit.script(Ignoring())
    assert scripted(X).tolist() == [2.0, 3.0]
    assert scripted.loud is Ignoring.loud is scripted.read()
    assert scripted.plain == {1, 2} and scripted.three == 3

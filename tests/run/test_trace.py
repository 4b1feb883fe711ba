"""Tracing functions: the documented examples, what is warned of, checked and refused."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import jit
from tensorscript.eager.nn.functions import norm
from tensorscript.nn import functional as F

X = ts.arange(6).float().view(2, 3) / 7
WEIGHT = ts.ones(3).requires_grad_()


def kinds(graph: object) -> list[str]:
    """The operators of a graph in order, constants left out."""
    found = re.findall(r"= (\w+::\w+)", str(graph))
    return [k for k in found if k != "prim::Constant"]


def warned(function, *inputs, **options) -> list[str]:
    """The texts of the tracer's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jit.trace(function, inputs, check_trace=False, **options)
    assert all(w.category is jit.TracerWarning and w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


# -- the documented examples --------------------------------------------------------------------


def loop_in_traced_fn(x):
    result = x[0]
    for i in range(x.size(0)):
        result = result * x[i]
    return result


def fill_row_zero(x):
    x[0] = ts.rand(*x.shape[1:2])
    return x


def rows_by_cat(x):
    x = ts.cat((ts.rand(1, *x.shape[1:2]), x[1:2]), dim=0)
    return x


GRAPH_DIFF = """\
ERROR: Graphs differed across invocations!
>Graph diff:
>>  graph(%x : Tensor):
>>    %1 : int = prim::Constant[value=0]()
>>    %2 : int = prim::Constant[value=0]()
>>    %result.1 : Tensor = aten::select(%x, %1, %2)
>>    %4 : int = prim::Constant[value=0]()
>>    %5 : int = prim::Constant[value=0]()
>>    %6 : Tensor = aten::select(%x, %4, %5)
>>    %result.3 : Tensor = aten::mul(%result.1, %6)
>>    %8 : int = prim::Constant[value=0]()
>>    %9 : int = prim::Constant[value=1]()
>>    %10 : Tensor = aten::select(%x, %8, %9)
>>-   %result : Tensor = aten::mul(%result.3, %10)
>>+   %result.5 : Tensor = aten::mul(%result.3, %10)
>>?          ++
>>    %12 : int = prim::Constant[value=0]()
>>    %13 : int = prim::Constant[value=2]()
>>    %14 : Tensor = aten::select(%x, %12, %13)
>>+   %result : Tensor = aten::mul(%result.5, %14)
>>+   %16 : int = prim::Constant[value=0]()
>>+   %17 : int = prim::Constant[value=3]()
>>+   %18 : Tensor = aten::select(%x, %16, %17)
>>-   %15 : Tensor = aten::mul(%result, %14)
>>?     ^                                 ^
>>+   %19 : Tensor = aten::mul(%result, %18)
>>?     ^                                 ^
>>-   return (%15)
>>?             ^
>>+   return (%19)
>>?             ^
>First diverging operator:
>Node diff:
>>- %result : Tensor = aten::mul(%result.3, %10)
>>+ %result.5 : Tensor = aten::mul(%result.3, %10)
>>?        ++
""".replace(">", "\t")  # tabs, in a file that has none


@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_check_inputs_find_a_loop_that_depends_on_shapes() -> None:
    checks = [(ts.rand(4, 5, 6),), (ts.rand(2, 3, 4),)]
    with pytest.raises(jit.TracingCheckError) as caught:
        jit.trace(loop_in_traced_fn, (ts.rand(3, 4, 5),), check_inputs=checks)
    text = re.sub(r" # \S+", "", str(caught.value))
    assert text.startswith("Tracing failed sanity checks!\n" + GRAPH_DIFF)
    assert re.search(
        r"Trace source location:\n\t\t\S+test_trace.py\(\d+\): loop_in_traced_fn\n", text
    )


def test_a_row_filled_at_random_is_recorded_and_warned_of() -> None:
    with pytest.warns(jit.TracerWarning) as caught:
        traced = jit.trace(fill_row_zero, (ts.rand(3, 4),))
    random, output = (str(w.message) for w in caught)
    assert random.startswith(
        "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
        "\t%10 : Float(4, strides=[1], requires_grad=0, device=cpu) = aten::rand(%5, %6, %7, %8, %9"
    )
    assert output.startswith(
        "Output nr 1. of the traced function does not match the corresponding output of the Python "
        "function. Detailed error:\nTensor-likes are not close!\n\nMismatched elements: 4 / 12 (33"
    )
    assert kinds(traced.graph) == [
        "aten::size", "prim::NumToTensor", "aten::Int", "prim::ListConstruct", "aten::rand",
        "aten::select", "aten::copy_",
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_a_row_made_by_cat_follows_the_shape() -> None:
    traced = jit.trace(rows_by_cat, (ts.rand(3, 4),))
    assert traced(ts.rand(3, 7)).shape == (2, 7)


# -- sizes --------------------------------------------------------------------------------------


def test_sizes_stay_symbolic() -> None:
    def program(x):
        n, m = x.shape
        return x.reshape(n * m), x.new_zeros(n // 2 + 1), x[: n - 1]

    traced = jit.trace(program, X)
    assert [tuple(t.shape) for t in traced(ts.rand(5, 4))] == [(20,), (3,), (4, 4)]


def test_a_size_out_of_range_is_refused() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        jit.trace(lambda x: x + x.size(2), X)


def test_the_same_tensor_twice_is_two_inputs() -> None:
    traced = jit.trace(lambda x, y: x - y, (X, X))
    np.testing.assert_array_equal(traced(X, X * 0).numpy(), X.numpy())


# -- inputs and outputs -------------------------------------------------------------------------


def test_nested_inputs_and_outputs() -> None:
    def program(pair, table):
        return pair[0] + table["a"], (pair[1][0], [table["b"]])

    given = (X, [X + 1, X]), {"a": X, "b": X + 2}
    with pytest.warns(jit.TracerWarning, match="Encountering a list at the output"):
        traced = jit.trace(program, given, check_trace=False)
    arguments, result = str(traced.schema).split(" -> ")
    assert arguments == "program((Tensor, Tensor[]) pair, Dict(str, Tensor) table)"
    assert result == "((Tensor, (Tensor, Tensor[])))"
    found, (second, (third,)) = traced(*given)
    np.testing.assert_array_equal(found.numpy(), (X + X).numpy())
    np.testing.assert_array_equal(second.numpy(), (X + 1).numpy())
    np.testing.assert_array_equal(third.numpy(), (X + 2).numpy())


def test_arrays_do_for_tensors_and_keywords_are_inputs() -> None:
    traced = jit.trace(lambda x, y=None: x if y is None else x * y, X.numpy())
    assert kinds(traced.graph) == []
    traced = jit.trace(lambda x, y=None: x * y, example_kwarg_inputs={"y": X, "x": X})
    np.testing.assert_array_equal(traced(x=X, y=X).numpy(), (X * X).numpy())


def test_dict_outputs_need_strict_off() -> None:
    def program(x):
        return {"a": x + 1}

    with pytest.raises(RuntimeError, match="Encountering a dict at the output of the tracer"):
        jit.trace(program, X)
    assert list(jit.trace(program, X, strict=False)(X)) == ["a"]


@pytest.mark.parametrize(
    ("program", "inputs", "text"),
    [
        (lambda x: None, (X,), "The traced function didn't return any values!"),
        (lambda x: 3, (X,), "Only tensors, lists, tuples of tensors, or dictionary of tensors"),
        (lambda x: (x, "a"), (X,), "Only tensors, lists, tuples of tensors"),
        (lambda x, n: x, (X, 3), r"Type 'Tuple\[Tensor, int\]' cannot be traced. Only Tensors"),
        (lambda x, d: x, (X, ts.float32), r"Type 'Tuple\[Tensor, int\]' cannot be traced. Only"),
        (lambda x, d: x, (X, ts.device("cpu")), r"Type 'Tuple\[Tensor, Device\]' cannot be"),
        (lambda x, p: x, (X, (X, 3)), r"Type 'Tuple\[Tensor, Tuple\[Tensor, int\]\]' cannot be"),
        (
            lambda x: x,
            ([],),
            r"Tracer cannot infer type of \(\[\],\)\n:List trace inputs must have",
        ),
        (lambda x: x, ([X, (X,)],), "consistent element type. Found Tensor and Tuple"),
        (lambda x: {x}, (X,), "but instead got value of type set."),
        (lambda x: np.zeros(2), (X,), "but instead got value of type ndarray."),
        (lambda x, s: x, (X, slice(1)), "but instead got value of type slice."),
        (lambda x, b: x, (X, b"x"), r"Type 'Tuple\[Tensor, str\]' cannot be traced. Only"),
        (lambda x: x.data, (X,), "did not have observable data dependence with trace inputs"),
        (
            lambda x: x * WEIGHT,
            (X,),
            "Cannot insert a Tensor that requires grad as a constant. Consider making it a",
        ),
    ],
)
def test_refusals(program, inputs, text) -> None:
    with pytest.raises(RuntimeError, match=text):
        jit.trace(program, inputs)


# -- warnings -----------------------------------------------------------------------------------


@jit.script
def repeated(x: ts.Tensor, times: int) -> ts.Tensor:
    return x.repeat(times, 1)


def converted(kind: str) -> str:
    return (
        f"Converting a tensor to a {kind} might cause the trace to be incorrect. We can't record "
        "the data flow of Python values, so this value will be treated as a constant in the "
        "future. This means that the trace might not generalize to other inputs!"
    )


@pytest.mark.parametrize(
    ("program", "texts"),
    [
        (lambda x: x if x.sum() > 0 else -x, [converted("Python boolean")]),
        (lambda x: x + int(x.sum()), [converted("Python integer")]),
        (lambda x: x + float(x.sum()), [converted("Python float")]),
        (lambda x: x + x[0, 0].item(), [converted("Python number")]),
        (lambda x: x + x.tolist()[0][0], [converted("Python list")]),
        (lambda x: x + float(x.numpy()[0, 0]), [converted("NumPy array")]),
        (lambda x: x + len(x), ["Using len to get tensor shape might cause the trace to be incor"]),
        (
            lambda x: sum(r.sum() for r in x),
            ["Iterating over a tensor might cause the trace to be"],
        ),
        (lambda x: x + ts.tensor(1.0), ["torch.tensor results are registered as constants in the"]),
        (lambda x: x + ts.as_tensor([1.0, 2, 3]), ["torch.as_tensor results are registered as co"]),
        (lambda x: x + ts.as_tensor(x), ["torch.as_tensor results are registered as constants"]),
        (
            lambda x: x + ts.tensor([x[0, 0], x[0, 1], 3.0]),
            ["torch.tensor results are registered as"] + [converted("Python float")] * 2,
        ),
        (
            lambda x: x[0, 0] * ts.as_tensor(x.shape, dtype=ts.complex64),
            ["torch.as_tensor results are"] + [converted("Python complex")] * 2,
        ),
        (lambda x: repeated(x, x.shape[0]), []),
        (lambda x: x + x.shape[0], []),
        (lambda x: x.view(-1)[[0, 1]], []),
    ],
)
def test_what_a_trace_cannot_follow_is_warned_of(program, texts) -> None:
    found = warned(program, X)
    assert len(found) == len(texts)
    assert all(f.startswith(t) for f, t in zip(found, texts, strict=True))


def convolved(x):
    return ts.nn.functional.instance_norm(x.view(1, 2, 3))


def test_what_the_library_converts_is_said_to_those_who_ask() -> None:
    """Its own warnings have its lines, and a filter that hides them until filters are reset."""
    with warnings.catch_warnings(record=True) as caught:
        jit.trace(convolved, (X,), check_trace=False)
    assert not caught
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jit.trace(convolved, (X,), check_trace=False)
    assert [str(w.message) for w in caught] == [converted("Python boolean")]
    assert caught[0].filename == norm.__file__


def test_a_warning_of_no_statement_has_the_line_that_asked_for_the_trace() -> None:
    with pytest.warns(jit.TracerWarning, match="Encountering a list") as caught:
        jit.trace(lambda x: [x, x + 1], (X,), check_trace=False)
    assert [w.filename for w in caught] == [__file__]


# -- the check ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_a_constant_that_changes_is_an_error() -> None:
    numbers = [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(jit.TracingCheckError) as caught:
        jit.trace(lambda x: x + numbers.pop(), ts.ones(2))
    assert "ERROR: Tensor-valued Constant nodes differed in value across invocations" in str(
        caught.value
    )
    assert "Scalars are not close!" in str(caught.value)


def test_a_trace_that_cannot_run_again_says_what_failed() -> None:
    def program(x):
        return x.reshape(6)

    def wrapped(x):
        return program(x) if jit.is_tracing() else [][0]

    with pytest.raises(jit.TracingCheckError, match="while running the Python function with test"):
        jit.trace(wrapped, X)


def test_is_tracing() -> None:
    traced = jit.trace(lambda x: x + 1 if jit.is_tracing() else x, X, check_trace=False)
    assert kinds(traced.graph) == ["aten::add"]
    assert not jit.is_tracing()


# -- operators recorded by their parts ------------------------------------------------------------


def test_a_cell_is_recorded_by_its_parts() -> None:
    w, v = ts.rand(16, 3), ts.rand(16, 4)
    h = ts.rand(2, 4)
    traced = jit.trace(lambda x, h, c: ts.lstm_cell(x, (h, c), w, v), (X, h, h))
    assert "aten::unsafe_chunk" in kinds(traced.graph)
    expected = ts.lstm_cell(X, (h, h), w, v)
    for found, wanted in zip(traced(X, h, h), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)


def test_a_convolution_of_one_sample_gets_a_batch() -> None:
    w = ts.rand(2, 2, 3)
    traced = jit.trace(lambda x: ts.conv1d(x, w), ts.rand(2, 5))
    assert kinds(traced.graph)[0] == "aten::unsqueeze"
    assert kinds(traced.graph)[-2:] == ["aten::_convolution", "aten::squeeze"]


def test_hooks_of_a_traced_module_run_around_it() -> None:
    traced = jit.trace(ts.nn.Linear(3, 2), ts.ones(1, 3))
    seen: list[str] = []
    first = traced.register_forward_pre_hook(lambda module, args: seen.append("before"))
    traced.register_forward_hook(lambda module, args, result: seen.append("behind"))
    traced(ts.ones(1, 3))
    first.remove()
    traced(ts.ones(1, 3))
    assert seen == ["before", "behind", "behind"]


def test_a_memory_format_is_recorded_with_what_the_tensor_is() -> None:
    traced = jit.trace(lambda x: x.to(memory_format=ts.channels_last), ts.ones(1, 2, 3, 4))
    assert "strides=[24, 1, 8, 2]" in str(traced.graph) and 'value="cpu"' in str(traced.graph)
    assert traced(ts.ones(1, 2, 3, 4)).is_contiguous(memory_format=ts.channels_last)
    assert traced.code.startswith("def _lambda(x: Tensor) -> Tensor:")


def test_factors_follow_sizes_where_they_lead_to_sizes() -> None:
    def program(x):
        resized = F.interpolate(x, scale_factor=0.5, recompute_scale_factor=True)
        return resized, F.interpolate(x, scale_factor=0.5, mode="area")

    traced = jit.trace(program, (ts.ones(1, 1, 4, 6),))
    assert [tuple(t.shape) for t in traced(ts.ones(1, 1, 9, 4))] == [(1, 1, 4, 2)] * 2


def test_a_number_of_any_dtype_is_a_size_while_traced() -> None:
    halved = lambda x: x.new_zeros([(x.size(0) / 2).floor(), 2])  # noqa: E731 - as users write it
    traced = jit.trace(halved, (X,), check_trace=False)
    assert traced(ts.ones(5, 3)).shape == (2, 2)
    with pytest.raises(TypeError, match="new_zeros"):
        X.new_zeros([ts.tensor(2.0), 2])


def test_a_size_that_is_computed_resizes_images() -> None:
    def half(x: ts.Tensor) -> ts.Tensor:
        return ts.nn.functional.interpolate(x, x.shape[-1] // 2, mode="bilinear")

    traced = ts.jit.trace(half, ts.ones(1, 1, 8, 8))
    assert traced(ts.ones(1, 1, 6, 6)).shape == (1, 1, 3, 3)


@pytest.mark.filterwarnings("ignore")
def test_a_tensor_made_of_a_tensor_is_followed() -> None:
    traced = jit.trace(lambda x: ts.tensor(x.sum()) * x, (X,))
    assert kinds(traced.graph) == [
        "aten::sum", "aten::detach", "aten::to", "aten::detach", "aten::mul"
    ]  # fmt: skip
    assert traced(ts.ones(2)).tolist() == [2.0, 2.0]


def test_a_task_whose_values_are_seen_stays_in_place() -> None:
    """What a task writes is seen without waiting for it, so it is none in the program."""

    def writes(x):
        y = x.clone()
        future = jit.fork(lambda: y.add_(1))
        early = y * 2
        return early + jit.wait(future)

    traced = jit.trace(writes, (X,))
    assert kinds(traced.graph) == ["aten::clone", "aten::add_", "aten::mul", "aten::add"]
    assert ts.equal(traced(X), writes(X))


def test_a_task_of_a_submodule() -> None:
    class Forking(ts.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = ts.nn.Linear(3, 2)

        def forward(self, x):
            future = jit.fork(self.inner, x)
            return jit.wait(future) + x.sum()

    module = Forking()
    traced = jit.trace(module, (X,))
    assert "prim::fork_0(" in str(traced.graph)
    assert ts.equal(traced(X), module(X))
    assert ts.allclose(ts.compile(traced, (X,), fallback="error")(X), traced(X))


def test_in_place_operators_as_others() -> None:
    """`_force_outplace`: a view that is written through is warned of."""
    program = lambda x: x.add_(1).relu_()  # noqa: E731 - as users write it
    traced = jit.trace(program, (X.clone(),), _force_outplace=True)
    assert kinds(traced.graph) == ["aten::add", "aten::relu"]
    given = -ts.ones(2)
    assert traced(given).tolist() == [0.0, 0.0]
    assert given.tolist() == [-1.0, -1.0]

    def through_a_view(x):
        x[0].add_(1)
        return x

    texts = warned(through_a_view, X.clone(), _force_outplace=True)
    assert len(texts) == 1
    assert "2 live references to the data region being modified" in texts[0]
    assert "in-place operator add_" in texts[0]

    def after_the_view_is_gone(x):
        x.unsqueeze(0)
        return x.add_(1)

    assert warned(after_the_view_is_gone, X.clone(), _force_outplace=True) == []


def halves(x):
    return x.view(3, 2) * 0.5


def test_an_error_of_a_trace_underlines_the_expression_of_the_program() -> None:
    with pytest.raises(RuntimeError) as caught:
        jit.trace(lambda x: halves(x) + 1, ts.ones(2, 3))(ts.ones(3, 3))
    assert f'File "{__file__}", line' in str(caught.value)
    assert ", in halves\n" in str(caught.value)
    assert "    return x.view(3, 2) * 0.5\n           ~~~~~~~~~~~~ <--- HERE" in str(caught.value)


def test_places_count_characters_where_python_counts_bytes() -> None:
    with pytest.raises(RuntimeError) as caught:
        jit.trace(lambda x: ("é", x.view(6))[1], ts.ones(2, 3))(ts.ones(3, 3))
    line, below = str(caught.value).splitlines()[-5:-3]
    assert line[below.index("~") : below.rindex("~") + 1] == "x.view(6)"


@pytest.mark.parametrize("dtype, kind", [("float32", "expand_as"), ("float64", "copy")])
def test_a_copy_into_a_tensor_is_the_source_in_its_shape(dtype: str, kind: str) -> None:
    def program(x):
        out = ts.zeros(2, *x.shape, dtype=getattr(ts, dtype))
        out.copy_(x)
        return out

    traced = jit.trace(program, X, _force_outplace=True)
    assert f"aten::{kind}" in kinds(traced.graph) and "aten::copy_" not in kinds(traced.graph)
    assert traced(X).dtype is getattr(ts, dtype)
    assert ts.equal(traced(X + 1), program(X + 1))


def test_an_assignment_through_a_view_stays_in_place() -> None:
    def program(x):
        y = x.clone()
        y[0] = x[1]
        return y + 1

    texts = warned(program, X, _force_outplace=True)
    assert len(texts) == 1
    assert "in-place operator copy_ (possibly due to an assignment). This" in texts[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = jit.trace(program, X, _force_outplace=True)
    assert ts.equal(traced(X), program(X))


def through_strides(y: ts.Tensor) -> ts.Tensor:
    row = y.unsqueeze(0).expand(2, -1, -1)
    row.masked_fill_(row > 1, 0)
    y.diagonal().mul_(3)
    y.unfold(1, 2, 1)[0].add_(1)
    return y


@pytest.mark.filterwarnings("ignore:Use of masked_fill_")
def test_writes_through_any_view_stay() -> None:
    traced = ts.jit.trace(through_strides, ts.ones(2, 2), check_trace=False)
    given = ts.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = through_strides(given.clone())
    assert traced(given.clone()).tolist() == expected.tolist() == [[4.0, 1.0], [0.0, 0.0]]


# -- what else is asked of a trace ----------------------------------------------------------------


def test_a_dict_with_tensors_as_keys_is_a_result() -> None:
    def program(x):
        return {x: x + 1, x * 2: x}

    traced = jit.trace(program, X, strict=False)
    assert "-> Dict[Tensor, Tensor]" in traced.code
    found = traced(ts.ones(2))
    assert [(k.tolist(), v.tolist()) for k, v in found.items()] == [
        ([1, 1], [2, 2]),
        ([2, 2], [1, 1]),
    ]


def test_an_entry_that_is_none_is_no_result() -> None:
    with pytest.raises(RuntimeError, match=r"b: None}\) of traced region cannot be understood"):
        jit.trace(lambda x: {"a": x, "b": None}, X, strict=False)


def test_a_trace_inside_a_trace_is_refused() -> None:
    def program(x):
        return jit.trace(lambda y: y + 1, X)(x)

    with pytest.raises(RuntimeError, match="Tracing can't be nested"):
        jit.trace(program, X)


@pytest.mark.filterwarnings("ignore::tensorscript.jit.TracerWarning")
def test_integer_constants_of_two_traces_are_equal_or_not() -> None:
    runs = iter(range(1, 9))
    with pytest.raises(jit.TracingCheckError) as refusal:
        jit.trace(lambda x: x + next(runs), X)
    assert "Scalars are not equal!" in str(refusal.value)
    assert "Expected 2 but got 1.\n\t\tAbsolute difference: 1\n" in str(refusal.value)


def test_constants_of_two_traces_have_one_dtype() -> None:
    runs = iter([1, 1.0, 1, 1])
    with pytest.raises(jit.TracingCheckError, match=r"torch\.int64 != torch\.float64"):
        jit.trace(lambda x: x + next(runs), X)

"""Programs of the TorchScript language: the same results and refusals as PyTorch."""

import re
import warnings
from pathlib import Path
from typing import Any

import language_programs_algorithms
import language_programs_any
import language_programs_arguments
import language_programs_arrays
import language_programs_assignments
import language_programs_awaits
import language_programs_builtin_types
import language_programs_called
import language_programs_classes
import language_programs_collections
import language_programs_containers
import language_programs_contexts
import language_programs_dead_code
import language_programs_every_form
import language_programs_functions
import language_programs_given_numbers
import language_programs_interfaces
import language_programs_items
import language_programs_leaving
import language_programs_literals
import language_programs_loops
import language_programs_methods
import language_programs_named
import language_programs_names
import language_programs_nested_values
import language_programs_objects
import language_programs_refinement
import language_programs_scalars
import language_programs_statements
import language_programs_tensors
import language_programs_texts
import language_programs_together
import language_programs_written_types
import pytest
from graph_texts import canonical, places
from language_harness import (
    Refusal,
    Scripted,
    call_program,
    close,
    load_program,
    plain,
    programs_of,
    refusal,
    script_program,
)

import tensorscript
from tensorscript.base.errors import TensorScriptError

PROGRAMS = programs_of(
    language_programs_algorithms,
    language_programs_any,
    language_programs_arguments,
    language_programs_arrays,
    language_programs_assignments,
    language_programs_awaits,
    language_programs_builtin_types,
    language_programs_called,
    language_programs_classes,
    language_programs_collections,
    language_programs_nested_values,
    language_programs_containers,
    language_programs_contexts,
    language_programs_dead_code,
    language_programs_every_form,
    language_programs_functions,
    language_programs_given_numbers,
    language_programs_interfaces,
    language_programs_items,
    language_programs_leaving,
    language_programs_literals,
    language_programs_loops,
    language_programs_methods,
    language_programs_named,
    language_programs_names,
    language_programs_objects,
    language_programs_refinement,
    language_programs_scalars,
    language_programs_statements,
    language_programs_tensors,
    language_programs_texts,
    language_programs_together,
    language_programs_written_types,
)

OTHER_WORDS = {
    "overload_fewer_parameters": "a space before the parameter's name",
    "attribute_annotated_later": "the text of a range of the source",
    "conversions": "the text of C++'s stoll",
    "strings_index_error": "the text of C++'s string::at",
    "text_bounds_behind": "the text of C++'s string::substr",
    "texts_of_integers": "the text of C++'s stoll",
    "texts_of_floats": "the text of C++'s stod",
    "interface_constructed": "PyTorch compiles the interface as a class",
    "typeof": "what Python gave is no value of scripts",
    "ignored_function_gives_another_type": "the text of pybind11",
}
"""Programs refused by both sides with different messages, and why."""

OTHER_PLACES = {
    "bare_dict_annotation": "PyTorch shows no place",
    "bare_dict_isinstance": "PyTorch shows no place",
    "bare_list_annotation": "PyTorch shows no place",
    "bare_list_isinstance": "PyTorch shows no place",
    "bare_optional_isinstance": "PyTorch shows no place",
    "bare_tuple_annotation": "PyTorch shows no place",
    "interface_constructed": "PyTorch compiles the interface as a class",
    "interface_with_a_body": "PyTorch refuses it where it stands",
    "comment_of_variable": "PyTorch does not say in which file",
    "comment_of_variable_and_signature": "PyTorch shows no place",
    "comment_on_def_line": "PyTorch does not say in which file",
    "comment_without_signature": "PyTorch does not say in which file",
    "comment_signature_misspelt": "PyTorch shows no place",
    "comp_two_for": "PyTorch underlines nothing",
    "none_default_called": "PyTorch shows no place",
    "dict_constructor_for_int": "PyTorch shows no place",
    "fn_tuple_ellipsis": "the whole annotation is underlined",
    "for_zip_tuple": "the whole loop is underlined",
    "overload_fewer_parameters": "the whole definition is underlined",
    "overload_other_default": "the declaration is shown, and not the definition",
    "overload_with_statements": "PyTorch shows no place",
    "overload_without_body": "PyTorch underlines nothing",
    "dead_branch_with_two_generators": "PyTorch underlines nothing",
    "attribute_annotated_later": "PyTorch does not say from where the class is needed",
    "getitem_by_name_of_int": "PyTorch shows no place",
    "tolist_of_strings": "PyTorch shows no place",
    "tolist_of_tuple": "PyTorch shows no place",
}
"""Programs refused by both sides that show or underline another place, and which."""

NOT_YET: dict[str, str] = {}
"""Programs that do not work yet, and what they need."""

OTHER_GRAPHS = {
    "comprehension_for_union": "the cast behind the loop takes the variable's name",
    "letters_of_constants": "PyTorch's texts show letters beyond ASCII as other characters",
    "return_from_nested": "a flag is told by another",
    "ternary_hint_none": "no cast of a value that is already of the type",
    "is_tracing_call": "is_tracing() is a constant",
    "tensor_functional": "functions of nn.functional are compiled from our Python",
    "tensor_conv": "functions of nn.functional are compiled from our Python",
    "tensor_interpolate": "functions of nn.functional are compiled from our Python",
    "tensor_pad": "functions of nn.functional are compiled from our Python",
    "tensor_std_var": "functions of nn.functional are compiled from our Python",
}
"""Programs whose graph differs from PyTorch's, and in what."""

OTHER_NODE_PLACES = {
    "annotate_tensor_float": "the conversion stands where the value does",
    "assert_fn": "PyTorch shows the lines of its library",
    "assert_fn2": "PyTorch shows the lines of its library",
    "assert_kw": "PyTorch shows the lines of its library",
    "floattensor_list": "the data of a legacy constructor has no place",
}
"""Programs whose graphs say otherwise where a node comes from, and in what."""

NOT_READ = {
    "closure_function": "a function that no module holds",
    "fn_closure": "a function that no module holds",
    "keyword_only_given_by_position": "the text drops the `*` of keyword-only arguments",
    "fn_kwonly": "the text drops the `*` of keyword-only arguments",
    "dataclass_keyword_only": "the text drops the `*` of keyword-only arguments",
    "cls_method_kw": "the text drops the `*` of keyword-only arguments",
    "tensor_conv": "a private function of nn.functional",
    "tensor_std_var": "a private function of nn.functional",
}
"""Programs whose code `CompilationUnit` does not read, and why."""

UNPRINTED = {
    "iface_basic": "PyTorch has an internal error",
    "iface_copied_variable": "PyTorch does not read its own text",
    "iface_loop_of_two_classes": "PyTorch has an internal error",
    "none_default_tensor": "PyTorch's tensor that is none has no strides",
    "none_default_unannotated": "PyTorch's tensor that is none has no strides",
    "none_default_used": "PyTorch's tensor that is none has no strides",
}
"""Programs whose code PyTorch cannot print, or not so that it reads it again."""

INTERPRETED = {
    "any_of_interface": "isinstance of !ts.interface",
    "await_after_branch": "in-place write to a tensor that may share memory with another one",
    "await_in_loop_of_unknown_length": "a list whose length a loop changes",
    "await_perhaps_before": "a call that may have been made in a branch",
    "cast_of_tensor": "a complex number that is not known",
    "class_lt_sort": "the order of values that are no numbers or strings",
    "class_lt_sort_in_tuples": "the order of values that are no numbers or strings",
    "cls_list_of": "the order of values that are no numbers or strings",
    "complex_numbers": "a complex number that is not known",
    "device_hash": "a device other than the CPU",
    "hash_of_values": "aten::hash",
    "function_cached_by_python": "ts.python_op: has no native form",
    "ignored_function": "ts.python_op: has no native form",
    "ignored_function_of_any_number": "ts.python_op: has no native form",
    "module_ignore": "ts.python_op: has no native form",
    "math_functions": "this special function has no native code",
    "sort_tensors": "the order of such elements",
}
"""Programs that do not run natively, and what `stats` says."""


def _without_lines(results: list[Any]) -> list[Any]:
    return [Refusal(r.when, r.kind, "") if isinstance(r, Refusal) else r for r in results]


@pytest.fixture(autouse=True)
def _no_deprecations() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    torch = pytest.importorskip("torch")
    if name in NOT_YET:
        request.applymarker(pytest.mark.xfail(reason=NOT_YET[name], strict=True))
    program = PROGRAMS[name]
    theirs = script_program(program, torch, tmp_path)
    ours = script_program(program, tensorscript, tmp_path, modules=torch)
    if isinstance(theirs, Refusal) or isinstance(ours, Refusal):
        expected, got = [theirs], [ours]
    else:
        expected = call_program(program, torch, theirs)
        got = call_program(program, tensorscript, ours)
    if name in OTHER_WORDS:
        expected, got = _without_lines(expected), _without_lines(got)
    assert close(got, expected), f"{got}\nbut PyTorch: {expected}"
    if isinstance(theirs, Refusal) and isinstance(ours, Refusal):
        assert (ours.places == theirs.places) == (name not in OTHER_PLACES)
    is_function = isinstance(ours, Scripted) and not hasattr(ours.module, "M")
    if is_function and name not in OTHER_GRAPHS:
        assert _graph(ours) == _graph(theirs)
        same_places = _places(ours) == _places(theirs)
        assert same_places == (name not in OTHER_NODE_PLACES)
        if name not in UNPRINTED:
            assert _code(ours) == _code(theirs)


def _graph(scripted: Any) -> list[str]:
    text = re.sub(r"warn_id=\d+", "warn_id", str(scripted.function.graph))
    return canonical(_unrooted(text))


def _places(scripted: Any) -> list[str]:
    return places(_unrooted(str(scripted.function.graph)))


def _code(scripted: Any) -> str:
    return re.sub(r"___torch_mangle_\d+\.", "", _unrooted(scripted.function.code))


def _unrooted(text: str) -> str:
    return re.sub("language_(torch_+|tensorscript_)", "language_", text)


FUNCTIONS = [n for n, p in PROGRAMS.items() if "class M(" not in p.source]


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in NOT_READ])
def test_code_means_the_same(name: str, tmp_path: Path) -> None:
    """The printed code, read again, does what the program does."""
    program = PROGRAMS[name]
    scripted = script_program(program, tensorscript, tmp_path)
    if isinstance(scripted, Refusal) or re.search(r"CONSTANTS|\^\w", scripted.function.code):
        return  # Refused, or the text names constants that stand beside it, or calls Python.
    again = _read_again(scripted.function.code)
    expected = call_program(program, tensorscript, scripted)
    got = call_program(program, tensorscript, Scripted(scripted.module, again))
    assert close(_without_lines(got), _without_lines(expected))


def _read_again(code: str) -> Any:
    """The function of a text whose reader knows ours as `torch`, as users do."""
    torch = tensorscript  # noqa: F841  # the text names it
    return tensorscript.jit.CompilationUnit(code).f


def test_what_no_operator_is_called_is_refused_in_text() -> None:
    torch = tensorscript  # noqa: F841  # the text sees it
    with pytest.raises(RuntimeError, match="object has no attribute does_not_exist"):
        tensorscript.jit.CompilationUnit("def f(x: Tensor):\n  return torch.does_not_exist(x)\n")


def test_the_table_is_large_and_its_lists_are_current() -> None:
    assert len(PROGRAMS) >= 700
    listed = (OTHER_WORDS, OTHER_PLACES, NOT_YET, OTHER_GRAPHS, INTERPRETED)
    assert not {name for table in listed for name in table} - PROGRAMS.keys()
    assert len(PROGRAMS) - len(OTHER_GRAPHS) >= 700


def _outcome(call: str, module: Any, fn: Any) -> Any:
    names = {**vars(module), "T": tensorscript.tensor, "torch": tensorscript, "f": fn}
    try:
        return plain(eval(call, names))
    except Exception as error:  # noqa: BLE001  # any refusal, by whatever class
        return refusal("run", error)


def _subject(module: Any) -> Any:
    """The function of a program, or an instance of its module."""
    if not hasattr(module, "M"):
        return module.f
    tensorscript.manual_seed(0)
    return module.M()


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_equals_scripted(name: str, tmp_path: Path, record_property: Any) -> None:
    """Native code gives the same results, and fails in the same words."""
    program = PROGRAMS[name]
    try:
        module = load_program(program, "tensorscript", tmp_path)
    except TensorScriptError:
        return  # A class refuses itself: there is no function yet.
    try:
        tensorscript.jit.script(_subject(module))
    except TensorScriptError as error:
        with pytest.raises(type(error)):
            tensorscript.compile(_subject(module), cache=False)
        return
    fallbacks: list[str] = []
    for call in program.calls:
        if not call.startswith("f(") and hasattr(module, "M"):
            continue  # what is compiled is `forward`
        scripted = tensorscript.jit.script(_subject(module))
        compiled = tensorscript.compile(_subject(module), cache=False)
        expected = _outcome(call, module, scripted)
        got = _outcome(call, module, compiled)
        record_property("native", bool(compiled.stats.native))
        if not isinstance(expected, Refusal):
            fallbacks += compiled.stats.fallbacks
        assert close(got, expected), f"{call}: {got}\nbut scripted: {expected}"
    if name in INTERPRETED:
        assert any(INTERPRETED[name] in told for told in fallbacks)
    else:
        assert not fallbacks

"""The names of `tensorscript.jit` and their signatures are those of `torch.jit`."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types
from typing import Any

import pytest

import tensorscript
from tensorscript import jit

INTERNAL = {
    "Iterator": "an import of the module",
    "contextmanager": "an import of the module",
    "set_module": "an import of the module",
    "torch": "an import of the module",
    "warnings": "an import of the module",
    "_builtins": "a file of PyTorch's implementation",
    "_check": "a file of PyTorch's implementation",
    "_dataclass_impls": "a file of PyTorch's implementation",
    "_decomposition_utils": "a file of PyTorch's implementation",
    "_ir_utils": "a file of PyTorch's implementation",
    "_monkeytype_config": "a file of PyTorch's implementation",
    "_InsertPoint": "a helper; graphs have `insert_point_guard`",
    "_ScriptProfile": "counts lines of PyTorch's interpreter",
    "_flatten": "a helper of PyTorch's tracer",
    "_register_decomposition": "edits PyTorch's operator table",
    "_unique_state_dict": "a helper of PyTorch's tracer",
}
"""Names of `torch.jit` that there is no reason to have, and why."""

OTHER_SIGNATURES = {
    "Attribute": "the parameters of a NamedTuple",
    "trace": "`_compilation_unit` has no default object",
    "trace_module": "`_compilation_unit` has no default object",
    "ScriptFunction": "PyTorch's has no Python signature",
    "CompilationUnit": "PyTorch's has no Python signature",
    "Future": "there are no devices to wait for",
    "RecursiveScriptModule": "made of a program instead of a C++ object",
    "RecursiveScriptClass": "made of a program instead of a C++ object",
    "TracedModule": "made of a program instead of a Python module",
    "TopLevelTracedModule": "made of a program instead of a Python module",
}
"""Names whose parameters differ, and why."""

MODULE_INTERNAL = {
    "_call_impl", "_compiled_call_impl", "_constants_set", "_construct",
    "_disable_script_meta", "_finalize_scriptmodule", "_get_backward_hooks",
    "_get_backward_pre_hooks", "_maybe_warn_non_full_backward_hook", "_methods", "_reconstruct",
    "_slow_forward", "_wrapped_call_impl", "__reduce_package__", "__jit_unused_properties__",
    "T_destination", "_save_for_lite_interpreter", "_save_to_buffer_for_lite_interpreter",
}  # fmt: skip
"""Members of script modules that belong to PyTorch's implementation or its mobile runtime."""

NOT_OF_MODULES = {"compile", "ipu", "mtia", "register_backward_hook", "to_empty", "xpu"}
"""Members that nn.Module itself does not have here: other devices, gradients, torch.compile."""

GRAPH_INTERNAL = {
    "_export_onnx", "_pretty_print_onnx", "alias_db", "createCudaFusionGroup",
    "createFusionGroup", "dump_alias_db", "global_print_source_ranges",
    "set_global_print_source_ranges",
}  # fmt: skip
"""Members of graphs that belong to PyTorch's exporter and to its fusers, or change all texts."""

OTHER_MEMBERS = {
    "ScriptFunction": {"_set_ignore_amp"},
    "ScriptMethod": set[str](),
    "CompilationUnit": {"create_function"},
    "Future": {"_set_unwrap_func", "_is_protocol"},
}
"""Members of callables that belong to PyTorch's implementation."""


def _theirs() -> Any:
    return pytest.importorskip("torch")


def test_every_name_is_there_or_has_a_reason_not_to_be() -> None:
    torch = _theirs()
    names = {name for name in dir(torch.jit) if not name.startswith("__")}
    missing = {name for name in names if not hasattr(jit, name)}
    assert missing == INTERNAL.keys() & names and not INTERNAL.keys() - names


def _parameters(thing: Any) -> list[str] | None:
    try:
        return list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return None


def test_signatures() -> None:
    torch = _theirs()
    different = set()
    for name in dir(torch.jit):
        theirs = getattr(torch.jit, name)
        if name.startswith("__") or name in INTERNAL or isinstance(theirs, types.ModuleType):
            continue
        wanted = _parameters(theirs)
        if wanted is not None and wanted != _parameters(getattr(jit, name)):
            different.add(name)
    assert different <= OTHER_SIGNATURES.keys(), different


def test_members_of_modules() -> None:
    torch = _theirs()
    for theirs, ours in (
        (torch.jit.RecursiveScriptModule, jit.RecursiveScriptModule),
        (torch.jit.ScriptModule, jit.ScriptModule),
    ):
        missing = {n for n in dir(theirs) if not hasattr(ours, n)} - MODULE_INTERNAL
        assert missing <= NOT_OF_MODULES, missing


def test_members_of_graphs_and_callables() -> None:
    torch = _theirs()
    graph = {n for n in dir(torch._C.Graph) if not n.startswith("_py") and n[:2] != "__"}
    assert graph - GRAPH_INTERNAL <= set(dir(jit.Graph))
    for name, internal in OTHER_MEMBERS.items():
        theirs = torch.ScriptMethod if name == "ScriptMethod" else getattr(torch.jit, name)
        names = {n for n in dir(theirs) if not n.startswith(("__", "_py"))}
        ours = getattr(jit, name)
        missing = {n for n in names if not hasattr(ours, n)} - internal
        assert missing <= {"owner"}, (name, missing)


FILES = {
    "_async": set[str](),
    "_freeze": set[str](),
    "_fuser": set[str](),
    "_script": {
        "ConstMap", "OrderedDictWrapper", "OrderedModuleDict", "ScriptMeta",
        "call_prepare_scriptable_func", "call_prepare_scriptable_func_impl", "create_script_dict",
        "create_script_list", "method_template", "pad", "unpackage_script_module",
    },
    "_serialization": {"get_flatbuffer_module_info", "validate_map_location"},
    "_trace": {
        "P", "R", "analyze_ts_result_with_export_result", "indent", "make_module", "make_tuple",
        "verify", "wrap_check_inputs",
    },
}  # fmt: skip
"""Files of `torch.jit` that programs import from, with what belongs to PyTorch's implementation."""


@pytest.mark.parametrize("name", FILES)
def test_files_have_what_programs_import_from_them(name: str) -> None:
    theirs, ours = getattr(_theirs().jit, name), getattr(jit, name)
    own = {
        n
        for n, held in vars(theirs).items()
        if getattr(held, "__module__", "") in (theirs.__name__, "torch.jit")
    }
    missing = {n for n in own if not n.startswith("_") and not hasattr(ours, n)}
    assert missing == FILES[name]


def test_a_module_is_wrapped_again() -> None:
    module = jit.script(tensorscript.nn.Linear(2, 3))
    again = jit._recursive.wrap_cpp_module(module._c)
    x = tensorscript.ones(1, 2)
    assert again(x).tolist() == module(x).tolist() and module._c.code == module.code
    assert module._c.code_with_constants[0] == module.code


SCHEMAS = [
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
    "(Tensor values, Tensor indices)",
    "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0) -> "
    "Tensor",
]


@pytest.mark.parametrize("text", SCHEMAS)
def test_members_of_schemas(text: str) -> None:
    def told(module: Any) -> list[Any]:
        found = module._C.parse_schema(text)
        arguments = [
            (a.name, str(a.type), a.N, a.default_value, a.has_default_value(), a.kwarg_only,
             a.is_write, a.is_out, a.alias_info is None)
            for a in [*found.arguments, *found.returns]
        ]  # fmt: skip
        return [found.name, found.overload_name, found.is_mutable, str(found), *arguments]

    assert told(tensorscript) == told(_theirs())


def test_schemas_of_operators() -> None:
    torch = _theirs()
    for name in ("aten::add", "aten::relu", "prim::device", "aten::no_such_operator"):
        ours = {str(each) for each in tensorscript._C._jit_get_schemas_for_operator(name)}
        assert ours == {str(each) for each in torch._C._jit_get_schemas_for_operator(name)}
    assert len(tensorscript._C._jit_get_all_schemas()) > 3000


def in_a_new_python(code: str, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**kept, **environment}
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


PLAIN = """
import warnings; warnings.simplefilter("ignore")
import tensorscript as torch
from tensorscript import jit, nn

@jit.script
def f(x):
    return [x for x in range(x) if x % 2]

@jit.script
class C:
    kind = "class attribute"

class M(jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.table = jit.Attribute({}, dict)
        self.n = 0
    @jit.script_method
    def forward(self, x):
        self.n += 1
        self.fresh = {x}
        return x, self.table

@jit.script_if_tracing
def g(x):
    return {x}

class N(nn.Module):
    @jit.export
    def other(self):
        return {1}
    @jit.ignore
    def left(self):
        return {2}
    def forward(self, x):
        return {x} | self.other() | self.left()

m, n = M(), jit.script(N())
traced = jit.trace(g, (1,)), jit.trace_module(n, {"forward": 1})
print(type(f).__name__, f(4), C.kind, m(3), m.n, m.fresh, g(1), n(7), type(n).__name__,
      traced[0] is g, traced[1] is n, jit.is_scripting())
"""


@pytest.mark.parametrize("name", ["TENSORSCRIPT_JIT", "PYTORCH_JIT"])
def test_switched_off_everything_is_python(name: str) -> None:
    assert in_a_new_python(PLAIN, **{name: "0"}) == (
        "function [1, 3] class attribute (3, {}) 1 {3} {1} {1, 2, 7} N True True False"
    )


def test_the_words_of_the_switch() -> None:
    code = "from tensorscript import jit; print(jit._state.jit_enabled())"
    assert in_a_new_python(code, PYTORCH_JIT="yes") == "True"
    assert in_a_new_python(code, PYTORCH_JIT="0v") == "> PyTorch JIT DISABLED\nFalse"
    assert in_a_new_python(code, PYTORCH_JIT="0", TENSORSCRIPT_JIT="1v") == (
        "> Using PyTorch JIT\nTrue"
    )
    assert in_a_new_python(code, PYTORCH_JIT="perhaps") == (
        "ValueError: Unknown setting of PYTORCH_JIT. Try using 0 or 1."
    )


def test_the_switch_while_a_program_runs() -> None:
    def f(x: int) -> int:
        return x

    try:
        jit._state.disable()
        assert jit.script(f) is f
    finally:
        jit._state.enable()
    assert isinstance(jit.script(f), jit.ScriptFunction)


def test_the_errors_of_the_frontend() -> None:
    def f(x: int) -> int:
        try:
            return x
        except ValueError:
            return 0

    with pytest.raises(jit.frontend.UnsupportedNodeError, match="try blocks aren't supported"):
        jit.script(f)
    assert issubclass(jit.frontend.UnsupportedNodeError, jit.frontend.NotSupportedError)


def helper(x: int) -> int:
    return x + 1


def test_texts_see_what_their_caller_sees() -> None:
    unit = jit.CompilationUnit("def f(x: int) -> int:\n  return helper(x) * 2\n")
    assert unit.f(3) == 8 and unit.get_class("zzz") is None
    unit.drop_all_functions()
    assert unit.get_functions() == [] and not hasattr(unit, "f")
    unit.define("def f(x: int) -> int:\n  return x\n")
    assert unit.find_function("f")(3) == 3  # type: ignore[misc]  # it is there
    with pytest.warns(UserWarning, match="has no effect"):
        unit.set_optimized(True)
    with pytest.raises(jit.frontend.FrontendError, match="expected def but found 'ident' here"):
        jit.CompilationUnit("x = 3")


def test_functions_are_scripted_while_a_trace_is_recorded() -> None:
    seen: list[bool] = []

    @jit.script_if_tracing
    def pick(x: tensorscript.Tensor) -> tensorscript.Tensor:
        if not jit.is_scripting():
            seen.append(True)
        return x + 1 if bool(x.sum() > 0) else x - 1

    x = tensorscript.ones(2)
    assert pick(x).tolist() == [2.0, 2.0] and seen == [True]
    jit.trace(lambda x: pick(x), (x,), check_trace=False)
    assert seen == [True], "while tracing it ran as script"


def test_operators_of_networks_by_their_own_names() -> None:
    def network(x: tensorscript.Tensor, w: tensorscript.Tensor) -> tensorscript.Tensor:
        return tensorscript._C._nn.gelu(tensorscript._C._nn.linear(x, w))

    x = tensorscript.arange(6.0).reshape(2, 3)
    scripted = jit.script(network)
    assert scripted(x, x).tolist() == network(x, x).tolist()
    assert "aten::linear" in str(scripted.graph) and "aten::gelu" in str(scripted.graph)
    with pytest.raises(AttributeError, match="no_such_operator"):
        tensorscript._C._nn.no_such_operator(x)

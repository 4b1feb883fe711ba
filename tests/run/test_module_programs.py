"""Programs with modules: the same results, refusals, graphs and code as PyTorch."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import language_harness
import module_programs_attributes
import module_programs_containers
import module_programs_hooks
import module_programs_models
import module_programs_sequences
import module_programs_structure
import module_programs_values
import pytest
from language_harness import LanguageProgram, Refusal, close, load_program, programs_of, refusal

import tensorscript

PROGRAMS = programs_of(
    module_programs_attributes,
    module_programs_structure,
    module_programs_containers,
    module_programs_hooks,
    module_programs_models,
    module_programs_sequences,
    module_programs_values,
)

FILL = """

def fixed(module):
    with torch.no_grad():
        for n, p in enumerate(module.parameters()):
            pattern = torch.arange(p.numel(), dtype=torch.float32) % 7 - 3
            p.copy_(pattern.reshape(p.shape) / (4 + n))
    return module

"""

EXTENSIONS = {
    "module_list_subclass": "len(self) inside a container's own method",
    "module_dunders": "__len__, __getitem__ and __contains__ of a module are found when needed",
    "parameter_list": "len of a ParameterList",
    "parameter_dict": "iterating a ParameterDict",
}
"""Programs that PyTorch refuses and that mean one thing only."""

INLINED_OTHERWISE = {
    "multihead_attention": "PyTorch keeps two values that nothing initializes and nothing reads",
    "transformer_encoder": "PyTorch knows the lengths of the empty dicts of `has_torch_function`",
}
"""Programs whose inlined graph has other dead or constant operations, and which."""

NOT_AS_EAGER = {
    "autocast_inside": "script casts other operators than eager mode",
    "number_for_a_list_default": "eager mode makes no list of a number",
    "absent_parameter": "script knows no buffers that are not saved",
    "exported_ignored_unused": "script raises where eager mode runs the method",
    "parameter_and_buffer": "script knows no buffers that are not saved",
    "jit_attribute": "eager mode keeps the pair of value and type",
    "unused_method_run": "script raises where eager mode runs the method",
    "shared_state": "script makes two modules of one that occurs twice",
    "module_dict": "script modules have no `keys`",
    "parameter_assigned": "eager mode refuses a tensor that is no Parameter",
    "interface_of_no_such_member": "script finds members by name, and none is -1",
    "module_walks": "script's `named_buffers` are those of the module itself",
}
"""Programs that mean something else in script than in Python, and why."""


@pytest.fixture(autouse=True)
def _no_deprecations() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _scripted(program: LanguageProgram, root: Any, torch: Any, folder: Path) -> Any:
    filled = LanguageProgram(program.name, FILL + program.source, program.calls)
    module = load_program(filled, root.__name__, folder)
    return module, torch.jit.script(module.fixed(module.M()))


@dataclass
class Outcome:
    """What one side makes of a program; no texts if it is refused or has no `forward`."""

    results: list[Any]
    graph: str = ""
    inlined: str = ""
    code: str = ""


def _run(program: LanguageProgram, root: Any, torch: Any, folder: Path) -> Outcome:
    try:
        module, scripted = _scripted(program, root, torch, folder)
    except Exception as error:  # noqa: BLE001  # whatever a side refuses with is compared
        return Outcome([refusal("compile", error)])
    out = Outcome([])
    if hasattr(scripted, "forward"):
        out.graph, out.code = str(scripted.graph), _plain_code(scripted.code)
        out.inlined = str(scripted.inlined_graph)
    names = {**vars(module), "T": torch.tensor, "torch": torch, "f": scripted}
    for call in program.calls:
        try:
            out.results.append(language_harness.plain(eval(call, names)))
        except Exception as error:  # noqa: BLE001  # as above
            out.results.append(refusal("run", error))
    return out


def _plain_code(code: str) -> str:
    return re.sub(r"___torch_mangle_\d+\.|language_(torch|tensorscript)_", "", code)


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    plain_graph = pytest.importorskip("test_script_modules").plain
    expected = _run(PROGRAMS[name], torch, torch, tmp_path)
    got = _run(PROGRAMS[name], torch, tensorscript, tmp_path)
    if name in EXTENSIONS:
        assert isinstance(expected.results[0], Refusal)
        assert not any(isinstance(r, Refusal) for r in got.results)
        return
    assert close(got.results, expected.results), f"{got}\nbut PyTorch: {expected}"
    assert plain_graph(got.graph) == plain_graph(expected.graph)
    same = plain_graph(got.inlined) == plain_graph(expected.inlined)
    assert same == (name not in INLINED_OTHERWISE), "the inlined graph is as PyTorch's, or is not"
    assert got.code == expected.code


def _needs(program: LanguageProgram) -> None:
    """Skip a program with layers that our own nn lacks, or with imports of PyTorch's."""
    if "from torch." in program.source:
        pytest.importorskip("torch")
    for name in re.findall(r"\bnn\.(\w+)", program.source):
        if not hasattr(tensorscript.nn, name):
            pytest.skip(f"tensorscript.nn has no {name}")


def _calls(program: LanguageProgram, module: Any, subject: Any) -> list[Any]:
    names = {**vars(module), "T": tensorscript.tensor, "torch": tensorscript, "f": subject}
    out: list[Any] = []
    for call in program.calls:
        try:
            out.append(language_harness.plain(eval(call, names)))
        except Exception as error:  # noqa: BLE001  # any refusal, by whatever class
            out.append(Refusal("run", type(error).__name__, ""))
    return out


def _without_kinds(results: list[Any]) -> list[Any]:
    return [Refusal("run", "", "") if isinstance(r, Refusal) else r for r in results]


@pytest.mark.parametrize("name", PROGRAMS)
def test_eager_scripted_and_native_agree(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    _needs(program)
    try:
        module, scripted = _scripted(program, tensorscript, tensorscript, tmp_path)
    except (tensorscript.TensorScriptError, AttributeError):
        return  # refused; the other test compares with PyTorch
    wanted = _calls(program, module, scripted)
    _, again = _scripted(program, tensorscript, tensorscript, tmp_path)
    with tensorscript.jit.executor("native"):
        native = _calls(program, module, again)
    assert close(_without_kinds(native), _without_kinds(wanted)), f"{native}\nbut: {wanted}"
    if name not in NOT_AS_EAGER:
        eager = _calls(program, module, module.fixed(module.M()))
        assert close(_without_kinds(eager), _without_kinds(wanted)), f"{eager}\nbut: {wanted}"


def test_the_table_is_large_and_its_lists_are_current() -> None:
    assert len(PROGRAMS) >= 100
    assert not EXTENSIONS.keys() - PROGRAMS.keys()

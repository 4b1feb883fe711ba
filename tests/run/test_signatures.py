"""Names and parameters of PyTorch's public functions: each is here, or has a reason not to be.

Of Python functions PyTorch tells the parameters itself; of built-in ones its stubs (`*.pyi`) do.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.schema import has_operator, overloads
from tensorscript.eager.binding import ALIASES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SPACES = ("", "nn.functional", "linalg", "fft", "special", "Tensor", "nn", "nn.init", "nn.utils",
          "nn.utils.rnn", "signal.windows", "masked", "random")  # fmt: skip

_DEVICES = "tensors are not moved to that kind of device"
_REMOVED = "PyTorch raises and names another function"
_INNER = "what PyTorch's own functions are made with"
_FLOAT8 = "products of float8 numbers"
LACKING: dict[str, str] = {
    **dict.fromkeys(("Tensor.ipu", "Tensor.mtia", "Tensor.xpu"), _DEVICES),
    **dict.fromkeys(
        ("Tensor.eig", "Tensor.lstsq", "Tensor.reinforce", "Tensor.solve", "Tensor.symeig",
         "Tensor.volatile"), _REMOVED),
    **dict.fromkeys(
        (f"nn.functional.{name}" for name in (
            "ScalingType", "SwizzleType", "scaled_grouped_mm", "scaled_mm")), _FLOAT8),
    **dict.fromkeys(
        (f"nn.functional.{name}" for name in (
            "assert_int_or_pair", "boolean_dispatch", "handle_torch_function",
            "has_torch_function_unary", "has_torch_function_variadic")), _INNER),
    **dict.fromkeys(
        (f"masked.{name}" for name in ("MaskedTensor", "as_masked_tensor", "is_masked_tensor",
                                       "masked_tensor")), "masked tensors as a class"),
    "nn.utils.rnn.PackedSequence_": _INNER, "nn.utils.rnn.bind": _INNER,
    "nn.utils.rnn.copy_method_params": _INNER, "random.thread_safe_generator": _INNER,
    "Tensor.const_data_ptr": "an address for PyTorch's own kernels",
    "Tensor.grad_dtype": "gradients are not recorded",
    "Tensor.module_load": "what PyTorch's modules call when states are swapped",
    "nn.Container": "PyTorch has deprecated it since 0.2",
    "nn.DataParallel": "programs run on one device",
    "nn.factory_kwargs": "a helper of PyTorch's own layers",
}  # fmt: skip
"""Names that are not here, and why."""

UNTAKEN: dict[str, tuple[str, ...]] = {
    "load": ("pickle_module", "pickle_load_args"),
    "save": ("pickle_module", "pickle_protocol"),
    "compile": ("model", "fullgraph", "dynamic", "backend", "mode", "name", "disable",
                "recompile_limit", "isolate_recompiles", "shapes_spec"),
    "enable_grad": ("orig_func",),
    "random.fork_rng": ("device_type",),
    **dict.fromkeys(
        (f"{kind}Storage" for kind in (
            "BFloat16", "Bool", "Byte", "Char", "ComplexDouble", "ComplexFloat", "Double", "Float",
            "Half", "Int", "Long", "Short")),
        ("wrap_storage", "dtype", "device")),
}  # fmt: skip
"""Functions written in Python to parameters that ours do not take: of pickling (nothing in a file
is executed), of PyTorch's compiler (ours has its own), and of classes that PyTorch makes itself."""

UNNAMED: dict[str, tuple[str, ...]] = {
    "from_numpy": ("ndarray",), "set_num_interop_threads": ("num",), "set_num_threads": ("num",),
    "full": ("names",), "Tensor.apply_": ("callable",), "Tensor.map_": ("callable",),
    "Tensor.map2_": ("callable",), "Tensor.random_": ("from_",), "Tensor.uniform_": ("from_",),
    "Tensor.requires_grad_": ("mode",), "Tensor.new": ("cls", "device", "other", "storage"),
    "Tensor.type": ("non_blocking",),
    "Tensor.new_tensor": ("pin_memory",), "tensor": ("pin_memory",),
    **dict.fromkeys(
        (f"sparse_{kind}_tensor" for kind in ("bsc", "bsr", "compressed", "coo", "csc", "csr")),
        ("check_invariants",)),
}  # fmt: skip
"""Built-in functions to names in PyTorch's stubs that ours do not take: words that the binding does
not take either (`from_`, `callable`, `num`), names of dimensions, pages that are pinned."""


def _space(library: Any, path: str) -> Any:
    for part in filter(None, path.split(".")):
        library = getattr(library, part)
    return library


def _dotted(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@pytest.mark.parametrize("path", [s for s in SPACES if s])
def test_every_public_name_is_here_or_has_a_reason(path: str) -> None:
    theirs, ours = _space(torch, path), _space(ts, path)
    public = {n for n in dir(theirs) if not n.startswith("_") and _is_offered(theirs, n)}
    lacking = {n for n in public if not hasattr(ours, n)}
    assert lacking == {n for n in public if _dotted(path, n) in LACKING}


def _is_offered(space: Any, name: str) -> bool:
    """Whether it is a member of a class, or a function or class of the module or of one beside."""
    if isinstance(space, type):
        return True
    kinds = (types.FunctionType, types.BuiltinFunctionType, type)
    found = getattr(space, name, None)
    is_own = (getattr(found, "__module__", None) or "torch").startswith("torch")
    return isinstance(found, kinds) and is_own and found is not torch.Tensor


def _parameters(function: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return None


def _python_functions(path: str) -> Iterator[tuple[str, Any, Any]]:
    theirs, ours = _space(torch, path), _space(ts, path)
    for name in dir(theirs):
        found = getattr(theirs, name, None)
        if name.startswith("_") or not isinstance(found, (types.FunctionType, type)):
            continue
        if hasattr(ours, name):
            yield name, found, getattr(ours, name)


@pytest.mark.parametrize("path", SPACES)
def test_functions_take_what_pytorchs_take_in_its_order(path: str) -> None:
    wrong = {}
    for name, theirs, ours in _python_functions(path):
        asked, taken = _parameters(theirs), _parameters(ours)
        if asked is None or taken is None or any(p.kind is p.VAR_POSITIONAL for p in taken):
            continue
        words = {p.name for p in taken}
        inner = {p.name for p in asked if p.name.startswith("_")} - words
        untaken = inner | set(UNTAKEN.get(_dotted(path, name), ()))
        wanted = [p.name for p in asked if p.kind is p.POSITIONAL_OR_KEYWORD]
        wanted = [n for n in wanted if n not in untaken]
        given = [p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD]
        open_ = any(p.kind is p.VAR_KEYWORD for p in taken)
        named = {p.name for p in asked if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        lacking = set() if open_ else named - words - untaken
        is_placed = bool(untaken - inner) or given[: len(wanted)] == wanted
        if not is_placed or lacking:
            wrong[name] = (wanted, given, lacking)
    assert not wrong


def _stubs(file: str, of_class: str | None) -> dict[str, set[str]]:
    """Built-in functions to the names of their parameters in any overload."""
    tree = ast.parse((Path(torch.__file__).parent / "_C" / file).read_text())
    body = tree.body
    if of_class is not None:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == of_class).body
    found: dict[str, set[str]] = defaultdict(set)
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            named = (*node.args.args, *node.args.kwonlyargs)
            found[node.name] |= {a.arg for a in named}
    return found


def _taken(name: str, function: Any) -> set[str]:
    """Names of parameters: those of the operator's overloads and of the function around them."""
    taken = {p.name for f in (function, getattr(ts, name, None)) for p in _parameters(f) or ()}
    if has_operator(f"aten::{name}"):
        for s in overloads(f"aten::{name}"):
            taken |= {a.name for a in s.arguments} | ({"out"} if s.is_out else set())
    return taken | {alias for alias, of in ALIASES.items() if of in taken}


@pytest.mark.parametrize(
    ("path", "file", "of_class"),
    [("", "_VariableFunctions.pyi", None), ("Tensor", "__init__.pyi", "TensorBase")],
)
def test_built_in_functions_take_the_words_of_the_stubs(
    path: str, file: str, of_class: str | None
) -> None:
    space, everywhere = _space(ts, path), {"self", "input", "requires_grad"}
    lacking = {}
    for name, asked in _stubs(file, of_class).items():
        if not hasattr(space, name):
            continue
        left = asked - everywhere - _taken(name, getattr(space, name))
        if left:
            lacking[_dotted(path, name)] = tuple(sorted(left))
    known = {k: v for k, v in UNNAMED.items() if k.startswith("Tensor.") is (path == "Tensor")}
    assert lacking == known

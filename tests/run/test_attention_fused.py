"""Layers of attention in evaluation leave their work to the operators that PyTorch's leave it to,
under the same conditions: equal results, refusals, warnings and traces, scripted and native."""

from __future__ import annotations

import re
import warnings
from typing import Any

import attention_programs as programs
import numpy as np
import pytest

import tensorscript as ts

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")

Outcome = tuple[Any, list[str], str]
NAMES = list(programs.LAYERS)
_PROTOTYPE = "nested tensors is in prototype stage"
"""What PyTorch warns of once in a process."""


def _numbers(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_numbers, value))
    return None if value is None else value.detach().double().numpy()


def _close(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(_close, found, wanted))
    if wanted is None or found is None:
        return found is wanted
    same = np.allclose(found, wanted, rtol=1e-4, atol=2e-5, equal_nan=True)
    return bool(found.shape == wanted.shape and same)


def _plain(graph: object) -> str:
    """A graph without places and names; gradient flags of what is not recorded are left out."""
    text = re.sub(r" # .*|___torch_mangle_\d+\.|requires_grad=\d", "", str(graph))
    names: dict[str, str] = {}
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), text)


def _outcome(t: Any, name: str, call: str, mode: str, traced: bool = False) -> Outcome:
    """The result or the refusal, the warnings, and the graph of a trace."""
    graph = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        module = programs.caller(t, programs.layer(t, name), name, call)
        with programs.mode(t, mode) as trained:
            module.train(trained)
            try:
                if traced:
                    module = t.jit.trace(module, programs.inputs(t), check_trace=False)
                    graph = _plain(module.inlined_graph)
                result = _numbers(module(*programs.inputs(t)))
            except (RuntimeError, AssertionError) as error:
                result = str(error).splitlines()[0]
    texts = [str(each.message) for each in caught if _PROTOTYPE not in str(each.message)]
    return result, texts, graph


def _calls(name: str) -> list[str]:
    return list(programs.CALLS[name.partition(" ")[0]].values())


@pytest.mark.parametrize("mode", programs.MODES)
@pytest.mark.parametrize("name", NAMES)
def test_eager(name: str, mode: str) -> None:
    for call in _calls(name):
        ours, theirs = (_outcome(t, name, call, mode) for t in (ts, torch))
        if isinstance(theirs[0], str):
            assert ours[0] == theirs[0], call
        else:
            assert _close(ours[0], theirs[0]), call
        assert sorted(ours[1]) == sorted(theirs[1]), call


@pytest.mark.parametrize("name", NAMES)
def test_traces(name: str) -> None:
    for call in _calls(name):
        theirs = _outcome(torch, name, call, "without gradients", traced=True)
        if isinstance(theirs[0], str):
            continue  # what is refused is compared above
        ours = _outcome(ts, name, call, "without gradients", traced=True)
        assert _close(ours[0], theirs[0]), call
        assert ours[1:] == theirs[1:], call


_LAYER = "layer 12, 2, 16, 0.0, batch_first=True"
_ENCODER = "encoder 12, 2, 16, 0.0, batch_first=True"
_COMPILED = [
    (_LAYER, "x"), (_LAYER, "x, mask, padding"), (_LAYER, "x, None, hidden"),
    (_ENCODER, "x, src_key_padding_mask=padding"), (_ENCODER, "x, src_key_padding_mask=gap"),
    (_ENCODER, "x, src_key_padding_mask=hidden"), (_ENCODER, "x, mask, padding"),
    ("encoder without a check", "x, src_key_padding_mask=padding"),
    ("encoder 12, 2, 16, 0.0, batch_first=True, norm_first=True", "x, mask"),
]  # fmt: skip


def _scripted(module: Any) -> Any:
    return ts.jit.script(module)


def _native(module: Any) -> Any:
    return ts.compile(module, fallback="error", cache=False)


@pytest.mark.parametrize("way", [_scripted, _native])
@pytest.mark.parametrize(("name", "call"), _COMPILED)
def test_compiled(name: str, call: str, way: Any) -> None:
    wanted = _outcome(torch, name, call, "without gradients")[0]
    made = way(programs.layer(ts, name).eval())
    given = {**programs.masks(ts), "x": programs.inputs(ts)[0], "made": made}
    with ts.no_grad():
        assert _close(_numbers(eval(f"made({call})", given)), wanted)


def test_a_script_has_both_ways() -> None:
    scripted = ts.jit.script(programs.layer(ts, _LAYER).eval())
    graph = str(scripted.inlined_graph)
    assert "aten::_transformer_encoder_layer_fwd" in graph
    assert "aten::_native_multi_head_attention" in graph
    assert "aten::scaled_dot_product_attention" in graph


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_other_dtypes(dtype: str) -> None:
    found = []
    for t in (ts, torch):
        layer = programs.layer(t, "attention 12, 4, batch_first=True").eval()
        kind = getattr(t, dtype)
        x = programs.inputs(t)[0].to(kind)
        with t.no_grad():
            out, weights = layer.to(kind)(x, x, x, programs.masks(t)["hidden"])
        assert out.dtype is kind and weights.dtype is kind
        found.append(_numbers((out, weights)))
    exact = {"float64": 1e-12, "bfloat16": 2e-2, "float16": 2e-3}[dtype]
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=exact, atol=exact)


def _taken(t: Any, change: Any) -> bool:
    """Whether a trace of a layer in evaluation, after a change to it, has the one operator."""
    layer = programs.layer(t, _LAYER).eval()
    change(t, layer)
    try:
        with t.no_grad():
            made = t.jit.trace(layer, programs.inputs(t)[:1], check_trace=False)
    finally:
        t.backends.mha.set_fastpath_enabled(True)
    return "aten::_transformer_encoder_layer_fwd" in str(made.inlined_graph)


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        (lambda t, layer: None, True),
        (lambda t, layer: t.backends.mha.set_fastpath_enabled(False), False),
        (lambda t, layer: layer.linear1.register_forward_hook(lambda *_: None), False),
        (lambda t, layer: layer.register_forward_pre_hook(lambda *_: None), False),
        (lambda t, layer: setattr(layer.norm1, "eps", 1e-3), False),
        (lambda t, layer: layer.self_attn.train(), True),
    ],
)
def test_what_keeps_a_layer_from_it(change: Any, taken: bool) -> None:
    assert _taken(ts, change) is taken
    assert _taken(torch, change) is taken


def test_masks_are_merged_as_there() -> None:
    for name in ("mask", "strict"):
        merged = []
        for t in (ts, torch):
            layer, given = programs.layer(t, NAMES[0]), programs.masks(t)
            mask, padding = given["added"](given[name]), given["added"](given["padding"])
            made, kind = layer.merge_masks(mask, padding, programs.inputs(t)[0])
            merged.append((made.numpy(), kind))
        np.testing.assert_array_equal(merged[0][0], merged[1][0])
        assert merged[0][1] == merged[1][1] == 2
